//! Puts the graph together.

use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{LaneId, Ns, SliceId, Trace};

use super::graph::{EdgeWork, GraphBuilder};
use super::recording::Recording;
use super::{Replay, StepNodes, device, host};
use crate::causes::waits::{Wait, WaitKind};
use crate::devices::streams::Stream;
use crate::steps::Steps;
use crate::threads::activity::Activity;
use crate::threads::host_time::HostTime;

pub(crate) fn build(
    trace: &Trace,
    steps: &Steps,
    host: &HostTime,
    streams: &[Stream],
    waits: &[Wait],
    recording: &Arc<Recording>,
) -> Replay {
    let origin = trace.extent().map_or(Ns::ZERO, |e| e.0);
    let mut graph = GraphBuilder::new(origin);
    let slices = trace.slices();
    let mut ties: Vec<(LaneId, Ns)> = Vec::new();
    let work = || streams.iter().flat_map(|s| &s.work);
    ties.extend(work().filter_map(|w| Some((host.home(trace, w.launch?), w.released))));
    if let Some(main) = host.main() {
        ties.extend(steps.runs_end.iter().map(|&(_, lane, at)| (lane, at)));
        ties.extend(steps.steps.iter().flat_map(|s| [(main, Ns(s.host_start_ns)), (main, Ns(s.host_end_ns))]));
    }
    let mut waiting = host::SyncCalls::default();
    let released: HashMap<SliceId, Ns, RandomState> =
        work().filter(|w| w.launched < w.released).filter_map(|w| Some((w.launch?, w.released))).collect();
    for wait in waits {
        let (start, end) = (slices.start(wait.call), slices.end(wait.call));
        let lane = host.home(trace, wait.call);
        ties.extend([(lane, start), (lane, end)]);
        // Before its own copy is handed over, a blocking call works: it fills the staging buffer.
        let own = released.get(&wait.call).filter(|_| wait.kind == WaitKind::BlockingCopy);
        let from = own.map_or(start, |&at| at.clamp(start, end));
        let to = wait.until.map_or(from, |w| slices.end(w).clamp(from, end));
        let waits = host::WaitingCall { from, to, end };
        waiting.insert(wait.call, waits);
        // A framework's function waits in what it calls first.
        let inner = host.at(lane, start).filter(|_| wait.kind == WaitKind::Result).and_then(|s| s.slice);
        waiting.extend(inner.map(|slice| (slice, waits)));
    }
    let wakes = host::wakes(trace, host);
    if let Some(main) = host.main() {
        ties.extend(wakes.iter().filter(|wake| !wake.main_waits).map(|wake| (main, wake.at)));
    }
    for (lane, _) in trace.lanes().iter() {
        let unknown = host.of_lane(lane).iter().filter(|s| s.activity == Activity::DeviceUnrecorded);
        ties.extend(unknown.flat_map(|s| [(lane, s.start), (lane, s.end)]));
    }
    ties.sort_unstable();
    let chains = host::add(&mut graph, trace, host, &waiting, &ties, &wakes);
    let nodes = device::add(&mut graph, trace, host, streams, &chains);
    for wait in waits {
        let (Some(work), Some((node, _))) =
            (wait.until, chains.at(&graph, host.home(trace, wait.call), slices.end(wait.call)))
        else {
            continue;
        };
        let Some((start, end)) = nodes.get(work) else { continue };
        // Clocks that disagree may end the work after the call: then its start has to do.
        let from = if graph.time(end) <= graph.time(node) { end } else { start };
        // A call that waits for room in the queue waits whatever else changes.
        let call = (wait.kind != WaitKind::FullQueue).then_some(wait.call);
        graph.measured(from, node, EdgeWork::Return, call);
    }
    wake_after_device(&mut graph, host, &chains, &nodes, streams, &wakes);
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
    for work in work() {
        let after = steps.steps.partition_point(|s| Ns(s.host_start_ns) <= work.launched);
        let Some(step) = after.checked_sub(1) else { continue };
        let inside =
            (work.launch.is_some() || steps.on_device) && work.launched < Ns(steps.steps[step].host_end_ns);
        if (inside || steps.synthetic)
            && let Some((_, end)) = nodes.get(work.slice)
        {
            ends.push((step as u32, end));
        }
    }
    for &(step, lane, at) in &steps.runs_end {
        ends.extend(chains.at(&graph, lane, at).map(|(node, _)| (step as u32, node)));
    }
    ends.sort_unstable();
    Replay {
        graph: graph.finish(host.segments(), recording.clone()),
        steps: step_nodes,
        ends,
        unchanged: OnceLock::new(),
    }
}

/// Ties threads that go on while the main one waits to the device work that ended last before. Without any, they go on so
/// long after the wait began.
fn wake_after_device(
    graph: &mut GraphBuilder,
    host: &HostTime,
    chains: &host::Chains,
    nodes: &device::Nodes,
    streams: &[Stream],
    wakes: &[host::Wake],
) {
    let Some(main) = host.main() else { return };
    let waited: Vec<&host::Wake> = wakes.iter().filter(|wake| wake.main_waits).collect();
    if waited.is_empty() {
        return;
    }
    let mut ends: Vec<(Ns, SliceId)> = streams.iter().flat_map(|s| &s.work).map(|w| (w.end, w.slice)).collect();
    ends.sort_unstable();
    for wake in waited {
        let (Some((from, offset)), Some((node, _))) =
            (chains.at(graph, main, wake.at), chains.at(graph, wake.lane, wake.at))
        else {
            continue;
        };
        let done = ends.partition_point(|e| e.0 <= wake.at);
        let work = done.checked_sub(1).map(|last| ends[last]).filter(|e| e.0 > wake.at - offset);
        match work.and_then(|(_, work)| nodes.get(work)) {
            Some((_, end)) => graph.measured(end, node, EdgeWork::Return, None),
            None => graph.edge(from, node, offset.0, EdgeWork::Handover, None),
        }
    }
}
