//! The history of an allocator in columns: a snapshot may have tens of millions of entries, most of them near the one before.

use std::ops::Range;

use crate::history_entry::{Action, HistoryEntry};
use crate::packed::{Packed, PackedNumbers};
use crate::stack_tree::StackId;
use crate::time::Ns;

/// The time of an entry that has none.
const NO_TIME: i64 = i64::MIN;

/// Entries in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryTable {
    actions: Vec<Action>,
    addresses: Packed,
    bytes: Packed,
    streams: Packed,
    times: Packed,
    stacks: Packed,
    /// Devices and the first entry of each stretch of one.
    devices: Vec<(u32, i64)>,
    /// Numbers of the columns that follow their last full block.
    open: Vec<[i64; COLUMN_COUNT]>,
}

const COLUMN_COUNT: usize = 5;
/// Stretches of fewer entries are looked up one by one.
const MIN_INDEXED_STRETCH: usize = 32;
const BLOCK: usize = Packed::BLOCK;

impl HistoryTable {
    /// Adds an entry; false where there is no number left for it.
    #[inline]
    pub fn push(&mut self, entry: HistoryEntry) -> bool {
        let Ok(number) = u32::try_from(self.actions.len()) else { return false };
        if self.devices.last().is_none_or(|last| last.1 != entry.device) {
            self.devices.push((number, entry.device));
        }
        self.actions.push(entry.action);
        self.open.push([
            entry.address as i64,
            entry.bytes as i64,
            entry.stream as i64,
            entry.at.map_or(NO_TIME, |at| at.0.max(NO_TIME + 1)),
            entry.stack.index() as i64,
        ]);
        if self.open.len() == BLOCK {
            self.close();
        }
        true
    }

    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        let columns =
            [&mut self.addresses, &mut self.bytes, &mut self.streams, &mut self.times, &mut self.stacks];
        for (at, column) in columns.into_iter().enumerate() {
            column.push_block(&std::array::from_fn(|row| open[row][at]));
        }
        self.open = open;
        self.open.clear();
    }

    /// The numbers of a stretch of one block, each at its place in the block.
    fn fill(&self, stretch: Range<usize>, columns: &mut [[i64; BLOCK]; COLUMN_COUNT]) {
        if stretch.start >= self.addresses.len() {
            for (row, open) in self.open.iter().enumerate() {
                (0..COLUMN_COUNT).for_each(|column| columns[column][row] = open[column]);
            }
            return;
        }
        for (column, numbers) in self.columns().iter().zip(columns) {
            if stretch.len() < MIN_INDEXED_STRETCH {
                let all = stretch.clone().filter_map(|at| Some((at, column.get(at)?)));
                all.for_each(|(at, number)| numbers[at % BLOCK] = number);
            } else {
                column.block(stretch.start / BLOCK, numbers);
            }
        }
    }

    fn columns(&self) -> [&Packed; COLUMN_COUNT] {
        [&self.addresses, &self.bytes, &self.streams, &self.times, &self.stacks]
    }

    pub fn len(&self) -> usize {
        self.actions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    pub fn get(&self, at: usize) -> Option<HistoryEntry> {
        let action = *self.actions.get(at)?;
        let run = self.devices.partition_point(|run| run.0 as usize <= at).checked_sub(1)?;
        Some(entry(
            self.devices[run].1,
            action,
            match self.open.get(at - at.min(self.addresses.len())) {
                Some(open) if at >= self.addresses.len() => *open,
                _ => self.columns().map(|column| column.get(at).unwrap_or(0)),
            },
        ))
    }

    pub fn iter(&self) -> HistoryEntries<'_> {
        self.range(0..self.len() as u32)
    }

    /// Those of a stretch, which is cut to what there is.
    pub fn range(&self, range: Range<u32>) -> HistoryEntries<'_> {
        let end = range.end.min(self.len() as u32);
        let start = range.start.min(end);
        let within = start as usize..end as usize;
        let run = self.devices.partition_point(|run| run.0 <= start).saturating_sub(1);
        HistoryEntries {
            of: self,
            at: start,
            end,
            run,
            run_end: self.run_end(run),
            device: self.devices.get(run).map_or(0, |run| run.1),
            columns: self.columns().map(|column| column.range(within.clone())),
        }
    }

    /// Looks at those of a stretch, which is cut to what there is, a few hundred at a time: as [`HistoryTable::range`], and
    /// faster.
    pub fn each(&self, range: Range<u32>, mut look: impl FnMut(&HistoryBlock<'_>)) {
        let end = range.end.min(self.len() as u32) as usize;
        let mut at = range.start as usize;
        let mut columns = [[0; BLOCK]; COLUMN_COUNT];
        while at < end {
            let stop = end.min((at / BLOCK + 1) * BLOCK);
            self.fill(at..stop, &mut columns);
            let within = at % BLOCK..at % BLOCK + (stop - at);
            look(&HistoryBlock {
                actions: &self.actions[at..stop],
                columns: columns.each_ref().map(|column| &column[within.clone()]),
            });
            at = stop;
        }
    }

    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Stretches of entries of one device, and its number; a device may have many.
    pub fn of_devices(&self) -> impl ExactSizeIterator<Item = (Range<u32>, i64)> {
        let run = |(at, &(first, device)): (usize, &(u32, i64))| (first..self.run_end(at), device);
        self.devices.iter().enumerate().map(run)
    }

    /// Says anew which device each entry is about: stretches of entries and their device, one after the other. What lies in
    /// none is about device 0.
    pub fn set_devices(&mut self, stretches: impl IntoIterator<Item = (Range<u32>, i64)>) {
        self.devices.clear();
        let mut to = 0;
        let mut add = |range: Range<u32>, device: i64| {
            if !range.is_empty() && self.devices.last().is_none_or(|last| last.1 != device) {
                self.devices.push((range.start, device));
            }
        };
        for (range, device) in stretches {
            let range = range.start.max(to)..range.end.min(self.actions.len() as u32);
            add(to..range.start, 0);
            to = to.max(range.end);
            add(range, device);
        }
        add(to..self.actions.len() as u32, 0);
    }

    fn run_end(&self, run: usize) -> u32 {
        self.devices.get(run + 1).map_or(self.len() as u32, |next| next.0)
    }

    pub fn heap_bytes(&self) -> usize {
        self.columns().iter().map(|column| column.heap_bytes()).sum::<usize>()
            + self.actions.capacity()
            + self.open.capacity() * 8 * COLUMN_COUNT
            + self.devices.capacity() * 16
    }
}

