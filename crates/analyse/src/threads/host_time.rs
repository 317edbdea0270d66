//! What every host thread was doing at every moment.
//!
//! Each thread's recording is cut into segments that follow each other without holes: a segment belongs to the
//! innermost slice open then, or to none. Runtime calls are one segment whatever they call inside. PyTorch runs
//! the backward pass on a thread of its own while the main thread waits in `backward()`; [`HostTime::doing`]
//! follows the work from one to the other, so that a question about "the host" has one answer at every moment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Domain, Kind, LaneId, Ns, SliceId, Trace};

use crate::names::by_name::ByName;
use crate::names::comm::is_comm_range;
use crate::names::framework::{is_fetching_thread, is_input_thread};
use crate::names::ranges::{is_backward_node, step_number};
use crate::threads::activity::{Activities, Activity};
use crate::threads::device_backpressure;
use crate::threads::sampled::SampleLanes;

pub use crate::threads::segment::Segment;

/// Every host thread's time. A copy shares all of it.
#[derive(Clone, Debug, Default)]
pub struct HostTime {
    /// All threads' segments, lane by lane; shared with the replay, which walks them too.
    segments: Arc<Vec<Segment>>,
    /// By lane; empty for devices and for threads without host slices.
    ranges: Arc<Vec<Range<usize>>>,
    main: Option<LaneId>,
    /// In order.
    backward: Arc<Vec<LaneId>>,
    /// Main and backward threads as one; empty without the latter.
    relay: Arc<Vec<Segment>>,
    /// What the threads of `backward` are, where they are not those of PyTorch's backward pass.
    workers: Option<Workers>,
    /// Runtime calls that stand on another lane than their operator, with the operator's.
    homes: Arc<HomeLanes>,
}

type HomeLanes = HashMap<SliceId, LaneId, RandomState>;

impl HostTime {
    /// Cuts the time of all host threads.
    pub fn new(trace: &Trace) -> HostTime {
        let mut host = HostTime::default();
        let mut segments = Vec::new();
        let mut activities = Activities::new(trace);
        let guests = guests(trace);
        host.homes = Arc::new(guests.iter().map(|&(lane, _, id)| (id, lane)).collect());
        let mut ranges = Vec::new();
        for (lane, info) in trace.lanes().iter() {
            let from = segments.len();
            if info.key.domain == Domain::Host {
                let first = guests.partition_point(|g| g.0 < lane);
                let of_lane = &guests[first..guests.partition_point(|g| g.0 <= lane)];
                cut(&host.homes, trace, lane, of_lane, &mut activities, &mut segments);
            }
            ranges.push(from..segments.len());
        }
        let (segments, ranges) = device_backpressure::correct_segments(trace, segments, ranges);
        (host.segments, host.ranges) = (Arc::new(segments), Arc::new(ranges));
        let (main, backward) = match trace.meta().framework {
            Some(_) => with_workers(trace),
            None => roles(trace),
        };
        host.workers = trace.meta().framework.as_ref().map(|_| Workers::in_trace(trace));
        (host.main, host.backward) = (main, Arc::new(backward));
        host.overlay_communication(trace);
        host.fill_with_samples(trace);
        host.relay = Arc::new(host.relay());
        host
    }

