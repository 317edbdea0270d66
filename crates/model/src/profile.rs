//! A profile: how much each stack or each function took, without saying when.
//!
//! Samplers write weighted stacks, counting profilers (such as Python's `cProfile`) a row per function with its callers.
//! A profile holds either, or both.

use crate::meta::Source;
use crate::notes::Notes;
use crate::stack_table::{CallStackId, FrameId, StackTable};
use crate::time::Ns;

/// What an amount counts.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ValueUnit {
    /// Samples, calls or whatever else; the file does not say more.
    Plain,
    /// Time.
    Nanoseconds,
    /// Memory.
    Bytes,
}

/// One of the values that every sample has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueKind {
    /// What to call it.
    pub name: String,
    /// What it counts.
    pub unit: ValueUnit,
}

/// A stack and what it is worth.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Which of the profile's parts it belongs to.
    pub part: usize,
    /// The stack.
    pub stack: CallStackId,
    /// An amount for each kind of value.
    pub amounts: &'a [i64],
}

/// What the profile says about one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRow {
    /// The function.
    pub frame: FrameId,
    /// How often it was called.
    pub calls: u64,
    /// The same without calls from itself.
    pub primitive_calls: u64,
    /// Time in it, without what it called.
    pub self_ns: Ns,
    /// Time in it and in all that it called.
    pub total_ns: Ns,
    /// Who called it; each with its share of the above.
    pub callers: Vec<Caller>,
}

/// One function's calls of another.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The function that called.
    pub frame: FrameId,
    /// How often.
    pub calls: u64,
    /// The same without recursion.
    pub primitive_calls: u64,
    /// Time in the called function during these calls.
    pub self_ns: Ns,
    /// Time in it and in all that it called.
    pub total_ns: Ns,
}

/// Weighted stacks, or calls.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Where it came from.
    pub source: Source,
    /// Its title, or empty.
    pub name: String,
    /// Frames and stacks.
    pub stacks: StackTable,
    /// What the file keeps apart: threads, processes or recordings, by name.
    pub parts: Vec<String>,
    /// A row per function, where the profiler counted calls.
    pub calls: Vec<CallRow>,
    /// What was kept, repaired and set aside.
    pub notes: Notes,
    values: Vec<ValueKind>,
    sample_parts: Vec<u32>,
    sample_stacks: Vec<CallStackId>,
    /// The amounts of all samples, one after the other.
    amounts: Vec<i64>,
}

impl Profile {
    /// An empty one whose samples have these values.
    pub fn new(values: Vec<ValueKind>) -> Profile {
        Profile { values, ..Profile::default() }
    }

    /// The values that every sample has.
    pub fn values(&self) -> &[ValueKind] {
        &self.values
    }

    /// Adds a sample. Amounts that are missing are 0, and there are no more than values.
    pub fn add(&mut self, part: usize, stack: CallStackId, amounts: &[i64]) {
        self.sample_parts.push(u32::try_from(part).unwrap_or(u32::MAX));
        self.sample_stacks.push(stack);
        let given = amounts.iter().copied().chain(std::iter::repeat(0));
        self.amounts.extend(given.take(self.values.len()));
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.sample_stacks.len()
    }

    /// Whether there is neither a sample nor a call.
    pub fn is_empty(&self) -> bool {
        self.sample_stacks.is_empty() && self.calls.is_empty()
    }

    /// Every sample, in the order of the file.
    pub fn samples(&self) -> impl Iterator<Item = Sample<'_>> {
        let width = self.values.len();
        self.sample_stacks.iter().zip(&self.sample_parts).enumerate().map(move |(at, (&stack, &part))| Sample {
            part: part as usize,
            stack,
            amounts: &self.amounts[at * width..(at + 1) * width],
        })
    }

    /// The sum of one value over all samples. It stops at the largest number there is.
    pub fn total(&self, value: usize) -> i64 {
        self.samples()
            .filter_map(|sample| sample.amounts.get(value))
            .fold(0, |sum, v| i64::saturating_add(sum, *v))
    }

    /// Bytes the samples, stacks and calls hold.
    pub fn heap_bytes(&self) -> usize {
        let callers: usize = self.calls.iter().map(|row| row.callers.len()).sum();
        self.stacks.heap_bytes()
            + self.len() * (size_of::<u32>() + size_of::<CallStackId>())
            + self.amounts.len() * size_of::<i64>()
            + self.calls.len() * size_of::<CallRow>()
            + callers * size_of::<Caller>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack_table::Frame;

    #[test]
    fn samples_have_an_amount_for_every_value() {
        let value = |name: &str, unit| ValueKind { name: name.to_owned(), unit };
        let mut profile =
            Profile::new(vec![value("time", ValueUnit::Nanoseconds), value("allocated", ValueUnit::Bytes)]);
        let name = profile.stacks.intern("main");
        let main = profile.stacks.frame(Frame { name, ..Frame::default() });
        let stack = profile.stacks.push(CallStackId::EMPTY, main);
        profile.add(0, stack, &[5]);
        profile.add(1, CallStackId::EMPTY, &[i64::MAX, 7, 9]);
        let rows: Vec<_> = profile.samples().map(|s| (s.part, s.stack, s.amounts.to_vec())).collect();
        assert_eq!(rows, [(0, stack, vec![5, 0]), (1, CallStackId::EMPTY, vec![i64::MAX, 7])]);
        assert_eq!((profile.total(0), profile.total(1), profile.total(2)), (i64::MAX, 7, 0));
    }
}
