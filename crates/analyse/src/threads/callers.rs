//! What surrounds each host slice, worked out once from the outside in.
//!
//! Walking up from every slice is quadratic where a file nests calls without end. Parents stand before their children,
//! so one pass answers for all.

use stepscope_model::{CallTree, Kind, SliceId, Trace};

use crate::names::ranges::step_number;
use crate::scope::NONE;

/// Answers about the callers of host slices.
pub(crate) struct Callers {
    tree: CallTree,
    /// The nearest operator around.
    op: Column,
    /// From the slice itself on: the outermost operator below the nearest range, or that range.
    asked: Column,
    /// The same with Python calls as ranges.
    blamed: Column,
    /// From the slice itself on: the nearest Python call.
    python: Column,
}

impl Callers {
    /// Over all host slices of a trace.
    pub(crate) fn new(trace: &Trace) -> Callers {
        let slices = trace.slices();
        let tree = CallTree::build(trace, |_| true);
        let mut all = Callers {
            tree,
            op: Column::new(slices.len()),
            asked: Column::new(slices.len()),
            blamed: Column::new(slices.len()),
            python: Column::new(slices.len()),
        };
        let is_op = |id: SliceId| slices.kind(id) == Kind::HostOp;
        for id in slices.ids() {
            let parent = all.tree.parent(id);
            let above = |column: &Column| parent.and_then(|p| column.get(p));
            let op = parent.filter(|&p| is_op(p)).or(above(&all.op));
            let (asked, blamed, python) = (above(&all.asked), above(&all.blamed), above(&all.python));
            let (asked, blamed, python) = match slices.kind(id) {
                Kind::HostOp => (
                    asked.filter(|&a| is_op(a)).or(Some(id)),
                    blamed.filter(|&b| is_op(b)).or(Some(id)),
                    python,
                ),
                Kind::HostAnnotation => (Some(id), Some(id), python),
                Kind::PythonFunction => (asked, Some(id), Some(id)),
                _ => (asked, blamed, python),
            };
            all.op.set(id, op);
            all.asked.set(id, asked);
            all.blamed.set(id, blamed);
            all.python.set(id, python);
        }
        all
    }

    /// The call tree itself.
    pub(crate) fn tree(&self) -> &CallTree {
        &self.tree
    }

    /// The nearest operator around a slice.
    pub(crate) fn op(&self, id: SliceId) -> Option<SliceId> {
        self.op.get(id)
    }

    /// What the program asked for when it made a call: the outermost operator around it below the nearest range, or
    /// that range. A step is not an answer: everything is in one.
    pub(crate) fn asked_for(&self, trace: &Trace, call: SliceId) -> Option<SliceId> {
        let asked = self.around(trace, call).and_then(|around| self.asked.get(around));
        asked.filter(|&id| step_number(trace.name(id)).is_none())
    }

    /// Whom a moment of the host is blamed on, by its innermost slice: the outermost operator below the nearest range
    /// or Python call; else that range or call.
    pub(crate) fn blamed(&self, innermost: SliceId) -> SliceId {
        self.blamed.get(innermost).unwrap_or(innermost)
    }

    /// Python frames around a slice, from the innermost; the first few.
    pub(crate) fn python_stack(&self, trace: &Trace, id: SliceId) -> Vec<String> {
        let first = self.around(trace, id).and_then(|around| self.python.get(around));
        let frames = std::iter::successors(first, |&frame| self.python.get(self.tree.parent(frame)?));
        frames.take(24).map(|frame| trace.name(frame).to_owned()).collect()
    }

    /// What a slice is in. A call on a lane of its own is in the operator it names.
    fn around(&self, trace: &Trace, id: SliceId) -> Option<SliceId> {
        self.tree.parent(id).or_else(|| trace.links().op(id))
    }
}

/// For each slice, whether it or anything around it is marked.
pub(crate) fn at_or_under(
    trace: &Trace,
    tree: &CallTree,
    mut marked: impl FnMut(SliceId) -> bool,
) -> Vec<bool> {
    let slices = trace.slices();
    let mut under = vec![false; slices.len()];
    for id in slices.ids() {
        under[id.index()] = tree.parent(id).is_some_and(|p| under[p.index()]) || marked(id);
    }
    under
}

/// A slice for each slice, or none.
struct Column(Vec<u32>);

impl Column {
    fn new(len: usize) -> Column {
        Column(vec![NONE; len])
    }

    fn get(&self, id: SliceId) -> Option<SliceId> {
        let raw = self.0[id.index()];
        (raw != NONE).then(|| SliceId::from_index(raw as usize))
    }

    fn set(&mut self, id: SliceId, value: Option<SliceId>) {
        self.0[id.index()] = value.map_or(NONE, |v| v.index() as u32);
    }
}
