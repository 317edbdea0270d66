//! What the device says about calls that take long: some wait for work that was not recorded, some set things up.
//!
//! A call that waits for the device while nothing recorded runs there waits for something else: work launched before the
//! recording began, or work that the profiler does not see. And a launch that takes milliseconds, of a kernel that was
//! never launched before, loads that kernel first; so does an operator that takes milliseconds before such a launch.

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::{Domain, Kind, LaneId, Ns, SliceId, StrId, Trace};

use crate::names::by_name::ByName;
use crate::names::calls::{is_allocation, is_launch};
use crate::names::comm::is_comm_range;
use crate::names::copies::{Direction, copy_name};
use crate::scope::intervals::{Collector, CumulativeSpans, Intervals};
use crate::threads::activity::Activity;
use crate::threads::segment::Segment;

/// A call returns within this time after the work that it waited for.
const MAX_RETURN: Ns = Ns(200_000);
/// JAX and TensorFlow bring a value back through threads of their own, which wake each other up one after the other.
const MAX_FRAMEWORK_RETURN: Ns = Ns(1_000_000);
/// No call that only hands over work or asks for an attribute takes this long.
const MAX_CALL: Ns = Ns(1_000_000);
/// Nor does any that gets or returns memory of a device.
const MAX_ALLOCATION: Ns = Ns(50_000_000);

/// An operator that takes long so often without launching anything new does so for another reason.
const MIN_REPEATS: usize = 2;

/// Cuts waits for unrecorded work out of threads' segments, and names calls that set something up. Gives back all segments
/// and where those of each lane stand.
pub(super) fn correct_segments(
    trace: &Trace,
    mut segments: Vec<Segment>,
    ranges: Vec<Range<usize>>,
) -> (Vec<Segment>, Vec<Range<usize>>) {
    let Some(device) = DeviceEvidence::new(trace, &segments) else { return (segments, ranges) };
    // Few segments are recorded otherwise, and of large traces another copy would be large.
    let mut cuts: Vec<(usize, Vec<Segment>)> = Vec::new();
    for (at, segment) in segments.iter_mut().enumerate() {
        match device.judge(trace, segment) {
            LongCall::AsRecorded => {}
            LongCall::FirstUse => segment.activity = Activity::FirstUse,
            LongCall::Waits => {
                let mut parts = Vec::new();
                device.cut(*segment, &mut parts);
                match parts[..] {
                    [whole] => *segment = whole,
                    _ => cuts.push((at, parts)),
                }
            }
        }
    }
    if cuts.is_empty() {
        return (segments, ranges);
    }
    let more: usize = cuts.iter().map(|(_, parts)| parts.len()).sum();
    let mut told = Vec::with_capacity(segments.len() + more);
    let mut cuts = cuts.into_iter().peekable();
    let ranges = ranges.into_iter().map(|range| {
        let from = told.len();
        for at in range {
            match cuts.next_if(|cut| cut.0 == at) {
                Some((_, parts)) => told.extend(parts),
                None => told.push(segments[at]),
            }
        }
        from..told.len()
    });
    let ranges = ranges.collect();
    (told, ranges)
}

/// What explains from the host's side why a device is stalled: memory of the host or a device is allocated, for which
/// the driver stops everything, or ranks talk through the host.
pub(crate) struct HostStalls {
    allocating: CumulativeSpans,
    communicating: CumulativeSpans,
}

impl HostStalls {
    pub(crate) fn new(trace: &Trace) -> HostStalls {
        let slices = trace.slices();
        let (mut allocating, mut communicating) = (Collector::default(), Collector::default());
        let mut allocates = ByName::new(trace, is_allocation);
        let mut communicates = ByName::new(trace, is_comm_range);
        for id in slices.ids().filter(|&id| slices.dur(id) > MAX_RETURN) {
            let name = slices.name(id);
            match slices.kind(id) {
                kind if kind.is_runtime() && allocates.get(name) => &mut allocating,
                Kind::HostOp | Kind::HostAnnotation if communicates.get(name) => &mut communicating,
                _ => continue,
            }
            .add(slices.start(id), slices.end(id));
        }
        HostStalls {
            allocating: allocating.finish().measured(),
            communicating: communicating.finish().measured(),
        }
    }

