//! The graph of which the critical path is the longest way through: a node for the start and the end of each slice,
//! an edge for each span of time or dependency between two of them.
//!
//! Nodes and edges keep the order in which they were added, because of two ways of equal length the one found first
//! wins, and HTA's numbers depend on which that is.

use crate::scope::NONE;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Ns, SliceId};

/// What an edge represents.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// Time inside an operator, a call or device work.
    OperatorKernel,
    /// One after the other, without a weight: operators of a thread, calls that share the runtime's lock.
    Dependency,
    /// From the start of a launching call to the start of its work.
    LaunchDelay,
    /// From the end of device work to the start of the next on its stream.
    KernelKernelDelay,
    /// A synchronization, without a weight.
    SyncDependency,
}

impl EdgeKind {
    pub const ALL: [EdgeKind; 5] = [
        EdgeKind::OperatorKernel,
        EdgeKind::Dependency,
        EdgeKind::LaunchDelay,
        EdgeKind::KernelKernelDelay,
        EdgeKind::SyncDependency,
    ];

    fn has_weight(self) -> bool {
        !matches!(self, EdgeKind::Dependency | EdgeKind::SyncDependency)
    }
}

/// The start or the end of a slice.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub slice: SliceId,
    /// Its start, not its end.
    pub is_start: bool,
    pub at: Ns,
}

/// A way from one node to another.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The position of the node it leaves.
    pub from: u32,
    /// The position of the node it reaches.
    pub to: u32,
    pub kind: EdgeKind,
    /// How long it takes. Negative where times contradict each other; the search takes that as zero.
    pub weight: Ns,
    /// The slice its time belongs to; only operator and kernel edges and delays between kernels have one.
    pub slice: Option<SliceId>,
}

#[derive(Clone, Debug)]
pub struct Graph {
    /// Starts and ends of all slices of the window; those that no edge touches are not part of the search.
    pub nodes: Vec<Node>,
    /// In the order they were added.
    pub edges: Vec<Edge>,
    /// The nodes that an edge touches, in the order they were first touched.
    pub(super) touched: Vec<u32>,
    is_touched: Vec<bool>,
    /// Where the start of a slice is in the nodes; its end comes after it.
    node_of: Vec<u32>,
}

impl Graph {
    /// For so many slices of a trace with `all`.
    pub(super) fn new(all: usize, slices: usize) -> Graph {
        // Nearly every node has one edge.
        let nodes = slices * 2;
        Graph {
            nodes: Vec::with_capacity(nodes),
            edges: Vec::with_capacity(nodes),
            touched: Vec::with_capacity(nodes),
            is_touched: Vec::with_capacity(nodes),
            node_of: vec![NONE; all],
        }
    }

    pub(super) fn add_slice(&mut self, slice: SliceId, start: Ns, end: Ns) {
        self.node_of[slice.index()] = self.nodes.len() as u32;
        self.nodes.push(Node { slice, is_start: true, at: start });
        self.nodes.push(Node { slice, is_start: false, at: end });
        self.is_touched.extend([false, false]);
    }

    /// The nodes of a slice's start and end, if it is in the graph.
    pub fn nodes_of(&self, slice: SliceId) -> Option<(u32, u32)> {
        let start = *self.node_of.get(slice.index())?;
        (start != NONE).then(|| (start, start + 1))
    }

    /// How many nodes an edge touches.
    pub fn touched(&self) -> usize {
        self.touched.len()
    }

    pub(super) fn at(&self, node: u32) -> Ns {
        self.nodes[node as usize].at
    }

    /// Adds an edge whose weight is the time between its nodes, or nothing.
    pub(super) fn connect(&mut self, from: u32, to: u32, kind: EdgeKind, slice: Option<SliceId>) {
        let weight = if kind.has_weight() { self.at(to) - self.at(from) } else { Ns::ZERO };
        self.add(Edge { from, to, kind, weight, slice });
    }

    /// Adds an edge. No two lead from one node to another: whoever might add one twice looks first.
    pub(super) fn add(&mut self, edge: Edge) {
        for node in [edge.from, edge.to] {
            if !std::mem::replace(&mut self.is_touched[node as usize], true) {
                self.touched.push(node);
            }
        }
        self.edges.push(edge);
    }
}
