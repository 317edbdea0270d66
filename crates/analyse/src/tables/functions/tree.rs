//! The stacks of a profile as a tree with the weight of each, walked once without recursion.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{FrameId, Profile};

use super::{FunctionId, Names};
use crate::scope::NONE;

/// The tree. A node is a stack; the first is the one without frames.
pub(crate) struct Tree<'a> {
    names: &'a Names<'a>,
    frame: Vec<FrameId>,
    parent: Vec<u32>,
    /// Weight of the stack itself.
    own: Vec<i64>,
    /// Weight of the stack and of all that begin with it; waiting is not in it.
    total: Vec<i64>,
    first_child: Vec<u32>,
    next_sibling: Vec<u32>,
}

/// What happens on the way through the tree.
pub(crate) enum Step {
    Enter(u32),
    /// A node and all below it are done.
    Leave(u32),
}

impl<'a> Tree<'a> {
    /// The tree in which waiting is kept apart from what the functions that wait do themselves.
    pub(crate) fn new(profile: &Profile, names: &'a Names<'a>, value: usize) -> Tree<'a> {
        Tree::build(profile, names, value, false)
    }

    /// The tree in which waiting is time of the function that waits, for formats that know no waiting.
    pub(crate) fn with_waiting(profile: &Profile, names: &'a Names<'a>, value: usize) -> Tree<'a> {
        Tree::build(profile, names, value, true)
    }

    fn build(profile: &Profile, names: &'a Names<'a>, value: usize, waiting_is_own: bool) -> Tree<'a> {
        let count = profile.stacks.len();
        let mut tree = Tree {
            names,
            frame: vec![FrameId::default(); count],
            parent: vec![NONE; count],
            own: vec![0; count],
            total: vec![0; count],
            first_child: vec![NONE; count],
            next_sibling: vec![NONE; count],
        };
        for sample in profile.samples().iter() {
            let own = &mut tree.own[sample.stack.index()];
            *own = own.saturating_add(sample.amounts.get(value).copied().unwrap_or(0));
        }
        for (stack, below, frame) in profile.stacks.nodes() {
            tree.frame[stack.index()] = frame;
            tree.parent[stack.index()] = below.index() as u32;
        }
        // A stack comes after those it begins with.
        for at in (1..count).rev() {
            let parent = tree.parent[at] as usize;
            tree.next_sibling[at] = tree.first_child[parent];
            tree.first_child[parent] = at as u32;
            if names.is_waiting(tree.function(at as u32)) {
                if waiting_is_own {
                    tree.own[parent] = tree.own[parent].saturating_add(tree.own[at]);
                    tree.own[at] = 0;
                }
            } else {
                let below = tree.total[at].saturating_add(tree.own[at]);
                tree.total[at] = below;
                tree.total[parent] = tree.total[parent].saturating_add(below);
            }
        }
        tree
    }

    pub(crate) fn function(&self, node: u32) -> FunctionId {
        self.names.function_of(self.frame[node as usize])
    }

    pub(crate) fn parent(&self, node: u32) -> Option<u32> {
        Some(self.parent[node as usize]).filter(|&parent| parent != 0 && parent != NONE)
    }

    pub(crate) fn total(&self, node: u32) -> i64 {
        self.total[node as usize]
    }

    pub(crate) fn own(&self, node: u32) -> i64 {
        self.own[node as usize]
    }

    /// Goes through all nodes but the first, each before those below it.
    pub(crate) fn walk(&self, mut each: impl FnMut(Step)) {
        let mut at = self.first_child.first().copied().unwrap_or(NONE);
        while at != NONE {
            each(Step::Enter(at));
            if self.first_child[at as usize] != NONE {
                at = self.first_child[at as usize];
                continue;
            }
            loop {
                each(Step::Leave(at));
                if self.next_sibling[at as usize] != NONE {
                    at = self.next_sibling[at as usize];
                    break;
                }
                at = self.parent[at as usize];
                if at == 0 || at == NONE {
                    return;
                }
            }
        }
    }

    /// By function: its own weight, and the weight of the stacks it is in. Waiting counts in neither.
    pub(crate) fn sums(&self) -> (Vec<i64>, Vec<i64>) {
        let (mut own, mut total) = (vec![0i64; self.names.len()], vec![0i64; self.names.len()]);
        let mut open = vec![0u32; self.names.len()];
        self.walk(|step| match step {
            Step::Enter(node) => {
                let function = self.function(node) as usize;
                if open[function] == 0 {
                    total[function] = total[function].saturating_add(self.total(node));
                }
                open[function] += 1;
                if !self.names.is_waiting(function as FunctionId) {
                    own[function] = own[function].saturating_add(self.own(node));
                }
            }
            Step::Leave(node) => open[self.function(node) as usize] -= 1,
        });
        (own, total)
    }

    /// By function: the weight of waiting right inside of it.
    pub(crate) fn waiting(&self) -> Vec<i64> {
        let mut waiting = vec![0i64; self.names.len()];
        for node in 1..self.own.len() as u32 {
            if self.names.is_waiting(self.function(node))
                && let Some(parent) = self.parent(node)
            {
                let sum = &mut waiting[self.function(parent) as usize];
                *sum = sum.saturating_add(self.own(node));
            }
        }
        waiting
    }

    /// By caller and called function: own weight of the called, its weight with all that it called, and how many stacks.
    pub(crate) fn edges(&self) -> HashMap<(FunctionId, FunctionId), (i64, i64), RandomState> {
        let mut sums: HashMap<(FunctionId, FunctionId), (i64, i64), RandomState> = HashMap::default();
        let mut open: HashMap<(FunctionId, FunctionId), u32, RandomState> = HashMap::default();
        let edge = |node| self.parent(node).map(|parent| (self.function(parent), self.function(node)));
        self.walk(|step| match step {
            Step::Enter(node) => {
                let Some(edge) = edge(node).filter(|edge| !self.names.is_waiting(edge.1)) else { return };
                let (own, total) = sums.entry(edge).or_default();
                let open = open.entry(edge).or_default();
                *own = own.saturating_add(self.own(node));
                if *open == 0 {
                    *total = total.saturating_add(self.total(node));
                }
                *open += 1;
            }
            Step::Leave(node) => {
                if let Some(open) = edge(node).and_then(|edge| open.get_mut(&edge)) {
                    *open = open.saturating_sub(1);
                }
            }
        });
        sums
    }
}
