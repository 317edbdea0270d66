//! Puts the graph together.

use std::cell::OnceCell;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{LaneId, Ns, SliceId, Trace};

use super::graph::{GraphBuilder, What};
use super::{Replay, StepNodes, device, host};
use crate::host_time::HostTime;
use crate::steps::Steps;
use crate::streams::Stream;
use crate::waits::Wait;

pub(super) fn build(
    trace: &Trace,
    steps: &Steps,
    host: &HostTime,
    streams: &[Stream],
    waits: &[Wait],
) -> Replay {
    let origin = trace.extent().map_or(Ns::ZERO, |e| e.0);
    let work: usize = streams.iter().map(|s| s.work.len()).sum();
    let mut graph = GraphBuilder::new(origin, host.len() + 2 * work + trace.lanes().len());
    let waited: HashMap<SliceId, Wait, RandomState> = waits.iter().map(|w| (w.call, *w)).collect();
    let cuts: Vec<Ns> = steps.steps.iter().flat_map(|s| [Ns(s.host_start_ns), Ns(s.host_end_ns)]).collect();
    let mut releases: Vec<(LaneId, Ns)> = streams
        .iter()
        .flat_map(|s| &s.work)
        .filter_map(|w| {
            let call = w.launch?;
            let inside = w.launched < w.released && w.released < trace.slices().end(call);
            inside.then(|| (host.home(trace, call), w.released))
        })
        .collect();
    releases.sort_unstable();
    let chains = host::add(&mut graph, trace, host, &waited, &cuts, &releases);
    let nodes = device::add(&mut graph, trace, host, streams, &chains);
    let slices = trace.slices();
    for wait in waits {
        let (Some(work), Some((node, _))) =
            (wait.until, chains.at(&graph, host.home(trace, wait.call), slices.end(wait.call)))
        else {
            continue;
        };
        let Some((start, end)) = nodes.get(work) else { continue };
        // Clocks that disagree may end the work after the call: then its start has to do.
        let from = if graph.time(end) <= graph.time(node) { end } else { start };
        graph.measured(from, node, What::Return, Some(wait.call));
    }
    let step_nodes = steps.steps.iter().map(|step| {
        let at = |ns: i64| host.main().and_then(|main| chains.at(&graph, main, Ns(ns)));
        let fallback = |ns: i64| (GraphBuilder::ORIGIN, Ns(ns) - origin);
        StepNodes {
            number: step.step,
            partial: step.partial,
            measured: step.window(),
            host_start: at(step.host_start_ns).unwrap_or_else(|| fallback(step.host_start_ns)),
            host_end: at(step.host_end_ns).unwrap_or_else(|| fallback(step.host_end_ns)),
        }
    });
    let step_nodes: Vec<StepNodes> = step_nodes.collect();
    let mut ends: Vec<(u32, u32)> = Vec::new();
    for work in streams.iter().flat_map(|s| &s.work) {
        let after = steps.steps.partition_point(|s| Ns(s.host_start_ns) <= work.launched);
        let Some(step) = after.checked_sub(1) else { continue };
        let inside = work.launch.is_some() && work.launched < Ns(steps.steps[step].host_end_ns);
        if (inside || steps.synthetic)
            && let Some((_, end)) = nodes.get(work.slice)
        {
            ends.push((step as u32, end));
        }
    }
    ends.sort_unstable();
    Replay { graph: graph.finish(), steps: step_nodes, ends, unchanged: OnceCell::new() }
}
