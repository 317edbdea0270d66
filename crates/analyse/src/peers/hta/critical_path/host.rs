//! The edges of host threads: down and up the call stack, from one operator to the next, and along the lock of the
//! CUDA runtime.
//!
//! The stack is HTA's: every end closes what was opened last, whichever slice the end belongs to. On well nested
//! threads that is the call stack.

use stepscope_model::{Kind, LaneId, Ns, SliceId, Trace};

use super::super::loading::HtaTrace;
use super::graph::{Edge, EdgeKind, Graph};
use super::window::Clip;
use crate::names::by_name::ByName;

/// What the edges of host threads need to know of a name.
#[derive(Copy, Clone)]
struct NameTraits {
    /// Holds the runtime's lock: of such calls only one proceeds at a time.
    locks: bool,
    /// Waits for a device; the time in it is the device's.
    blocks: bool,
}

impl NameTraits {
    fn new(name: &str) -> NameTraits {
        NameTraits {
            locks: matches!(name, "cudaHostAlloc" | "cudaLaunchKernel" | "cudaMemcpyAsync"),
            blocks: matches!(
                name,
                "cudaDeviceSynchronize"
                    | "cudaStreamSynchronize"
                    | "cudaEventQuery"
                    | "cudaEventSynchronize"
                    | "cudaMemcpy"
                    | "cudaMemcpyAsync"
            ),
        }
    }
}

pub(super) fn connect(loaded: &HtaTrace<'_>, clip: &Clip, graph: &mut Graph) {
    let mut names = ByName::new(loaded.trace, NameTraits::new as fn(&str) -> NameTraits);
    let mut is = |id: SliceId| names.get(loaded.trace.slices().name(id));
    connect_lock(graph, |id| is(id).locks);
    for thread in threads(loaded, clip) {
        connect_thread(graph, thread, &mut is);
    }
}

/// Calls that hold the runtime's lock while others wait for it: who ends first is taken to have had it first.
fn connect_lock(graph: &mut Graph, mut locks: impl FnMut(SliceId) -> bool) {
    let holds = |n: &u32| locks(graph.nodes[*n as usize].slice);
    let mut nodes: Vec<u32> = (0..graph.nodes.len() as u32).filter(holds).collect();
    nodes.sort_by_key(|&n| graph.nodes[n as usize].at);
    let mut waiting: Vec<u32> = Vec::new();
    let mut last_end: Option<u32> = None;
    for node in nodes {
        let graph_node = graph.nodes[node as usize];
        if graph_node.is_start {
            waiting.push(node);
            last_end = None;
            continue;
        }
        while let Some(start) = waiting.pop() {
            if graph.nodes[start as usize].slice == graph_node.slice {
                graph.connect(start, node, EdgeKind::OperatorKernel, Some(graph_node.slice));
            } else {
                graph.connect(start, node, EdgeKind::Dependency, None);
            }
        }
        if let Some(end) = last_end {
            graph.connect(end, node, EdgeKind::Dependency, None);
        }
        last_end = Some(node);
    }
}

/// A slice of a thread with its times as loaded.
#[derive(Copy, Clone)]
struct TimedSlice {
    start: Ns,
    end: Ns,
    id: SliceId,
}

/// The slices of each thread, threads by number. The backward pass runs on a thread of its own while the forward
/// thread waits for it, so the two are one thread where each can be known.
fn threads(loaded: &HtaTrace<'_>, clip: &Clip) -> Vec<Vec<TimedSlice>> {
    let trace = loaded.trace;
    let slices = trace.slices();
    let forward = only_lane(trace, clip, "forward");
    let backward = only_lane(trace, clip, "autograd");
    let key = |lane: LaneId| trace.lanes().get(lane).key;
    let merged = |lane: LaneId| match (forward, backward) {
        (Some(f), Some(b)) if lane == b && key(f).process == key(b).process => f,
        _ => lane,
    };
    let mut lanes: Vec<Vec<TimedSlice>> = vec![Vec::new(); trace.lanes().len()];
    for &id in &clip.host {
        let timed = TimedSlice { start: loaded.start(id), end: loaded.end(id), id };
        lanes[merged(slices.lane(id)).index()].push(timed);
    }
    let mut threads: Vec<_> = trace.lanes().iter().zip(lanes).map(|((_, info), of)| (info.key, of)).collect();
    threads.sort_by_key(|(key, _)| (key.process, key.thread));
    threads.into_iter().map(|(_, of)| of).filter(|of| !of.is_empty()).collect()
}

