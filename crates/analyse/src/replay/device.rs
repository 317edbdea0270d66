//! Device work as nodes: each starts when its stream is free, its launch has arrived and what it depends on is done.

use stepscope_model::{Ns, SliceId, Trace};

use super::graph::{EdgeWork, GraphBuilder};
use super::host::Chains;
use crate::causes::cause::Cause;
use crate::devices::streams::{MAX_QUEUED_GAP, Stream, launch_latency};
use crate::devices::sync_events::SyncEvents;
use crate::threads::host_time::HostTime;

/// Ranks among nodes of the same moment: ends first, then the host, then starts, then ends of work without length.
const END_RANK: u8 = 0;
const START_RANK: u8 = 3;
const END_AT_START_RANK: u8 = 4;

/// Work of another stream that ended this shortly before is what was waited for.
const DEPENDENCY_WINDOW: Ns = Ns(20_000);

/// Start and end nodes of device work, by slice.
pub(super) struct Nodes(Vec<u32>);

impl Nodes {
    pub(super) fn get(&self, work: SliceId) -> Option<(u32, u32)> {
        // Both are made together; the origin is not the start of any work.
        let start = self.0.get(work.index()).copied().filter(|&node| node != GraphBuilder::ORIGIN)?;
        Some((start, start + 1))
    }
}

pub(super) fn add(
    graph: &mut GraphBuilder,
    trace: &Trace,
    host: &HostTime,
    streams: &[Stream],
    chains: &Chains,
) -> Nodes {
    let mut nodes = Nodes(vec![GraphBuilder::ORIGIN; trace.slices().len()]);
    for stream in streams {
        for work in &stream.work {
            let start = graph.node(work.start, START_RANK);
            let end = graph.node(work.end, if work.start == work.end { END_AT_START_RANK } else { END_RANK });
            graph.measured(start, end, EdgeWork::Device, Some(work.slice));
            nodes.0[work.slice.index()] = start;
        }
    }
    let latency = launch_latency(streams);
    let events = SyncEvents::find(trace, streams);
    let queued = queued_gap(streams);
    let ends = Ends::new(streams);
    for (at, stream) in streams.iter().enumerate() {
        for (i, work) in stream.work.iter().enumerate() {
            let Some((node, _)) = nodes.get(work.slice) else { continue };
            let before = i.checked_sub(1).map(|b| &stream.work[b]);
            let launch = work.launch.and_then(|l| chains.at(graph, host.home(trace, l), work.released));
            let since_launch = work.start - work.released;
            let since_before = before.map(|b| work.start - b.end);
            // Queued behind its stream, not launched late.
            let queued_up = before.is_some_and(|b| b.end >= work.released) || launch.is_none();
            let in_flight = since_launch <= latency + latency;
            let explained = match since_before {
                Some(gap) if queued_up => gap <= MAX_QUEUED_GAP || in_flight || launch.is_none(),
                _ => launch.is_some() && since_launch <= latency + MAX_QUEUED_GAP,
            };
            let recorded = events.dependency.get(&work.slice).copied();
            let recorded = recorded.filter(|&w| trace.slices().end(w) <= work.start);
            let awaited = if explained { None } else { recorded.or_else(|| ends.dependency(at, work.start)) };
            let launch_binds = !queued_up || (in_flight && since_before.is_some_and(|g| g > MAX_QUEUED_GAP));
            if let (Some(before), Some(gap)) = (before, since_before)
                && let Some((before_start, before_end)) = nodes.get(before.slice)
            {
                let binds = !launch_binds && awaited.is_none();
                let cause = if gap > MAX_QUEUED_GAP { Cause::Dependency } else { Cause::QueuedGap };
                if gap < Ns::ZERO {
                    // Overlap within a stream (programmatic launches): follows the start instead.
                    graph.measured(before_start, node, EdgeWork::Beside, Some(before.slice));
                } else {
                    let ns = if binds { gap } else { gap.min(queued) };
                    graph.edge(before_end, node, ns.0, EdgeWork::Idle(cause), Some(work.slice));
                }
            }
            if let Some((from, offset)) = launch {
                let binds = launch_binds && awaited.is_none();
                let ns = if binds { since_launch } else { since_launch.min(latency) };
                let ns = (ns.max(Ns::ZERO) + offset).0;
                graph.edge(from, node, ns, EdgeWork::Idle(Cause::LaunchLatency), Some(work.slice));
            }
            if let Some((_, end)) = recorded.filter(|_| awaited.is_none()).and_then(|w| nodes.get(w)) {
                // It did not hold this one up, but might if other things were faster.
                let ns = (work.start - graph.time(end)).min(queued).0;
                graph.edge(end, node, ns, EdgeWork::Idle(Cause::Dependency), Some(work.slice));
            }
            match awaited.and_then(|w| nodes.get(w)) {
                Some((_, end)) => {
                    graph.measured(end, node, EdgeWork::Idle(Cause::Dependency), Some(work.slice))
                }
                None if before.is_none() && launch.is_none() => {
                    graph.measured(GraphBuilder::ORIGIN, node, EdgeWork::Origin, Some(work.slice));
                }
                None => {}
            }
        }
    }
    nodes
}

/// What a device needs from one queued kernel to the next: the median of all such gaps, or 1 µs without any.
fn queued_gap(streams: &[Stream]) -> Ns {
    let mut gaps: Vec<i64> = Vec::new();
    for stream in streams {
        let pairs = stream.work.windows(2).filter(|w| w[0].end > w[1].released);
        gaps.extend(pairs.map(|w| (w[1].start - w[0].end).0).filter(|g| (0..=MAX_QUEUED_GAP.0).contains(g)));
    }
    let middle = gaps.len() / 2;
    if gaps.is_empty() { Ns(1_000) } else { Ns(*gaps.select_nth_unstable(middle).1) }
}

/// All work by its end, with the position of its stream.
struct Ends(Vec<(Ns, u32, SliceId)>);

impl Ends {
    fn new(streams: &[Stream]) -> Ends {
        let of_stream =
            |(i, s): (usize, &'_ Stream)| s.work.iter().map(|w| (w.end, i as u32, w.slice)).collect::<Vec<_>>();
        let mut ends: Vec<_> = streams.iter().enumerate().flat_map(of_stream).collect();
        ends.sort_unstable();
        Ends(ends)
    }

    /// The work of another stream that ended last by a moment, if shortly before.
    fn dependency(&self, own: usize, at: Ns) -> Option<SliceId> {
        let next = self.0.partition_point(|e| e.0 <= at);
        let shortly = self.0[..next].iter().rev().take_while(|e| at - e.0 <= DEPENDENCY_WINDOW);
        // The own stream may have ended many short kernels meanwhile; looking further would explain nothing.
        shortly.take(64).find(|e| e.1 as usize != own).map(|e| e.2)
    }
}