    /// A backward thread on which nothing is recorded while another thread of the process communicates waits for
    /// it: that is how the reduction of gradients looks when a library does it on threads of its own. So does a main
    /// thread with nothing but its step, in a trace without devices: a heuristic, since Python that was not recorded looks
    /// the same.
    fn overlay_communication(&mut self, trace: &Trace) {
        let slices = trace.slices();
        let on_host = trace.lanes().iter().all(|(_, lane)| lane.key.domain == Domain::Host);
        let main = self.main.filter(|_| on_host);
        if self.backward.is_empty() && main.is_none() {
            return;
        }
        let mut is_step = ByName::new(trace, |name| step_number(name).is_some());
        let mut only_step = |segment: &Segment| {
            segment.activity == Activity::Python
                && segment
                    .slice
                    .is_some_and(|id| slices.kind(id) == Kind::HostAnnotation && is_step.get(slices.name(id)))
        };
        let mut is_comm = ByName::new(trace, is_comm_range);
        let mut ranges: Vec<(Ns, Ns, SliceId)> = Vec::new();
        for (lane, info) in trace.lanes().iter() {
            if info.key.domain == Domain::Device || self.runs_the_program(lane) {
                continue;
            }
            let host = slices.of_lane(lane).filter(|&id| slices.kind(id).is_host());
            let comm = host.filter(|&id| is_comm.get(slices.name(id)));
            ranges.extend(comm.map(|id| (slices.start(id), slices.end(id), id)));
        }
        if ranges.is_empty() {
            return;
        }
        ranges.sort();
        // Disjoint from here on: what overlaps an earlier range keeps only what sticks out.
        let mut reach = Ns::MIN;
        for range in &mut ranges {
            range.0 = range.0.max(reach);
            reach = reach.max(range.1);
        }
        ranges.retain(|r| r.0 < r.1);
        let mut all = Vec::with_capacity(self.segments.len() + ranges.len());
        let mut moved = Vec::with_capacity(self.ranges.len());
        for (lane, range) in self.ranges.iter().enumerate() {
            let from = all.len();
            let waits = self.backward.binary_search_by_key(&lane, |b| b.index()).is_ok();
            for &segment in &self.segments[range.clone()] {
                let alone = main.is_some_and(|main| main.index() == lane) && only_step(&segment);
                if alone || waits && segment.activity == Activity::Unrecorded {
                    split_at(segment, &ranges, &mut all);
                } else {
                    all.push(segment);
                }
            }
            moved.push(from..all.len());
        }
        (self.segments, self.ranges) = (Arc::new(all), Arc::new(moved));
    }

    /// Where nothing was recorded on a thread, what a sampler saw of it meanwhile.
    fn fill_with_samples(&mut self, trace: &Trace) {
        let sampled = SampleLanes::new(trace);
        if sampled.is_empty() {
            return;
        }
        let mut all = Vec::with_capacity(self.segments.len());
        let mut moved = Vec::with_capacity(self.ranges.len());
        for (lane, _) in trace.lanes().iter() {
            let (from, own) = (all.len(), self.of_lane(lane));
            match sampled.samples_of(lane).map(|samples| self.of_lane(samples)) {
                Some(seen) if !own.is_empty() => {
                    let seen: Vec<Segment> =
                        seen.iter().filter(|s| s.activity != Activity::Unrecorded).copied().collect();
                    let nothing = |own: &Segment| own.activity == Activity::Unrecorded;
                    fill(&widened(own, &seen), &seen, nothing, &mut all);
                }
                _ => all.extend_from_slice(own),
            }
            moved.push(from..all.len());
        }
        (self.segments, self.ranges) = (Arc::new(all), Arc::new(moved));
    }

    /// The thread that runs the program: the one with the steps, else the one with most operators.
    pub fn main(&self) -> Option<LaneId> {
        self.main
    }

    /// The threads of the backward pass, where they are not the main one.
    pub fn backward(&self) -> &[LaneId] {
        &self.backward
    }

    pub(crate) fn segments(&self) -> Arc<Vec<Segment>> {
        self.segments.clone()
    }

    /// Where a thread's segments stand among all.
    pub(crate) fn range(&self, lane: LaneId) -> Range<usize> {
        self.ranges.get(lane.index()).cloned().unwrap_or_default()
    }

    /// Whether a thread is the main one or one of the backward pass.
    pub(crate) fn runs_the_program(&self, lane: LaneId) -> bool {
        Some(lane) == self.main || self.backward.binary_search(&lane).is_ok()
    }

