//! Host threads as chains of nodes.

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{LaneId, Ns, SliceId, Trace};

use super::graph::{EdgeWork, GraphBuilder};
use crate::threads::activity::Activity;
use crate::threads::host_time::{HostTime, Segment};

/// Rank of a host node among nodes of the same moment: after ends of device work, before starts.
pub(super) const HOST_RANK: u8 = 1;
/// A thread that goes on after another.
const RESUMED_RANK: u8 = 2;

/// All threads' chains of nodes, by lane.
pub(super) struct Chains {
    of_lane: Vec<Option<Range<u32>>>,
}

impl Chains {
    /// A thread's last node at or before a moment, and how far before it is.
    pub(super) fn at(&self, graph: &GraphBuilder, lane: LaneId, at: Ns) -> Option<(u32, Ns)> {
        Some(graph.last_by(self.of_lane.get(lane.index())?.clone()?, at))
    }
}

/// A stretch in which the main thread waits for the backward pass.
struct Burst {
    /// Where the other thread begins: maybe a little before the main thread stops.
    begins: Ns,
    from: Ns,
    to: Ns,
    lane: LaneId,
}

/// A thread of a framework's own that goes on after a rest: someone gave it work.
pub(super) struct Wake {
    pub(super) lane: LaneId,
    pub(super) at: Ns,
    /// The main thread was waiting then, so it was not the one.
    pub(super) main_waits: bool,
}

/// Where the threads of JAX's and TensorFlow's runtimes go on after a rest, lane by lane. Other frameworks' threads are
/// known by what they do.
pub(super) fn wakes(trace: &Trace, host: &HostTime) -> Vec<Wake> {
    let Some(main) = host.main().filter(|_| trace.meta().framework.is_some()) else { return Vec::new() };
    let Some(began) = host.of_lane(main).first().map(|s| s.start) else { return Vec::new() };
    let lanes = trace.lanes().iter().map(|l| l.0).filter(|&lane| lane != main);
    let mut found = Vec::new();
    for lane in lanes {
        let mut resting = true;
        for segment in host.of_lane(lane) {
            let rests = segment.activity == Activity::Unrecorded;
            if resting && !rests && segment.start >= began {
                let main_waits = host.at(main, segment.start).is_some_and(|s| {
                    matches!(s.activity, Activity::Synchronization | Activity::DeviceUnrecorded)
                });
                found.push(Wake { lane, at: segment.start, main_waits });
            }
            resting = rests;
        }
    }
    found
}

/// Adds all host threads. A thread has a node wherever something ties to it: at the moments given by lane, in order, and
/// where threads hand over to each other.
pub(super) fn add(
    graph: &mut GraphBuilder,
    trace: &Trace,
    host: &HostTime,
    waits: &SyncCalls,
    ties: &[(LaneId, Ns)],
    wakes: &[Wake],
) -> Chains {
    let mut of_lane: Vec<Option<Range<u32>>> = Vec::new();
    of_lane.resize_with(trace.lanes().len(), || None);
    // Threads of other frameworks are woken, not called.
    let bursts = if trace.meta().framework.is_some() { Vec::new() } else { bursts(host) };
    // The main thread first: of nodes at the same moment the first comes first, and it calls the others.
    let others = trace.lanes().iter().map(|l| l.0).filter(|&lane| Some(lane) != host.main());
    for lane in host.main().into_iter().chain(others) {
        let segments = host.of_lane(lane);
        if segments.is_empty() {
            continue;
        }
        let is_main = Some(lane) == host.main();
        let of_thread: &[Burst] = if is_main || host.backward().contains(&lane) { &bursts } else { &[] };
        let own = || of_thread.iter().filter(move |b| b.lane == lane);
        let first = wakes.partition_point(|wake| wake.lane < lane);
        let wakes: Vec<Ns> = wakes[first..].iter().take_while(|w| w.lane == lane).map(|w| w.at).collect();
        let waiting: Vec<(Ns, Ns)> = match is_main {
            true => bursts.iter().map(|b| (b.from, b.to)).collect(),
            false if !wakes.is_empty() => rests(segments, wakes.iter().copied()),
            // The backward thread waits from the end of one pass to the start of the next.
            false => rests(segments, own().map(|burst| burst.begins)),
        };
        let from = ties.partition_point(|r| r.0 < lane);
        let mut moments: Vec<Ns> = ties[from..].iter().take_while(|r| r.0 == lane).map(|r| r.1).collect();
        moments.extend(waiting.iter().flat_map(|w| [w.0, w.1]));
        moments.extend(of_thread.iter().filter(|b| is_main || b.lane == lane).flat_map(|b| [b.begins, b.to]));
        moments.extend(&wakes);
        moments.sort_unstable();
        moments.dedup();
        let called =
            own().map(|b| b.begins).chain(wakes.iter().copied()).any(|begins| begins == segments[0].start);
        let chain = chain(graph, segments, host.range(lane).start, &moments, &waiting, waits);
        if !called {
            graph.measured(GraphBuilder::ORIGIN, chain.start, EdgeWork::Origin, None);
        }
        of_lane[lane.index()] = Some(chain);
    }
    let chains = Chains { of_lane };
    for burst in &bursts {
        hand_over(graph, host, &chains, burst);
    }
    for wake in wakes.iter().filter(|wake| !wake.main_waits) {
        let from = host.main().and_then(|main| chains.at(graph, main, wake.at));
        if let (Some((from, offset)), Some((to, _))) = (from, chains.at(graph, wake.lane, wake.at)) {
            graph.edge(from, to, offset.0, EdgeWork::Handover, None);
        }
    }
    chains
}

