//! What recording itself cost the host, and the run as it would have been without it.
//!
//! A heuristic, from the trace alone. Every recorded event costs the host some time: more on a slow host, more with shapes
//! and stacks. How slow the host is shows in view operators (`aten::view` and the like): they do nothing, so what they
//! take is recording and the speed of the host.
//!
//! The costs were fitted to 38 recordings of programs that wait for their host (PyTorch 2.11, CPython 3.12, one kind of
//! machine). On those the step without the profiler comes out within 15% in the median and 62% at worst; the profiled step
//! itself is 20% to 230% too long there.

use stepscope_model::{Kind, LaneId, Ns, SliceId, StrId, Trace};

use super::{HostPiece, Scenario};
use crate::threads::activity::Activity;
use crate::threads::host_time::HostTime;

/// Nanoseconds per event, on a host whose view operators take [`USUAL_VIEW_NS`].
pub(crate) const PER_OPERATOR_NS: f64 = 2_200.0;
pub(crate) const PER_SHAPE_NS: f64 = 450.0;
pub(crate) const PER_CALL_NS: f64 = 1_500.0;
/// A value that is read from a device ([`READING_OPS`]), on top: the way back takes longer while the device's work is recorded.
const PER_READ_NS: f64 = 15_000.0;
pub(crate) const PER_PYTHON_CALL_NS: f64 = 1_000.0;
pub(crate) const PER_ALLOCATION_NS: f64 = 300.0;
const USUAL_VIEW_NS: f64 = 1_000.0 / 1.64;

/// Operators that bring a value to the host and wait for it.
const READING_OPS: [&str; 2] = ["aten::_local_scalar_dense", "aten::nonzero"];

/// What a recorder that measured it says about the cost of recording one Python call, in nanoseconds.
pub(crate) const MEASURED_CALL_COST: &str = "python_call_cost_ns";

/// Operators that only describe a tensor anew.
const VIEW_OPS: [&str; 7] = [
    "aten::view",
    "aten::as_strided",
    "aten::detach",
    "aten::expand",
    "aten::slice",
    "aten::transpose",
    "aten::select",
];
/// Fewer do not say how fast the host is.
const MIN_VIEWS: usize = 16;
/// How far the host's speed may be from the usual. Recorders before 2022 give view operators tens of microseconds: such a
/// host is unlike any that the costs were fitted to, and says nothing.
const MIN_MAX_SPEED: (f64, f64) = (0.25, 4.0);
/// Recording takes at most this share of any piece of host time.
const MAX_SHARE: f64 = 0.9;
/// How far off the cost may be: savings and steps are given for this much less and this much more.
const UNCERTAINTY: f64 = 0.3;
/// The same where the trace does not say how fast the host is: anything from nothing to twice the cost.
const UNCERTAINTY_ELSEWHERE: f64 = 1.0;

#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Of each of the host's segments, all threads one after the other.
    of_segment: Vec<u32>,
    /// How many times as long as usual the host takes to record an event; 1 if the trace does not say.
    pub slowness: f64,
    known_host: bool,
    per_python_call: f64,
}

impl Recording {
    pub(crate) fn new(trace: &Trace, host: &HostTime) -> Recording {
        let segments = host.segments();
        let slowness = slowness(trace);
        let measured =
            trace.meta().extra(MEASURED_CALL_COST).and_then(|text| text.parse::<u32>().ok()).map(f64::from);
        let mut recording = Recording {
            of_segment: vec![0; segments.len()],
            slowness: slowness.unwrap_or(1.0),
            known_host: slowness.is_some() || measured.is_some(),
            per_python_call: measured.unwrap_or(slowness.unwrap_or(1.0) * PER_PYTHON_CALL_NS),
        };
        // What an event costs was measured with PyTorch's profiler; other frameworks' are unknown.
        if trace.meta().framework.is_some() {
            return recording;
        }
        let allocations = trace.allocations();
        let mut marks: Vec<(LaneId, Ns)> =
            allocations.ids().map(|id| (allocations.lane(id), allocations.at(id))).collect();
        marks.sort_unstable();
        let reads: Vec<StrId> = READING_OPS.iter().filter_map(|name| trace.strings().find(name)).collect();
        for (lane, _) in trace.lanes().iter() {
            let from = marks.partition_point(|mark| mark.0 < lane);
            let of_lane = marks[from..].iter().take_while(|mark| mark.0 == lane).map(|mark| mark.1);
            recording.charge(trace, host, lane, of_lane, &reads);
        }
        recording
    }