    /// The lane of the thread that made a call. With stacks recorded, files may name a thread differently for its
    /// calls than for its operators: the operator decides.
    pub fn home(&self, trace: &Trace, call: SliceId) -> LaneId {
        self.homes.get(&call).copied().unwrap_or_else(|| trace.slices().lane(call))
    }

    /// A thread's segments, from its first slice to the end of its last.
    pub fn of_lane(&self, lane: LaneId) -> &[Segment] {
        self.ranges.get(lane.index()).map_or(&[], |range| &self.segments[range.clone()])
    }

    /// The segment of a thread at a moment.
    pub(crate) fn at(&self, lane: LaneId, moment: Ns) -> Option<&Segment> {
        let segments = self.of_lane(lane);
        segments.get(segments.partition_point(|s| s.end <= moment)).filter(|s| s.start <= moment)
    }

    /// A thread's segments that touch a window.
    pub fn within(&self, lane: LaneId, window: (Ns, Ns)) -> &[Segment] {
        touching(self.of_lane(lane), window)
    }

    /// The same, each with its place among all segments.
    pub(crate) fn within_numbered(
        &self,
        lane: LaneId,
        window: (Ns, Ns),
    ) -> impl Iterator<Item = (usize, &Segment)> {
        let first = self.of_lane(lane).partition_point(|s| s.end <= window.0);
        (self.range(lane).start + first..).zip(self.within(lane, window))
    }

    /// What the host did as seen from a thread, in segments without holes: main and backward threads are one.
    pub(crate) fn timeline(&self, lane: LaneId) -> &[Segment] {
        if self.is_relayed(lane) { &self.relay } else { self.of_lane(lane) }
    }

    /// Whether a thread's timeline is that of the main and backward threads together.
    pub(crate) fn is_relayed(&self, lane: LaneId) -> bool {
        !self.relay.is_empty() && self.runs_the_program(lane)
    }

    /// The timeline of main and backward threads together; empty without the latter.
    pub(crate) fn relayed(&self) -> &[Segment] {
        &self.relay
    }

    /// What the host did in a window, as seen from the thread that launched the work which came next: pieces
    /// without holes or overlap that cover the window. Main and backward threads hand over to each other.
    pub fn doing(&self, lane: LaneId, window: (Ns, Ns), mut piece: impl FnMut(Segment)) {
        let segments = self.timeline(lane);
        let nothing = |start, end| Segment { start, end, slice: None, activity: Activity::Unrecorded };
        let mut at = window.0;
        for segment in touching(segments, window) {
            if at < segment.start {
                piece(nothing(at, segment.start));
            }
            let (start, end) = (segment.start.max(at), segment.end.min(window.1));
            if start < end {
                piece(Segment { start, end, ..*segment });
                at = end;
            }
        }
        if at < window.1 {
            piece(nothing(at, window.1));
        }
    }

    /// The main thread's time with that of the backward threads in place of its waiting: while one waits the other
    /// works, and the first thread with anything recorded answers.
    fn relay(&self) -> Vec<Segment> {
        let Some(main) = self.main.filter(|_| !self.backward.is_empty()) else { return Vec::new() };
        let beside = self.first_of_backward();
        let waits = |own: &Segment| match own.activity {
            Activity::Python | Activity::Unrecorded => true,
            Activity::Runtime | Activity::Synchronization => self.workers.is_some(),
            _ => false,
        };
        let mut relay = Vec::with_capacity(self.segments.len());
        // A program that is done launching waits for what it launched.
        fill(&widened(self.of_lane(main), &beside), &beside, waits, &mut relay);
        relay
    }

