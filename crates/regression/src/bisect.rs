//! The search for the first bad one in a row, where some cannot be judged.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// What is known about one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Judgment {
    /// As before.
    Good,
    /// As after.
    Bad,
    /// It cannot be judged: it does not build, or is too noisy.
    Skip,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BisectResult {
    /// The first bad one is among these; just one if nothing in between was skipped.
    pub suspects: RangeInclusive<usize>,
    /// Which were judged, in order.
    pub judged: Vec<(usize, Judgment)>,
}

/// Finds the first bad one of `count` in a row, of which the last is known to be bad; the one before the first is good.
pub fn bisect<E>(count: usize, mut judge: impl FnMut(usize) -> Result<Judgment, E>) -> Result<BisectResult, E> {
    // All below `first` are good, `last` is bad.
    let (mut first, mut last) = (0, count.saturating_sub(1));
    let mut skipped = BTreeSet::new();
    let mut judged = Vec::new();
    loop {
        let middle = first + (last - first) / 2;
        let open = (first..last).filter(|at| !skipped.contains(at));
        let Some(next) = open.min_by_key(|at| at.abs_diff(middle)) else {
            return Ok(BisectResult { suspects: first..=last, judged });
        };
        let judgment = judge(next)?;
        judged.push((next, judgment));
        match judgment {
            Judgment::Good => first = next + 1,
            Judgment::Bad => last = next,
            Judgment::Skip => drop(skipped.insert(next)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(count: usize, bad_from: usize, skip: &[usize]) -> BisectResult {
        let judge = |at: usize| {
            Ok::<_, ()>(match skip.contains(&at) {
                true => Judgment::Skip,
                false if at >= bad_from => Judgment::Bad,
                false => Judgment::Good,
            })
        };
        bisect(count, judge).unwrap()
    }

    #[test]
    fn every_place_is_found_in_few_looks() {
        for count in 1..40 {
            for bad_from in 0..count {
                let found = search(count, bad_from, &[]);
                assert_eq!(found.suspects, bad_from..=bad_from, "{bad_from} of {count}");
                assert!(found.judged.len() <= (count as f64).log2().ceil() as usize, "{count}");
            }
        }
    }

    #[test]
    fn what_cannot_be_judged_stays_a_suspect() {
        assert_eq!(search(10, 6, &[4, 5]).suspects, 4..=6);
        assert_eq!(search(10, 6, &[1, 2]).suspects, 6..=6);
        assert_eq!(search(4, 3, &[0, 1, 2]).suspects, 0..=3);
    }
}
