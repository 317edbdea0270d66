//! Stacks as a tree: a node is a place in code, called from another node.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Stacks that are distinguished. Further ones count for the deepest part of them that is known.
const MAX_NODES: usize = 1 << 18;

/// A stack.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    /// No Python is running.
    pub const ROOT: NodeId = NodeId(0);

    pub(super) fn new(index: usize) -> NodeId {
        NodeId(index as u32)
    }

    /// Its number, counted from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place in code: the code's address, and how many bytes into it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodePosition {
    pub code: usize,
    /// Where in it; below 0 before its first instruction.
    pub at: i32,
}

/// The tree.
#[derive(Debug)]
pub struct Stacks {
    nodes: Vec<(NodeId, CodePosition)>,
    known: HashMap<(NodeId, CodePosition), NodeId, RandomState>,
    /// How often a stack was too many.
    pub folded: u64,
}

impl Default for Stacks {
    fn default() -> Stacks {
        let root = (NodeId::ROOT, CodePosition { code: 0, at: 0 });
        Stacks { nodes: vec![root], known: HashMap::default(), folded: 0 }
    }
}

impl Stacks {
    /// The stack that continues another one, and whether it is new.
    #[inline]
    pub fn child(&mut self, parent: NodeId, place: CodePosition) -> (NodeId, bool) {
        if let Some(&known) = self.known.get(&(parent, place)) {
            return (known, false);
        }
        if self.nodes.len() >= MAX_NODES {
            self.folded += 1;
            return (parent, false);
        }
        let made = NodeId::new(self.nodes.len());
        self.nodes.push((parent, place));
        self.known.insert((parent, place), made);
        (made, true)
    }

    /// How many there are, the root among them.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is only the root.
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// All but the root with what they continue, each after that.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, NodeId, CodePosition)> + '_ {
        let nodes = self.nodes.iter().enumerate().skip(1);
        nodes.map(|(at, &(parent, place))| (NodeId::new(at), parent, place))
    }
}
