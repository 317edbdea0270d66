//! A profile: how much each stack or each function took, without saying when.
//!
//! Samplers write weighted stacks, counting profilers (such as Python's `cProfile`) a row per function with its callers.
//! Line profilers write a row per line. A profile holds any of these.

use crate::heap::HeapFacts;
use crate::meta::Source;
use crate::notes::Notes;
use crate::samples::{Sample, Samples};
use crate::stack_table::{FrameId, StackTable};
use crate::time::Ns;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ValueUnit {
    /// Samples, calls or whatever else; the file does not say more.
    Plain,
    Nanoseconds,
    Bytes,
}

/// One of the values that every sample has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueKind {
    pub name: String,
    pub unit: ValueUnit,
}

/// The values of a profile of memory, in their order: allocations and bytes ever made, allocations alive at the end and at the
/// peak, bytes alive in the middle, at the end and at the peak. What matters most comes last.
pub const HEAP_VALUES: [(&str, ValueUnit); 7] = [
    ("allocations", ValueUnit::Plain),
    ("allocated", ValueUnit::Bytes),
    ("live_count", ValueUnit::Plain),
    ("peak_count", ValueUnit::Plain),
    ("earlier", ValueUnit::Bytes),
    ("live", ValueUnit::Bytes),
    ("peak", ValueUnit::Bytes),
];

/// The same as a profile wants them.
pub fn heap_values() -> Vec<ValueKind> {
    HEAP_VALUES.iter().map(|&(name, unit)| ValueKind { name: name.to_owned(), unit }).collect()
}

/// What the profile says about one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRow {
    pub frame: FrameId,
    /// How often it was called.
    pub calls: u64,
    /// The same without calls from itself.
    pub primitive_calls: u64,
    /// Time in it, without what it called.
    pub self_ns: Ns,
    pub total_ns: Ns,
    /// Who called it; each with its share of the above.
    pub callers: Vec<Caller>,
}

/// One function's calls of another.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The function that called.
    pub frame: FrameId,
    pub calls: u64,
    pub primitive_calls: u64,
    /// Time in the called function during these calls.
    pub self_ns: Ns,
    pub total_ns: Ns,
}

/// What the profile says about one line of a function.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// The function; its line is where it starts.
    pub function: FrameId,
    /// The line, counted from 1.
    pub line: u32,
    pub hits: u64,
    pub ns: Ns,
}

/// What the line of a frame is.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum LineIs {
    /// Where the function was when it was seen, so that one function has many frames; or the format does not say.
    #[default]
    Current,
    Start,
}

/// Weighted stacks, calls or lines.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    pub source: Source,
    pub name: String,
    pub stacks: StackTable,
    /// What the lines of its frames are.
    pub line_is: LineIs,
    /// What the file keeps apart: threads, processes or recordings, by name.
    pub parts: Vec<String>,
    /// A row per function, where the profiler counted calls.
    pub calls: Vec<CallRow>,
    /// A row per line that ran, where the profiler timed lines; those of a function stand together.
    pub lines: Vec<LineRow>,
    /// The memory of the program, where that was looked at; samples then have the values of [`HEAP_VALUES`].
    pub heap: Option<HeapFacts>,
    /// What was kept, repaired and set aside.
    pub notes: Notes,
    values: Vec<ValueKind>,
    samples: Samples,
}

impl Profile {
    /// An empty one whose samples have these values.
    pub fn new(values: Vec<ValueKind>) -> Profile {
        Profile { samples: Samples::new(values.len()), values, ..Profile::default() }
    }

    /// The values that every sample has.
    pub fn values(&self) -> &[ValueKind] {
        &self.values
    }

    /// Adds a sample. Amounts that are missing are 0, and there are no more than values.
    pub fn add(&mut self, sample: Sample<'_>) {
        self.samples.push(sample);
    }

    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Whether there is no sample, no call, no line and no memory.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.calls.is_empty() && self.lines.is_empty() && self.heap.is_none()
    }

    /// The sum of one value over all samples. It stops at the largest number there is.
    pub fn total(&self, value: usize) -> i64 {
        self.samples
            .iter()
            .filter_map(|sample| sample.amounts.get(value))
            .fold(0, |sum, v| i64::saturating_add(sum, *v))
    }

    /// Bytes the samples, stacks, calls and lines hold.
    pub fn heap_bytes(&self) -> usize {
        let callers: usize = self.calls.iter().map(|row| row.callers.len()).sum();
        self.stacks.heap_bytes()
            + self.samples.heap_bytes()
            + self.calls.len() * size_of::<CallRow>()
            + callers * size_of::<Caller>()
            + self.lines.len() * size_of::<LineRow>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack_table::Frame;
    use crate::stack_tree::StackId;

    #[test]
    fn samples_have_an_amount_for_every_value() {
        let value = |name: &str, unit| ValueKind { name: name.to_owned(), unit };
        let mut profile =
            Profile::new(vec![value("time", ValueUnit::Nanoseconds), value("allocated", ValueUnit::Bytes)]);
        let name = profile.stacks.intern("main");
        let main = profile.stacks.frame(Frame { name, ..Frame::default() });
        let stack = profile.stacks.push(StackId::EMPTY, main);
        let sample = |part, at, stack, amounts| Sample { part, at, stack, amounts };
        profile.add(sample(0, None, stack, &[5]));
        profile.add(sample(1, Some(Ns(9)), StackId::EMPTY, &[i64::MAX, 7, 9]));
        profile.add(sample(1, None, stack, &[]));
        let rows: Vec<_> = profile.samples().iter().collect();
        assert_eq!(
            rows,
            [
                sample(0, None, stack, &[5, 0]),
                sample(1, Some(Ns(9)), StackId::EMPTY, &[i64::MAX, 7]),
                sample(1, None, stack, &[0, 0]),
            ]
        );
        assert_eq!((profile.total(0), profile.total(1), profile.total(2)), (i64::MAX, 7, 0));
    }
}
