//! The call tree of operators as PyTorch's tables see it.
//!
//! It differs from a plain tree of a thread's slices in five ways: Python calls are invisible; the range of a
//! collective, which ends on another thread, is no one's parent or child; a runtime call is on the thread of
//! the operator it names; the profiler's own pauses, whose thread no file tells, stand on the main thread; and an
//! only child of its parent's name is folded into the parent.

use std::cell::OnceCell;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Domain, Kind, LaneId, Ns, SliceId, Tag, Trace};

use super::{StrayCalls, names::Names};
use crate::scope::NONE;

/// Parents after folding.
pub(crate) struct HostTree {
    /// Every slice of the tree, folded ones as well, parents before their children.
    pub order: Vec<SliceId>,
    parent: Vec<u32>,
    /// A slice itself, the slice it was folded into, or none if it has no place in the tree.
    into: Vec<u32>,
    /// The nearest operator or annotation above a slice; filled when first asked for.
    around: OnceCell<Vec<u32>>,
}

impl HostTree {
    pub(crate) fn build(trace: &Trace, names: &mut Names<'_>, stray: StrayCalls) -> HostTree {
        let slices = trace.slices();
        let homes = HomeLanes::new(trace, names, stray);
        let mut order = Vec::with_capacity(slices.len());
        let mut parent = vec![NONE; slices.len()];
        let mut children = vec![0u32; slices.len()];
        let mut moved = moved(trace, &homes).into_iter().peekable();
        let mut open: Vec<(Ns, u32)> = Vec::new();
        for (lane, info) in trace.lanes().iter() {
            if info.key.domain == Domain::Device {
                continue;
            }
            open.clear();
            let mut guests = std::iter::from_fn(|| moved.next_if(|m| m.0 <= lane).map(|m| m.1)).peekable();
            let mut own = slices
                .of_lane(lane)
                .filter(|&id| in_tree(slices.kind(id)) && homes.lane_of(trace, id) == lane)
                .peekable();
            loop {
                let next = match (own.peek(), guests.peek()) {
                    (Some(&a), Some(&b)) if place(trace, b) < place(trace, a) => guests.next(),
                    (Some(_), _) => own.next(),
                    (None, _) => guests.next(),
                };
                let Some(id) = next else { break };
                let facts = names.facts(slices.name(id));
                if facts.hidden {
                    continue;
                }
                if facts.asynchronous && slices.kind(id) == Kind::HostAnnotation {
                    order.push(id);
                    continue;
                }
                let (start, end) = (slices.start(id), slices.end(id));
                while open.last().is_some_and(|&(parent_end, _)| start >= parent_end || end > parent_end) {
                    open.pop();
                }
                if let Some(&(_, above)) = open.last() {
                    parent[id.index()] = above;
                    children[above as usize] += 1;
                }
                open.push((end, id.index() as u32));
                order.push(id);
            }
        }
        let mut tree = HostTree { order, parent, into: vec![NONE; slices.len()], around: OnceCell::new() };
        tree.fold(trace, children);
        tree
    }

    /// An operator that only calls itself under the same name is one operator to the reader. Parents come first in
    /// the order, so a chain of any length folds in one pass.
    fn fold(&mut self, trace: &Trace, mut children: Vec<u32>) {
        let slices = trace.slices();
        for &id in &self.order {
            let i = id.index();
            self.into[i] = i as u32;
            if self.parent[i] == NONE {
                continue;
            }
            let above = self.into[self.parent[i] as usize];
            self.parent[i] = above;
            let above = SliceId::from_index(above as usize);
            if children[above.index()] == 1 && slices.name(above) == slices.name(id) {
                self.into[i] = above.index() as u32;
                children[above.index()] = children[i];
            }
        }
    }

    /// The parent of a slice, after folding.
    pub(crate) fn parent(&self, id: SliceId) -> Option<SliceId> {
        some(self.parent[id.index()])
    }

    /// The slice that represents this one: itself, or what it was folded into.
    pub(crate) fn shown(&self, id: SliceId) -> Option<SliceId> {
        some(self.into[id.index()])
    }

