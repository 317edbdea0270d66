//! Moments and the ties between them, in an order in which every tie points forward.

use stepscope_model::{Ns, SliceId};

use super::{HostPiece, Scenario};
use crate::activity::Activity;
use crate::cause::Cause;

/// What lies between two moments.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Host work in this activity; the slice is the innermost around it.
    Host(Activity),
    /// The slice ran on a device.
    Device,
    /// The slice was on its way to the device, or queued, for this reason.
    Idle(Cause),
    /// The slice, a call, returned after the device work it waited for.
    Return,
    /// One thread went on where another stopped.
    Handover,
    /// Time since the recording began: no more is known.
    Origin,
}

/// A tie: `to` comes at least `ns` after `from`.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) ns: i64,
    pub(crate) what: What,
    slice: u32,
}

const NONE: u32 = u32::MAX;

impl Edge {
    pub(crate) fn slice(&self) -> Option<SliceId> {
        (self.slice != NONE).then(|| SliceId::from_index(self.slice as usize))
    }

    fn under(&self, start: Ns, scenario: &impl Scenario) -> Option<i64> {
        Some(match (self.what, self.slice()) {
            (What::Host(activity), slice) => scenario.host(&HostPiece { activity, slice, start, ns: self.ns }),
            (What::Device, Some(work)) => scenario.device(work, self.ns),
            (What::Idle(_), Some(work)) if scenario.device(work, 1 << 20) == 0 => 0,
            (What::Idle(Cause::LaunchLatency), Some(work)) => scenario.latency(work, self.ns),
            (What::Return, Some(call)) => return scenario.waits(call).then_some(self.ns),
            _ => self.ns,
        })
    }
}

/// The graph. Built by [`GraphBuilder`].
pub(crate) struct Graph {
    times: Vec<Ns>,
    /// Nodes such that every edge points forward.
    order: Vec<u32>,
    /// By the node they end at.
    edges: Vec<Edge>,
    first: Vec<u32>,
}

impl Graph {
    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    pub(crate) fn time(&self, node: u32) -> Ns {
        self.times[node as usize]
    }

    pub(crate) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    pub(crate) fn into(&self, node: u32) -> &[Edge] {
        &self.edges[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// When every moment comes under a scenario.
    pub(crate) fn simulate(&self, scenario: &impl Scenario) -> Vec<Ns> {
        let mut times = vec![Ns::ZERO; self.times.len()];
        for &node in &self.order {
            let mut latest: Option<Ns> = None;
            for edge in self.into(node) {
                if let Some(ns) = edge.under(self.times[edge.from as usize], scenario) {
                    let at = times[edge.from as usize] + Ns(ns);
                    latest = Some(latest.map_or(at, |l| l.max(at)));
                }
            }
            times[node as usize] = latest.unwrap_or(self.times[node as usize]);
        }
        times
    }

    /// The tie that decided when a moment came.
    pub(crate) fn binding(&self, node: u32) -> Option<&Edge> {
        // Of equals the device's is the better explanation; it is added last.
        self.into(node).iter().max_by_key(|e| self.times[e.from as usize].0.saturating_add(e.ns))
    }
}

/// Collects nodes and edges.
pub(crate) struct GraphBuilder {
    times: Vec<Ns>,
    /// Of nodes at the same moment, the lower comes first.
    ranks: Vec<u8>,
    edges: Vec<Edge>,
}

impl GraphBuilder {
    /// A graph with one node, the origin, and room for as many more.
    pub(crate) fn new(origin: Ns, nodes: usize) -> Self {
        let mut new = GraphBuilder {
            times: Vec::with_capacity(nodes + 1),
            ranks: Vec::with_capacity(nodes + 1),
            edges: Vec::with_capacity(nodes + nodes / 8),
        };
        new.node(origin, 0);
        new
    }

    pub(crate) const ORIGIN: u32 = 0;

    pub(crate) fn node(&mut self, at: Ns, rank: u8) -> u32 {
        self.times.push(at);
        self.ranks.push(rank);
        (self.times.len() - 1) as u32
    }

    /// The last of some neighbouring nodes in order of time that is at or before a moment, and how far before.
    pub(crate) fn last_by(&self, nodes: std::ops::Range<u32>, at: Ns) -> (u32, Ns) {
        let times = &self.times[nodes.start as usize..nodes.end as usize];
        let node = nodes.start + times.partition_point(|&t| t <= at).saturating_sub(1) as u32;
        (node, at - self.time(node))
    }

    pub(crate) fn rank(&self, node: u32) -> u8 {
        self.ranks[node as usize]
    }

    pub(crate) fn time(&self, node: u32) -> Ns {
        self.times[node as usize]
    }

    pub(crate) fn edge(&mut self, from: u32, to: u32, ns: i64, what: What, slice: Option<SliceId>) {
        let slice = slice.map_or(NONE, |s| s.index() as u32);
        self.edges.push(Edge { from, to, ns, what, slice });
    }

    /// An edge that takes as long as it did.
    pub(crate) fn measured(&mut self, from: u32, to: u32, what: What, slice: Option<SliceId>) {
        let ns = (self.time(to) - self.time(from)).0;
        self.edge(from, to, ns, what, slice);
    }

    pub(crate) fn finish(self) -> Graph {
        let GraphBuilder { times, ranks, mut edges } = self;
        let mut order: Vec<u32> = (0..times.len() as u32).collect();
        let place = |n: u32| (times[n as usize], ranks[n as usize], n);
        // Lanes are sorted runs, which this sort finds and merges.
        order.sort_by_key(|&n| place(n));
        // Clocks that disagree by a little would turn a tie around.
        edges.retain(|e| place(e.from) < place(e.to));
        let mut first = vec![0u32; times.len() + 1];
        for edge in &edges {
            first[edge.to as usize + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let blank = Edge { from: 0, to: 0, ns: 0, what: What::Origin, slice: NONE };
        let mut sorted = vec![blank; edges.len()];
        for edge in edges {
            let slot = &mut next[edge.to as usize];
            sorted[*slot as usize] = edge;
            *slot += 1;
        }
        Graph { times, order, edges: sorted, first }
    }
}
