//! Sets of time: unions, clips and differences of intervals, whatever overlaps what.
//!
//! Every number that says "how long was anything of this kind going on" is the length of such a set, so time
//! covered twice is counted once. All operations are linear in sorted input.

use stepscope_model::Ns;

use crate::scope::windows::{length, signed};

/// A set of time: intervals `[start, end)` that are sorted, not empty, and neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals(Vec<(Ns, Ns)>);

impl Intervals {
    /// The union of intervals in any order. Those that end before they start, or where they start, hold no time.
    pub fn union(mut parts: Vec<(Ns, Ns)>) -> Intervals {
        parts.retain(|p| p.0 < p.1);
        if !parts.is_sorted() {
            // The stable sort finds the sorted runs that lanes leave behind and only merges them.
            parts.sort();
        }
        let mut kept = 0;
        for i in 0..parts.len() {
            let (start, end) = parts[i];
            if kept > 0 && start <= parts[kept - 1].1 {
                parts[kept - 1].1 = parts[kept - 1].1.max(end);
            } else {
                parts[kept] = (start, end);
                kept += 1;
            }
        }
        parts.truncate(kept);
        Intervals(parts)
    }

    /// How much time the set holds.
    pub fn length(&self) -> Ns {
        self.0.iter().map(|&(start, end)| end - start).sum()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The intervals, in order.
    pub fn as_slice(&self) -> &[(Ns, Ns)] {
        &self.0
    }

    /// Whether a moment is in the set.
    pub fn contains(&self, at: Ns) -> bool {
        self.0.get(self.0.partition_point(|p| p.1 <= at)).is_some_and(|p| p.0 <= at)
    }

    /// The part inside one window.
    pub fn clip(&self, window: (Ns, Ns)) -> Intervals {
        let first = self.0.partition_point(|p| p.1 <= window.0);
        let inside = self.0[first..].iter().take_while(|p| p.0 < window.1);
        let cut = inside.map(|p| (p.0.max(window.0), p.1.min(window.1)));
        Intervals(cut.filter(|p| p.0 < p.1).collect())
    }

    /// The time in `self` that is not in `other`.
    pub fn subtract(&self, other: &Intervals) -> Intervals {
        let mut left = Vec::new();
        split(&self.0, other, |_, _| (), |_, part| left.push(part));
        Intervals(left)
    }

    /// How much of the set lies in each window. Windows are sorted and do not overlap.
    pub fn lengths_in(&self, windows: &[(Ns, Ns)]) -> Vec<Ns> {
        let mut lengths = vec![Ns::ZERO; windows.len()];
        split(windows, self, |window, (start, end)| lengths[window] += end - start, |_, _| ());
        lengths
    }
}

/// A set of time that tells at once how much of it lies in a window, however many windows are asked for.
#[derive(Clone, Debug, Default)]
pub struct CumulativeSpans {
    set: Intervals,
    /// How much the set holds before each interval, and in total: less than 2^64, since nothing overlaps.
    before: Vec<u64>,
}

impl Intervals {
    /// The same set, ready to be asked about many windows that may overlap.
    pub fn measured(self) -> CumulativeSpans {
        if self.0.is_empty() {
            return CumulativeSpans::default();
        }
        let mut before = Vec::with_capacity(self.0.len() + 1);
        let mut sum = 0;
        before.push(sum);
        for &(start, end) in &self.0 {
            sum += length(start, end);
            before.push(sum);
        }
        CumulativeSpans { set: self, before }
    }
}

impl CumulativeSpans {
    pub fn set(&self) -> &Intervals {
        &self.set
    }

    /// How much of the set lies in a window.
    pub fn length_in(&self, window: (Ns, Ns)) -> Ns {
        if window.0 >= window.1 {
            return Ns::ZERO;
        }
        Ns(signed(self.length_until(window.1) - self.length_until(window.0)))
    }

