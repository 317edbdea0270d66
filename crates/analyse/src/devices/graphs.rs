//! Captured graphs: how often each is replayed, what a replay takes, and which of its nodes take the time.
//!
//! A replay is everything on the devices that one graph-launching call launched. Producers that write which graph and node
//! a kernel is are believed; without that, replays of the same kernels count as one graph.

mod definitions;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Attr, Domain, Kind, Ns, Order, SliceId, StrId, Trace};

use crate::names::by_name::ByName;
use crate::names::calls::is_graph_launch;
use crate::scope::intervals::Intervals;
use crate::scope::quantile::quantile;
use crate::scope::selection::Selection;
use crate::scope::share::share;
use crate::steps::Steps;

pub use definitions::DEFINITIONS;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GraphRow {
    /// Its id, or a letter if the trace has none.
    pub graph: String,
    /// Whether that is the producer's id.
    pub recorded: bool,
    /// How often it was replayed.
    pub replays: u64,
    /// Kernels, copies and memsets of a replay, on average.
    pub nodes: f64,
    /// From the first node's start to the last one's end: the median.
    pub device_p50_ns: i64,
    /// The 95th percentile.
    pub device_p95_ns: i64,
    /// Time of all replays in which a node ran.
    pub busy_ns: i64,
    /// Its share of the steps.
    pub share: f64,
    /// Time of all replays in which no node ran.
    pub gap_ns: i64,
    /// Its share of all replays' time.
    pub gap_share: f64,
    /// The launching call on the host: the median.
    pub call_p50_ns: i64,
    pub call_ns: i64,
    /// The kernel that takes most of its time.
    pub longest: String,
}

/// A node of a graph, over all replays.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NodeRow {
    pub graph: String,
    /// Its place in the order of the first replay, from 1.
    pub node: u64,
    pub name: String,
    pub replays: u64,
    pub total_ns: i64,
    /// Its share of all nodes' time in its graph.
    pub share: f64,
    pub mean_ns: f64,
    pub p50_ns: i64,
    /// The 95th percentile.
    pub p95_ns: i64,
    pub max_ns: i64,
    /// How long nothing of the replay ran before it, on average.
    pub before_ns: f64,
}

/// The graphs of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Graphs {
    /// Graphs, those that take most first.
    pub graphs: Vec<GraphRow>,
    pub nodes: Vec<NodeRow>,
    /// Launching calls without any recorded work.
    pub calls_without_work: u64,
}

#[derive(PartialEq, Eq, Hash)]
enum GraphIdentity {
    /// The producer's id, and the device.
    Id(Option<i64>, i64),
    /// The names of its nodes, sorted.
    Names(Vec<StrId>),
}

/// A node within its graph: the producer's id, or a name and how many of that name came before.
type NodeKey = (Option<i64>, StrId, u32);

#[derive(Default)]
struct Graph {
    replays: u64,
    works: u64,
    spans: Vec<i64>,
    calls: Vec<i64>,
    busy: Ns,
    gap: Ns,
    /// Nodes in the order of the first replay that has them.
    nodes: Vec<Node>,
    places: HashMap<NodeKey, usize, RandomState>,
}

struct Node {
    name: StrId,
    durs: Vec<i64>,
    before: Ns,
}

/// Work of a launching call.
struct GraphWork {
    call: SliceId,
    start: Ns,
    work: SliceId,
}

/// The graphs whose launching calls are in a part of a trace.
pub fn graphs(trace: &Trace, steps: &Steps, selection: &Selection) -> Graphs {
    let slices = trace.slices();
    let mut is_graph = ByName::new(trace, is_graph_launch);
    let mut work: Vec<GraphWork> = Vec::new();
    for (lane, info) in trace.lanes().iter() {
        if info.key.domain != Domain::Device {
            continue;
        }
        for id in slices.of_lane(lane).filter(|&id| slices.kind(id).is_device_work()) {
            if let Some(call) = trace.links().launch(id)
                && is_graph.get(slices.name(call))
                && selection.contains(trace, id)
            {
                work.push(GraphWork { call, start: slices.start(id), work: id });
            }
        }
    }
    work.sort_by_key(|w| (slices.start(w.call), w.call, w.start, w.work));
    let mut found: HashMap<GraphIdentity, Graph, RandomState> = HashMap::default();
    let mut order: Vec<SliceId> = Vec::new();
    for replay in work.chunk_by(|a, b| a.call == b.call) {
        order.push(replay[0].call);
        found.entry(graph_identity(trace, replay)).or_default().add(trace, replay);
    }
    order.sort_unstable();
    let idle = |id: &SliceId| {
        slices.kind(*id) == Kind::Runtime
            && is_graph.get(slices.name(*id))
            && selection.contains(trace, *id)
            && order.binary_search(id).is_err()
    };
    let calls_without_work = slices.ids().filter(idle).count() as u64;
    let (graphs, nodes) = rows(trace, found, steps.wall_ns());
    Graphs { graphs, nodes, calls_without_work }
}

fn graph_identity(trace: &Trace, replay: &[GraphWork]) -> GraphIdentity {
    let recorded = |w: &GraphWork| trace.args(w.work).int(Attr::GraphId).filter(|&id| id != 0);
    if let Some(id) = replay.iter().find_map(recorded) {
        let lane = trace.slices().lane(replay[0].work);
        return GraphIdentity::Id(trace.lanes().get(lane).key.process.as_int(), id);
    }
    let mut names: Vec<StrId> = replay.iter().map(|w| trace.slices().name(w.work)).collect();
    // Nodes on several streams do not always start in the same order.
    names.sort_unstable();
    GraphIdentity::Names(names)
}

