//! Host threads as chains of nodes.

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{LaneId, Ns, SliceId, Trace};

use super::graph::{GraphBuilder, What};
use crate::activity::Activity;
use crate::host_time::{HostTime, Segment};
use crate::waits::Wait;

/// Rank of a host node among nodes of the same moment: after ends of device work, before starts.
pub(super) const HOST: u8 = 1;
/// A thread that goes on after another.
const RESUMED: u8 = 2;

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

/// Adds all host threads. `cuts` are moments of the main thread that need a node of their own, `releases` moments of
/// any, in order.
pub(super) fn add(
    graph: &mut GraphBuilder,
    trace: &Trace,
    host: &HostTime,
    waits: &HashMap<SliceId, Wait, RandomState>,
    cuts: &[Ns],
    releases: &[(LaneId, Ns)],
) -> Chains {
    let mut of_lane: Vec<Option<Range<u32>>> = Vec::new();
    of_lane.resize_with(trace.lanes().len(), || None);
    let bursts = bursts(host);
    let mut main_cuts: Vec<Ns> = cuts.to_vec();
    main_cuts.extend(bursts.iter().flat_map(|b| [b.from, b.to]));
    main_cuts.sort();
    main_cuts.dedup();
    // The main thread first: of nodes at the same moment the first comes first, and it calls the others.
    let others = trace.lanes().iter().map(|l| l.0).filter(|&lane| Some(lane) != host.main());
    for lane in host.main().into_iter().chain(others) {
        let segments = host.of_lane(lane);
        if segments.is_empty() {
            continue;
        }
        let is_main = Some(lane) == host.main();
        let from = releases.partition_point(|r| r.0 < lane);
        let mut cuts: Vec<Ns> = releases[from..].iter().take_while(|r| r.0 == lane).map(|r| r.1).collect();
        if is_main {
            cuts.extend(&main_cuts);
            cuts.sort();
        }
        cuts.dedup();
        let waiting: Vec<(Ns, Ns)> = match is_main {
            true => bursts.iter().map(|b| (b.from, b.to)).collect(),
            // The backward thread waits from the end of one pass to the start of the next.
            false => rests(segments, bursts.iter().filter(|b| b.lane == lane)),
        };
        let called = bursts.iter().any(|b| b.lane == lane && b.begins == segments[0].start);
        let chain = chain(graph, segments, &cuts, &waiting, waits);
        if !called {
            graph.measured(GraphBuilder::ORIGIN, chain.start, What::Origin, None);
        }
        of_lane[lane.index()] = Some(chain);
    }
    let chains = Chains { of_lane };
    for burst in &bursts {
        hand_over(graph, host, &chains, burst);
    }
    chains
}

fn chain(
    graph: &mut GraphBuilder,
    segments: &[Segment],
    cuts: &[Ns],
    waiting: &[(Ns, Ns)],
    waits: &HashMap<SliceId, Wait, RandomState>,
) -> Range<u32> {
    let mut node = graph.node(segments[0].start, HOST);
    let first = node;
    let mut next_cut = cuts.partition_point(|&c| c <= segments[0].start);
    let mut next_wait = 0;
    for segment in segments {
        let mut at = segment.start;
        while at < segment.end {
            let cut = cuts.get(next_cut).copied().filter(|&c| c < segment.end);
            next_cut += usize::from(cut.is_some());
            let until = cut.unwrap_or(segment.end);
            while next_wait < waiting.len() && waiting[next_wait].1 <= at {
                next_wait += 1;
            }
            let waits_here = waiting.get(next_wait).is_some_and(|w| w.0 <= at && until <= w.1);
            // A thread that waits for another takes no time of its own; the other's nodes say how long.
            let own = match segment.slice.and_then(|s| waits.get(&s)) {
                _ if waits_here => 0,
                Some(wait) => (segment.end - segment.start).0 - wait.wait_ns,
                None => (until - at).0,
            };
            let rank = if graph.time(node) == until { graph.rank(node) } else { HOST };
            let rank = if waits_here { RESUMED } else { rank };
            let next = graph.node(until, rank);
            graph.edge(node, next, own.min((until - at).0).max(0), What::Host(segment.activity), segment.slice);
            (node, at) = (next, until);
        }
        // A cut at the very end of a segment is the start of the next.
        next_cut += usize::from(cuts.get(next_cut) == Some(&segment.end));
    }
    first..node + 1
}

/// Where the main thread stands in Python while a thread of the backward pass, begun inside that stretch, works.
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

/// The stretches of a backward thread that end where the main thread calls it.
fn rests<'a>(segments: &[Segment], bursts: impl Iterator<Item = &'a Burst>) -> Vec<(Ns, Ns)> {
    let mut found = Vec::new();
    for burst in bursts {
        let at = segments.partition_point(|s| s.start < burst.begins);
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
            graph.edge(from, to, offset.0, What::Handover, None);
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
