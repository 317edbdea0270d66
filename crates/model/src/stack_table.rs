//! Stacks of code: frames interned, stacks as a tree of prefixes, so that stacks that begin alike share what is alike.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::strings::{StrId, Strings};

/// A place in a program.
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function's name.
    pub name: StrId,
    /// The file it is in, or empty.
    pub file: StrId,
    /// The line, counted from 1; 0 where it is not known.
    pub line: u32,
}

/// Names one frame of a [`StackTable`].
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(u32);

impl FrameId {
    /// The position of this frame in its table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Names one stack of a [`StackTable`].
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallStackId(u32);

impl CallStackId {
    /// The stack without frames, present in every table.
    pub const EMPTY: CallStackId = CallStackId(0);

    /// The position of this stack in its table. A stack comes after those it begins with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A stack is another stack and one more frame.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    below: CallStackId,
    top: FrameId,
}

/// Frames and stacks, each stored once.
#[derive(Clone, Debug)]
pub struct StackTable {
    strings: Strings,
    frames: Vec<Frame>,
    frame_ids: HashTable<FrameId>,
    nodes: Vec<Node>,
    stack_ids: HashTable<CallStackId>,
    hasher: RandomState,
}

impl Default for StackTable {
    fn default() -> StackTable {
        StackTable {
            strings: Strings::default(),
            frames: Vec::new(),
            frame_ids: HashTable::new(),
            // The empty stack. Its top is never asked for.
            nodes: vec![Node { below: CallStackId::EMPTY, top: FrameId(u32::MAX) }],
            stack_ids: HashTable::new(),
            hasher: RandomState::default(),
        }
    }
}

impl StackTable {
    /// The id of a text.
    pub fn intern(&mut self, text: &str) -> StrId {
        self.strings.intern(text)
    }

    /// The text behind an id.
    pub fn text(&self, id: StrId) -> &str {
        self.strings.get(id)
    }

    /// The id of a frame, stored if it is new. Past four billion frames the rest share the last.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        let hash = self.hasher.hash_one(frame);
        if let Some(&id) = self.frame_ids.find(hash, |&id| self.frames[id.index()] == frame) {
            return id;
        }
        if self.frames.len() >= u32::MAX as usize {
            return FrameId(u32::MAX - 1);
        }
        let id = FrameId(self.frames.len() as u32);
        self.frames.push(frame);
        let StackTable { frames, frame_ids, hasher, .. } = self;
        frame_ids.insert_unique(hash, id, |&id| hasher.hash_one(frames[id.index()]));
        id
    }

    /// The id of a stack with one more frame on top. Past four billion stacks deeper ones are cut where they are.
    pub fn push(&mut self, below: CallStackId, top: FrameId) -> CallStackId {
        let node = Node { below, top };
        let hash = self.hasher.hash_one(node);
        if let Some(&id) = self.stack_ids.find(hash, |&id| self.nodes[id.index()] == node) {
            return id;
        }
        if self.nodes.len() > u32::MAX as usize {
            return below;
        }
        let id = CallStackId(self.nodes.len() as u32);
        self.nodes.push(node);
        let StackTable { nodes, stack_ids, hasher, .. } = self;
        stack_ids.insert_unique(hash, id, |&id| hasher.hash_one(nodes[id.index()]));
        id
    }

    /// What a frame is.
    pub fn get(&self, id: FrameId) -> Frame {
        self.frames[id.index()]
    }

    /// A frame's name.
    pub fn name(&self, id: FrameId) -> &str {
        self.text(self.frames[id.index()].name)
    }

    /// Every frame, in the order first seen.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = (FrameId, Frame)> {
        self.frames.iter().enumerate().map(|(at, &frame)| (FrameId(at as u32), frame))
    }

    /// The innermost frame, and the stack below it; `None` for the empty stack.
    pub fn pop(&self, stack: CallStackId) -> Option<(CallStackId, FrameId)> {
        let node = self.nodes[stack.index()];
        (stack != CallStackId::EMPTY).then_some((node.below, node.top))
    }

    /// A stack's frames, outermost first.
    pub fn unwind(&self, stack: CallStackId) -> Vec<FrameId> {
        let mut frames: Vec<FrameId> =
            std::iter::successors(self.pop(stack), |&(below, _)| self.pop(below)).map(|(_, top)| top).collect();
        frames.reverse();
        frames
    }

    /// How many stacks there are, the empty one among them.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether only the empty stack is there.
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// Bytes held by the table.
    pub fn heap_bytes(&self) -> usize {
        self.strings.heap_bytes()
            + self.frames.len() * size_of::<Frame>()
            + self.frame_ids.allocation_size()
            + self.nodes.len() * size_of::<Node>()
            + self.stack_ids.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_that_begin_alike_share_their_frames() {
        let mut table = StackTable::default();
        let frames = ["main", "load", "read", "main"].map(|name| {
            let name = table.intern(name);
            table.frame(Frame { name, ..Frame::default() })
        });
        assert_eq!(frames[0], frames[3]);
        let main = table.push(CallStackId::EMPTY, frames[0]);
        let load = table.push(main, frames[1]);
        let read = table.push(load, frames[2]);
        assert_eq!(table.push(main, frames[1]), load);
        assert_ne!(table.push(CallStackId::EMPTY, frames[1]), load);
        assert_eq!(table.len(), 5);
        assert_eq!(table.unwind(read), frames[..3]);
        assert_eq!(table.unwind(CallStackId::EMPTY), []);
        assert_eq!(table.pop(load), Some((main, frames[1])));
        // A frame is its name and its place.
        let name = table.intern("read");
        assert_ne!(table.frame(Frame { name, line: 7, ..Frame::default() }), frames[2]);
    }
}
