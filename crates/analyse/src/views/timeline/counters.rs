//! Values over time beside the rows: how busy devices are, their memory, their queues, and the file's own counters.

use std::cmp::Ordering;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, Ns, Order, SliceId, Trace};

use super::Timeline;
use super::curves::{Buckets, Curve, DrawnCurve, Levels, Unit};
use super::file_counters::file_counters;
use super::spans::drawn;
use crate::causes::launches::queue_of;
use crate::devices::busy::device_lanes;
use crate::devices::kernel_estimates::{WHOLE, blocks_level};
use crate::devices::streams::streams;
use crate::memory;
use crate::scope::intervals::Collector;

/// Counters of one trace; a file may have any number of devices and counters.
const MAX_COUNTERS: usize = 256;

/// One counter in a stretch of time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Counter {
    pub id: String,
    pub label: String,
    pub unit: Unit,
    /// What to write after a value, where the file says it; else empty.
    pub suffix: &'static str,
    /// Its device, if it has one.
    pub device: Option<i64>,
    pub definition: &'static str,
    /// The highest value in the whole trace; 1 for shares.
    pub max: f64,
    pub t: Vec<i64>,
    /// The lowest value from each moment to the next.
    pub lo: Vec<f64>,
    /// The highest value from each moment to the next.
    pub hi: Vec<f64>,
}

#[derive(Debug)]
pub(super) struct Curves {
    list: Vec<Curve>,
    /// Counters past the limit.
    more: usize,
}

impl Timeline {
    /// The counters between two times, each in about so many parts.
    pub fn counters(&self, trace: &Trace, from: i64, to: i64, buckets: usize) -> Vec<Counter> {
        let curves = self.curves.get_or_init(|| Curves::new(trace));
        let (from, to) = (from.max(0), to.min(self.extent).max(from.max(0)));
        let buckets = Buckets::new(from, to, buckets);
        let mut counters: Vec<Counter> = curves.list.iter().map(|curve| curve.counter(buckets)).collect();
        if curves.more > 0 {
            let rest = Curve {
                id: "more".to_owned(),
                label: format!("{} more counters are not shown", curves.more),
                unit: Unit::Other,
                suffix: "",
                device: None,
                definition: "",
                levels: Levels::default(),
            };
            counters.push(rest.counter(buckets));
        }
        counters
    }
}

impl Curve {
    fn counter(&self, buckets: Buckets) -> Counter {
        let is_share = self.unit == Unit::Share;
        let drawn = if is_share { self.levels.means(buckets) } else { self.levels.extremes(buckets) };
        let DrawnCurve { at, low, high } = drawn;
        Counter {
            id: self.id.clone(),
            label: self.label.clone(),
            unit: self.unit,
            suffix: self.suffix,
            device: self.device,
            definition: self.definition,
            max: if is_share { 1.0 } else { self.levels.max() },
            t: at,
            lo: low,
            hi: high,
        }
    }
}