    /// What the first of the backward threads with anything recorded did, in order of time and without overlap.
    fn first_of_backward(&self) -> Vec<Segment> {
        let mut all: Vec<(Ns, usize, Segment)> = Vec::new();
        for (rank, &lane) in self.backward.iter().enumerate() {
            // What workers do between operators is waiting too.
            let counts = |s: &&Segment| match self.workers {
                Some(Workers::Compute) => {
                    use Activity::{Communication, DataLoading, Operator};
                    matches!(s.activity, Operator | Communication | DataLoading)
                }
                _ => s.activity != Activity::Unrecorded,
            };
            let recorded = self.of_lane(lane).iter().filter(counts);
            all.extend(recorded.map(|s| (s.start, rank, *s)));
        }
        if self.backward.len() < 2 {
            return all.into_iter().map(|s| s.2).collect();
        }
        all.sort_by_key(|s| (s.0, s.1));
        let mut first: Vec<Segment> = Vec::with_capacity(all.len());
        // Segments open now, the first thread's on top.
        let mut open: BinaryHeap<Reverse<(usize, usize)>> = BinaryHeap::new();
        let (mut next, mut at) = (0, Ns::MIN);
        loop {
            while open.peek().is_some_and(|o| all[o.0.1].2.end <= at) {
                open.pop();
            }
            if open.is_empty() {
                let Some(upcoming) = all.get(next) else { break };
                at = at.max(upcoming.0);
            }
            while let Some(begun) = all.get(next).filter(|s| s.0 <= at) {
                open.push(Reverse((begun.1, next)));
                next += 1;
            }
            let Some(segment) = open.peek().map(|o| all[o.0.1].2).filter(|s| s.end > at) else { continue };
            let until = all.get(next).map_or(segment.end, |s| s.0.min(segment.end));
            match first.last_mut() {
                // Another thread began, which changes nothing.
                Some(last) if last.end == at && last.slice == segment.slice => last.end = until,
                _ => first.push(Segment { start: at, end: until, ..segment }),
            }
            at = until;
        }
        first
    }
}

/// A thread's segments, and nothing recorded before and after them as long as there is something beside them.
fn widened(own: &[Segment], beside: &[Segment]) -> Vec<Segment> {
    let nothing = |start, end| Segment { start, end, slice: None, activity: Activity::Unrecorded };
    let before = beside.first().zip(own.first()).filter(|(other, own)| other.start < own.start);
    let after = beside.last().zip(own.last()).filter(|(other, own)| other.end > own.end);
    let before = before.map(|(other, own)| nothing(other.start, own.start));
    let after = after.map(|(other, own)| nothing(own.end, other.end));
    before.into_iter().chain(own.iter().copied()).chain(after).collect()
}

/// A thread's segments with those beside them, in order and without overlap, where its own give way.
fn fill(own: &[Segment], beside: &[Segment], gives_way: impl Fn(&Segment) -> bool, into: &mut Vec<Segment>) {
    let mut next = 0;
    for own in own {
        if !gives_way(own) {
            into.push(*own);
            continue;
        }
        let mut at = own.start;
        while at < own.end {
            while beside.get(next).is_some_and(|s| s.end <= at) {
                next += 1;
            }
            let (found, until) = match beside.get(next) {
                Some(s) if s.start <= at => (s, s.end.min(own.end)),
                Some(s) => (own, s.start.min(own.end)),
                None => (own, own.end),
            };
            into.push(Segment { start: at, end: until, ..*found });
            at = until;
        }
    }
}

fn touching(segments: &[Segment], window: (Ns, Ns)) -> &[Segment] {
    let from = segments.partition_point(|s| s.end <= window.0);
    let rest = &segments[from..];
    // Windows are short: looking ahead is cheaper than another search over all.
    let count = rest.iter().take_while(|s| s.start < window.1).count();
    &rest[..count]
}

