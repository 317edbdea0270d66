//! Threads and streams, and how much is on each.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Domain, Order, Tag, Trace};

/// A thread or a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LaneInfo {
    /// Whether it is a device's stream.
    pub device: bool,
    /// Process, or device, as the file names it.
    pub process: String,
    pub process_name: String,
    /// Thread, or stream, as the file names it.
    pub thread: String,
    pub thread_name: String,
    /// Slices on it that belong there: a thread's calls, or a stream's work.
    pub slices: u64,
    /// Slices of other meanings (recording windows, unknown categories).
    pub other_slices: u64,
    pub points: u64,
    /// Earliest start of a slice.
    pub first_ns: Option<i64>,
    /// Latest end of a slice.
    pub last_ns: Option<i64>,
}

/// Every lane: host first, in order of process and thread.
pub(super) fn list(trace: &Trace) -> Vec<LaneInfo> {
    let slices = trace.slices();
    let mut points = vec![0u64; trace.lanes().len()];
    let counters = trace.counters();
    let counted =
        counters.rows().filter(|row| !row.joined).map(|row| counters.series()[row.series.index()].lane);
    let allocated = trace.allocations().ids().map(|id| trace.allocations().lane(id));
    for lane in trace.points().ids().map(|id| trace.points().lane(id)).chain(counted).chain(allocated) {
        if let Some(count) = points.get_mut(lane.index()) {
            *count += 1;
        }
    }
    let tag = |tag: Tag| match tag {
        Tag::Int(number) => number.to_string(),
        Tag::Str(text) => trace.text(text).to_owned(),
        Tag::None => String::new(),
    };
    let mut lanes: Vec<_> = trace.lanes().iter().collect();
    lanes.order_by_key(|(id, lane)| (lane.key, *id));
    lanes
        .into_iter()
        .map(|(id, lane)| {
            let device = lane.key.domain == Domain::Device;
            let mut info = LaneInfo {
                device,
                process: tag(lane.key.process),
                process_name: trace.text(lane.process_name).to_owned(),
                thread: tag(lane.key.thread),
                thread_name: trace.text(lane.thread_name).to_owned(),
                slices: 0,
                other_slices: 0,
                points: points[id.index()],
                first_ns: None,
                last_ns: None,
            };
            for slice in slices.of_lane(id) {
                let kind = slices.kind(slice);
                let belongs = if device { kind.is_device() } else { kind.is_host() };
                *if belongs { &mut info.slices } else { &mut info.other_slices } += 1;
                info.first_ns.get_or_insert(slices.start(slice).0);
                info.last_ns = info.last_ns.max(Some(slices.end(slice).0));
            }
            info
        })
        .collect()
}

/// How many host processes have calls.
pub(super) fn processes(lanes: &[LaneInfo]) -> u64 {
    let mut names: Vec<&str> =
        lanes.iter().filter(|l| !l.device && l.slices > 0).map(|l| l.process.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.len() as u64
}