    /// The nearest operator or annotation around a runtime call.
    pub(crate) fn op_around(&self, trace: &Trace, call: SliceId) -> Option<SliceId> {
        // One pass for all: walking up from each call is quadratic where a file nests calls without end.
        let around = self.around.get_or_init(|| {
            let mut around = vec![NONE; self.parent.len()];
            for &id in &self.order {
                if let Some(parent) = self.parent(id) {
                    let is_op = matches!(trace.slices().kind(parent), Kind::HostOp | Kind::HostAnnotation);
                    around[id.index()] = if is_op { parent.index() as u32 } else { around[parent.index()] };
                }
            }
            around
        });
        some(around[self.shown(call)?.index()])
    }
}

fn some(raw: u32) -> Option<SliceId> {
    (raw != NONE).then(|| SliceId::from_index(raw as usize))
}

fn in_tree(kind: Kind) -> bool {
    kind.is_host() && !matches!(kind, Kind::PythonFunction | Kind::FrameworkCall)
}

/// Where a slice is among those of its lane: by start, the longer first.
fn place(trace: &Trace, id: SliceId) -> (Ns, i64) {
    (trace.slices().start(id), !trace.slices().end(id).0)
}

/// Slices whose home is not their own lane, sorted by home and place.
fn moved(trace: &Trace, homes: &HomeLanes) -> Vec<(LaneId, SliceId)> {
    let slices = trace.slices();
    let mut moved: Vec<(LaneId, SliceId)> = Vec::new();
    for (lane, info) in trace.lanes().iter() {
        if info.key.domain == Domain::Device {
            continue;
        }
        for id in slices.of_lane(lane).filter(|&id| in_tree(slices.kind(id))) {
            let home = homes.lane_of(trace, id);
            if home != lane {
                moved.push((home, id));
            }
        }
    }
    moved.sort_by_key(|&(home, id)| (home, place(trace, id), id));
    moved
}

/// Decides on which thread each slice is.
struct HomeLanes {
    stray: StrayCalls,
    /// The main thread of each lane's process; the lane itself where there is none.
    main: Vec<LaneId>,
    has_ops: Vec<bool>,
}

impl HomeLanes {
    fn new(trace: &Trace, names: &mut Names<'_>, stray: StrayCalls) -> HomeLanes {
        let slices = trace.slices();
        // The main thread is the one that steps the profiler; else the process's first thread (on Linux it has
        // the process's number); else the one with the most operators.
        let mut best: Option<((bool, bool, usize), LaneId)> = None;
        let mut of_process: HashMap<Tag, ((bool, bool, usize), LaneId), RandomState> = HashMap::default();
        let mut has_ops = Vec::with_capacity(trace.lanes().len());
        for (lane, info) in trace.lanes().iter() {
            let (mut ops, mut steps) = (0, false);
            if info.key.domain == Domain::Host {
                for id in slices.of_lane(lane) {
                    match slices.kind(id) {
                        Kind::HostOp => ops += 1,
                        Kind::HostAnnotation => steps |= names.facts(slices.name(id)).step,
                        _ => {}
                    }
                }
            }
            has_ops.push(ops > 0 || steps);
            if ops > 0 || steps {
                let rank = (steps, info.key.thread == info.key.process, ops);
                let better = |old: &((bool, bool, usize), LaneId)| old.0 < rank;
                if best.as_ref().is_none_or(better) {
                    best = Some((rank, lane));
                }
                let of_this = of_process.entry(info.key.process).or_insert((rank, lane));
                if better(of_this) {
                    *of_this = (rank, lane);
                }
            }
        }
        let main = trace.lanes().iter().map(|(lane, info)| {
            of_process.get(&info.key.process).or(best.as_ref()).map_or(lane, |&(_, main)| main)
        });
        HomeLanes { stray, main: main.collect(), has_ops }
    }

    fn lane_of(&self, trace: &Trace, id: SliceId) -> LaneId {
        let own = trace.slices().lane(id);
        match trace.slices().kind(id) {
            Kind::Runtime | Kind::Driver => match (trace.links().op(id), self.stray) {
                (Some(op), _) => {
                    let lane = trace.slices().lane(op);
                    if trace.lanes().get(lane).key.domain == Domain::Host { lane } else { own }
                }
                (None, StrayCalls::OwnThread) => own,
                (None, StrayCalls::MainThread) => self.main[own.index()],
            },
            Kind::Overhead if !self.has_ops[own.index()] || self.stray == StrayCalls::MainThread => {
                self.main[own.index()]
            }
            _ => own,
        }
    }
}
