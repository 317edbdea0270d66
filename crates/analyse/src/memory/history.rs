//! The history of an allocator, replayed: what was held and used at every moment, and every allocation with its life.
//!
//! A snapshot says what the allocator holds when it was taken, and its history what led there: how much was asked for, not
//! how much was given. What was given follows from the allocator's own rules: sizes are rounded up to 512 bytes, and what
//! is left of a free block goes along unless it is worth keeping (512 bytes among small blocks, over 1 MiB among
//! others). The history may begin late, since it is a ring: what is freed without having been allocated, and what is in
//! use at the end without having been allocated, was there before.

use std::collections::BTreeMap;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Action, HistoryBlock, HistoryEntry, HistoryTable, Segment, Snapshot, StackId};

pub use super::columns::Level;
use super::columns::{Levels, Times};

/// One allocation. Moments are numbers of entries of the device's history; what was there before it has moment 0.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    pub address: u64,
    pub bytes: u64,
    /// How much was asked for.
    pub requested: u64,
    /// The entry that made it.
    pub from: u32,
    /// The entry that gave it back; [`u32::MAX`] if it was in use at the end.
    pub to: u32,
    /// The entry after which its bytes could be used again: other streams may use it longer than the program.
    /// [`u32::MAX`] if that was not recorded.
    pub done: u32,
    /// Whether it was there before the history.
    pub before: bool,
    pub stack: StackId,
}

impl Allocation {
    /// Whether it was in use after an entry.
    pub fn lives_at(&self, moment: u32) -> bool {
        (self.before || self.from <= moment) && moment < self.to
    }
}

/// A request that could not be met.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FailedAllocation {
    pub moment: u32,
    pub bytes: u64,
    /// What the device had left.
    pub device_free: u64,
    pub level: Level,
    /// The longest free stretch of a segment.
    pub largest_gap: u64,
    pub stack: StackId,
}

/// Why a request could not be met.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Obstacle {
    /// What was free would have been enough, but lay in pieces.
    Fragmentation,
    /// One free piece was large enough, but the request could not use it: a stream and a pool keep their own.
    #[serde(rename = "set apart")]
    SetApart,
    /// Too little was free.
    Shortage,
}

impl FailedAllocation {
    /// Why it was not met.
    pub fn obstacle(&self) -> Obstacle {
        match self.missing() {
            0 if self.largest_gap >= self.bytes => Obstacle::SetApart,
            0 => Obstacle::Fragmentation,
            _ => Obstacle::Shortage,
        }
    }

    /// Reserved and free then.
    pub fn free(&self) -> u64 {
        self.level.reserved.saturating_sub(self.level.active)
    }

    /// Whether the device had room, so that a limit on the process refused.
    pub fn is_limited(&self) -> bool {
        self.device_free >= self.bytes
    }

    /// What was missing even if all free memory, the device's among it, had been in one piece; 0 if it was the pieces.
    pub fn missing(&self) -> u64 {
        let on_device = if self.is_limited() { 0 } else { self.device_free };
        self.bytes.saturating_sub(self.free().saturating_add(on_device))
    }
}

/// The history of the device that held most.
pub fn largest<'a>(histories: impl IntoIterator<Item = &'a History>) -> Option<&'a History> {
    histories.into_iter().max_by_key(|history| history.peak.allocated)
}

#[derive(Clone, Debug, Default)]
pub struct History {
    /// The device; [`Snapshot::HOST`] for pinned memory.
    pub device: i64,
    /// When each entry happened, if it says.
    pub times: Times,
    /// What was held after each entry.
    pub levels: Levels,
    /// What was held before the first.
    pub at_start: Level,
    /// The most of each, not necessarily at one moment.
    pub peak: Level,
    /// The entry after which the most was in use; none if that was before the first.
    pub peak_moment: Option<u32>,
    /// Every allocation, by its first entry.
    pub allocations: Vec<Allocation>,
    /// Requests that could not be met.
    pub refusals: Vec<FailedAllocation>,
    /// Segments taken from the device and given back.
    pub segments: (u64, u64),
    /// Entries at which a segment was taken from the device, and its size. Segments that grow are not among them: what is
    /// free elsewhere is given back for them.
    pub grown: Vec<(u32, u64)>,
    /// Entries at which a segment was given back, and on whose behalf.
    pub returned: Vec<(u32, StackId)>,
    /// Entries that do not fit what was there: frees of what is not known, allocations where something is.
    pub unmatched: u64,
}

