//! The history of an allocator, replayed: what was held and used at every moment, and every allocation with its life.
//!
//! A snapshot says what the allocator holds when it was taken, and its history what led there: how much was asked for, not
//! how much was given. What was given follows from the allocator's own rules: sizes are rounded up to 512 bytes, and what
//! is left of a free block goes along unless it is worth keeping (512 bytes among small blocks, over 1 MiB among
//! others). The history may begin late, since it is a ring: what is freed without having been allocated, and what is in
//! use at the end without having been allocated, was there before.

use std::collections::BTreeMap;

use stepscope_model::{Action, BlockState, HistoryEntry, Ns, Segment, Snapshot, StackId};

/// Sizes are multiples of this.
const ROUNDING: u64 = 512;
/// What is left of a large block is kept apart if it is longer.
const LARGE_REMAINDER: u64 = 1 << 20;
/// Requests of up to this are small.
const SMALL_REQUEST: u64 = 1 << 20;

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
    fn most(self, other: Level) -> Level {
        Level {
            allocated: self.allocated.max(other.allocated),
            active: self.active.max(other.active),
            requested: self.requested.max(other.requested),
            reserved: self.reserved.max(other.reserved),
        }
    }
}

/// One allocation. Moments are numbers of entries of the device's history; what was there before it has moment 0.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Where it was.
    pub address: u64,
    /// How much it took.
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
    /// Who asked for it.
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
pub struct Refusal {
    /// The entry.
    pub moment: u32,
    /// What was asked for.
    pub bytes: u64,
    /// What the device had left.
    pub device_free: u64,
    /// What was held then.
    pub level: Level,
    /// The longest free stretch of a segment.
    pub largest_gap: u64,
    /// Who asked.
    pub stack: StackId,
}

impl Refusal {
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

/// One device's history.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The device; [`Snapshot::HOST`] for pinned memory.
    pub device: i64,
    /// When each entry happened, if it says.
    pub times: Vec<Option<Ns>>,
    /// What was held after each entry.
    pub levels: Vec<Level>,
    /// What was held before the first.
    pub at_start: Level,
    /// The most of each, not necessarily at one moment.
    pub peak: Level,
    /// The entry after which the most was in use; none if that was before the first.
    pub peak_moment: Option<u32>,
    /// Every allocation, by its first entry.
    pub allocations: Vec<Allocation>,
    /// Requests that could not be met.
    pub refusals: Vec<Refusal>,
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

/// The histories of a snapshot's devices.
pub fn histories(snapshot: &Snapshot) -> Vec<History> {
    by_device(snapshot).iter().map(|device| Replay::new(device).run(device)).collect()
}

/// What a snapshot says about one device.
pub(crate) struct OfDevice<'a> {
    pub(crate) device: i64,
    pub(crate) segments: Vec<&'a Segment>,
    pub(crate) entries: Vec<&'a HistoryEntry>,
}

/// A snapshot by device, in one look at it: a file may name a device for every entry.
pub(crate) fn by_device(snapshot: &Snapshot) -> Vec<OfDevice<'_>> {
    let devices = snapshot.devices();
    let empty = |device| OfDevice { device, segments: Vec::new(), entries: Vec::new() };
    let mut all: Vec<OfDevice<'_>> = devices.iter().map(|&device| empty(device)).collect();
    // All devices that have something are listed.
    let place = |device: i64| devices.partition_point(|&other| other < device);
    snapshot.segments.iter().for_each(|segment| all[place(segment.device)].segments.push(segment));
    snapshot.history.iter().for_each(|entry| all[place(entry.device)].entries.push(entry));
    all
}

/// What lies where.
#[derive(Copy, Clone)]
struct Block {
    bytes: u64,
    requested: u64,
    allocation: u32,
    /// Given back, but not yet free.
    pending: bool,
}

#[derive(Default)]
struct Replay {
    /// Segments by address.
    segments: BTreeMap<u64, u64>,
    /// What is not free, by address.
    blocks: BTreeMap<u64, Block>,
    level: Level,
    history: History,
}

