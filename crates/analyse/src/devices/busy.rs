//! What ran on each device, as sets of time by kind.

use stepscope_model::{Domain, Kind, LaneId, Ns, Tag, Trace};

use crate::names::comm::{Comm, CommRule};
use crate::scope::intervals::{Collector, Intervals};
use crate::scope::selection::Selection;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkOptions {
    /// Leave out device work without a recorded launching call, as TraceLens does.
    pub linked_only: bool,
    /// Which part of the trace.
    pub selection: Selection,
}

/// The lanes of each device, devices by number and each device's streams by number.
pub(crate) fn device_lanes(trace: &Trace) -> Vec<(Tag, Vec<LaneId>)> {
    let lanes = trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Device);
    let mut lanes: Vec<_> = lanes.map(|(id, lane)| (lane.key.process, lane.key.thread, id)).collect();
    lanes.sort();
    let of_device = lanes.chunk_by(|a, b| a.0 == b.0);
    of_device.map(|lanes| (lanes[0].0, lanes.iter().map(|l| l.2).collect())).collect()
}

/// What ran on one device.
#[derive(Default)]
pub(crate) struct Work {
    /// Its number; `None` if the file gives it none, or for several together.
    pub(crate) device: Option<i64>,
    /// Kernels but those of communication.
    pub(crate) kernels: Intervals,
    pub(crate) fills: Intervals,
    pub(crate) comm: Intervals,
    pub(crate) copies: Intervals,
    /// First start and last end, slices without length included.
    pub(crate) reach: Option<(Ns, Ns)>,
    pub(crate) slices: u64,
    /// Slices without a recorded launching call, whether they count or not.
    pub(crate) unlinked: u64,
}

impl Work {
    pub(crate) fn of_devices(trace: &Trace, options: &WorkOptions) -> Vec<Work> {
        let mut comm = Comm::new(trace, CommRule::ByName);
        let devices = device_lanes(trace).into_iter();
        let works = devices.map(|(device, lanes)| Work::of_lanes(trace, options, &mut comm, device, &lanes));
        works.filter(|work| work.slices + work.unlinked > 0).collect()
    }

    fn of_lanes(
        trace: &Trace,
        options: &WorkOptions,
        comm: &mut Comm<'_>,
        device: Tag,
        lanes: &[LaneId],
    ) -> Work {
        let slices = trace.slices();
        let mut work = Work { device: device.as_int(), ..Work::default() };
        let [mut kernels, mut fills, mut comms, mut copies]: [Collector; 4] = Default::default();
        for id in lanes.iter().flat_map(|&lane| slices.of_lane(lane)) {
            let kind = slices.kind(id);
            if !kind.is_device_work() || !options.selection.contains(trace, id) {
                continue;
            }
            let linked = trace.links().launch(id).is_some();
            work.unlinked += u64::from(!linked);
            if options.linked_only && !linked {
                continue;
            }
            let (start, end) = (slices.start(id), slices.end(id));
            work.slices += 1;
            work.reach = Some(work.reach.map_or((start, end), |(a, b)| (a.min(start), b.max(end))));
            match kind {
                Kind::Memcpy => copies.add(start, end),
                Kind::Memset => fills.add(start, end),
                _ if comm.kernel(id) => comms.add(start, end),
                _ => kernels.add(start, end),
            }
        }
        (work.kernels, work.fills) = (kernels.finish(), fills.finish());
        (work.comm, work.copies) = (comms.finish(), copies.finish());
        work
    }

    /// Several devices as if they were one.
    pub(crate) fn together(devices: &[Work]) -> Work {
        let join = |part: fn(&Work) -> &Intervals| {
            Intervals::union(devices.iter().flat_map(|w| part(w).as_slice().iter().copied()).collect())
        };
        let reaches = devices.iter().filter_map(|w| w.reach);
        Work {
            device: None,
            kernels: join(|w| &w.kernels),
            fills: join(|w| &w.fills),
            comm: join(|w| &w.comm),
            copies: join(|w| &w.copies),
            reach: reaches.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
            slices: devices.iter().map(|w| w.slices).sum(),
            unlinked: devices.iter().map(|w| w.unlinked).sum(),
        }
    }
}
