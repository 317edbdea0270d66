//! How much launched work waits on each stream, by HTA's rule: one more when a call launches, one less when the
//! kernel, copy or fill starts.
//!
//! Only the calls HTA knows as launches count (not graph launches); the rest is counted as left out. Mean and
//! quartiles are over the points at which the length changes, not over time: that is HTA's summary.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{LaneId, Ns, SliceId, Trace};

use super::describe::Describe;
use super::launch_calls::fills_queue;
use super::loading::{HtaTrace, Loading};
use crate::devices::busy::device_lanes;
use crate::names::by_name::ByName;
use crate::scope::definition::{Definition, definitions};

pub const DEFINITIONS: &[Definition] = definitions! {
    "length", "Queue length (HTA)" =>
        "Kernels, copies and memsets of the stream that a call has launched and that have not started yet. A launch counts \
         from the start of its call. Where a launch and a start fall together the launch counts first; HTA leaves their \
         order to chance.";
    "summary", "Summary (HTA)" => "Over the lengths after each launch and each start, however long they lasted.";
    "full_ns", "Time full (HTA)" =>
        "Time during which the length was at or above the limit (1024 by default), which is where launching calls begin to \
         block.";
    "full_share", "Time full, share (HTA)" =>
        "Time full over the time from the start of the trace's first slice to the start of its last.";
    "uncounted", "Uncounted" =>
        "Kernels, copies and memsets without a recorded call, or launched by one HTA does not know as a launch.";
};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct QueueOptions {
    /// What is done to the slices first.
    pub loading: Loading,
    /// From which length on the queue is full.
    pub full: i64,
}

impl Default for QueueOptions {
    fn default() -> QueueOptions {
        QueueOptions { loading: Loading::default(), full: 1024 }
    }
}

/// The length from one time on, until the next point.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QueuePoint {
    /// When it changed, since the trace's first event.
    pub at_ns: i64,
    pub length: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamQueue {
    pub device: Option<i64>,
    pub stream: Option<i64>,
    /// Every change, in order of time.
    pub points: Vec<QueuePoint>,
    /// The lengths of the points.
    pub summary: Describe,
    /// Time at or above the limit.
    pub full_ns: i64,
    /// The same as a share of the trace; `None` if that has no length.
    pub full_share: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct QueueLength {
    /// Streams with launches, devices and streams by number.
    pub streams: Vec<StreamQueue>,
    /// From the start of the first slice to the start of the last.
    pub trace_ns: i64,
    /// Device work that no counted call launched.
    pub uncounted: u64,
}

/// HTA's queue length of each stream.
pub fn queue_length(trace: &Trace, options: &QueueOptions) -> QueueLength {
    let loaded = HtaTrace::new(trace, options.loading);
    let queues = Queues::new(&loaded);
    let starts = trace.slices().ids().filter(|&id| loaded.keeps(id)).map(|id| loaded.start(id));
    let reach = starts.fold(None, |reach: Option<(Ns, Ns)>, at| {
        Some(reach.map_or((at, at), |(first, last)| (first.min(at), last.max(at))))
    });
    let trace_ns = reach.map_or(0, |(first, last)| (last - first).0);
    let streams = queues.lanes.iter().map(|(lane, changes)| {
        let key = trace.lanes().get(*lane).key;
        let full = changes.windows(2).filter(|pair| pair[0].length >= options.full);
        let full_ns = full.map(|pair| pair[1].at - pair[0].at).sum::<Ns>().0;
        StreamQueue {
            device: key.process.as_int(),
            stream: key.thread.as_int(),
            points: changes.iter().map(|c| QueuePoint { at_ns: c.at.0, length: c.length }).collect(),
            summary: Describe::from_values(changes.iter().map(|c| c.length).collect()),
            full_ns,
            full_share: (trace_ns > 0).then(|| full_ns as f64 / trace_ns as f64),
        }
    });
    QueueLength { streams: streams.collect(), trace_ns, uncounted: queues.uncounted }
}

/// One launch or start.
#[derive(Copy, Clone)]
pub(super) struct Change {
    at: Ns,
    exact: Ns,
    /// The work that is launched or starts.
    pub(super) work: SliceId,
    pub(super) launch: bool,
    pub(super) length: i64,
}

pub(super) struct Queues {
    pub(super) lanes: Vec<(LaneId, Vec<Change>)>,
    uncounted: u64,
}

impl Queues {
    pub(super) fn new(loaded: &HtaTrace<'_>) -> Queues {
        let trace = loaded.trace;
        let mut counted = ByName::new(trace, fills_queue);
        let mut queues = Queues { lanes: Vec::new(), uncounted: 0 };
        for lane in device_lanes(trace).into_iter().flat_map(|(_, lanes)| lanes) {
            let (mut changes, mut starts) = (Vec::new(), Vec::new());
            for id in trace.slices().of_lane(lane) {
                if !trace.slices().kind(id).is_device_work() || !loaded.keeps(id) {
                    continue;
                }
                let change = |of: SliceId, launch: bool, length: i64| {
                    let exact = trace.slices().start(of);
                    Change { at: loaded.start(of), exact, work: id, launch, length }
                };
                match loaded.launch(id).filter(|&call| counted.get(trace.slices().name(call))) {
                    None => queues.uncounted += 1,
                    Some(call) => {
                        changes.push(change(call, true, 1));
                        starts.push(change(id, false, -1));
                    }
                }
            }
            if changes.is_empty() {
                continue;
            }
            // Two runs, each nearly sorted: the stable sort only merges them. Rounding moves times together but
            // never past each other, so the order is that of the exact ones.
            changes.append(&mut starts);
            changes.sort_by_key(|c| (c.exact, !c.launch));
            let mut length = 0;
            for change in &mut changes {
                length += change.length;
                change.length = length;
            }
            queues.lanes.push((lane, changes));
        }
        queues
    }
}