    fn length_until(&self, at: Ns) -> u64 {
        let begun = self.set.0.partition_point(|p| p.0 < at);
        match begun.checked_sub(1).map(|last| self.set.0[last]) {
            Some((start, end)) => self.before[begun - 1] + length(start, end.min(at)),
            None => 0,
        }
    }
}

/// Collects slices into a set of time with little memory: a slice that overlaps the one before is joined to it
/// at once, so a call tree costs no more than its roots.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    parts: Vec<(Ns, Ns)>,
    /// Whether something came before what came before it, as at the start of another lane.
    unsorted: bool,
}

impl Collector {
    pub fn add(&mut self, start: Ns, end: Ns) {
        if start >= end {
            return;
        }
        match self.parts.last_mut() {
            Some(last) if last.0 <= start && start <= last.1 => last.1 = last.1.max(end),
            last => {
                self.unsorted |= last.is_some_and(|last| start < last.0);
                self.parts.push((start, end));
            }
        }
    }

    /// The union of all that was added.
    pub fn finish(self) -> Intervals {
        if self.unsorted { Intervals::union(self.parts) } else { Intervals(self.parts) }
    }
}

/// Shares each window's time out among layers: a moment belongs to the first layer that covers it, and to no
/// layer (the last column) if none does. So each row adds up to its window's length exactly.
///
/// Windows are sorted and do not overlap. One row per window, one column per layer and one for the rest.
pub fn exclusive<const LAYERS: usize>(
    windows: &[(Ns, Ns)],
    layers: [&Intervals; LAYERS],
) -> Vec<([Ns; LAYERS], Ns)> {
    let mut shares = vec![([Ns::ZERO; LAYERS], Ns::ZERO); windows.len()];
    // What no layer has claimed yet, with the window it lies in.
    let mut free: Vec<(Ns, Ns)> = windows.to_vec();
    let mut owner: Vec<usize> = (0..windows.len()).collect();
    for (column, layer) in layers.into_iter().enumerate() {
        let (mut next, mut next_owner) = (Vec::with_capacity(free.len()), Vec::with_capacity(free.len()));
        split(
            &free,
            layer,
            |part, (start, end)| shares[owner[part]].0[column] += end - start,
            |part, rest| {
                next.push(rest);
                next_owner.push(owner[part]);
            },
        );
        (free, owner) = (next, next_owner);
    }
    for (&(start, end), &window) in free.iter().zip(&owner) {
        shares[window].1 += end - start;
    }
    shares
}

