//! Call stacks as a tree: stacks that share their outer frames share them here too.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};

use crate::strings::StrId;

/// Names one stack. The default is the one without frames.
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(u32);

impl StackId {
    /// The stack without frames.
    pub const EMPTY: StackId = StackId(0);

    /// The position of this stack among all, that without frames first.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All stacks of a trace. A trace without any holds nothing here.
#[derive(Debug, Clone, Default)]
pub struct Stacks {
    /// By stack, that without frames left out: the one it was called from, and its own frame.
    nodes: Vec<(StackId, StrId)>,
    ids: HashTable<StackId>,
    hasher: RandomState,
    pub(crate) of_text: HashMap<StrId, StackId, RandomState>,
}

impl Stacks {
    /// How many there are, that without frames counted.
    pub fn len(&self) -> usize {
        self.nodes.len() + 1
    }

    /// Whether only that without frames is there.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The frames of a stack, the innermost first.
    pub fn frames(&self, id: StackId) -> impl Iterator<Item = StrId> {
        let node = |id: StackId| id.index().checked_sub(1).and_then(|at| self.nodes.get(at)).copied();
        std::iter::successors(node(id), move |&(caller, _)| node(caller)).map(|(_, frame)| frame)
    }

    /// The stack that events give as this text.
    pub fn of_text(&self, text: StrId) -> Option<StackId> {
        self.of_text.get(&text).copied()
    }

    /// `None` where there is no number left for a new one.
    pub(crate) fn called_from(&mut self, caller: StackId, frame: StrId) -> Option<StackId> {
        let Stacks { nodes, ids, hasher, .. } = self;
        let new = (caller, frame);
        let hash = hasher.hash_one(new);
        if let Some(&id) = ids.find(hash, |&id| nodes[id.index() - 1] == new) {
            return Some(id);
        }
        nodes.push(new);
        let id = StackId(u32::try_from(nodes.len()).ok()?);
        ids.insert_unique(hash, id, |&id| hasher.hash_one(nodes[id.index() - 1]));
        Some(id)
    }

    pub(crate) fn name(&mut self, text: StrId, stack: StackId) {
        self.of_text.insert(text, stack);
    }

    /// Lets go of what only writing needs.
    pub(crate) fn finish(mut self) -> Stacks {
        self.ids = HashTable::new();
        self.nodes.shrink_to_fit();
        self
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.nodes.len() * size_of::<(StackId, StrId)>() + self.of_text.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use crate::{ArgValue, Attr, NewSlice, StackId, TraceBuilder};

    #[test]
    fn outer_frames_are_shared() {
        let mut b = TraceBuilder::new();
        let [main, f, g] = ["main", "f", "g"].map(|frame| b.intern(frame));
        let inner = b.stack([main, f, g]);
        let outer = b.stack([main, f]);
        assert_eq!((b.stack([main, f, g]), b.stack([])), (inner, StackId::EMPTY));
        let (text, key) = (b.intern("g<f<main"), b.key("called from", Attr::CallStack));
        b.name_stack(text, inner);
        let lane = b.lane(Default::default());
        for with in [true, false] {
            if with {
                b.push_arg(key, ArgValue::Str(text));
            }
            let args = b.commit_args();
            b.slice(NewSlice { lane, args, ..NewSlice::default() });
        }
        let trace = b.finish();
        assert_eq!(trace.stacks().len(), 4);
        assert_eq!(trace.stacks().frames(inner).collect::<Vec<_>>(), [g, f, main]);
        assert_eq!(trace.stacks().frames(outer).collect::<Vec<_>>(), [f, main]);
        let of: Vec<_> = trace.slices().ids().map(|id| trace.stack(id)).collect();
        assert_eq!(of, [Some(inner), None]);
    }
}
