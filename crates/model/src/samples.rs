//! Samples as columns: which stack was seen, where, when, and what it is worth.

use crate::stack_tree::StackId;
use crate::time::Ns;

/// A stack and what it is worth.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Which of the profile's parts it belongs to.
    pub part: usize,
    /// When it was taken, where the profiler says.
    pub at: Option<Ns>,
    pub stack: StackId,
    pub amounts: &'a [i64],
}

impl<'a> Sample<'a> {
    /// One of a profile that does not say when.
    pub fn new(part: usize, stack: StackId, amounts: &'a [i64]) -> Sample<'a> {
        Sample { part, at: None, stack, amounts }
    }
}

/// The columns, in the order the samples were taken or written.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    width: usize,
    part: Vec<u32>,
    stack: Vec<StackId>,
    /// The amounts of all samples, one after the other.
    amounts: Vec<i64>,
    /// Empty, or as long as the others: most formats do not say when.
    at: Vec<Option<Ns>>,
}

impl Samples {
    /// None yet, each of so many amounts.
    pub(crate) fn new(width: usize) -> Samples {
        Samples { width, ..Samples::default() }
    }

    /// Amounts that are missing are 0, and there are no more than the width.
    pub(crate) fn push(&mut self, sample: Sample<'_>) {
        if sample.at.is_some() || !self.at.is_empty() {
            self.at.resize(self.len(), None);
            self.at.push(sample.at);
        }
        self.part.push(u32::try_from(sample.part).unwrap_or(u32::MAX));
        self.stack.push(sample.stack);
        self.amounts.extend(sample.amounts.iter().copied().chain(std::iter::repeat(0)).take(self.width));
    }

    pub fn len(&self) -> usize {
        self.stack.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Sample<'_>> {
        (0..self.len()).map(|i| Sample {
            part: self.part[i] as usize,
            at: self.at.get(i).copied().flatten(),
            stack: self.stack[i],
            amounts: &self.amounts[i * self.width..(i + 1) * self.width],
        })
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.len() * (size_of::<u32>() + size_of::<StackId>())
            + self.amounts.len() * size_of::<i64>()
            + self.at.len() * size_of::<Option<Ns>>()
    }
}
