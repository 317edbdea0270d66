//! An index over a row: where a time falls, how much time a stretch holds and which of it is longest, in a few steps
//! however long the row is.

use std::ops::Range;

use super::spans::Spans;

/// How many spans share an entry of the index.
const SPANS_PER_BLOCK: usize = 32;
/// Levels above four billion spans.
const MAX_LEVELS: usize = 8;

/// The index of one row. About a byte a span.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The first start of each block.
    first: Vec<i64>,
    /// The summed length of everything before each block.
    before: Vec<i64>,
    /// The greatest length in each block; then in each `SPANS_PER_BLOCK` of the entries before, and so on.
    longest: Vec<Vec<i64>>,
    /// Where spans overlap: the position of the one that ends last, of all up to the end of each block.
    reaching: Option<Vec<u32>>,
}

impl Blocks {
    /// The index of a row. `overlaps`: whether one span may begin before another has ended.
    pub(super) fn new(spans: &impl Spans, overlaps: bool) -> Blocks {
        let blocks = spans.len().div_ceil(SPANS_PER_BLOCK);
        let mut first = Vec::with_capacity(blocks);
        let mut before = Vec::with_capacity(blocks);
        let mut lengths = Vec::with_capacity(blocks);
        let mut reaching = overlaps.then(|| Vec::with_capacity(blocks));
        let (mut sum, mut furthest) = (0i64, 0usize);
        for from in (0..spans.len()).step_by(SPANS_PER_BLOCK) {
            first.push(spans.start(from));
            before.push(sum);
            let mut longest = 0;
            for at in from..(from + SPANS_PER_BLOCK).min(spans.len()) {
                let length = spans.length(at);
                sum = sum.saturating_add(length);
                longest = longest.max(length);
                if overlaps && spans.end(at) > spans.end(furthest) {
                    furthest = at;
                }
            }
            lengths.push(longest);
            if let Some(reaching) = &mut reaching {
                reaching.push(furthest as u32);
            }
        }
        let mut longest = vec![lengths];
        while let Some(below) = longest.last().filter(|level| level.len() > SPANS_PER_BLOCK) {
            let above =
                below.chunks(SPANS_PER_BLOCK).map(|part| part.iter().copied().max().unwrap_or(0)).collect();
            longest.push(above);
        }
        Blocks { first, before, longest, reaching }
    }

    pub(super) fn overlaps(&self) -> bool {
        self.reaching.is_some()
    }

    /// The first position from `from` on whose span starts at this time or later. Asked for times near `from`, it looks
    /// only near there.
    pub(super) fn position(&self, spans: &impl Spans, from: usize, at: i64) -> usize {
        let begin = from / SPANS_PER_BLOCK;
        let mut step = 1;
        while begin + step < self.first.len() && self.first[begin + step] < at {
            step *= 2;
        }
        let window = begin + step / 2..(begin + step).min(self.first.len());
        let block = window.start + self.first[window].partition_point(|&start| start < at);
        // Every block from here on starts late enough; the one before may hold the place.
        let low = (block.saturating_sub(1) * SPANS_PER_BLOCK).max(from);
        let high = (block * SPANS_PER_BLOCK).clamp(low, spans.len().max(low));
        low + partition(high - low, |at_offset| spans.start(low + at_offset) < at)
    }

    /// The first position from `from` on whose span starts after this time.
    pub(super) fn position_after(&self, spans: &impl Spans, from: usize, at: i64) -> usize {
        at.checked_add(1).map_or(spans.len(), |next| self.position(spans, from, next))
    }

    /// The summed length of a stretch.
    pub(super) fn sum(&self, spans: &impl Spans, from: usize, to: usize) -> i64 {
        self.sum_before(spans, to).saturating_sub(self.sum_before(spans, from))
    }

    fn sum_before(&self, spans: &impl Spans, at: usize) -> i64 {
        let Some(block) = at.checked_sub(1).map(|last| last / SPANS_PER_BLOCK) else { return 0 };
        let base = self.before.get(block).copied().unwrap_or(0);
        (block * SPANS_PER_BLOCK..at).fold(base, |sum, at| sum.saturating_add(spans.length(at)))
    }

    /// The position of the longest span of a stretch that is not empty; of equals the first.
    pub(super) fn longest(&self, spans: &impl Spans, from: usize, to: usize) -> usize {
        let mut best = LongestSpan { length: -1, level: 0, at: from };
        // What a level does not hold in whole blocks is looked at one by one: on its left, later on its right.
        let (mut level, mut begin, mut end) = (0, from, to);
        let mut right = [(0, 0); MAX_LEVELS];
        loop {
            let (inner_begin, inner_end) = (begin.div_ceil(SPANS_PER_BLOCK), end / SPANS_PER_BLOCK);
            if level == self.longest.len() || inner_begin >= inner_end {
                best.consider(level, begin..end, |at| self.length(spans, level, at));
                break;
            }
            best.consider(level, begin..inner_begin * SPANS_PER_BLOCK, |at| self.length(spans, level, at));
            right[level] = (inner_end * SPANS_PER_BLOCK, end);
            (level, begin, end) = (level + 1, inner_begin, inner_end);
        }
        for level in (0..level).rev() {
            best.consider(level, right[level].0..right[level].1, |at| self.length(spans, level, at));
        }
        // From the block that holds it down to the span.
        while let Some(below) = best.level.checked_sub(1) {
            let first = best.at * SPANS_PER_BLOCK;
            let found =
                (first..first + SPANS_PER_BLOCK).find(|&at| self.length(spans, below, at) == best.length);
            best = LongestSpan { level: below, at: found.unwrap_or(first), ..best };
        }
        best.at
    }

