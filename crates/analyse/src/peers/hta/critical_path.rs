//! The critical path of a run by HTA's definition: the longest chain of host time, device time and delays in a
//! window, each waiting for the one before.
//!
//! The graph has a node for the start and the end of every operator, runtime or driver call, data-loading range and
//! piece of device work, and five kinds of edges ([`EdgeKind`]). Synchronization is known only from recorded events
//! (`cuda_sync`); without them the path is less sure ([`CriticalPath::has_sync_events`]). HTA sees one kernel of
//! each graph launch, here all count.

mod bound;
mod cuda_events;
mod device;
mod graph;
mod host;
mod longest;
mod no_path;
mod window;

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, Ns, SliceId, Trace};

use self::bound::is_data_loading;
use self::window::{Clip, window};
use super::loading::{HtaTrace, Loading};
use crate::names::by_name::ByName;
use crate::scope::definition::{Definition, definitions};

pub use self::bound::HtaBound;
pub use self::graph::{Edge, EdgeKind, Graph, Node};
pub use self::no_path::NoPath;

pub const DEFINITIONS: &[Definition] = definitions! {
    "critical_path", "Critical path (HTA)" =>
        "The longest way through a graph of the starts and ends of slices. Edges lead through operators, calls and device \
         work (weight: their time, but nothing for calls that wait for a device), from one operator of a thread to the \
         next and between calls that share the runtime's lock (no weight), from a launching call's start to its work where \
         the stream was idle, from the end of work to the next on the stream if it starts within 1.5 ms, and along \
         recorded synchronization (no weight).";
    "cpu_bound", "CPU (HTA)" => "Time of the path in operators and calls on the host.";
    "data_loading", "Data loading (HTA)" =>
        "Time of the path in host slices whose name contains one of the texts given for data loading.";
    "gpu_compute_bound", "GPU compute (HTA)" =>
        "Time of the path in kernels but those of communication, in copies and in memsets.";
    "gpu_communication_bound", "GPU communication (HTA)" =>
        "Time of the path in kernels whose name, without arguments, starts with nccl, hip or hccl or contains ncclKernel.";
    "gpu_kernel_kernel_overhead", "Kernel to kernel (HTA)" =>
        "Time of the path between the end of device work and the start of the next on its stream.";
    "gpu_kernel_launch_overhead", "Launch (HTA)" =>
        "Time of the path between the start of a launching call and the start of its work.";
    "unconnected", "Unconnected" =>
        "Kernels, copies and memsets of the window to which no edge leads: their call was not the one they waited for, and \
         no work before them ended within 1.5 ms.";
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathOptions {
    /// What is done to the slices first.
    pub loading: Loading,
    /// Part of the name of the ranges that are the window (`ProfilerStep`); empty for the whole trace.
    pub annotation: String,
    /// The first and the last of those ranges, from zero, in order of time.
    pub instances: (u32, u32),
    /// Host slices with one of these in their name are data loading.
    pub data_loading: Vec<String>,
    /// Add an edge without weight from every launching call to its work, so that work cannot be moved before its
    /// launch. HTA's `CRITICAL_PATH_ADD_ZERO_WEIGHT_LAUNCH_EDGE`.
    pub launch_always: bool,
}

/// The path's time in one sort of work.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BoundRow {
    /// What it is spent on.
    pub bound: HtaBound,
    /// Edges of the path.
    pub edges: u64,
    pub time_ns: i64,
    /// The same as a share of the path; `None` if that has no length.
    pub share: Option<f64>,
}

/// A critical path and the graph it is the longest way through.
#[derive(Clone, Debug)]
pub struct CriticalPath {
    /// The window searched; the whole trace is from [`Ns::MIN`] to [`Ns::MAX`].
    pub window: (Ns, Ns),
    /// All nodes and edges.
    pub graph: Graph,
    /// The path: positions of its edges, first to last.
    pub edges: Vec<u32>,
    /// What each of them is spent on.
    pub bounds: Vec<HtaBound>,
    /// The sum of their weights. Less than the longest length searched for where weights are negative.
    pub total_ns: i64,
    /// The path's time by what it is spent on, every sort in the order of [`HtaBound::ALL`].
    pub summary: Vec<BoundRow>,
    /// Edges of the graph with a negative weight, which the search takes as zero.
    pub negative_edges: u64,
    /// Kernels, copies and memsets to which nothing leads.
    pub unconnected: u64,
    /// Whether synchronization was recorded in the window.
    pub has_sync_events: bool,
}

