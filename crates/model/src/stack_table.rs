//! Stacks of code: frames with their places in files, and stacks of them.

use crate::interned::Interned;
use crate::stack_tree::{StackId, StackTree};
use crate::strings::{StrId, Strings};

/// A place in a program.
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
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

    /// The frame at a position of its table.
    pub fn from_index(index: u32) -> FrameId {
        FrameId(index)
    }
}

/// Frames and stacks, each stored once.
#[derive(Clone, Debug, Default)]
pub struct StackTable {
    strings: Strings,
    frames: Interned<Frame>,
    tree: StackTree<FrameId>,
}

impl StackTable {
    pub fn intern(&mut self, text: &str) -> StrId {
        self.strings.intern(text)
    }

    /// The text behind an id.
    pub fn text(&self, id: StrId) -> &str {
        self.strings.get(id)
    }

    /// The id of a frame, stored if it is new. Past four billion frames the rest share the last.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        FrameId(self.frames.number(frame).unwrap_or(u32::MAX))
    }

    /// The id of a stack with one more frame on top. Past four billion stacks deeper ones are cut where they are.
    pub fn push(&mut self, below: StackId, top: FrameId) -> StackId {
        self.tree.push(below, top).unwrap_or(below)
    }

    pub fn get(&self, id: FrameId) -> Frame {
        self.frames.values()[id.index()]
    }

    pub fn name(&self, id: FrameId) -> &str {
        self.text(self.get(id).name)
    }

    /// Every frame, in the order first seen.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = (FrameId, Frame)> {
        self.frames.values().iter().enumerate().map(|(at, &frame)| (FrameId(at as u32), frame))
    }

    /// The innermost frame, and the stack below it; `None` for the empty stack.
    pub fn pop(&self, stack: StackId) -> Option<(StackId, FrameId)> {
        self.tree.pop(stack)
    }

    /// Every stack but the empty one: its id, the stack below its innermost frame, and that frame. A stack comes after
    /// those it begins with.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (StackId, StackId, FrameId)> {
        self.tree.nodes()
    }

    /// By stack: itself, or where it is deeper than this, the stack of its outermost frames. A file may be made to have
    /// every depth up to its length: whoever writes all stacks out must stop somewhere.
    pub fn cut(&self, most_frames: usize) -> Vec<StackId> {
        let mut depth = vec![0usize; self.len()];
        let mut cut = vec![StackId::EMPTY; self.len()];
        for (stack, below, _) in self.nodes() {
            depth[stack.index()] = depth[below.index()] + 1;
            cut[stack.index()] = if depth[stack.index()] <= most_frames { stack } else { cut[below.index()] };
        }
        cut
    }

    /// A stack's frames, outermost first.
    pub fn unwind(&self, stack: StackId) -> Vec<FrameId> {
        let mut frames: Vec<FrameId> = self.tree.frames(stack).collect();
        frames.reverse();
        frames
    }

    /// How many stacks there are, the empty one among them.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Whether only the empty stack is there.
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// Bytes held by the table.
    pub fn heap_bytes(&self) -> usize {
        self.strings.heap_bytes() + self.frames.heap_bytes() + self.tree.heap_bytes()
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
        let main = table.push(StackId::EMPTY, frames[0]);
        let load = table.push(main, frames[1]);
        let read = table.push(load, frames[2]);
        assert_eq!(table.push(main, frames[1]), load);
        assert_ne!(table.push(StackId::EMPTY, frames[1]), load);
        assert_eq!(table.len(), 5);
        assert_eq!(table.unwind(read), frames[..3]);
        assert_eq!(table.unwind(StackId::EMPTY), []);
        assert_eq!(table.pop(load), Some((main, frames[1])));
        let cut = table.cut(2);
        assert_eq!(
            [read, load, main, StackId::EMPTY].map(|stack| cut[stack.index()]),
            [load, load, main, StackId::EMPTY]
        );
        // A frame is its name and its place.
        let name = table.intern("read");
        assert_ne!(table.frame(Frame { name, line: 7, ..Frame::default() }), frames[2]);
    }
}
