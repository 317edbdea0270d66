//! Windows of time that do not overlap, ready to be asked about any stretch without walking along it.

use std::ops::Range;

use stepscope_model::Ns;

/// Windows in order of time, without those that hold no time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    spans: Vec<(Ns, Ns)>,
    /// Which of the windows given each one is.
    positions: Vec<u32>,
    /// How much time lies in the windows before each, and in total. Disjoint windows hold less than 2^64 in total.
    before: Vec<u64>,
}

/// The time from one moment to a later one, which may be more than a signed number holds.
pub(crate) fn length(from: Ns, to: Ns) -> u64 {
    if from < to { to.0.wrapping_sub(from.0) as u64 } else { 0 }
}

/// The same, as far as a signed number reaches.
pub(crate) fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

impl Windows {
    /// Of windows that are sorted and do not overlap, those that are wanted.
    pub(crate) fn new(windows: &[(Ns, Ns)], wanted: impl Fn(usize) -> bool) -> Windows {
        let mut all = Windows { before: vec![0], ..Windows::default() };
        let mut sum = 0;
        for (position, &(from, to)) in windows.iter().enumerate() {
            if from < to && wanted(position) {
                all.spans.push((from, to));
                all.positions.push(position as u32);
                sum += length(from, to);
                all.before.push(sum);
            }
        }
        all
    }

    /// One window among those kept.
    pub(crate) fn span(&self, window: usize) -> (Ns, Ns) {
        self.spans[window]
    }

    /// Where a window stood among all that were given.
    pub(crate) fn position(&self, window: usize) -> usize {
        self.positions[window] as usize
    }

    pub(crate) fn spans(&self) -> &[(Ns, Ns)] {
        &self.spans
    }

    /// The windows that share time with a stretch.
    pub(crate) fn touching(&self, (from, to): (Ns, Ns)) -> Range<usize> {
        if from >= to {
            return 0..0;
        }
        let first = self.spans.partition_point(|w| w.1 <= from);
        // Most stretches are short and lie in one window.
        match self.spans.get(first) {
            Some(w) if to <= w.1 => first..first + usize::from(w.0 < to),
            _ => first..first + self.spans[first..].partition_point(|w| w.0 < to),
        }
    }

    /// [`Windows::length`] for one stretch after the other: quick where a stretch lies in the same window as the last,
    /// `near`.
    pub(crate) fn length_near(&self, stretch: (Ns, Ns), near: &mut usize) -> u64 {
        let inside = |w: &&(Ns, Ns)| w.0 <= stretch.0 && stretch.1 <= w.1;
        if self.spans.get(*near).filter(inside).is_none() {
            *near = self.touching(stretch).start;
            return self.length(stretch);
        }
        length(stretch.0, stretch.1)
    }

    /// How much of a stretch lies in windows.
    pub(crate) fn length(&self, stretch: (Ns, Ns)) -> u64 {
        let windows = self.touching(stretch);
        let (Some(first), Some(last)) =
            (self.spans.get(windows.start), windows.end.checked_sub(1).and_then(|last| self.spans.get(last)))
        else {
            return 0;
        };
        if windows.is_empty() {
            return 0;
        }
        let whole = self.before[windows.end] - self.before[windows.start];
        whole - length(first.0, stretch.0) - length(stretch.1, last.1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(windows: &[(Ns, Ns)], stretch: (Ns, Ns)) -> (usize, u64) {
        let cut = windows.iter().map(|w| (w.0.max(stretch.0), w.1.min(stretch.1)));
        let held: Vec<u64> = cut.map(|w| length(w.0, w.1)).filter(|&ns| ns > 0).collect();
        (held.len(), held.iter().sum())
    }

    #[test]
    fn windows_at_the_edge_of_64_bits() {
        let all = Windows::new(&[(Ns::MIN, Ns(0)), (Ns(0), Ns::MAX)], |_| true);
        assert_eq!(all.length((Ns::MIN, Ns::MAX)), u64::MAX);
        assert_eq!(all.length((Ns(-5), Ns(7))), 12);
        assert_eq!(signed(u64::MAX), i64::MAX);
        assert_eq!(Windows::default().touching((Ns(0), Ns(1))), 0..0);
    }

    proptest! {
        #[test]
        fn stretches_are_measured_as_if_walked(mut cuts in prop::collection::vec(0..60i64, 0..14), from in 0..60i64, to in 0..60i64) {
            cuts.sort();
            let windows: Vec<_> = cuts.windows(2).step_by(2).map(|w| (Ns(w[0]), Ns(w[1]))).collect();
            let all = Windows::new(&windows, |_| true);
            let stretch = (Ns(from), Ns(to));
            prop_assert_eq!((all.touching(stretch).len(), all.length(stretch)), plain(&windows, stretch));
            for mut near in 0..=windows.len() {
                prop_assert_eq!(all.length_near(stretch, &mut near), all.length(stretch));
            }
            for window in all.touching(stretch) {
                prop_assert_eq!(windows[all.position(window)], all.span(window));
            }
        }
    }
}