    /// What went on during most of a stretch.
    pub(crate) fn during(&self, stretch: (Ns, Ns)) -> Option<Activity> {
        let most =
            |set: &CumulativeSpans| set.length_in(stretch).0.saturating_mul(2) > (stretch.1 - stretch.0).0;
        if most(&self.allocating) {
            Some(Activity::Allocation)
        } else {
            most(&self.communicating).then_some(Activity::Communication)
        }
    }
}

/// What the device did, as far as long calls of the host are concerned.
struct DeviceEvidence {
    busy: Intervals,
    elsewhere: HostStalls,
    /// How long the device may be idle in a wait for recorded work.
    max_return: Ns,
    /// Operators that took long before they launched something for the first time.
    first_operators: HashSet<SliceId, RandomState>,
    /// Long calls that bring data back.
    bring_back: HashSet<SliceId, RandomState>,
    /// Long calls that launch what was launched before or not at all, or whole graphs.
    known: HashSet<SliceId, RandomState>,
}

enum LongCall {
    AsRecorded,
    Waits,
    FirstUse,
}

impl DeviceEvidence {
    /// None if there is no call long enough to ask about.
    fn new(trace: &Trace, segments: &[Segment]) -> Option<DeviceEvidence> {
        let slices = trace.slices();
        let long: HashSet<SliceId, RandomState> =
            segments.iter().filter(|s| is_long(s)).filter_map(|s| s.slice).collect();
        if long.is_empty() {
            return None;
        }
        let mut busy = Collector::default();
        let mut first_launch: HashMap<StrId, Ns, RandomState> = HashMap::default();
        let mut launched: Vec<(SliceId, StrId)> = Vec::new();
        for (lane, info) in trace.lanes().iter() {
            if info.key.domain != Domain::Device {
                continue;
            }
            for id in slices.of_lane(lane).filter(|&id| slices.kind(id).is_device_work()) {
                busy.add(slices.start(id), slices.end(id));
                let Some(call) = trace.links().launch(id) else { continue };
                let first = first_launch.entry(slices.name(id)).or_insert(Ns::MAX);
                *first = (*first).min(slices.start(call));
                if long.contains(&call) {
                    launched.push((call, slices.name(id)));
                }
            }
        }
        let mut brings_back = ByName::new(trace, |name| copy_name(name).0 == Direction::DeviceToHost);
        let bring_back = launched.iter().filter(|(_, work)| brings_back.get(*work)).map(|l| l.0).collect();
        let again = |&&(call, work): &&(SliceId, StrId)| first_launch.get(&work) != Some(&slices.start(call));
        let mut known: HashSet<SliceId, RandomState> = launched.iter().filter(again).map(|l| l.0).collect();
        // Copies take as long as their bytes; graphs as long as their nodes; what launched nothing says nothing.
        let mut by_size = ByName::new(trace, |name| name.contains("Mem") || name.contains("Graph"));
        known.extend(long.iter().filter(|&&call| by_size.get(slices.name(call))));
        let first = first_launch.into_values().collect();
        let first_operators = first_operators(trace, segments, first);
        Some(DeviceEvidence {
            busy: busy.finish(),
            elsewhere: HostStalls::new(trace),
            max_return: if trace.meta().framework.is_some() { MAX_FRAMEWORK_RETURN } else { MAX_RETURN },
            first_operators,
            bring_back,
            known,
        })
    }

    fn judge(&self, trace: &Trace, segment: &Segment) -> LongCall {
        let Some(call) = segment.slice.filter(|_| is_long(segment)) else { return LongCall::AsRecorded };
        let ns = segment.end - segment.start;
        match segment.activity {
            // Programs that run on the host wait for their own threads.
            Activity::Synchronization
                if self.busy.as_slice().is_empty() && trace.meta().framework.is_some() =>
            {
                LongCall::AsRecorded
            }
            Activity::Synchronization => LongCall::Waits,
            Activity::Launch if self.bring_back.contains(&call) => LongCall::Waits,
            Activity::Launch if ns >= MAX_CALL && !self.known.contains(&call) => LongCall::FirstUse,
            Activity::Runtime if ns >= MAX_CALL && trace.slices().kind(call).is_runtime() => LongCall::FirstUse,
            Activity::Operator if self.first_operators.contains(&call) => LongCall::FirstUse,
            Activity::Allocation if ns >= MAX_ALLOCATION && !trace.name(call).contains("Host") => {
                LongCall::FirstUse
            }
            _ => LongCall::AsRecorded,
        }
    }