    /// Charges a thread's time with its events: each where it begins, and what does not fit there after it.
    fn charge(
        &mut self,
        trace: &Trace,
        host: &HostTime,
        lane: LaneId,
        marks: impl Iterator<Item = Ns>,
        reads: &[StrId],
    ) {
        let slices = trace.slices();
        let shapes = if trace.meta().options.record_shapes == Some(true) { PER_SHAPE_NS } else { 0.0 };
        let mut events = slices.of_lane(lane).peekable();
        let mut marks = marks.peekable();
        let mut owed = 0.0;
        let base = host.range(lane).start;
        for (at, segment) in host.of_lane(lane).iter().enumerate() {
            while let Some(id) = events.next_if(|&id| slices.start(id) < segment.end) {
                if slices.kind(id) == Kind::HostOp && reads.contains(&slices.name(id)) {
                    owed += PER_READ_NS;
                }
                owed += match slices.kind(id) {
                    Kind::HostOp => self.slowness * (PER_OPERATOR_NS + shapes),
                    Kind::HostAnnotation => self.slowness * PER_OPERATOR_NS,
                    Kind::Runtime | Kind::Driver => self.slowness * PER_CALL_NS,
                    Kind::PythonFunction => self.per_python_call,
                    _ => 0.0,
                };
            }
            while marks.next_if(|&mark| mark < segment.end).is_some() {
                owed += self.slowness * PER_ALLOCATION_NS;
            }
            if !is_slowed(segment.activity) {
                continue;
            }
            let room = (segment.end - segment.start).0 as f64 * MAX_SHARE;
            let paid = owed.min(room).min(f64::from(u32::MAX));
            owed -= paid;
            self.of_segment[base + at] = paid as u32;
        }
    }

    /// What recording took of a piece of a segment, which is so long in total.
    pub(crate) fn of_piece(&self, segment: usize, ns: i64, whole: i64) -> i64 {
        let all = self.of_segment.get(segment).copied().map_or(0, i64::from);
        if ns >= whole { all } else { (i128::from(all) * i128::from(ns) / i128::from(whole.max(1))) as i64 }
    }

    /// How far off the estimate may be, as a share of it: more where the host is unlike those it was fitted to.
    pub fn uncertainty(&self) -> f64 {
        if self.known_host { UNCERTAINTY } else { UNCERTAINTY_ELSEWHERE }
    }

    /// What recording took of all threads' time.
    pub fn total_ns(&self) -> i64 {
        self.of_segment.iter().map(|&ns| i64::from(ns)).sum()
    }
}

/// Whether recording takes time there: waiting takes as long as what is waited for.
fn is_slowed(activity: Activity) -> bool {
    use Activity::{Allocation, Communication, Launch, Operator, Python, Runtime, Unrecorded};
    matches!(activity, Operator | Python | Launch | Allocation | Runtime | Communication | Unrecorded)
}

/// How many times as long as usual this host takes to record an event.
fn slowness(trace: &Trace) -> Option<f64> {
    let slices = trace.slices();
    let names: Vec<_> = VIEW_OPS.iter().filter_map(|name| trace.strings().find(name)).collect();
    let is_leaf = |id: SliceId| {
        let next = id.index() + 1;
        next >= slices.len() || {
            let next = SliceId::from_index(next);
            slices.lane(next) != slices.lane(id) || slices.start(next) >= slices.end(id)
        }
    };
    let is_view =
        |&id: &SliceId| slices.kind(id) == Kind::HostOp && names.contains(&slices.name(id)) && is_leaf(id);
    let mut lengths: Vec<i64> = slices.ids().filter(is_view).map(|id| slices.dur(id).0).collect();
    if lengths.len() < MIN_VIEWS {
        return None;
    }
    let middle = lengths.len() / 2;
    let median = *lengths.select_nth_unstable(middle).1;
    let slowness = median as f64 / USUAL_VIEW_NS;
    (MIN_MAX_SPEED.0..=MIN_MAX_SPEED.1).contains(&slowness).then_some(slowness)
}

/// A change to the run as it is without the profiler.
pub struct WithoutProfiler<'a, S> {
    pub change: &'a S,
    /// How much of the estimated cost of recording is taken out.
    pub share: f64,
}

impl<S: Scenario> Scenario for WithoutProfiler<'_, S> {
    fn host(&self, piece: &HostPiece) -> i64 {
        // What is left after the change was recorded too, and in the same proportion.
        let left = self.change.host(piece);
        let share = piece.recording_ns as f64 * self.share / piece.ns.max(1) as f64;
        left - (left as f64 * share.min(MAX_SHARE)) as i64
    }

    fn device(&self, work: SliceId, ns: i64) -> i64 {
        self.change.device(work, ns)
    }

    fn waits(&self, call: SliceId) -> bool {
        self.change.waits(call)
    }

    fn latency(&self, work: SliceId, ns: i64) -> i64 {
        self.change.latency(work, ns)
    }
}