/// The part of a waiting call during which it waits, and where the call ends.
#[derive(Copy, Clone)]
pub(super) struct WaitingCall {
    pub(super) from: Ns,
    pub(super) to: Ns,
    pub(super) end: Ns,
}

pub(super) type SyncCalls = HashMap<SliceId, WaitingCall, RandomState>;

/// One thread: nodes at its start, at the moments inside of it, and at its end. `base` is where its segments stand among
/// all. The ends of waiting calls and of stretches of waiting are among the moments.
fn chain(
    graph: &mut GraphBuilder,
    segments: &[Segment],
    base: usize,
    moments: &[Ns],
    waiting: &[(Ns, Ns)],
    waits: &SyncCalls,
) -> Range<u32> {
    let (Some(start), Some(end)) = (segments.first().map(|s| s.start), segments.last().map(|s| s.end)) else {
        return 0..0;
    };
    let first = graph.node(start, HOST_RANK);
    let (mut node, mut at, mut segment, mut wait) = (first, start, 0, 0);
    let inside = moments.iter().copied().filter(|&m| start < m && m < end);
    for until in inside.chain([end]) {
        while segments.get(segment).is_some_and(|s| s.end <= at) {
            segment += 1;
        }
        while waiting.get(wait).is_some_and(|w| w.1 <= at) {
            wait += 1;
        }
        let Some(current) = segments.get(segment) else { break };
        let waits_for_thread = waiting.get(wait).is_some_and(|w| w.0 <= at && until <= w.1);
        let same = at == until;
        let next = graph.node(
            until,
            if waits_for_thread {
                RESUMED_RANK
            } else if same {
                graph.rank(node)
            } else {
                HOST_RANK
            },
        );
        let call = current.slice.and_then(|s| waits.get(&s)).filter(|call| until <= call.end);
        match call {
            // A thread that waits for another takes no time of its own; the other's nodes say how long.
            _ if waits_for_thread => graph.edge(node, next, 0, EdgeWork::Host(current.activity), current.slice),
            // No one knows what was waited for, so no one can take it away.
            _ if current.activity == Activity::DeviceUnrecorded => {
                graph.measured(node, next, EdgeWork::Host(current.activity), None);
            }
            Some(&WaitingCall { from, to, .. }) => {
                let waited = (to.min(until) - from.max(at)).max(Ns::ZERO);
                let own = (until - at - waited).0;
                graph.edge(node, next, own, EdgeWork::Host(current.activity), current.slice);
            }
            None => graph.thread(node, next, base + segment),
        }
        (node, at) = (next, until);
    }
    first..node + 1
}

/// Where the main thread is in Python while a thread of the backward pass, begun inside that stretch, works.
fn bursts(host: &HostTime) -> Vec<Burst> {
    let Some(main) = host.main() else { return Vec::new() };
    let mut found = Vec::new();
    for segment in host.of_lane(main) {
        if !matches!(segment.activity, Activity::Python | Activity::Unrecorded) {
            continue;
        }
        let window = (segment.start, segment.end);
        let of_lanes = host.backward().iter().filter_map(|&lane| {
            let mut work =
                host.within(lane, window).iter().filter(|s| s.activity != Activity::Unrecorded).peekable();
            let begins = work.peek()?.start;
            // One may close its last call a little after the other goes on.
            let (from, to) = (begins.max(window.0), work.last()?.end.min(window.1));
            (from < to).then_some(Burst { begins, from, to, lane })
        });
        // With a thread for each device the longest decides; the others run along.
        found.extend(of_lanes.max_by_key(|b| b.to));
    }
    found
}

/// The stretches of a thread that end where another calls it.
fn rests(segments: &[Segment], called: impl Iterator<Item = Ns>) -> Vec<(Ns, Ns)> {
    let mut found = Vec::new();
    for begins in called {
        let at = segments.partition_point(|s| s.start < begins);
        if let Some(rest) = at.checked_sub(1).and_then(|before| segments.get(before))
            && rest.activity == Activity::Unrecorded
        {
            found.push((rest.start, rest.end));
        }
    }
    found
}

fn hand_over(graph: &mut GraphBuilder, host: &HostTime, chains: &Chains, burst: &Burst) {
    let Some(main) = host.main() else { return };
    let mut tie = |from: LaneId, to: LaneId, at: Ns| {
        if let (Some((from, offset)), Some((to, _))) = (chains.at(graph, from, at), chains.at(graph, to, at)) {
            graph.edge(from, to, offset.0, EdgeWork::Handover, None);
        }
    };
    // Only a thread that rested before is woken; one that went on with its work is not.
    if rested(host, burst) {
        tie(main, burst.lane, burst.begins);
    }
    tie(burst.lane, main, burst.to);
}

/// Whether a backward thread did nothing before a stretch.
fn rested(host: &HostTime, burst: &Burst) -> bool {
    let segments = host.of_lane(burst.lane);
    let at = segments.partition_point(|s| s.start < burst.begins);
    at.checked_sub(1).and_then(|before| segments.get(before)).is_none_or(|s| s.activity == Activity::Unrecorded)
}
