//! The tree that stacks share: stacks that begin alike share their nodes.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Kind, Ns};

use super::Frame;
pub(crate) use crate::scope::NONE;

/// A frame in its place.
#[derive(Debug)]
pub(crate) struct Node {
    /// The node of the frame around it; [`NONE`] outermost.
    pub(crate) parent: u32,
    pub(crate) frame: Frame,
    /// What the first slice here was; `None` for frames that are not slices.
    pub(crate) kind: Option<Kind>,
    pub(crate) value: Ns,
    pub(crate) count: u64,
    depth: u32,
    /// Child asked for last: calls repeat, and this saves looking it up.
    recent: u32,
}

/// Grows as stacks are met; a parent always comes before its children.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    children: HashMap<(u32, Frame), u32, RandomState>,
    max_depth: usize,
    /// How often a frame was too deep for a node of its own.
    pub(super) deeper: u64,
}

impl Tree {
    pub(super) fn new(max_depth: usize) -> Tree {
        Tree { nodes: Vec::new(), children: HashMap::default(), max_depth, deeper: 0 }
    }

    /// The node of a frame inside another; that other where the stack is too deep already.
    pub(super) fn child(&mut self, parent: u32, frame: Frame, kind: Option<Kind>) -> u32 {
        if let Some(around) = self.nodes.get(parent as usize)
            && let Some(recent) = self.nodes.get(around.recent as usize)
            && recent.frame == frame
        {
            return around.recent;
        }
        let depth = self.nodes.get(parent as usize).map_or(0, |around| around.depth + 1);
        if depth > 0 && depth as usize >= self.max_depth {
            self.deeper += 1;
            return parent;
        }
        let next = self.nodes.len() as u32;
        let node = *self.children.entry((parent, frame)).or_insert(next);
        if node == next {
            self.nodes.push(Node { parent, frame, kind, value: Ns::ZERO, count: 0, depth, recent: NONE });
        }
        if let Some(around) = self.nodes.get_mut(parent as usize) {
            around.recent = node;
        }
        node
    }

    pub(super) fn add(&mut self, node: u32, value: Ns) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.value += value;
        }
    }

    pub(super) fn count(&mut self, node: u32) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.count += 1;
        }
    }

    /// From the outermost frame to a node's own.
    pub(super) fn frames(&self, leaf: &Node) -> Vec<Frame> {
        let mut frames = vec![leaf.frame];
        let mut at = leaf.parent;
        while let Some(node) = self.nodes.get(at as usize) {
            frames.push(node.frame);
            at = node.parent;
        }
        frames.reverse();
        frames
    }
}