impl Graph {
    fn add(&mut self, trace: &Trace, replay: &[GraphWork]) {
        let slices = trace.slices();
        let parts: Vec<(Ns, Ns)> = replay.iter().map(|w| (w.start, slices.end(w.work))).collect();
        let end = parts.iter().map(|p| p.1).max().unwrap_or(replay[0].start);
        let span = end - replay[0].start;
        let busy = Intervals::union(parts).length();
        self.replays += 1;
        self.works += replay.len() as u64;
        self.spans.push(span.0);
        self.busy += busy;
        self.gap += span - busy;
        self.calls.push(slices.dur(replay[0].call).0);
        let mut seen: HashMap<(Option<i64>, StrId), u32, RandomState> = HashMap::default();
        let mut done = replay[0].start;
        for w in replay {
            let name = slices.name(w.work);
            let id = trace.args(w.work).int(Attr::GraphNode).filter(|&id| id != 0);
            let again = seen.entry((id, name)).or_default();
            let place = *self.places.entry((id, name, *again)).or_insert_with(|| {
                self.nodes.push(Node { name, durs: Vec::new(), before: Ns::ZERO });
                self.nodes.len() - 1
            });
            *again += 1;
            let node = &mut self.nodes[place];
            node.durs.push(slices.dur(w.work).0);
            node.before += (w.start - done).max(Ns::ZERO);
            done = done.max(slices.end(w.work));
        }
    }
}

fn rows(
    trace: &Trace,
    found: HashMap<GraphIdentity, Graph, RandomState>,
    wall_ns: i64,
) -> (Vec<GraphRow>, Vec<NodeRow>) {
    let mut all: Vec<(GraphIdentity, Graph)> = found.into_iter().collect();
    // Names and ids make the order the same for any hash.
    all.order_by(|(a, x), (b, y)| (y.busy, y.works).cmp(&(x.busy, x.works)).then_with(|| a.cmp(b)));
    let (mut graphs, mut nodes) = (Vec::new(), Vec::new());
    let mut letters = 0;
    for (which, mut graph) in all {
        let label = match &which {
            GraphIdentity::Id(_, id) => id.to_string(),
            GraphIdentity::Names(_) => {
                letters += 1;
                letter(letters - 1)
            }
        };
        let all_nodes: Ns = graph.nodes.iter().flat_map(|n| n.durs.iter().map(|&ns| Ns(ns))).sum();
        let mut longest: Option<(i64, StrId)> = None;
        for (place, node) in graph.nodes.iter_mut().enumerate() {
            let total = node.durs.iter().map(|&ns| Ns(ns)).sum::<Ns>().0;
            if longest.is_none_or(|(most, _)| total > most) {
                longest = Some((total, node.name));
            }
            let replays = node.durs.len() as u64;
            nodes.push(NodeRow {
                graph: label.clone(),
                node: place as u64 + 1,
                name: trace.text(node.name).to_owned(),
                replays,
                total_ns: total,
                share: share(total, all_nodes.0),
                mean_ns: total as f64 / replays as f64,
                p50_ns: quantile(&mut node.durs, 0.5),
                p95_ns: quantile(&mut node.durs, 0.95),
                max_ns: node.durs.iter().copied().max().unwrap_or(0),
                before_ns: node.before.0 as f64 / replays as f64,
            });
        }
        graphs.push(GraphRow {
            graph: label,
            recorded: matches!(which, GraphIdentity::Id(..)),
            replays: graph.replays,
            nodes: graph.works as f64 / graph.replays as f64,
            device_p50_ns: quantile(&mut graph.spans, 0.5),
            device_p95_ns: quantile(&mut graph.spans, 0.95),
            busy_ns: graph.busy.0,
            share: share(graph.busy.0, wall_ns),
            gap_ns: graph.gap.0,
            gap_share: share(graph.gap.0, (graph.gap + graph.busy).0),
            call_p50_ns: quantile(&mut graph.calls, 0.5),
            call_ns: graph.calls.iter().map(|&ns| Ns(ns)).sum::<Ns>().0,
            longest: longest.map_or_else(String::new, |(_, name)| trace.text(name).to_owned()),
        });
    }
    (graphs, nodes)
}

impl GraphIdentity {
    fn cmp(&self, other: &GraphIdentity) -> std::cmp::Ordering {
        match (self, other) {
            (GraphIdentity::Id(d, a), GraphIdentity::Id(e, b)) => (d, a).cmp(&(e, b)),
            (GraphIdentity::Names(a), GraphIdentity::Names(b)) => a.cmp(b),
            (GraphIdentity::Id(..), GraphIdentity::Names(_)) => std::cmp::Ordering::Less,
            (GraphIdentity::Names(_), GraphIdentity::Id(..)) => std::cmp::Ordering::Greater,
        }
    }
}

/// `A` to `Z`, then `AA` and so on.
fn letter(place: usize) -> String {
    let last = char::from(b'A' + (place % 26) as u8);
    match place / 26 {
        0 => last.to_string(),
        before => letter(before - 1) + &last.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::letter;

    #[test]
    fn letters_do_not_end() {
        assert_eq!([0, 25, 26, 51, 52, 701, 702].map(letter), ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
    }
}
