//! Counts and times by name.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// What slices of one name come to.
#[derive(Clone, Debug)]
pub(super) struct NameSum {
    pub(super) name: u32,
    pub(super) count: u64,
    pub(super) total: i64,
    /// Time less that of what is directly inside.
    pub(super) own: i64,
    /// The longest: its length and its number.
    pub(super) longest: Option<(i64, u32)>,
}

impl NameSum {
    /// Keeps the longer, of equals the one with the lower number: the same whatever the order.
    pub(super) fn offer(&mut self, length: i64, id: u32) {
        let longer = self.longest.is_none_or(|(most, of)| length > most || (length == most && id < of));
        if longer {
            self.longest = Some((length, id));
        }
    }
}

/// Sums by name. Only names that were seen take room.
#[derive(Default)]
pub(super) struct NameSums {
    slots: HashMap<u32, u32, RandomState>,
    pub(super) sums: Vec<NameSum>,
}

impl NameSums {
    /// Where the sums of a name stand.
    pub(super) fn slot(&mut self, name: u32) -> usize {
        let sums = &mut self.sums;
        let slot = self.slots.entry(name).or_insert_with(|| {
            sums.push(NameSum { name, count: 0, total: 0, own: 0, longest: None });
            sums.len() as u32 - 1
        });
        *slot as usize
    }

    /// Counts one with all of its time.
    pub(super) fn add(&mut self, name: u32, id: u32, length: i64) {
        let slot = self.slot(name);
        let sum = &mut self.sums[slot];
        sum.count += 1;
        sum.total = sum.total.saturating_add(length);
        sum.own = sum.own.saturating_add(length);
        sum.offer(length, id);
    }

    pub(super) fn merge(mut self, other: NameSums) -> NameSums {
        if self.sums.len() < other.sums.len() {
            return other.merge(self);
        }
        for from in other.sums {
            let slot = self.slot(from.name);
            let sum = &mut self.sums[slot];
            sum.count += from.count;
            sum.total = sum.total.saturating_add(from.total);
            sum.own = sum.own.saturating_add(from.own);
            if let Some((length, id)) = from.longest {
                sum.offer(length, id);
            }
        }
        self
    }
}
