//! What was held after each entry of a history, and when that was: columns, since there may be tens of millions.

use std::array::from_fn;
use std::ops::Range;

use stepscope_model::{Ns, Packed, PackedNumbers};

/// How much memory is in which state.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// In use by the program.
    pub allocated: u64,
    /// The same and what other streams may still use.
    pub active: u64,
    /// What was asked for of the active.
    pub requested: u64,
    /// Taken from the device.
    pub reserved: u64,
}

impl Level {
    pub(super) fn most(self, other: Level) -> Level {
        Level {
            allocated: self.allocated.max(other.allocated),
            active: self.active.max(other.active),
            requested: self.requested.max(other.requested),
            reserved: self.reserved.max(other.reserved),
        }
    }
}

/// What was held after each entry.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    allocated: Packed,
    active: Packed,
    requested: Packed,
    reserved: Packed,
    /// Those that follow the columns' last full block.
    open: Vec<Level>,
    last: Option<Level>,
}

impl Levels {
    #[inline]
    pub(super) fn push(&mut self, level: Level) {
        self.last = Some(level);
        self.open.push(level);
        if self.open.len() == Packed::BLOCK {
            self.close();
        }
    }

    fn close(&mut self) {
        let Levels { allocated, active, requested, reserved, open, .. } = self;
        allocated.push_block(&from_fn(|at| open[at].allocated as i64));
        active.push_block(&from_fn(|at| open[at].active as i64));
        requested.push_block(&from_fn(|at| open[at].requested as i64));
        reserved.push_block(&from_fn(|at| open[at].reserved as i64));
        open.clear();
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.allocated.len() + self.open.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// What was held after an entry.
    pub fn get(&self, moment: usize) -> Option<Level> {
        if let Some(open) = moment.checked_sub(self.allocated.len()) {
            return self.open.get(open).copied();
        }
        let number = |column: &Packed| column.get(moment).map(|number| number as u64);
        Some(Level {
            allocated: number(&self.allocated)?,
            active: number(&self.active)?,
            requested: number(&self.requested)?,
            reserved: number(&self.reserved)?,
        })
    }

    /// What was held after the last entry.
    pub fn last(&self) -> Option<&Level> {
        self.last.as_ref()
    }

    /// What was held after each entry.
    pub fn iter(&self) -> impl Iterator<Item = Level> {
        let mut others = [&self.active, &self.requested, &self.reserved].map(Packed::iter);
        let packed = self.allocated.iter().map(move |allocated| {
            let [active, requested, reserved] =
                others.each_mut().map(|column| column.next().unwrap_or(0) as u64);
            Level { allocated: allocated as u64, active, requested, reserved }
        });
        packed.chain(self.open.iter().copied())
    }

    /// What the program held after each entry of a stretch, which is cut to what there is.
    pub fn allocated(&self, moments: Range<usize>) -> impl Iterator<Item = u64> {
        let packed = self.allocated.len();
        let end = moments.end.min(self.len());
        let open = moments.start.clamp(packed, end.max(packed)) - packed..end.max(packed) - packed;
        let open = self.open[open].iter().map(|level| level.allocated);
        self.allocated.range(moments).map(|bytes| bytes as u64).chain(open)
    }

    /// Bytes held for them.
    pub fn heap_bytes(&self) -> usize {
        let columns = [&self.allocated, &self.active, &self.requested, &self.reserved];
        columns.iter().map(|column| column.heap_bytes()).sum::<usize>()
            + self.open.capacity() * size_of::<Level>()
    }
}

/// When each entry happened, if it says.
#[derive(Clone, Debug, Default)]
pub struct Times {
    at: Packed,
}

/// The time of an entry that has none.
const NEVER: i64 = i64::MIN;

impl Times {
    pub(super) fn push(&mut self, at: Option<Ns>) {
        self.at.push(at.map_or(NEVER, |at| at.0));
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// When an entry happened.
    pub fn get(&self, moment: usize) -> Option<Ns> {
        self.at.get(moment).filter(|at| *at != NEVER).map(Ns)
    }

    /// When the first entry that has a time happened.
    pub fn first(&self) -> Option<Ns> {
        self.iter().flatten().next()
    }

    /// When each entry happened.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<Ns>> {
        self.numbers().map(|at| (at != NEVER).then_some(Ns(at)))
    }

    /// The same as numbers; entries without a time come before all others.
    pub fn numbers(&self) -> PackedNumbers<'_> {
        self.at.iter()
    }

    /// Bytes held for them.
    pub fn heap_bytes(&self) -> usize {
        self.at.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_come_back_as_they_were() {
        let made =
            |at: u64| Level { allocated: at * 512, active: at * at, requested: u64::MAX - at, reserved: 7 };
        for count in [0, 1, 255, 256, 257, 1_000] {
            let all: Vec<Level> = (0..count).map(made).collect();
            let mut levels = Levels::default();
            all.iter().for_each(|level| levels.push(*level));
            assert!(levels.iter().eq(all.iter().copied()));
            assert_eq!((levels.len(), levels.last()), (all.len(), all.last()));
            assert!((0..all.len() + 2).all(|at| levels.get(at) == all.get(at).copied()));
            for range in [0..0, 3..250, 250..260, 256..2_000, 600..601, 3_000..4_000] {
                let expected = all.iter().enumerate().filter(|(at, _)| range.contains(at));
                let expected: Vec<u64> = expected.map(|(_, level)| level.allocated).collect();
                assert!(levels.allocated(range.clone()).eq(expected), "{range:?} of {count}");
            }
        }
    }

    #[test]
    fn some_entries_have_no_time() {
        let mut times = Times::default();
        [None, Some(Ns(5)), None, Some(Ns(i64::MAX))].into_iter().for_each(|at| times.push(at));
        assert_eq!(
            (times.len(), times.first(), times.get(0), times.get(3)),
            (4, Some(Ns(5)), None, Some(Ns(i64::MAX)))
        );
        assert_eq!(times.iter().collect::<Vec<_>>(), [None, Some(Ns(5)), None, Some(Ns(i64::MAX))]);
    }
}
