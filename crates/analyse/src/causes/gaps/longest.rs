//! The longest gaps, found without making all of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use stepscope_model::Ns;

use crate::causes::idle::{Gap, Idle};

/// The longest of any windows in a row.
pub(super) struct Longest {
    lengths: Vec<i64>,
    /// Of 2^level windows in a row from each on, the longest; the first of equal ones.
    levels: Vec<Vec<u32>>,
}

impl Longest {
    pub(super) fn new(windows: &[(Ns, Ns)]) -> Longest {
        let lengths: Vec<i64> = windows.iter().map(|w| (w.1 - w.0).0).collect();
        let mut levels = vec![(0..lengths.len() as u32).collect::<Vec<u32>>()];
        let mut reach = 1;
        while 2 * reach <= lengths.len() {
            let below = &levels[levels.len() - 1];
            let pairs = below.iter().zip(&below[reach..]);
            levels.push(pairs.map(|(&a, &b)| longer(&lengths, a, b)).collect());
            reach *= 2;
        }
        Longest { lengths, levels }
    }

    /// How long a window is.
    pub(super) fn length(&self, window: usize) -> i64 {
        self.lengths[window]
    }

    /// The longest window of some in a row, the first of equal ones.
    pub(super) fn among(&self, windows: Range<usize>) -> Option<usize> {
        let level = windows.len().checked_ilog2()? as usize;
        let (a, b) = (self.levels[level][windows.start], self.levels[level][windows.end - (1 << level)]);
        Some(longer(&self.lengths, a, b) as usize)
    }
}

fn longer(lengths: &[i64], a: u32, b: u32) -> u32 {
    let key = |w: u32| (lengths[w as usize], Reverse(w));
    if key(a) >= key(b) { a } else { b }
}

/// Longer first, then earlier, then by device.
type Rank = (i64, Reverse<Ns>, Reverse<usize>);

/// The longest gaps in order; equal ones by start and device.
pub(super) fn longest_gaps(idle: &Idle, longest: &Longest, top: usize) -> Vec<Gap> {
    // No more stretches than gaps are wanted can hold one of them.
    let mut best: Vec<(Rank, StretchPart)> =
        (0..idle.dry().len()).filter_map(|at| whole(idle, longest, at)).collect();
    if top < best.len() {
        best.select_nth_unstable_by_key(top, |part| Reverse(part.0));
        best.truncate(top);
    }
    let mut heap: BinaryHeap<(Rank, StretchPart)> = best.into();
    let mut gaps = Vec::new();
    while gaps.len() < top
        && let Some(((_, _, Reverse(at)), part)) = heap.pop()
    {
        gaps.push(idle.gap(at, part.longest));
        for rest in [part.windows.0..part.longest, part.longest + 1..part.windows.1] {
            heap.extend(part_of(idle, longest, at, rest));
        }
    }
    gaps
}

/// Some windows in a row that cut gaps out of one stretch, and which of the gaps is the longest.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct StretchPart {
    windows: (usize, usize),
    longest: usize,
}

fn whole(idle: &Idle, longest: &Longest, at: usize) -> Option<(Rank, StretchPart)> {
    part_of(idle, longest, at, idle.windows_of(at))
}

fn part_of(idle: &Idle, longest: &Longest, at: usize, windows: Range<usize>) -> Option<(Rank, StretchPart)> {
    let last = windows.end.checked_sub(1).filter(|&last| windows.start <= last)?;
    // Gaps between the first and the last fill their windows.
    let inner = longest.among(windows.start + 1..last.max(windows.start + 1));
    let rank = |window: usize| {
        let gap = idle.gap(at, window);
        ((gap.end - gap.start).0, Reverse(gap.start), Reverse(at))
    };
    let found = [Some(windows.start), inner, Some(last)].into_iter().flatten();
    let (rank, longest) = found.map(|window| (rank(window), window)).max_by_key(|found| found.0)?;
    Some((rank, StretchPart { windows: (windows.start, windows.end), longest }))
}