/// Entries that follow each other, of one device or more.
#[derive(Debug)]
pub struct HistoryBlock<'a> {
    pub actions: &'a [Action],
    columns: [&'a [i64]; COLUMN_COUNT],
}

impl HistoryBlock<'_> {
    /// Where it happened; for [`Action::OutOfMemory`], what the device had left.
    #[inline]
    pub fn address(&self, at: usize) -> u64 {
        self.columns[0][at] as u64
    }

    #[inline]
    pub fn bytes(&self, at: usize) -> u64 {
        self.columns[1][at] as u64
    }

    /// When it happened, since the Unix epoch.
    #[inline]
    pub fn at(&self, at: usize) -> Option<Ns> {
        Some(self.columns[3][at]).filter(|at| *at != NO_TIME).map(Ns)
    }

    /// On whose behalf.
    #[inline]
    pub fn stack(&self, at: usize) -> StackId {
        StackId::from_index(self.columns[4][at] as u32)
    }
}

#[inline]
fn entry(device: i64, action: Action, columns: [i64; COLUMN_COUNT]) -> HistoryEntry {
    let [address, bytes, stream, at, stack] = columns;
    HistoryEntry {
        device,
        action,
        address: address as u64,
        bytes: bytes as u64,
        stream: stream as u64,
        at: (at != NO_TIME).then_some(Ns(at)),
        stack: StackId::from_index(stack as u32),
    }
}

impl FromIterator<HistoryEntry> for HistoryTable {
    fn from_iter<I: IntoIterator<Item = HistoryEntry>>(entries: I) -> HistoryTable {
        let mut table = HistoryTable::default();
        for entry in entries {
            table.push(entry);
        }
        table
    }
}

