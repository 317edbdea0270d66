//! What was tracked, copied so that names can be looked up without holding anything up, and as a profile.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{
    Frame, HeapFacts, HeapLine, HeapPoint, LineIs, Ns, Profile, Sample, StackId, heap_values,
};

use super::{CodePosition, CurvePoint, Heap, HeapRow, NodeId};

/// A place with its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLine {
    pub file: String,
    pub name: String,
    /// The line, or 0.
    pub line: u32,
}

/// Why a place has no name.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum NoName {
    /// It is left out.
    Hidden,
    /// It started the program: it is left out, and all that called it.
    Start,
}

/// What a line of a chosen function did to the process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMemory {
    /// The function, with the line it starts at.
    pub function: NamedLine,
    pub line: u32,
    pub hits: u64,
    /// The most that was in memory after it.
    pub rss_bytes: u64,
    /// What was in memory after it and not before, over all its runs.
    pub increment_bytes: i64,
}

/// A copy of what a heap says.
#[derive(Clone, Debug)]
pub struct HeapEnd {
    stacks: Vec<(NodeId, NodeId, CodePosition)>,
    rows: Vec<HeapRow>,
    facts: HeapFacts,
}

impl HeapEnd {
    /// The copy, at this time since the start.
    pub fn copy(heap: &Heap, sample_bytes: u64, now_ns: u64, unfinished: bool) -> HeapEnd {
        let (peak_bytes, peak_at_ns) = heap.peak();
        let point = |point: &CurvePoint| HeapPoint {
            at: ns(point.at_ns),
            live_bytes: Some(point.live_bytes),
            rss_bytes: point.rss_bytes,
        };
        HeapEnd {
            stacks: heap.stacks.iter().collect(),
            rows: heap.rows(now_ns),
            facts: HeapFacts {
                on_device: false,
                sample_bytes,
                duration: ns(now_ns),
                peak_bytes,
                peak_at: ns(peak_at_ns),
                end_bytes: heap.live_bytes(),
                earlier_at: heap.marked_at_ns(now_ns).map(ns),
                unfinished,
                curve: heap.curve.points().iter().map(point).collect(),
                lines: Vec::new(),
            },
        }
    }

    /// The most bytes that were alive at once.
    pub fn peak_bytes(&self) -> u64 {
        self.facts.peak_bytes
    }

    /// As a profile. `name` is asked once about each place; places without a name are left out of stacks.
    pub fn profile(
        &self,
        mut name: impl FnMut(CodePosition) -> Result<NamedLine, NoName>,
        lines: &[LineMemory],
    ) -> Profile {
        let mut profile = Profile::new(heap_values());
        profile.line_is = LineIs::Current;
        let mut known: HashMap<CodePosition, Result<Frame, NoName>, RandomState> = HashMap::default();
        let mut stacks: Vec<StackId> = vec![StackId::EMPTY];
        for &(_, parent, place) in &self.stacks {
            let frame = *known.entry(place).or_insert_with(|| {
                let NamedLine { file, name, line } = name(place)?;
                Ok(Frame { name: profile.stacks.intern(&name), file: profile.stacks.intern(&file), line })
            });
            let below = stacks[parent.index()];
            stacks.push(match frame {
                Ok(frame) => {
                    let frame = profile.stacks.frame(frame);
                    profile.stacks.push(below, frame)
                }
                Err(NoName::Hidden) => below,
                Err(NoName::Start) => StackId::EMPTY,
            });
        }
        // Several places may be one line, and stacks that differ in what is left out are one.
        let mut sums: HashMap<StackId, usize, RandomState> = HashMap::default();
        let mut amounts: Vec<(StackId, [i64; 7])> = Vec::new();
        for row in &self.rows {
            let stack = stacks[row.node.index()];
            let at = *sums.entry(stack).or_insert_with(|| {
                amounts.push((stack, [0; 7]));
                amounts.len() - 1
            });
            let more = [
                row.allocations,
                row.allocated_bytes,
                row.live_count,
                row.peak_count,
                row.mark_bytes,
                row.live_bytes,
                row.peak_bytes,
            ];
            for (sum, more) in amounts[at].1.iter_mut().zip(more) {
                *sum = sum.saturating_add(i64::try_from(more).unwrap_or(i64::MAX));
            }
        }
        for (stack, amounts) in &amounts {
            profile.add(Sample::new(0, *stack, amounts));
        }
        let mut facts = self.facts.clone();
        for line in lines {
            let NamedLine { file, name, line: start } = &line.function;
            let frame =
                Frame { name: profile.stacks.intern(name), file: profile.stacks.intern(file), line: *start };
            facts.lines.push(HeapLine {
                function: profile.stacks.frame(frame),
                line: line.line,
                hits: line.hits,
                rss_bytes: line.rss_bytes,
                increment_bytes: line.increment_bytes,
            });
        }
        profile.heap = Some(facts);
        profile
    }
}

fn ns(value: u64) -> Ns {
    Ns(i64::try_from(value).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::Sampling;
    use super::*;

    #[test]
    fn places_on_one_line_are_one_and_unnamed_ones_are_left_out() {
        let mut heap = Heap::new(Sampling::EXACT);
        let place = |code, at| CodePosition { code, at };
        let starts = heap.stacks.child(NodeId::ROOT, place(2, 0)).0;
        let start = heap.stacks.child(starts, place(1, 0)).0;
        let ours = heap.stacks.child(start, place(3, 0)).0;
        let first = heap.stacks.child(ours, place(2, 4)).0;
        let second = heap.stacks.child(ours, place(2, 8)).0;
        heap.allocated(0x10, 100, first, || 0);
        heap.allocated(0x20, 20, second, || 0);
        let end = HeapEnd::copy(&heap, 0, 5, false);
        let named = |place: CodePosition| {
            let line = NamedLine { file: "a.py".to_owned(), name: "f".to_owned(), line: 7 };
            match place.code {
                2 => Ok(line),
                1 => Err(NoName::Start),
                _ => Err(NoName::Hidden),
            }
        };
        let profile = end.profile(named, &[]);
        let samples: Vec<_> = profile.samples().iter().collect();
        assert_eq!(samples.len(), 1);
        assert_eq!(samples[0].amounts, [2, 120, 2, 2, 0, 120, 120]);
        assert_eq!(profile.stacks.unwind(samples[0].stack).len(), 1);
    }
}