/// Cuts a segment in which nothing was recorded along the ranges that went on elsewhere meanwhile.
fn split_at(segment: Segment, ranges: &[(Ns, Ns, SliceId)], into: &mut Vec<Segment>) {
    let mut at = segment.start;
    let mut rest = |from: Ns, to: Ns, slice: Option<SliceId>, activity: Activity| {
        if from < to {
            into.push(Segment { start: from, end: to, slice, activity });
        }
    };
    let from = ranges.partition_point(|r| r.1 <= segment.start);
    for &(start, end, id) in ranges[from..].iter().take_while(|r| r.0 < segment.end) {
        let (start, end) = (start.max(at), end.min(segment.end));
        if start < end {
            rest(at, start, segment.slice, segment.activity);
            rest(start, end, Some(id), Activity::Communication);
            at = end;
        }
    }
    rest(at, segment.end, segment.slice, segment.activity);
}

struct OpenSlice {
    end: Ns,
    slice: SliceId,
    activity: Activity,
    is_call: bool,
}

/// Calls whose operator is on another lane and encloses them: (its lane, start, call), in order.
fn guests(trace: &Trace) -> Vec<(LaneId, Ns, SliceId)> {
    let slices = trace.slices();
    let calls = slices.ids().filter(|&id| slices.kind(id).is_runtime());
    let moved = calls.filter_map(|call| {
        let op = trace.links().op(call)?;
        let lane = slices.lane(op);
        let inside = slices.start(op) <= slices.start(call) && slices.end(call) <= slices.end(op);
        (lane != slices.lane(call) && inside).then(|| (lane, slices.start(call), call))
    });
    let mut moved: Vec<_> = moved.collect();
    moved.sort_unstable();
    moved
}

/// Cuts one thread. The innermost slice is the one that began last of those still open, also where slices stick
/// out of each other.
fn cut(
    homes: &HomeLanes,
    trace: &Trace,
    lane: LaneId,
    guests: &[(LaneId, Ns, SliceId)],
    activities: &mut Activities<'_>,
    segments: &mut Vec<Segment>,
) {
    let slices = trace.slices();
    let mut own = slices.of_lane(lane).filter(|id| homes.is_empty() || !homes.contains_key(id)).peekable();
    let mut guests = guests.iter().map(|g| g.2).peekable();
    let merged = std::iter::from_fn(|| match (own.peek(), guests.peek()) {
        (Some(&a), Some(&b)) if slices.start(b) < slices.start(a) => guests.next(),
        (Some(_), _) => own.next(),
        (None, _) => guests.next(),
    });
    let mut open: Vec<OpenSlice> = Vec::new();
    let mut at: Option<Ns> = None;
    let mut push = |start: Ns, end: Ns, top: Option<&OpenSlice>| {
        if start < end {
            let (slice, activity) = top.map_or((None, Activity::Unrecorded), |o| (Some(o.slice), o.activity));
            segments.push(Segment { start, end, slice, activity });
        }
    };
    for id in merged {
        let kind = slices.kind(id);
        if !kind.is_host() {
            continue;
        }
        let (start, end) = (slices.start(id), slices.end(id));
        let mut from = at.unwrap_or(start);
        while let Some(top) = open.last() {
            if top.end > start {
                break;
            }
            push(from, top.end, Some(top));
            from = from.max(top.end);
            open.pop();
        }
        if open.last().is_some_and(|top| top.is_call) {
            // Inside of a runtime call everything is the call.
            at = Some(from);
            continue;
        }
        push(from, start, open.last());
        at = Some(from.max(start));
        let activity = activities.activity_of(id, open.last().map(|top| top.activity));
        open.push(OpenSlice { end, slice: id, activity, is_call: kind.is_runtime() });
    }
    let mut from = at.unwrap_or(Ns::ZERO);
    while let Some(top) = open.pop() {
        push(from, top.end, Some(&top));
        from = from.max(top.end);
    }
}

/// PyTorch has one such thread per device; any others only look like it.
const MAX_BACKWARD: usize = 64;

/// What threads do for the main one in programs of JAX and TensorFlow.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Workers {
    /// They run operators: there is no device.
    Compute,
    /// They hand work to devices.
    Launch,
}