impl Curves {
    fn new(trace: &Trace) -> Curves {
        let mut list = utilization(trace);
        list.extend(memory_levels(trace));
        list.extend(queues(trace));
        list.order_by(|a, b| match (a.device, b.device) {
            (Some(a), Some(b)) => a.cmp(&b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        });
        let room = MAX_COUNTERS.saturating_sub(list.len());
        let (of_file, beyond) = file_counters(trace, room);
        let more = list.len().saturating_sub(MAX_COUNTERS) + beyond;
        list.truncate(MAX_COUNTERS);
        list.extend(of_file);
        Curves { list, more }
    }
}

/// Text for a device: `GPU 0`, or `GPU` where the file gives it no number.
fn gpu(device: Option<i64>) -> String {
    device.map_or("GPU".to_owned(), |number| format!("GPU {number}"))
}

fn utilization(trace: &Trace) -> Vec<Curve> {
    let slices = trace.slices();
    let mut curves = Vec::new();
    for (tag, lanes) in device_lanes(trace).into_iter().take(MAX_COUNTERS) {
        let device = tag.as_int();
        let kernels =
            lanes.iter().flat_map(|&lane| slices.of_lane(lane)).filter(|&id| slices.kind(id) == Kind::Kernel);
        let kernels: Vec<SliceId> = kernels.collect();
        let mut busy = Collector::default();
        kernels.iter().for_each(|&id| busy.add(slices.start(id), slices.end(id)));
        let edges_of = |&id: &SliceId| {
            let blocks = blocks_level(trace, id)?;
            Some([(drawn(slices.start(id)), blocks), (drawn(slices.end(id)), -blocks)])
        };
        let mut changes: Vec<(i64, i64)> =
            kernels.par_iter().with_min_len(4096).filter_map(edges_of).flatten_iter().collect();
        let edges = busy.finish();
        let edges = edges.as_slice().iter().flat_map(|&(start, end)| [(drawn(start), 1.0), (drawn(end), 0.0)]);
        curves.push(Curve {
            id: format!("utilization:{}", device.unwrap_or(-1)),
            label: format!("{} utilization", gpu(device)),
            unit: Unit::Share,
            suffix: "",
            device,
            definition: "Share of each part of time during which at least one kernel ran on the device.",
            levels: Levels::new(edges),
        });
        changes.sort_by_key(|change| change.0);
        let mut level = 0i64;
        let filled = changes.into_iter().map(|(at, change)| {
            level = level.saturating_add(change);
            (at, level.clamp(0, WHOLE) as f64 / WHOLE as f64)
        });
        curves.push(Curve {
            id: format!("sm_efficiency:{}", device.unwrap_or(-1)),
            label: format!("{} est. SM efficiency", gpu(device)),
            unit: Unit::Share,
            suffix: "",
            device,
            definition: "The sum of \"blocks per SM\" over the kernels running at a moment, at most 1, averaged over \
                         each part of time: an upper bound on the share of multiprocessors at work.",
            levels: Levels::new(filled),
        });
    }
    curves.retain(|curve| !curve.levels.is_empty());
    curves
}

fn memory_levels(trace: &Trace) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (number, of_device) in memory::curves(trace).into_iter().enumerate() {
        let at = |point: &memory::CurvePoint| drawn(Ns(point.at_ns));
        let points = &of_device.points;
        let allocated = Levels::new(points.iter().map(|p| (at(p), p.allocated_bytes as f64)));
        let reserved = Levels::new(points.iter().filter_map(|p| Some((at(p), p.reserved_bytes? as f64))));
        for (what, levels, definition) in [
            ("allocated", allocated, "Bytes in use by the program, as the allocator counted them."),
            ("reserved", reserved, "Bytes that the allocator held from the device, in use or not."),
        ] {
            if !levels.is_empty() {
                curves.push(Curve {
                    id: format!("memory_{what}:{number}"),
                    label: format!("{} memory {what}", of_device.label),
                    unit: Unit::Bytes,
                    suffix: "",
                    device: of_device.device,
                    definition,
                    levels,
                });
            }
        }
    }
    curves
}

fn queues(trace: &Trace) -> Vec<Curve> {
    let streams = streams(trace);
    let mut curves = Vec::new();
    for of_device in streams.chunk_by(|a, b| a.device == b.device).take(MAX_COUNTERS) {
        let device = of_device[0].device.as_int();
        let points = queue_of(of_device);
        if !points.is_empty() {
            curves.push(Curve {
                id: format!("queue:{}", device.unwrap_or(-1)),
                label: format!("{} queue", gpu(device)),
                unit: Unit::Count,
                suffix: "",
                device,
                definition: "Kernels, copies and memsets launched but not started, on all streams of the device. \
                             Near zero, the device waits for the host.",
                levels: Levels::new(points.iter().map(|p| (drawn(Ns(p.at_ns)), p.queued as f64))),
            });
        }
    }
    curves
}
