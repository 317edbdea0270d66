//! The Python frames around an operator.
//!
//! They come from the `Call stack` text that old and verbose files carry, else from the Python calls recorded
//! around the operator; a backward operator takes those of its forward operator.

use crate::scope::NONE;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{CallTree, Kind, SliceId, StrId, Trace};

/// The frames of one stack, the innermost first.
type Frames = Vec<StrId>;

/// The stacks of a trace, each distinct one numbered.
pub(crate) struct Stacks<'a> {
    trace: &'a Trace,
    depth: usize,
    /// The nearest Python call above each slice.
    python: Vec<u32>,
    /// The forward operator of each slice or of what is above it.
    forward: Vec<u32>,
    /// By the innermost Python call: the stack's number.
    of_call: Vec<u32>,
    /// By recorded stack: its number.
    of_stack: Vec<u32>,
    /// The number of the stack without frames.
    empty: u32,
    numbers: HashMap<Frames, u32, RandomState>,
    stacks: Vec<Frames>,
}

impl<'a> Stacks<'a> {
    pub(crate) fn new(trace: &'a Trace, depth: usize) -> Self {
        let slices = trace.slices();
        let tree = CallTree::build(trace, |_| true);
        let mut python = vec![NONE; slices.len()];
        let mut forward = vec![NONE; slices.len()];
        // A parent comes before its children, so what is known of it is known for them.
        for id in slices.ids() {
            let own = trace.links().forward_of(id).next().map_or(NONE, |f| f.index() as u32);
            forward[id.index()] = own;
            if let Some(parent) = tree.parent(id) {
                let is_python = slices.kind(parent) == Kind::PythonFunction;
                python[id.index()] = if is_python { parent.index() as u32 } else { python[parent.index()] };
                if own == NONE {
                    forward[id.index()] = forward[parent.index()];
                }
            }
        }
        let mut stacks = Stacks {
            trace,
            depth,
            python,
            forward,
            of_call: vec![NONE; slices.len()],
            of_stack: vec![NONE; trace.stacks().len()],
            empty: 0,
            numbers: HashMap::default(),
            stacks: Vec::new(),
        };
        stacks.empty = stacks.add(Frames::new());
        stacks
    }

    /// The number of the stack around a slice.
    pub(crate) fn number(&mut self, id: SliceId) -> u32 {
        let forward = self.forward[id.index()];
        // A backward operator's own text only says that someone called backward().
        let told = if forward == NONE { id } else { SliceId::from_index(forward as usize) };
        if let Some(stack) = self.trace.stack(told) {
            if self.of_stack[stack.index()] == NONE {
                let frames = self.trace.stacks().frames(stack).take(self.depth).collect();
                self.of_stack[stack.index()] = self.add(frames);
            }
            return self.of_stack[stack.index()];
        }
        let here = self.python[id.index()];
        let call = if here == NONE && forward != NONE { self.python[forward as usize] } else { here };
        if call == NONE {
            return self.empty;
        }
        if self.of_call[call as usize] == NONE {
            let mut frames = Vec::new();
            let mut at = call;
            while at != NONE && frames.len() < self.depth {
                frames.push(self.trace.slices().name(SliceId::from_index(at as usize)));
                at = self.python[at as usize];
            }
            self.of_call[call as usize] = self.add(frames);
        }
        self.of_call[call as usize]
    }

    pub(crate) fn frames(&self, number: u32) -> Vec<String> {
        let frames = self.stacks.get(number as usize).into_iter().flatten();
        frames.map(|&frame| self.trace.text(frame).to_owned()).collect()
    }

    fn add(&mut self, frames: Frames) -> u32 {
        if let Some(&number) = self.numbers.get(&frames) {
            return number;
        }
        let number = self.stacks.len() as u32;
        self.stacks.push(frames.clone());
        self.numbers.insert(frames, number);
        number
    }
}
