//! Moments and the ties between them, in an order in which every tie points forward.

use std::ops::Range;
use std::sync::Arc;

use stepscope_model::{Ns, SliceId};

use super::recording::Recording;
use super::{HostPiece, Scenario};
use crate::causes::cause::Cause;
use crate::devices::streams::MAX_LATENCY;
use crate::scope::NONE;
use crate::threads::activity::Activity;
use crate::threads::host_time::Segment;

/// What lies between two moments.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum EdgeWork {
    /// A thread's work: its segments between the two.
    Thread,
    /// A call that waits, or a thread that waits for another: only what it takes by itself. The slice is the innermost.
    Host(Activity),
    /// The slice ran on a device.
    Device,
    /// The slice, on a device, had run for so long when the next one began beside it.
    Beside,
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
    pub(crate) what: EdgeWork,
    /// The slice, or the first segment of a thread's work.
    about: u32,
}

impl Edge {
    pub(crate) fn slice(&self) -> Option<SliceId> {
        (self.what != EdgeWork::Thread && self.about != NONE).then(|| SliceId::from_index(self.about as usize))
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
    segments: Arc<Vec<Segment>>,
    recording: Arc<Recording>,
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

    fn into(&self, node: u32) -> &[Edge] {
        &self.edges[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// The segments of a thread's work, clipped to its two moments, in order.
    pub(crate) fn pieces(&self, edge: &Edge) -> impl DoubleEndedIterator<Item = Segment> {
        let (from, to) = (self.time(edge.from), self.time(edge.to));
        let rest = match edge.what {
            EdgeWork::Thread => self.segments.get(edge.about as usize..).unwrap_or_default(),
            _ => &[],
        };
        // A thread's segments follow each other without holes; those of the next lane stand behind them.
        let mut next = rest.first().map_or(to, |s| s.start);
        let follows = |s: &&Segment| s.start < to && s.start == std::mem::replace(&mut next, s.end);
        let count = rest.iter().take_while(follows).count();
        rest[..count].iter().map(move |s| Segment { start: s.start.max(from), end: s.end.min(to), ..*s })
    }

    /// When every moment comes under a scenario.
    pub(crate) fn simulate(&self, scenario: &impl Scenario) -> Vec<Ns> {
        let mut times = vec![Ns::ZERO; self.times.len()];
        for &node in &self.order {
            let mut latest: Option<Ns> = None;
            for edge in self.into(node) {
                if let Some(ns) = self.under(edge, scenario) {
                    let at = times[edge.from as usize] + ns;
                    latest = Some(latest.map_or(at, |l| l.max(at)));
                }
            }
            // Work that is gone and has nothing before it is where it would have been launched.
            let from = || self.into(node).iter().map(|edge| times[edge.from as usize]).max();
            times[node as usize] = latest.or_else(from).unwrap_or(self.times[node as usize]);
        }
        times
    }

    /// How long an edge takes under a scenario; none if it no longer ties.
    fn under(&self, edge: &Edge, scenario: &impl Scenario) -> Option<Ns> {
        let ns = match (edge.what, edge.slice()) {
            (EdgeWork::Thread, _) => {
                let stretch_ns = (self.time(edge.to) - self.time(edge.from)).0;
                let piece = |(at, s): (usize, Segment)| {
                    let (at, ns) = (edge.about as usize + at, (s.end - s.start).0);
                    let whole = self.segments.get(at).map_or(ns, |whole| (whole.end - whole.start).0);
                    let recording_ns = self.recording.of_piece(at, ns, whole);
                    HostPiece {
                        activity: s.activity,
                        slice: s.slice,
                        start: s.start,
                        ns,
                        recording_ns,
                        stretch_ns,
                    }
                };
                return Some(self.pieces(edge).enumerate().map(|s| Ns(scenario.host(&piece(s)))).sum());
            }
            (EdgeWork::Host(Activity::DeviceUnrecorded), _) => edge.ns,
            (EdgeWork::Host(activity), slice) => {
                let start = self.time(edge.from);
                scenario.host(&HostPiece {
                    activity,
                    slice,
                    start,
                    ns: edge.ns,
                    recording_ns: 0,
                    stretch_ns: edge.ns,
                })
            }
            (EdgeWork::Device, Some(work)) => scenario.device(work, edge.ns),
            (EdgeWork::Beside, Some(before)) => {
                // The end of work comes after its start.
                let whole = (self.time(edge.from + 1) - self.time(edge.from)).0.max(1);
                (scenario.device(before, whole) as f64 / whole as f64 * edge.ns as f64).round() as i64
            }
            // No one launches what is gone: whatever comes after it in the queue does not wait for that.
            (EdgeWork::Idle(Cause::LaunchLatency), Some(work)) if scenario.device(work, 1 << 20) == 0 => {
                return None;
            }
            (EdgeWork::Idle(_), Some(work)) if scenario.device(work, 1 << 20) == 0 => 0,
            (EdgeWork::Idle(Cause::LaunchLatency), Some(work)) => {
                // What takes longer to arrive waits for something that was not recorded, and still does.
                let latency = edge.ns.min(MAX_LATENCY.0);
                edge.ns - latency + scenario.latency(work, latency)
            }
            (EdgeWork::Return, Some(call)) => return scenario.waits(call).then_some(Ns(edge.ns)),
            _ => edge.ns,
        };
        Some(Ns(ns))
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
    /// A graph with one node, the origin.
    pub(crate) fn new(origin: Ns) -> Self {
        GraphBuilder { times: vec![origin], ranks: vec![0], edges: Vec::new() }
    }

    pub(crate) const ORIGIN: u32 = 0;

    pub(crate) fn node(&mut self, at: Ns, rank: u8) -> u32 {
        self.times.push(at);
        self.ranks.push(rank);
        (self.times.len() - 1) as u32
    }

    /// The last of some neighboring nodes in order of time that is at or before a moment, and how far before.
    pub(crate) fn last_by(&self, nodes: Range<u32>, at: Ns) -> (u32, Ns) {
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

    pub(crate) fn edge(&mut self, from: u32, to: u32, ns: i64, what: EdgeWork, slice: Option<SliceId>) {
        let about = slice.map_or(NONE, |s| s.index() as u32);
        self.edges.push(Edge { from, to, ns, what, about });
    }

    /// An edge that takes as long as it did.
    pub(crate) fn measured(&mut self, from: u32, to: u32, what: EdgeWork, slice: Option<SliceId>) {
        let ns = (self.time(to) - self.time(from)).0;
        self.edge(from, to, ns, what, slice);
    }

    /// A thread's work from one of its nodes to the next. `segment` is the one at the first node.
    pub(crate) fn thread(&mut self, from: u32, to: u32, segment: usize) {
        let ns = (self.time(to) - self.time(from)).0;
        self.edges.push(Edge { from, to, ns, what: EdgeWork::Thread, about: segment as u32 });
    }

    pub(crate) fn finish(self, segments: Arc<Vec<Segment>>, recording: Arc<Recording>) -> Graph {
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
        let blank = Edge { from: 0, to: 0, ns: 0, what: EdgeWork::Origin, about: NONE };
        let mut sorted = vec![blank; edges.len()];
        for edge in edges {
            let slot = &mut next[edge.to as usize];
            sorted[*slot as usize] = edge;
            *slot += 1;
        }
        Graph { times, order, edges: sorted, first, segments, recording }
    }
}