    /// Cuts a wait: stretches in which nothing was recorded on any device, if they are long.
    fn cut(&self, wait: Segment, told: &mut Vec<Segment>) {
        let mut at = wait.start;
        let mut push = |start: Ns, end: Ns, activity: Activity| {
            if start < end {
                told.push(Segment { start, end, activity, ..wait });
            }
        };
        let busy = self.busy.as_slice();
        let first = busy.partition_point(|b| b.1 <= wait.start);
        let mut dry_since = wait.start;
        let inside = busy[first..].iter().copied().take_while(|b| b.0 < wait.end);
        for (start, end) in inside.chain([(wait.end, wait.end)]) {
            if start - dry_since > self.max_return && self.elsewhere.during((dry_since, start)).is_none() {
                push(at, dry_since, wait.activity);
                push(dry_since, start, Activity::DeviceUnrecorded);
                at = start;
            }
            dry_since = dry_since.max(end);
        }
        push(at, wait.end, wait.activity);
    }
}

/// Whether a call is long enough for the device to have something to say about it.
fn is_long(segment: &Segment) -> bool {
    use Activity::{Allocation, Launch, Operator, Runtime, Synchronization};
    let least = if segment.activity == Operator { MAX_CALL } else { MAX_RETURN };
    matches!(segment.activity, Synchronization | Launch | Runtime | Allocation | Operator)
        && segment.end - segment.start > least
}

/// Operators that took long and then, before their caller returned, launched a kernel for the first time. `first` is when
/// kernels were launched for the first time.
fn first_operators(
    trace: &Trace,
    segments: &[Segment],
    first: HashSet<Ns, RandomState>,
) -> HashSet<SliceId, RandomState> {
    let slices = trace.slices();
    let long = segments.iter().filter(|s| s.activity == Activity::Operator && is_long(s));
    let mut found: HashSet<SliceId, RandomState> = HashSet::default();
    let mut later: HashMap<StrId, usize, RandomState> = HashMap::default();
    // Segments come lane by lane, so each lane's launches are looked for once.
    let mut of_lane: (Option<LaneId>, Vec<Ns>, Vec<(Ns, Ns)>) = (None, Vec::new(), Vec::new());
    for segment in long {
        let Some(op) = segment.slice else { continue };
        let lane = slices.lane(op);
        if of_lane.0 != Some(lane) {
            of_lane = (Some(lane), launches(trace, lane), outermost(trace, lane));
        }
        let next = of_lane.1.partition_point(|&at| at < segment.end);
        let around = of_lane.2.partition_point(|o| o.1 <= segment.start);
        if let (Some(&launch), Some(outer)) = (of_lane.1.get(next), of_lane.2.get(around))
            && launch < outer.1
            && first.contains(&launch)
        {
            found.insert(op);
        } else {
            *later.entry(slices.name(op)).or_default() += 1;
        }
    }
    // What takes as long time and again is not the first use.
    found.retain(|&op| later.get(&slices.name(op)).is_none_or(|&times| times < MIN_REPEATS));
    found
}

/// Where a thread's launches begin, in order.
fn launches(trace: &Trace, lane: LaneId) -> Vec<Ns> {
    let slices = trace.slices();
    let mut launches = ByName::new(trace, is_launch);
    let calls = slices.of_lane(lane).filter(|&id| slices.kind(id).is_runtime());
    calls.filter(|&id| launches.get(slices.name(id))).map(|id| slices.start(id)).collect()
}

/// A thread's operators that no other operator is around, in order.
fn outermost(trace: &Trace, lane: LaneId) -> Vec<(Ns, Ns)> {
    let slices = trace.slices();
    let mut found: Vec<(Ns, Ns)> = Vec::new();
    for id in slices.of_lane(lane).filter(|&id| slices.kind(id) == Kind::HostOp) {
        if found.last().is_none_or(|last| last.1 <= slices.start(id)) {
            found.push((slices.start(id), slices.end(id)));
        }
    }
    found
}