/// Walks sorted disjoint `parts` along a set, handing out what the set covers and what it does not.
fn split(
    parts: &[(Ns, Ns)],
    set: &Intervals,
    mut covered: impl FnMut(usize, (Ns, Ns)),
    mut bare: impl FnMut(usize, (Ns, Ns)),
) {
    let set = &set.0;
    let mut at = 0;
    for (index, &(start, end)) in parts.iter().enumerate() {
        let mut from = start;
        while at < set.len() && set[at].1 <= from {
            at += 1;
        }
        // The last interval may reach into the next part, so it is looked at again from there.
        let mut next = at;
        while from < end && next < set.len() && set[next].0 < end {
            let (cover_start, cover_end) = (set[next].0.max(from), set[next].1.min(end));
            if from < cover_start {
                bare(index, (from, cover_start));
            }
            if cover_start < cover_end {
                covered(index, (cover_start, cover_end));
            }
            from = cover_end.max(from);
            at = next;
            next += 1;
        }
        if from < end {
            bare(index, (from, end));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(parts: &[(i64, i64)]) -> Intervals {
        Intervals::union(parts.iter().map(|&(a, b)| (Ns(a), Ns(b))).collect())
    }

    #[test]
    fn time_covered_twice_counts_once() {
        let s = set(&[(5, 9), (0, 3), (2, 4), (9, 10), (7, 7), (8, 6)]);
        assert_eq!(s, set(&[(0, 4), (5, 10)]));
        assert_eq!(s.length(), Ns(9));
        assert_eq!(s.clip((Ns(3), Ns(6))), set(&[(3, 4), (5, 6)]));
        assert_eq!(s.subtract(&set(&[(1, 2), (3, 6), (9, 20)])), set(&[(0, 1), (2, 3), (6, 9)]));
        assert_eq!(s.lengths_in(&[(Ns(0), Ns(2)), (Ns(4), Ns(5)), (Ns(5), Ns(20))]), [Ns(2), Ns(0), Ns(5)]);
    }

    #[test]
    fn the_first_layer_wins_and_the_rest_is_kept() {
        let windows = [(Ns(0), Ns(10)), (Ns(10), Ns(20)), (Ns(25), Ns(30))];
        let layers = [set(&[(2, 4), (9, 12)]), set(&[(0, 3), (11, 15), (26, 27)])];
        let shares = exclusive(&windows, layers.each_ref());
        assert_eq!(shares[0], ([Ns(3), Ns(2)], Ns(5)));
        assert_eq!(shares[1], ([Ns(2), Ns(3)], Ns(5)));
        assert_eq!(shares[2], ([Ns(0), Ns(1)], Ns(4)));
    }

    #[test]
    fn times_at_the_edge_of_64_bits_do_no_harm() {
        let s = set(&[(i64::MIN, i64::MAX), (i64::MAX, i64::MIN)]);
        assert_eq!(s.length(), Ns::MAX);
        assert_eq!(exclusive(&[(Ns(-1), Ns(1))], [&s])[0], ([Ns(2)], Ns(0)));
        assert_eq!(exclusive(&[], []), []);
    }

    const SPAN: usize = 48;

    fn bitmap(parts: &[(i64, i64)]) -> [bool; SPAN] {
        std::array::from_fn(|t| parts.iter().any(|&(a, b)| a <= t as i64 && (t as i64) < b))
    }

    fn count(bits: impl Iterator<Item = bool>) -> Ns {
        Ns(bits.filter(|&b| b).count() as i64)
    }

    fn parts() -> impl Strategy<Value = Vec<(i64, i64)>> {
        prop::collection::vec((0..SPAN as i64, 0..SPAN as i64), 0..12)
    }

    proptest! {
        #[test]
        fn agrees_with_a_bitmap(a in parts(), b in parts(), c in parts(), cuts in prop::collection::vec(0..SPAN as i64, 0..6)) {
            let (x, y, z) = (bitmap(&a), bitmap(&b), bitmap(&c));
            let (sa, sb, sc) = (set(&a), set(&b), set(&c));
            prop_assert_eq!(sa.length(), count(x.iter().copied()));
            prop_assert!(sa.as_slice().windows(2).all(|w| w[0].1 < w[1].0));
            let difference = sa.subtract(&sb);
            prop_assert_eq!(difference.length(), count((0..SPAN).map(|t| x[t] && !y[t])));
            let mut collector = Collector::default();
            a.iter().for_each(|&(s, e)| collector.add(Ns(s), Ns(e)));
            prop_assert_eq!(collector.finish(), sa.clone());

            let mut cuts = cuts;
            cuts.sort();
            let windows: Vec<_> = cuts.windows(2).step_by(2).map(|w| (Ns(w[0]), Ns(w[1]))).collect();
            let shares = exclusive(&windows, [&sa, &sb, &sc]);
            for ((window, share), inside) in windows.iter().zip(&shares).zip(sa.lengths_in(&windows)) {
                let range = || window.0.0 as usize..window.1.0 as usize;
                prop_assert_eq!(inside, share.0[0]);
                prop_assert_eq!(sa.clip(*window).length(), share.0[0]);
                prop_assert_eq!(sa.clone().measured().length_in(*window), share.0[0]);
                prop_assert_eq!(share.0[0], count(range().map(|t| x[t])));
                prop_assert_eq!(share.0[1], count(range().map(|t| !x[t] && y[t])));
                prop_assert_eq!(share.0[2], count(range().map(|t| !x[t] && !y[t] && z[t])));
                prop_assert_eq!(share.1, count(range().map(|t| !x[t] && !y[t] && !z[t])));
            }
        }
    }
}