impl Workers {
    fn in_trace(trace: &Trace) -> Workers {
        let on_host = trace.lanes().iter().all(|(_, lane)| lane.key.domain == Domain::Host);
        if on_host { Workers::Compute } else { Workers::Launch }
    }
}

/// The main thread of a program of JAX or TensorFlow, and the threads that work for it: those on which its operators run,
/// or, where they run on devices, those that hand them over.
fn with_workers(trace: &Trace) -> (Option<LaneId>, Vec<LaneId>) {
    let slices = trace.slices();
    let mut is_step = ByName::new(trace, |name| step_number(name).is_some());
    let mut best = None;
    let mut workers = Vec::new();
    let they = Workers::in_trace(trace);
    for (lane, info) in trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Host) {
        let (mut steps, mut python, mut calls, mut ops, mut launches) = (0u64, 0u64, 0u64, 0u64, 0u64);
        for id in slices.of_lane(lane) {
            match slices.kind(id) {
                Kind::HostAnnotation => steps += u64::from(is_step.get(slices.name(id))),
                Kind::PythonFunction => python += 1,
                Kind::FrameworkCall => calls += 1,
                Kind::HostOp => ops += 1,
                Kind::Runtime => launches += 1,
                _ => {}
            }
        }
        let thread = trace.text(info.thread_name);
        let works = if they == Workers::Compute { ops > 0 } else { launches > 0 };
        if works && !is_input_thread(thread) || is_fetching_thread(thread) {
            workers.push(lane);
        }
        let rank = (steps, python, thread.starts_with("python"), calls + ops, std::cmp::Reverse(lane));
        if steps + python + calls + ops > 0 && best.is_none_or(|(most, _)| rank > most) {
            best = Some((rank, lane));
        }
    }
    let main = best.map(|(_, lane)| lane);
    workers.retain(|&lane| Some(lane) != main);
    workers.truncate(MAX_WORKERS);
    (main, workers)
}

/// No machine runs more operators side by side.
const MAX_WORKERS: usize = 1024;

/// The main thread, and the threads of the backward pass in its process.
fn roles(trace: &Trace) -> (Option<LaneId>, Vec<LaneId>) {
    let slices = trace.slices();
    let mut is_step = ByName::new(trace, |name| step_number(name).is_some());
    let mut is_backward = ByName::new(trace, is_backward_node);
    let mut threads: Vec<(LaneId, u64, u64, bool)> = Vec::new();
    for (lane, info) in trace.lanes().iter() {
        if info.key.domain == Domain::Device {
            continue;
        }
        let (mut steps, mut ops, mut backward) = (0, 0, false);
        for id in slices.of_lane(lane) {
            match slices.kind(id) {
                Kind::HostAnnotation => steps += u64::from(is_step.get(slices.name(id))),
                Kind::HostOp => {
                    ops += 1;
                    steps += u64::from(is_step.get(slices.name(id)));
                    backward |= is_backward.get(slices.name(id));
                }
                Kind::PythonFunction | Kind::Runtime | Kind::Driver => {}
                _ => continue,
            }
        }
        threads.push((lane, steps, ops, backward));
    }
    // A thread of the backward pass is main only if there is no other: on a CPU the main thread runs both.
    let rank = |t: &&(LaneId, u64, u64, bool)| (t.1, !t.3, t.2, std::cmp::Reverse(t.0));
    let main = threads.iter().filter(|t| t.1 + t.2 > 0 || threads.len() == 1).max_by_key(rank).map(|t| t.0);
    let process = main.map(|lane| trace.lanes().get(lane).key.process);
    let backward = threads.iter().filter(|t| t.3 && Some(t.0) != main);
    let backward = backward.filter(|t| Some(trace.lanes().get(t.0).key.process) == process);
    (main, backward.map(|t| t.0).take(MAX_BACKWARD).collect())
}
