//! Call stacks as a tree: stacks that share their outer frames share them here too.

use std::hash::Hash;

use crate::interned::Interned;

/// Names one stack of a table. The default is the one without frames.
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(u32);

impl StackId {
    /// The stack without frames, present in every table.
    pub const EMPTY: StackId = StackId(0);

    /// The position of this stack in its table, the one without frames first. A stack comes after those it begins with.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The stack at a position.
    pub(crate) fn from_index(index: u32) -> StackId {
        StackId(index)
    }
}

/// Stacks of frames, each stored once: a caller's stack and one more frame.
#[derive(Clone, Debug)]
pub(crate) struct StackTree<F> {
    /// The one without frames is left out.
    nodes: Interned<(StackId, F)>,
}

impl<F> Default for StackTree<F> {
    fn default() -> StackTree<F> {
        StackTree { nodes: Interned::default() }
    }
}

impl<F: Copy + Eq + Hash> StackTree<F> {
    /// The stack with one more frame. `None` where there is no number left for a new one.
    pub(crate) fn push(&mut self, caller: StackId, frame: F) -> Option<StackId> {
        Some(StackId(self.nodes.number((caller, frame))?.checked_add(1)?))
    }

    /// The innermost frame, and the stack it was called from; `None` for the one without frames.
    pub(crate) fn pop(&self, stack: StackId) -> Option<(StackId, F)> {
        self.nodes.values().get(stack.index().checked_sub(1)?).copied()
    }

    /// Every stack but the one without frames: itself, the one it was called from, and its innermost frame.
    pub(crate) fn nodes(&self) -> impl ExactSizeIterator<Item = (StackId, StackId, F)> {
        let nodes = self.nodes.values().iter().enumerate();
        nodes.map(|(at, &(caller, frame))| (StackId(at as u32 + 1), caller, frame))
    }

    /// A stack's frames, the innermost first.
    pub(crate) fn frames(&self, stack: StackId) -> impl Iterator<Item = F> {
        std::iter::successors(self.pop(stack), |&(caller, _)| self.pop(caller)).map(|(_, frame)| frame)
    }

    /// How many there are, the one without frames counted.
    pub(crate) fn len(&self) -> usize {
        self.nodes.values().len() + 1
    }

    /// Lets go of what only adding needs.
    pub(crate) fn freeze(&mut self) {
        self.nodes.freeze();
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.nodes.heap_bytes()
    }
}