impl Replay {
    /// What was there before the history.
    fn new(of: &OfDevice<'_>) -> Replay {
        let mut replay = Replay::default();
        // Frees name who freed, unless only allocations were recorded with stacks: then they name who allocated.
        let frees_name_allocators = frees_name_allocators(&of.entries);
        // Backwards: what is freed later was there, what is allocated later was not.
        let mut live: BTreeMap<u64, (u64, u64, StackId)> = BTreeMap::new();
        let mut segments: BTreeMap<u64, u64> = BTreeMap::new();
        for segment in &of.segments {
            if !segment.expandable {
                segments.insert(segment.address, segment.bytes);
            } else {
                add(&mut segments, segment.address, segment.bytes);
            }
            for block in segment.blocks.iter().filter(|b| b.state != BlockState::Free) {
                live.insert(block.address, (block.bytes, block.requested_bytes, block.stack));
            }
        }
        for entry in of.entries.iter().rev() {
            match entry.action {
                Action::Alloc => drop(live.remove(&entry.address)),
                Action::FreeCompleted => {
                    let stack = if frees_name_allocators { entry.stack } else { StackId::EMPTY };
                    live.insert(entry.address, (rounded(entry.bytes), entry.bytes, stack));
                }
                Action::SegmentAlloc => drop(segments.remove(&entry.address)),
                Action::SegmentFree => drop(segments.insert(entry.address, entry.bytes)),
                Action::SegmentMap => take(&mut segments, entry.address, entry.bytes),
                Action::SegmentUnmap => add(&mut segments, entry.address, entry.bytes),
                _ => {}
            }
        }
        replay.level.reserved = segments.values().fold(0, |sum: u64, &bytes| sum.saturating_add(bytes));
        replay.segments = segments;
        for (address, (bytes, requested, stack)) in live {
            replay.allocate(address, bytes, requested, 0, true, stack);
        }
        replay.history.at_start = replay.level;
        replay.history.peak = replay.level;
        replay
    }

    fn run(mut self, of: &OfDevice<'_>) -> History {
        self.history.device = of.device;
        for entry in &of.entries {
            let Ok(moment) = u32::try_from(self.history.levels.len()) else { break };
            match entry.action {
                Action::Alloc => {
                    let bytes = self.given(entry.address, entry.bytes);
                    self.allocate(entry.address, bytes, entry.bytes, moment, false, entry.stack);
                }
                Action::FreeRequested => self.release(entry.address, moment),
                Action::FreeCompleted => self.free(entry.address, moment),
                Action::SegmentAlloc => {
                    self.history.segments.0 += 1;
                    self.history.grown.push((moment, entry.bytes));
                    self.segments.insert(entry.address, entry.bytes);
                    self.level.reserved = self.level.reserved.saturating_add(entry.bytes);
                }
                Action::SegmentFree => {
                    self.history.segments.1 += 1;
                    self.history.returned.push((moment, entry.stack));
                    self.segments.remove(&entry.address);
                    self.level.reserved = self.level.reserved.saturating_sub(entry.bytes);
                }
                Action::SegmentMap => {
                    add(&mut self.segments, entry.address, entry.bytes);
                    self.level.reserved = self.level.reserved.saturating_add(entry.bytes);
                }
                Action::SegmentUnmap => {
                    take(&mut self.segments, entry.address, entry.bytes);
                    self.level.reserved = self.level.reserved.saturating_sub(entry.bytes);
                }
                Action::OutOfMemory => {
                    let refusal = Refusal {
                        moment,
                        bytes: entry.bytes,
                        device_free: entry.address,
                        level: self.level,
                        largest_gap: self.largest_gap(),
                        stack: entry.stack,
                    };
                    self.history.refusals.push(refusal);
                }
                Action::Snapshot | Action::Other => {}
            }
            if self.level.allocated > self.history.peak.allocated {
                self.history.peak_moment = Some(moment);
            }
            self.history.peak = self.history.peak.most(self.level);
            self.history.levels.push(self.level);
            self.history.times.push(entry.at);
        }
        self.history
    }

