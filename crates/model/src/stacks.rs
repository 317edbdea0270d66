//! The call stacks of a trace's events.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::stack_tree::{StackId, StackTree};
use crate::strings::StrId;

/// All stacks of a trace. A trace without any holds nothing here.
#[derive(Debug, Clone, Default)]
pub struct Stacks {
    tree: StackTree<StrId>,
    pub(crate) of_text: HashMap<StrId, StackId, RandomState>,
}

impl Stacks {
    /// How many there are, that without frames counted.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Whether only that without frames is there.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// The frames of a stack, the innermost first.
    pub fn frames(&self, id: StackId) -> impl Iterator<Item = StrId> {
        self.tree.frames(id)
    }

    /// The stack that events give as this text.
    pub fn of_text(&self, text: StrId) -> Option<StackId> {
        self.of_text.get(&text).copied()
    }

    /// `None` where there is no number left for a new one.
    pub(crate) fn called_from(&mut self, caller: StackId, frame: StrId) -> Option<StackId> {
        self.tree.push(caller, frame)
    }

    pub(crate) fn name(&mut self, text: StrId, stack: StackId) {
        self.of_text.insert(text, stack);
    }

    /// Lets go of what only writing needs.
    pub(crate) fn finish(mut self) -> Stacks {
        self.tree.freeze();
        self
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.tree.heap_bytes() + self.of_text.allocation_size()
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
