//! Why streams stood idle, by HTA's rule: the host was late, the next kernel followed at once, or neither.
//!
//! A gap is the time from the end of the kernel, copy or fill before on the same stream to the start of the next.
//! Where slices of a stream overlap, a gap is negative and lowers its sum, as in HTA; `overlap_ns` says by how much.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{LaneId, Ns, Trace};

use super::describe::Describe;
use super::loading::{HtaTrace, Loading};
use crate::devices::busy::device_lanes;
use crate::scope::definition::{Definition, definitions};

pub const DEFINITIONS: &[Definition] = definitions! {
    "host_wait", "Host wait (HTA)" =>
        "Gaps before work whose launching call started after the work before it had ended: the host came late.";
    "kernel_wait", "Kernel wait (HTA)" =>
        "Other gaps shorter than the threshold (30 microseconds by default): what starting one kernel after another takes.";
    "other", "Other (HTA)" => "All other gaps, for example waits for another stream.";
    "overlap_ns", "Overlap" =>
        "By how much negative gaps, from work that overlaps the work before it on its stream, lower the sums.";
};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct IdleOptions {
    /// What is done to the slices first.
    pub loading: Loading,
    /// Gaps shorter than this are `kernel_wait` unless the host was late. HTA's documentation says 30 ns, but the
    /// times it is compared with are microseconds.
    pub kernel_delay: Ns,
}

impl Default for IdleOptions {
    fn default() -> IdleOptions {
        IdleOptions { loading: Loading::default(), kernel_delay: Ns(30_000) }
    }
}

/// The gaps of one sort.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct IdlePart {
    pub idle_ns: i64,
    /// The single gaps, in nanoseconds.
    pub gaps: Describe,
}

/// The gaps of one stream.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct IdleRow {
    pub device: Option<i64>,
    pub stream: Option<i64>,
    /// Kernels, copies and memsets counted.
    pub slices: u64,
    /// The host came late.
    pub host_wait: IdlePart,
    /// The next kernel followed at once.
    pub kernel_wait: IdlePart,
    pub other: IdlePart,
    /// By how much overlaps lower the sums.
    pub overlap_ns: i64,
}

impl IdleRow {
    /// All gaps of the stream; HTA's ratios are of this.
    pub fn idle_ns(&self) -> i64 {
        [self.host_wait, self.kernel_wait, self.other].map(|part| Ns(part.idle_ns)).into_iter().sum::<Ns>().0
    }
}

/// HTA's idle time breakdown: a row per stream, devices and streams by number.
pub fn idle_breakdown(trace: &Trace, options: &IdleOptions) -> Vec<IdleRow> {
    let loaded = HtaTrace::new(trace, options.loading);
    let lanes = device_lanes(trace).into_iter().flat_map(|(_, lanes)| lanes);
    lanes.map(|lane| of_lane(&loaded, lane, options.kernel_delay)).filter(|row| row.slices > 0).collect()
}

fn of_lane(loaded: &HtaTrace<'_>, lane: LaneId, kernel_delay: Ns) -> IdleRow {
    let trace = loaded.trace;
    let key = trace.lanes().get(lane).key;
    let mut row = IdleRow { device: key.process.as_int(), stream: key.thread.as_int(), ..IdleRow::default() };
    let [mut host, mut kernel, mut other]: [Vec<Ns>; 3] = Default::default();
    let mut previous_end: Option<Ns> = None;
    let mut overlap = Ns::ZERO;
    for id in trace.slices().of_lane(lane) {
        if !trace.slices().kind(id).is_device_work() || !loaded.keeps(id) {
            continue;
        }
        row.slices += 1;
        if let Some(previous_end) = previous_end {
            let gap = loaded.start(id) - previous_end;
            let host_late = loaded.launch(id).is_some_and(|call| loaded.start(call) > previous_end);
            let part = match host_late {
                true => &mut host,
                false if gap < kernel_delay => &mut kernel,
                false => &mut other,
            };
            part.push(gap);
            overlap += (-gap).max(Ns::ZERO);
        }
        previous_end = Some(loaded.end(id));
    }
    row.overlap_ns = overlap.0;
    let part = |gaps: Vec<Ns>| IdlePart {
        idle_ns: gaps.iter().copied().sum::<Ns>().0,
        gaps: Describe::from_values(gaps.into_iter().map(|gap| gap.0).collect()),
    };
    (row.host_wait, row.kernel_wait, row.other) = (part(host), part(kernel), part(other));
    row
}