    /// How much a request at an address is given: what it needs, or all that is free there.
    fn given(&self, address: u64, requested: u64) -> u64 {
        let needed = rounded(requested);
        let Some((&start, &bytes)) = self.segments.range(..=address).next_back() else { return needed };
        let end = start.saturating_add(bytes);
        let next = self.blocks.range(address..).next().map_or(end, |(&at, _)| at.min(end));
        let Some(left) = next.checked_sub(address).and_then(|free| free.checked_sub(needed)) else {
            return needed;
        };
        let worth = if requested <= SMALL_REQUEST { ROUNDING } else { LARGE_REMAINDER + 1 };
        if left >= worth { needed } else { needed + left }
    }

    fn allocate(
        &mut self,
        address: u64,
        bytes: u64,
        requested: u64,
        moment: u32,
        before: bool,
        stack: StackId,
    ) {
        let Ok(allocation) = u32::try_from(self.history.allocations.len()) else { return };
        self.history.allocations.push(Allocation {
            address,
            bytes,
            requested,
            from: moment,
            to: u32::MAX,
            done: u32::MAX,
            before,
            stack,
        });
        let block = Block { bytes, requested, allocation, pending: false };
        if let Some(there) = self.blocks.insert(address, block) {
            // Its end was not recorded.
            self.history.unmatched += 1;
            self.forget(there, moment);
        }
        self.level.allocated = self.level.allocated.saturating_add(bytes);
        self.level.active = self.level.active.saturating_add(bytes);
        self.level.requested = self.level.requested.saturating_add(requested);
    }

    /// The program gives a block back.
    fn release(&mut self, address: u64, moment: u32) {
        match self.blocks.get_mut(&address) {
            Some(block) if !block.pending => {
                block.pending = true;
                let block = *block;
                self.no_longer_allocated(block, moment);
            }
            _ => self.history.unmatched += 1,
        }
    }

    /// A block is free again.
    fn free(&mut self, address: u64, moment: u32) {
        match self.blocks.remove(&address) {
            Some(block) => self.forget(block, moment),
            None => self.history.unmatched += 1,
        }
    }

    fn forget(&mut self, block: Block, moment: u32) {
        if !block.pending {
            self.no_longer_allocated(block, moment);
        }
        self.history.allocations[block.allocation as usize].done = moment;
        self.level.active = self.level.active.saturating_sub(block.bytes);
        self.level.requested = self.level.requested.saturating_sub(block.requested);
    }

    fn no_longer_allocated(&mut self, block: Block, moment: u32) {
        self.level.allocated = self.level.allocated.saturating_sub(block.bytes);
        self.history.allocations[block.allocation as usize].to = moment;
    }

    /// The longest free stretch of a segment. Requests are refused rarely, so this may look at everything.
    fn largest_gap(&self) -> u64 {
        let mut largest = 0;
        for (&start, &bytes) in &self.segments {
            let end = start.saturating_add(bytes);
            let mut at = start;
            for (&address, block) in self.blocks.range(start..end) {
                largest = largest.max(address.saturating_sub(at));
                at = at.max(address.saturating_add(block.bytes));
            }
            largest = largest.max(end.saturating_sub(at));
        }
        largest
    }
}

/// Whether every free has the stack of the allocation that it ends.
fn frees_name_allocators(entries: &[&HistoryEntry]) -> bool {
    let mut made: BTreeMap<u64, StackId> = BTreeMap::new();
    entries.iter().all(|entry| match entry.action {
        Action::Alloc => {
            made.insert(entry.address, entry.stack);
            true
        }
        Action::FreeRequested | Action::FreeCompleted => {
            made.get(&entry.address).is_none_or(|stack| *stack == entry.stack)
        }
        _ => true,
    })
}

fn rounded(bytes: u64) -> u64 {
    bytes.max(1).div_ceil(ROUNDING).saturating_mul(ROUNDING)
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
