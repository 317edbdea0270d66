//! Stacks with their counts: frames once, a stack as the number of its outer stack and one frame more.

use std::collections::HashMap;

use super::{MAX_DEPTH, MAX_TEXT, StackFrame, other};
use crate::wire::{self, Pairs, message};

/// The first byte of a record in files of schema 1.
const STACKS: u8 = 3;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StackCounts {
    /// The time between two samples.
    pub period_ns: u64,
    pub frames: Vec<StackFrame>,
    /// The outer stack (0: none, else its place here and 1), and the frame.
    nodes: Pairs<u32, u32>,
    /// Samples by stack, which is a place in `nodes` and 1.
    counts: Pairs<u32, u64>,
    /// Samples of stacks that there was no room for.
    pub other: u64,
    frame_numbers: HashMap<StackFrame, u32>,
    node_numbers: HashMap<(u32, u32), u32>,
    count_places: HashMap<u32, usize>,
}

impl StackCounts {
    /// Nothing yet.
    pub(super) fn new(period_ns: u64) -> Self {
        Self { period_ns, ..Self::default() }
    }

    pub(super) fn frame(&mut self, frame: &StackFrame) -> u32 {
        if let Some(number) = self.frame_numbers.get(frame) {
            return *number;
        }
        let cut = |text: &str| text.chars().take(MAX_TEXT).collect::<String>();
        let short = StackFrame { name: cut(&frame.name), file: cut(&frame.file), line: frame.line };
        let frames = &mut self.frames;
        *self.frame_numbers.entry(short).or_insert_with_key(|short| {
            frames.push(short.clone());
            frames.len() as u32 - 1
        })
    }

    /// Counts a stack, the outermost frame first.
    pub(super) fn add(&mut self, frames: &[u32], samples: u64, most: usize) {
        let inner = &frames[frames.len().saturating_sub(MAX_DEPTH)..];
        // A stack is looked up before anything is made for it.
        let known = inner.iter().try_fold(0, |node, frame| self.node_numbers.get(&(node, *frame)).copied());
        let place = known.and_then(|node| self.count_places.get(&node)).copied();
        if let Some((_, count)) = place.and_then(|place| self.counts.0.get_mut(place)) {
            *count = count.saturating_add(samples);
            return;
        }
        if inner.is_empty() || self.counts.0.len() >= most {
            self.other = self.other.saturating_add(samples);
            return;
        }
        let mut node = 0;
        for frame in inner {
            let nodes = &mut self.nodes.0;
            node = *self.node_numbers.entry((node, *frame)).or_insert_with_key(|key| {
                nodes.push(*key);
                nodes.len() as u32
            });
        }
        self.count_places.insert(node, self.counts.0.len());
        self.counts.0.push((node, samples));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts.0.is_empty() && self.other == 0
    }

    /// Every stack with its samples.
    pub(super) fn each(&self, mut with: impl FnMut(Vec<StackFrame>, u64)) {
        for (node, samples) in &self.counts.0 {
            let mut frames = Vec::new();
            let mut at = *node;
            // Every outer stack is before its inner ones: the way out ends.
            while let Some((outer, frame)) = (at as usize).checked_sub(1).and_then(|at| self.nodes.0.get(at)) {
                frames.extend(self.frames.get(*frame as usize).cloned());
                at = *outer;
                if frames.len() > MAX_DEPTH {
                    break;
                }
            }
            frames.reverse();
            with(frames, *samples);
        }
        if self.other > 0 {
            with(vec![other()], self.other);
        }
    }

    /// From bytes of a file of this schema; what comes back can be sampled, and not be added to.
    pub(super) fn decode(bytes: &[u8], schema: u16) -> Option<Self> {
        let found: Self = match schema {
            1 => wire::decode_in_order(bytes.strip_prefix(&[STACKS])?)?,
            _ => wire::decode(bytes)?,
        };
        // Each stack is behind its outer one: no circle, whatever the bytes say.
        let mut nodes = found.nodes.0.iter().enumerate();
        let nodes_fit =
            nodes.all(|(at, (outer, frame))| *outer as usize <= at && (*frame as usize) < found.frames.len());
        let counts_fit =
            found.counts.0.iter().all(|(node, _)| (1..=found.nodes.0.len()).contains(&(*node as usize)));
        (nodes_fit && counts_fit).then_some(found)
    }
}

message!(StackCounts { 1: period_ns, 2: other, 3: frames, 4: nodes, 5: counts });

message!(StackFrame { 1: name, 2: file, 3: line });