    /// The length of a span, or the greatest in an entry of a level above.
    fn length(&self, spans: &impl Spans, level: usize, at: usize) -> i64 {
        if level == 0 { spans.length(at) } else { self.longest[level - 1][at] }
    }

    /// Of the spans before a position, the one that ends last.
    pub(super) fn reaching_before(&self, spans: &impl Spans, at: usize) -> Option<usize> {
        let last = at.checked_sub(1)?;
        let Some(reaching) = &self.reaching else { return Some(last) };
        let block = last / SPANS_PER_BLOCK;
        let mut furthest = block.checked_sub(1).map_or(0, |b| reaching[b] as usize);
        for at in block * SPANS_PER_BLOCK..at {
            if spans.end(at) > spans.end(furthest) {
                furthest = at;
            }
        }
        Some(furthest)
    }

    /// Of the spans before a position, those that end after a time. Blocks in which none can are passed over.
    pub(super) fn open_at(&self, spans: &impl Spans, before: usize, time: i64) -> Vec<usize> {
        let Some(last) = before.checked_sub(1) else { return Vec::new() };
        if !self.overlaps() {
            return Some(last).filter(|&at| spans.end(at) > time).into_iter().collect();
        }
        let mut open = Vec::new();
        for (block, &longest) in self.longest[0].iter().enumerate().take(last / SPANS_PER_BLOCK + 1) {
            let positions = block * SPANS_PER_BLOCK..((block + 1) * SPANS_PER_BLOCK).min(before);
            let latest_start = positions.end.checked_sub(1).map_or(0, |at| spans.start(at));
            if latest_start.saturating_add(longest) > time {
                open.extend(positions.filter(|&at| spans.end(at) > time));
            }
        }
        open
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let longest: usize = self.longest.iter().map(Vec::len).sum();
        (self.first.len() + self.before.len() + longest) * 8 + self.reaching.as_ref().map_or(0, |r| r.len() * 4)
    }
}

/// Of lengths seen from left to right, the greatest and where it is.
struct LongestSpan {
    length: i64,
    level: usize,
    at: usize,
}

impl LongestSpan {
    fn consider(&mut self, level: usize, at: Range<usize>, length: impl Fn(usize) -> i64) {
        for at in at {
            let length = length(at);
            if length > self.length {
                *self = LongestSpan { length, level, at };
            }
        }
    }
}

/// The first of `len` positions that is not before what is looked for.
fn partition(len: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug)]
    struct List(Vec<(i64, i64)>);

    impl Spans for List {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn start(&self, at: usize) -> i64 {
            self.0[at].0
        }
        fn end(&self, at: usize) -> i64 {
            self.0[at].1
        }
    }

    fn lists() -> impl Strategy<Value = List> {
        prop::collection::vec((0..4i64, 0..9i64), 0..2500).prop_map(|gaps| {
            let mut start = 0;
            List(
                gaps.into_iter()
                    .map(|(gap, length)| {
                        start += gap;
                        (start, start + length)
                    })
                    .collect(),
            )
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn answers_as_a_list_does(list in lists(), cuts in prop::collection::vec((0..2500usize, 0..2500usize, 0..6000i64), 1..20)) {
            let blocks = Blocks::new(&list, true);
            for (a, b, time) in cuts {
                let (from, to) = (a.min(b).min(list.len()), a.max(b).min(list.len()));
                let position = (from..list.len()).find(|&at| list.start(at) >= time).unwrap_or(list.len());
                prop_assert_eq!(blocks.position(&list, from, time), position);
                prop_assert_eq!(blocks.position_after(&list, from, time), blocks.position(&list, from, time + 1));
                prop_assert_eq!(blocks.sum(&list, from, to), (from..to).map(|at| list.length(at)).sum::<i64>());
                let open: Vec<usize> = (0..to).filter(|&at| list.end(at) > time).collect();
                prop_assert_eq!(blocks.open_at(&list, to, time), open);
                let furthest = (0..to).map(|at| list.end(at)).max();
                prop_assert_eq!(blocks.reaching_before(&list, to).map(|at| list.end(at)), furthest);
                if from < to {
                    let most = (from..to).map(|at| list.length(at)).max();
                    let first = (from..to).find(|&at| Some(list.length(at)) == most);
                    prop_assert_eq!(Some(blocks.longest(&list, from, to)), first);
                }
            }
        }
    }
}