impl CriticalPath {
    /// The nodes on the path, first to last.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        let edge = |&e: &u32| &self.graph.edges[e as usize];
        let first = self.edges.first().map(edge).map(|e| e.from);
        first
            .into_iter()
            .chain(self.edges.iter().map(edge).map(|e| e.to))
            .map(|n| &self.graph.nodes[n as usize])
    }

    /// The slices on the path, each once, in the order they are met.
    pub fn slices(&self) -> Vec<SliceId> {
        let mut seen: HashSet<SliceId, RandomState> = HashSet::default();
        self.nodes().map(|node| node.slice).filter(|&id| seen.insert(id)).collect()
    }
}

/// HTA's critical path of a window.
pub fn critical_path(trace: &Trace, options: &PathOptions) -> Result<CriticalPath, NoPath> {
    let loaded = HtaTrace::new(trace, options.loading);
    let window = window(&loaded, &options.annotation, options.instances)?;
    let clip = Clip::new(&loaded, window);
    let mut graph = nodes(&loaded, &clip, &options.data_loading);
    host::connect(&loaded, &clip, &mut graph);
    let unconnected = device::connect(&loaded, &clip, options.launch_always, &mut graph);
    if graph.edges.iter().any(|edge| syncs_one_stream(trace, &graph, edge)) {
        return Err(NoPath::SyncOnOneStream);
    }
    let edges = longest::longest(&graph).ok_or(NoPath::Circle)?;
    if edges.is_empty() {
        return Err(NoPath::NothingInWindow);
    }
    let on_path = || edges.iter().map(|&e| &graph.edges[e as usize]);
    let bounds = bound::bounds(trace, &options.data_loading, on_path());
    let total_ns = on_path().map(|edge| edge.weight).sum::<Ns>().0;
    let mut summary = HtaBound::ALL.map(|bound| BoundRow { bound, edges: 0, time_ns: 0, share: None }).to_vec();
    for (&bound, edge) in bounds.iter().zip(on_path()) {
        let row = &mut summary[bound as usize];
        row.edges += 1;
        row.time_ns = row.time_ns.saturating_add(edge.weight.0);
    }
    for row in &mut summary {
        row.share = (total_ns > 0).then(|| row.time_ns as f64 / total_ns as f64);
    }
    Ok(CriticalPath {
        window,
        negative_edges: graph.edges.iter().filter(|edge| edge.weight < Ns::ZERO).count() as u64,
        has_sync_events: !clip.syncs.is_empty(),
        graph,
        edges,
        bounds,
        total_ns,
        summary,
        unconnected,
    })
}

/// A graph without edges: operators, calls, data loading and device work.
fn nodes(loaded: &HtaTrace<'_>, clip: &Clip, data_loading: &[String]) -> Graph {
    let slices = loaded.trace.slices();
    let mut graph = Graph::new(slices.len(), clip.host.len() + clip.work.len());
    let mut loads = ByName::new(loaded.trace, |name: &str| is_data_loading(name, data_loading));
    let mut counts = |id: SliceId| {
        matches!(slices.kind(id), Kind::HostOp | Kind::Runtime | Kind::Driver) || loads.get(slices.name(id))
    };
    for &id in clip.host.iter().filter(|&&id| counts(id)).chain(&clip.work) {
        graph.add_slice(id, loaded.start(id), loaded.end(id));
    }
    graph
}

fn syncs_one_stream(trace: &Trace, graph: &Graph, edge: &Edge) -> bool {
    let [from, to] = [edge.from, edge.to].map(|node| graph.nodes[node as usize].slice);
    let slices = trace.slices();
    edge.kind == EdgeKind::SyncDependency
        && slices.kind(from).is_device()
        && slices.kind(to).is_device()
        && slices.lane(from) == slices.lane(to)
}