/// What a snapshot says about one device.
pub(crate) struct DeviceEntries<'a> {
    pub(crate) device: i64,
    pub(crate) segments: Vec<&'a Segment>,
    table: &'a HistoryTable,
    stretches: Vec<Range<u32>>,
}

impl DeviceEntries<'_> {
    pub(crate) fn len(&self) -> usize {
        self.stretches.iter().map(|stretch| stretch.len()).sum()
    }

    /// Looks at all entries, oldest first.
    pub(crate) fn each(&self, mut look: impl FnMut(&HistoryBlock<'_>)) {
        for stretch in &self.stretches {
            self.table.each(stretch.clone(), &mut look);
        }
    }

    /// Entries about segments, and the number of each among those of the device.
    pub(crate) fn changes(&self) -> Vec<(u32, HistoryEntry)> {
        use Action::{SegmentAlloc, SegmentFree, SegmentMap, SegmentUnmap};
        let mut found = Vec::new();
        let mut before = 0;
        for stretch in &self.stretches {
            let actions = &self.table.actions()[stretch.start as usize..stretch.end as usize];
            for (at, action) in (0..).zip(actions) {
                if matches!(action, SegmentAlloc | SegmentFree | SegmentMap | SegmentUnmap)
                    && let Some(entry) = self.table.get((stretch.start + at) as usize)
                {
                    found.push((before + at, entry));
                }
            }
            before += stretch.len() as u32;
        }
        found
    }
}

/// A snapshot by device, in one pass: a file may name a device for every entry.
pub(crate) fn by_device(snapshot: &Snapshot) -> Vec<DeviceEntries<'_>> {
    let devices = snapshot.devices();
    let table = &snapshot.history;
    let empty = |device| DeviceEntries { device, segments: Vec::new(), table, stretches: Vec::new() };
    let mut all: Vec<DeviceEntries<'_>> = devices.iter().map(|&device| empty(device)).collect();
    // All devices that have something are listed.
    let place = |device: i64| devices.partition_point(|&other| other < device);
    snapshot.segments.iter().for_each(|segment| all[place(segment.device)].segments.push(segment));
    table.of_devices().for_each(|(stretch, device)| all[place(device)].stretches.push(stretch));
    all
}

/// Adds a stretch to segments that grow, joined with those it touches.
pub(crate) fn add(segments: &mut BTreeMap<u64, u64>, address: u64, bytes: u64) {
    let (mut start, mut end) = (address, address.saturating_add(bytes));
    if let Some((&before, &length)) = segments.range(..=start).next_back()
        && before.saturating_add(length) >= start
    {
        start = before;
        end = end.max(before.saturating_add(length));
    }
    while let Some((&after, &length)) = segments.range(start..=end).next() {
        segments.remove(&after);
        end = end.max(after.saturating_add(length));
    }
    segments.insert(start, end - start);
}

/// Takes a stretch out of segments that shrink; what is left of one on both sides stays.
pub(crate) fn take(segments: &mut BTreeMap<u64, u64>, address: u64, bytes: u64) {
    let end = address.saturating_add(bytes);
    while let Some((&start, &length)) = segments.range(..end).next_back() {
        let stop = start.saturating_add(length);
        if stop <= address {
            return;
        }
        segments.remove(&start);
        if stop > end {
            segments.insert(end, stop - end);
        }
        if start < address {
            segments.insert(start, address - start);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_join_and_part() {
        let mut segments = BTreeMap::new();
        add(&mut segments, 100, 50);
        add(&mut segments, 200, 50);
        add(&mut segments, 150, 50);
        assert_eq!(segments, BTreeMap::from([(100, 150)]));
        take(&mut segments, 120, 30);
        assert_eq!(segments, BTreeMap::from([(100, 20), (150, 100)]));
        take(&mut segments, 110, 100);
        assert_eq!(segments, BTreeMap::from([(100, 10), (210, 40)]));
        take(&mut segments, 0, 1000);
        assert!(segments.is_empty());
    }
}
