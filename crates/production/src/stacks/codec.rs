//! Stacks with their counts: frames once, a stack as the number of its outer stack and one frame more.

use std::collections::HashMap;

use super::{MAX_DEPTH, MAX_TEXT, StackFrame, other};
use crate::block::{Bytes, number, text};

/// The first byte of a record.
const STACKS: u8 = 3;
/// Frames and stacks in a file at most: more is damage.
const MAX_NODES: u64 = 5_000_000;

/// Counted stacks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counted {
    /// The time between two looks.
    pub period_ns: u64,
    pub frames: Vec<StackFrame>,
    /// The outer stack (0: none, else its place here and 1), and the frame.
    nodes: Vec<(u32, u32)>,
    /// Looks by stack, which is a place in `nodes` and 1.
    counts: Vec<(u32, u64)>,
    /// Looks at stacks that there was no room for.
    pub other: u64,
    frame_numbers: HashMap<StackFrame, u32>,
    node_numbers: HashMap<(u32, u32), u32>,
    count_places: HashMap<u32, usize>,
}

impl Counted {
    /// Nothing yet.
    pub(super) fn new(period_ns: u64) -> Self {
        Self { period_ns, ..Self::default() }
    }

    /// The number of a frame.
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
    pub(super) fn add(&mut self, frames: &[u32], looks: u64, most: usize) {
        let inner = &frames[frames.len().saturating_sub(MAX_DEPTH)..];
        // A stack is looked up before anything is made for it.
        let known = inner.iter().try_fold(0, |node, frame| self.node_numbers.get(&(node, *frame)).copied());
        let place = known.and_then(|node| self.count_places.get(&node)).copied();
        if let Some((_, count)) = place.and_then(|place| self.counts.get_mut(place)) {
            *count = count.saturating_add(looks);
            return;
        }
        if inner.is_empty() || self.counts.len() >= most {
            self.other = self.other.saturating_add(looks);
            return;
        }
        let mut node = 0;
        for frame in inner {
            let nodes = &mut self.nodes;
            node = *self.node_numbers.entry((node, *frame)).or_insert_with_key(|key| {
                nodes.push(*key);
                nodes.len() as u32
            });
        }
        self.count_places.insert(node, self.counts.len());
        self.counts.push((node, looks));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.other == 0
    }

    /// Every stack with its looks.
    pub(super) fn each(&self, mut with: impl FnMut(Vec<StackFrame>, u64)) {
        for (node, looks) in &self.counts {
            let mut frames = Vec::new();
            let mut at = *node;
            // Every outer stack is before its inner ones: the way out ends.
            while let Some((outer, frame)) = (at as usize).checked_sub(1).and_then(|at| self.nodes.get(at)) {
                frames.extend(self.frames.get(*frame as usize).cloned());
                at = *outer;
                if frames.len() > MAX_DEPTH {
                    break;
                }
            }
            frames.reverse();
            with(frames, *looks);
        }
        if self.other > 0 {
            with(vec![other()], self.other);
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = vec![STACKS];
        number(&mut out, self.period_ns);
        number(&mut out, self.other);
        number(&mut out, self.frames.len() as u64);
        for frame in &self.frames {
            text(&mut out, &frame.name);
            text(&mut out, &frame.file);
            number(&mut out, u64::from(frame.line));
        }
        number(&mut out, self.nodes.len() as u64);
        for (outer, frame) in &self.nodes {
            number(&mut out, u64::from(*outer));
            number(&mut out, u64::from(*frame));
        }
        number(&mut out, self.counts.len() as u64);
        for (node, looks) in &self.counts {
            number(&mut out, u64::from(*node));
            number(&mut out, *looks);
        }
        out
    }

    /// From bytes; what comes back can be looked at, and not be added to.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Bytes { rest: bytes.strip_prefix(&[STACKS])? };
        let items = |from: &mut Bytes<'_>| {
            // Each takes a byte at least.
            from.number().filter(|n| *n <= MAX_NODES && *n <= from.rest.len() as u64)
        };
        let mut found = Self { period_ns: from.number()?, other: from.number()?, ..Self::default() };
        for _ in 0..items(&mut from)? {
            let (name, file) = (from.text()?, from.text()?);
            found.frames.push(StackFrame { name, file, line: u32::try_from(from.number()?).ok()? });
        }
        for at in 0..items(&mut from)? {
            let (outer, frame) = (from.number()?, from.number()?);
            // Each stack is behind its outer one: no circle, whatever the bytes say.
            if outer > at || frame >= found.frames.len() as u64 {
                return None;
            }
            found.nodes.push((outer as u32, frame as u32));
        }
        for _ in 0..items(&mut from)? {
            let (node, looks) = (from.number()?, from.number()?);
            if node == 0 || node > found.nodes.len() as u64 {
                return None;
            }
            found.counts.push((node as u32, looks));
        }
        from.rest.is_empty().then_some(found)
    }
}
