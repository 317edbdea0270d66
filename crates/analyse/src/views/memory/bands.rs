//! What is alive when, and how it adds up: the ground of every picture of memory over time.
//!
//! States are counted from 0, which is what was there before the history; state `n` is what was there after its entry
//! `n - 1`. A band is alive from its first state up to, not including, its end. Bands are stacked in the order in which they
//! began: a new one lies on top, and what is above one that ends comes down. So the place of a band is the sum of all
//! that are alive and began before it.

/// One allocation, or one segment, over time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// Its number among what it was made of.
    pub id: u32,
    /// The first state it is in.
    pub start: u32,
    /// The first state it is no longer in.
    pub end: u32,
    pub bytes: u64,
}

/// The sums of a stretch of states.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Extremes {
    /// The first state with the highest sum.
    pub state: u32,
    pub highest: u64,
    pub lowest: u64,
}

/// Changes looked at one by one; longer stretches are looked up.
const CHANGES_PER_BLOCK: usize = 64;

/// Bands, and their sum at every state.
#[derive(Clone, Debug, Default)]
pub struct Bands {
    /// By start.
    bands: Vec<Band>,
    /// States at which the sum changes, rising, and the sum from there on. The first is state 0.
    changes: Vec<(u32, u64)>,
    /// By block of changes: where its highest is, the first of equals, and its lowest sum.
    blocks: Vec<(u32, u64)>,
}

impl Bands {
    /// Bands that come by rising start. Those that are never alive are left out.
    pub fn new(bands: impl Iterator<Item = Band>) -> Bands {
        let bands: Vec<Band> = bands.filter(|band| band.start < band.end && band.bytes > 0).collect();
        debug_assert!(bands.is_sorted_by_key(|band| band.start));
        let mut ends: Vec<(u32, u64)> = bands.iter().map(|band| (band.end, band.bytes)).collect();
        ends.sort_unstable_by_key(|end| end.0);
        let mut changes = vec![(0, 0)];
        let (mut total, mut begun, mut ended) = (0u64, 0, 0);
        while begun < bands.len() || ended < ends.len() {
            let next = |at: Option<u32>| at.unwrap_or(u32::MAX);
            let state = next(bands.get(begun).map(|b| b.start)).min(next(ends.get(ended).map(|e| e.0)));
            while let Some(end) = ends.get(ended).filter(|end| end.0 == state) {
                total = total.saturating_sub(end.1);
                ended += 1;
            }
            while let Some(band) = bands.get(begun).filter(|band| band.start == state) {
                total = total.saturating_add(band.bytes);
                begun += 1;
            }
            match changes.last_mut() {
                Some(last) if last.0 == state => last.1 = total,
                _ => changes.push((state, total)),
            }
        }
        let block = |(block, changes): (usize, &[(u32, u64)])| {
            let lowest = changes.iter().map(|change| change.1).min().unwrap_or(0);
            ((block * CHANGES_PER_BLOCK + first_highest(changes)) as u32, lowest)
        };
        let blocks = changes.chunks(CHANGES_PER_BLOCK).enumerate().map(block).collect();
        Bands { bands, changes, blocks }
    }

    /// All of them, by start.
    pub fn all(&self) -> &[Band] {
        &self.bands
    }

    /// The sum of what is alive in a state.
    pub fn total(&self, state: u32) -> u64 {
        self.changes[self.change(state)].1
    }

    /// The state with the highest sum, the first of equals.
    pub fn peak(&self) -> (u32, u64) {
        let highest = self.extremes(0, u32::MAX);
        (highest.state, highest.highest)
    }

    /// The highest and the lowest sum among the states from `first` up to, not including, `end`.
    pub fn extremes(&self, first: u32, end: u32) -> Extremes {
        let from = self.change(first);
        let to = self.changes.partition_point(|change| change.0 < end).max(from + 1);
        let (mut best, mut lowest) = (from, u64::MAX);
        let mut consider = |at: usize, low: u64| {
            lowest = lowest.min(low);
            if self.changes[at].1 > self.changes[best].1 {
                best = at;
            }
        };
        let mut at = from;
        while at < to {
            if at.is_multiple_of(CHANGES_PER_BLOCK) && at + CHANGES_PER_BLOCK <= to {
                let (highest, low) = self.blocks[at / CHANGES_PER_BLOCK];
                consider(highest as usize, low);
                at += CHANGES_PER_BLOCK;
            } else {
                consider(at, self.changes[at].1);
                at += 1;
            }
        }
        let (state, highest) = self.changes[best];
        Extremes { state: state.max(first), highest, lowest }
    }

    /// The change that a state's sum comes from.
    fn change(&self, state: u32) -> usize {
        self.changes.partition_point(|change| change.0 <= state).saturating_sub(1)
    }

    pub fn heap_bytes(&self) -> usize {
        self.bands.capacity() * size_of::<Band>() + self.changes.capacity() * 16 + self.blocks.capacity() * 16
    }
}

fn first_highest(changes: &[(u32, u64)]) -> usize {
    let best = changes.iter().enumerate().rev().max_by_key(|(_, change)| change.1);
    best.map_or(0, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(id: u32, start: u32, end: u32, bytes: u64) -> Band {
        Band { id, start, end, bytes }
    }

    #[test]
    fn sums_and_the_highest_of_a_stretch() {
        // 5 lasts throughout; 3 from 1 to 4; 9 in state 2 alone; 1 from 4 on.
        let bands = [band(0, 0, 9, 5), band(1, 1, 4, 3), band(2, 2, 3, 9), band(3, 4, 9, 1), band(4, 5, 5, 7)];
        let bands = Bands::new(bands.into_iter());
        assert_eq!(bands.all().len(), 4);
        let totals: Vec<u64> = (0..10).map(|state| bands.total(state)).collect();
        assert_eq!(totals, [5, 8, 17, 8, 6, 6, 6, 6, 6, 0]);
        assert_eq!(bands.peak(), (2, 17));
        assert_eq!(bands.extremes(3, 9), Extremes { state: 3, highest: 8, lowest: 6 });
        // Nothing changes between: the state asked for.
        assert_eq!(bands.extremes(6, 7), Extremes { state: 6, highest: 6, lowest: 6 });
        assert_eq!(Bands::new(std::iter::empty()).peak(), (0, 0));
    }

    #[test]
    fn looking_up_finds_what_looking_at_everything_finds() {
        let mut random = 7u32;
        let mut next = |below: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) % below
        };
        let mut made: Vec<Band> = (0..700)
            .map(|id| {
                let start = next(1_000);
                band(id, start, start + 1 + next(60), u64::from(next(1_000)))
            })
            .collect();
        made.sort_by_key(|band| band.start);
        let bands = Bands::new(made.iter().copied());
        let sum = |state: u32| -> u64 {
            made.iter().filter(|b| b.start <= state && state < b.end).map(|b| b.bytes).sum()
        };
        for _ in 0..300 {
            let first = next(1_050);
            let end = first + 1 + next(400);
            let (most, least) = ((first..end).map(sum).max().unwrap(), (first..end).map(sum).min().unwrap());
            let found = bands.extremes(first, end);
            assert_eq!((found.highest, sum(found.state), found.lowest), (most, most, least));
            assert!((first..end).contains(&found.state));
        }
    }
}
