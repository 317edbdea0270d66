//! The Python frames around an operator.
//!
//! They come from the `Call stack` text that old and verbose files carry, else from the Python calls recorded
//! around the operator; a backward operator takes those of its forward operator.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, CallTree, Kind, SliceId, StrId, Trace};

const NONE: u32 = u32::MAX;

/// One stack, innermost frame first.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Stack<'a> {
    /// Frames as the file joined them with `;`.
    Text(&'a str),
    /// The names of Python calls.
    Calls(Vec<StrId>),
}

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
    /// The number of the stack without frames.
    empty: u32,
    numbers: HashMap<Stack<'a>, u32, RandomState>,
    stacks: Vec<Stack<'a>>,
}

impl<'a> Stacks<'a> {
    pub(crate) fn new(trace: &'a Trace, depth: usize) -> Self {
        let slices = trace.slices();
        let tree = CallTree::build(trace, |_| true);
        let mut python = vec![NONE; slices.len()];
        let mut forward = vec![NONE; slices.len()];
        // A parent stands before its children, so what is known of it is known for them.
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
            empty: 0,
            numbers: HashMap::default(),
            stacks: Vec::new(),
        };
        stacks.empty = stacks.add(Stack::Text(""));
        stacks
    }

    /// The number of the stack around a slice.
    pub(crate) fn number(&mut self, id: SliceId) -> u32 {
        let forward = self.forward[id.index()];
        // A backward operator's own text only says that somebody called backward().
        let told = if forward == NONE { id } else { SliceId::from_index(forward as usize) };
        if let Some(text) = self.trace.args(told).text(Attr::CallStack) {
            return self.add(Stack::Text(first_frames(text, self.depth)));
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
            self.of_call[call as usize] = self.add(Stack::Calls(frames));
        }
        self.of_call[call as usize]
    }

    /// The frames of a number.
    pub(crate) fn frames(&self, number: u32) -> Vec<String> {
        match self.stacks.get(number as usize) {
            Some(Stack::Text(text)) => text.split(';').filter(|f| !f.is_empty()).map(str::to_owned).collect(),
            Some(Stack::Calls(names)) => names.iter().map(|&name| self.trace.text(name).to_owned()).collect(),
            None => Vec::new(),
        }
    }

    fn add(&mut self, stack: Stack<'a>) -> u32 {
        if let Some(&number) = self.numbers.get(&stack) {
            return number;
        }
        let number = self.stacks.len() as u32;
        self.stacks.push(stack.clone());
        self.numbers.insert(stack, number);
        number
    }
}

/// The text up to the `;` after this many frames.
fn first_frames(text: &str, frames: usize) -> &str {
    match text.match_indices(';').nth(frames.saturating_sub(1)) {
        _ if frames == 0 => "",
        Some((end, _)) => &text[..end],
        None => text.trim_end_matches(';'),
    }
}

#[cfg(test)]
mod tests {
    use super::first_frames;

    #[test]
    fn frames_from_the_innermost() {
        assert_eq!(first_frames("a;b;c", 2), "a;b");
        assert_eq!(first_frames("a;b;c", 3), "a;b;c");
        assert_eq!(first_frames("a;b;c;", 9), "a;b;c");
        assert_eq!(first_frames("a", 1), "a");
        assert_eq!(first_frames("a;b", 0), "");
        assert_eq!(first_frames("", 4), "");
    }
}