/// Entries of a [`HistoryTable`] one after the other.
#[derive(Clone, Debug)]
pub struct HistoryEntries<'a> {
    of: &'a HistoryTable,
    at: u32,
    end: u32,
    run: usize,
    run_end: u32,
    device: i64,
    columns: [PackedNumbers<'a>; COLUMN_COUNT],
}

impl Iterator for HistoryEntries<'_> {
    type Item = HistoryEntry;

    #[inline]
    fn next(&mut self) -> Option<HistoryEntry> {
        if self.at >= self.end {
            return None;
        }
        if self.at == self.run_end {
            self.run += 1;
            self.run_end = self.of.run_end(self.run);
            self.device = self.of.devices[self.run].1;
        }
        let action = self.of.actions[self.at as usize];
        self.at += 1;
        let at = self.at as usize - 1;
        let numbers = match at.checked_sub(self.of.addresses.len()) {
            Some(open) => *self.of.open.get(open)?,
            None => self.columns.each_mut().map(|column| column.next().unwrap_or(0)),
        };
        Some(entry(self.device, action, numbers))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.end - self.at) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for HistoryEntries<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(at: u64, device: i64) -> HistoryEntry {
        HistoryEntry {
            device,
            action: [Action::Alloc, Action::FreeRequested, Action::FreeCompleted][at as usize % 3],
            address: u64::MAX - at * 512,
            bytes: at * at,
            stream: at % 2,
            at: (!at.is_multiple_of(5)).then_some(Ns(at as i64 * 1_000)),
            stack: StackId::from_index(at as u32 % 9),
        }
    }

    #[test]
    fn entries_come_back_as_they_were() {
        let entries: Vec<HistoryEntry> = (0..1_000).map(|at| made(at, (at / 300) as i64 - 1)).collect();
        let table: HistoryTable = entries.iter().copied().collect();
        assert_eq!(table.len(), 1_000);
        assert!(table.iter().eq(entries.iter().copied()));
        assert!((0..1_000).all(|at| table.get(at) == Some(entries[at])) && table.get(1_000).is_none());
        for range in [0..0, 250..260, 299..301, 600..5_000, 2_000..3_000] {
            let expected = entries.iter().enumerate().filter(|(at, _)| range.contains(&(*at as u32)));
            let expected: Vec<HistoryEntry> = expected.map(|(_, entry)| *entry).collect();
            assert!(table.range(range.clone()).eq(expected.iter().copied()), "{range:?}");
            let mut seen = Vec::new();
            table.each(range.clone(), |block| {
                let row = |(at, action): (usize, &Action)| {
                    (*action, block.address(at), block.bytes(at), block.at(at), block.stack(at))
                };
                seen.extend(block.actions.iter().enumerate().map(row));
            });
            let expected = expected.iter().map(|e| (e.action, e.address, e.bytes, e.at, e.stack));
            assert!(expected.eq(seen), "{range:?}");
        }
        let runs: Vec<_> = table.of_devices().collect();
        assert_eq!(runs, [(0..300, -1), (300..600, 0), (600..900, 1), (900..1_000, 2)]);
    }

    #[test]
    fn devices_can_be_said_later() {
        let mut table: HistoryTable = (0..10).map(|at| made(at, 0)).collect();
        table.set_devices([(2..4, 7), (4..5, 7), (6..9, -1)]);
        let devices: Vec<i64> = table.iter().map(|entry| entry.device).collect();
        assert_eq!(devices, [0, 0, 7, 7, 7, 0, -1, -1, -1, 0]);
        // Stretches that overlap or reach beyond the end are cut.
        table.set_devices([(0..6, 1), (3..8, 2), (9..99, 3)]);
        let devices: Vec<i64> = table.iter().map(|entry| entry.device).collect();
        assert_eq!(devices, [1, 1, 1, 1, 1, 1, 2, 2, 0, 3]);
        assert_eq!(table.get(8).map(|entry| entry.device), Some(0));
    }
}