/// The one thread that has operators or ranges with this in their name.
fn only_lane(trace: &Trace, clip: &Clip, part: &str) -> Option<LaneId> {
    let slices = trace.slices();
    let mut names = ByName::new(trace, |name: &str| name.contains(part));
    let mut only = None;
    for &id in &clip.host {
        let counts = matches!(slices.kind(id), Kind::HostOp | Kind::HostAnnotation);
        if counts
            && names.get(slices.name(id))
            && only.replace(slices.lane(id)).is_some_and(|o| o != slices.lane(id))
        {
            return None;
        }
    }
    only
}

fn connect_thread(graph: &mut Graph, mut slices: Vec<TimedSlice>, is: &mut impl FnMut(SliceId) -> NameTraits) {
    slices.sort_by_key(|s| (s.start, !s.end.0));
    let mut ends: Vec<Ns> = slices.iter().map(|s| s.end).collect();
    ends.sort_unstable();
    let mut walk = Walk { last: None, parent: None, depth: 0 };
    let mut open: Vec<(SliceId, Option<SliceId>)> = Vec::new();
    let mut ends = ends.into_iter().peekable();
    for slice in slices {
        // Every slice here has a length, so what ends when another starts is over before.
        while ends.next_if(|&end| end <= slice.start).is_some() {
            if let Some((id, parent)) = open.pop() {
                walk.exit(graph, id, parent, is);
            }
        }
        let parent = open.last().map(|o| o.0);
        walk.enter(graph, slice.id, parent, is);
        open.push((slice.id, parent));
    }
    while let Some((id, parent)) = open.pop() {
        walk.exit(graph, id, parent, is);
    }
}

/// Where a walk over the stacks of a thread is.
struct Walk {
    /// The node met last.
    last: Option<u32>,
    /// What encloses the slice of that node.
    parent: Option<SliceId>,
    /// How many slices with nodes are open.
    depth: u32,
}

impl Walk {
    fn enter(
        &mut self,
        graph: &mut Graph,
        id: SliceId,
        parent: Option<SliceId>,
        is: &mut impl FnMut(SliceId) -> NameTraits,
    ) {
        let Some((start, _)) = graph.nodes_of(id) else { return };
        if let Some(last) = self.last
            && !shares_lock(graph, last, start, is)
        {
            let from = graph.nodes[last as usize];
            if self.depth == 0 {
                graph.connect(last, start, EdgeKind::Dependency, None);
            } else {
                let slice = if from.is_start { Some(from.slice) } else { self.parent };
                graph.connect(last, start, EdgeKind::OperatorKernel, slice);
            }
        }
        (self.last, self.parent) = (Some(start), parent);
        self.depth += 1;
    }

    fn exit(
        &mut self,
        graph: &mut Graph,
        id: SliceId,
        parent: Option<SliceId>,
        is: &mut impl FnMut(SliceId) -> NameTraits,
    ) {
        let Some((_, end)) = graph.nodes_of(id) else { return };
        if let Some(last) = self.last
            && !shares_lock(graph, last, end, is)
        {
            let from = graph.nodes[last as usize];
            let weight = if is(id).blocks { Ns::ZERO } else { graph.at(end) - from.at };
            let slice = Some(if from.is_start { from.slice } else { id });
            graph.add(Edge { from: last, to: end, kind: EdgeKind::OperatorKernel, weight, slice });
        }
        (self.last, self.parent) = (Some(end), parent);
        self.depth -= 1;
    }
}

/// Whether two neighbors of a thread are joined along the lock already: both hold it, and they overlap.
fn shares_lock(graph: &Graph, first: u32, second: u32, is: &mut impl FnMut(SliceId) -> NameTraits) -> bool {
    let (first, second) = (graph.nodes[first as usize], graph.nodes[second as usize]);
    is(first.slice).locks && is(second.slice).locks && (first.is_start || !second.is_start)
}
