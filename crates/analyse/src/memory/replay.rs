//! Replaying a history: one pass says which addresses there are and what was there before, a second one what was held
//! after every entry.
//!
//! Addresses are numbered in the order in which they are first seen, so that what lies where is a column and not a tree, and
//! blocks that follow each other in time lie next to each other. Which block comes next in memory is asked of a set of
//! their ranks.

use std::collections::BTreeMap;
use std::ops::Bound;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Action, BlockState, HistoryBlock, HistoryEntry, Snapshot, StackId};

use super::history::{Allocation, DeviceEntries, FailedAllocation, History, Level, add, by_device, take};
use super::live_set::LiveSet;
use crate::scope::NONE;

/// The histories of a snapshot's devices.
pub fn histories(snapshot: &Snapshot) -> Vec<History> {
    by_device(snapshot).iter().map(Replay::run).collect()
}

/// Sizes are multiples of this.
const ROUNDING_BYTES: u64 = 512;
/// What is left of a large block is kept apart if it is longer.
const LARGE_REMAINDER_BYTES: u64 = 1 << 20;
const SMALL_REQUEST_BYTES: u64 = 1 << 20;
/// Blocks that are looked at, in total, to say how long the longest free stretch was at each refusal. Later refusals of a
/// history that has more get the last answer: it would take hours otherwise, and no program is refused so often.
const MAX_BLOCKS_LOOKED_AT: u64 = 50_000_000;

/// The addresses of blocks, numbered.
#[derive(Default)]
struct Addresses {
    all: Vec<u64>,
    numbers: HashMap<u64, u32, RandomState>,
}

impl Addresses {
    #[inline]
    fn number(&mut self, address: u64) -> u32 {
        let all = &mut self.all;
        *self.numbers.entry(address).or_insert_with(|| {
            all.push(address);
            // There are no more than entries and blocks of segments, each of which takes more than a byte of memory.
            all.len() as u32 - 1
        })
    }
}

/// A block that was there before the history.
struct InitialBlock {
    address: u64,
    number: u32,
    bytes: u64,
    requested: u64,
    stack: StackId,
}

/// What one pass over a history shows.
struct HistorySurvey {
    addresses: Vec<u64>,
    /// By entry, the number of its address; [`NONE`] if it is not about a block.
    of_entry: Vec<u32>,
    before: Vec<InitialBlock>,
}

impl HistorySurvey {
    fn new(of: &DeviceEntries<'_>) -> HistorySurvey {
        let mut addresses = Addresses::default();
        let mut of_entry = Vec::with_capacity(of.len());
        let mut before: Vec<InitialBlock> = Vec::new();
        // By address: whether an allocation or a free was seen there, and who made the last one.
        let mut seen: Vec<(bool, Option<StackId>)> = Vec::new();
        // Frees name who freed, unless only allocations were recorded with stacks: then they name who allocated.
        let mut frees_name_allocators = true;
        // A block that is given back is free right after, more often than not.
        let mut last = (0, NONE);
        of.each(|block| {
            for (at, &action) in block.actions.iter().enumerate() {
                if !matches!(action, Action::Alloc | Action::FreeRequested | Action::FreeCompleted) {
                    of_entry.push(NONE);
                    continue;
                }
                let (address, stack) = (block.address(at), block.stack(at));
                if last.0 != address || last.1 == NONE {
                    last = (address, addresses.number(address));
                }
                let number = last.1;
                of_entry.push(number);
                if seen.len() == number as usize {
                    seen.push((false, None));
                }
                let (touched, made) = &mut seen[number as usize];
                if action == Action::Alloc {
                    (*touched, *made) = (true, Some(stack));
                    continue;
                }
                frees_name_allocators &= made.is_none_or(|made| made == stack);
                // What is freed first was there before.
                if action == Action::FreeCompleted && !std::mem::replace(touched, true) {
                    let requested = block.bytes(at);
                    before.push(InitialBlock { address, number, bytes: rounded(requested), requested, stack });
                }
            }
        });
        if !frees_name_allocators {
            before.iter_mut().for_each(|before| before.stack = StackId::EMPTY);
        }
        // So was what is there at the end and nothing happened to.
        for block in of.segments.iter().flat_map(|segment| &segment.blocks) {
            if block.state == BlockState::Free {
                continue;
            }
            let number = addresses.number(block.address);
            if !seen.get(number as usize).is_some_and(|seen| seen.0) {
                before.push(InitialBlock {
                    address: block.address,
                    number,
                    bytes: block.bytes,
                    requested: block.requested_bytes,
                    stack: block.stack,
                });
            }
        }
        // Of blocks at one address the last counts.
        before.reverse();
        before.sort_by_key(|before| before.address);
        before.dedup_by_key(|before| before.address);
        HistorySurvey { addresses: addresses.all, of_entry, before }
    }
}

/// Segments before the first entry: what is given back later was there, what is taken later was not.
pub(crate) fn segments_before(of: &DeviceEntries<'_>, changes: &[(u32, HistoryEntry)]) -> BTreeMap<u64, u64> {
    let mut segments: BTreeMap<u64, u64> = BTreeMap::new();
    for segment in &of.segments {
        if segment.expandable {
            add(&mut segments, segment.address, segment.bytes);
        } else {
            segments.insert(segment.address, segment.bytes);
        }
    }
    for (_, entry) in changes.iter().rev() {
        match entry.action {
            Action::SegmentAlloc => drop(segments.remove(&entry.address)),
            Action::SegmentFree => drop(segments.insert(entry.address, entry.bytes)),
            Action::SegmentMap => take(&mut segments, entry.address, entry.bytes),
            Action::SegmentUnmap => add(&mut segments, entry.address, entry.bytes),
            _ => {}
        }
    }
    segments
}

/// Which addresses have a block that is not free, in the order of memory. Kept only where there are segments.
struct InMemory {
    /// Addresses, rising.
    sorted: Vec<u64>,
    /// The numbers of these addresses.
    numbers: Vec<u32>,
    /// By number of an address, its place among them.
    ranks: Vec<u32>,
    live: LiveSet,
}

impl InMemory {
    fn new(addresses: &[u64]) -> InMemory {
        let mut numbers: Vec<u32> = (0..addresses.len() as u32).collect();
        numbers.sort_unstable_by_key(|&number| addresses[number as usize]);
        let mut ranks = vec![0; addresses.len()];
        for (rank, &number) in numbers.iter().enumerate() {
            ranks[number as usize] = rank as u32;
        }
        let sorted = numbers.iter().map(|&number| addresses[number as usize]).collect();
        InMemory { sorted, numbers, ranks, live: LiveSet::new(addresses.len()) }
    }

    /// The first address from that of a number on that is not free.
    fn next(&self, number: u32) -> Option<u64> {
        self.live.next(self.ranks[number as usize]).map(|rank| self.sorted[rank as usize])
    }
}

pub(super) struct Replay {
    addresses: Vec<u64>,
    /// By address, the allocation that lies there; [`NONE`] if it is free.
    blocks: Vec<u32>,
    in_memory: Option<InMemory>,
    /// Segments by address.
    segments: BTreeMap<u64, u64>,
    /// Segments that were looked at since any of them changed, by a few bits of the address.
    near: Box<[NearSegment; NEAR_SLOTS]>,
    level: Level,
    history: History,
    looked_at: u64,
    last_gap: u64,
}

impl Replay {
    pub(super) fn run(of: &DeviceEntries<'_>) -> History {
        let changes = of.changes();
        let segments = segments_before(of, &changes);
        let HistorySurvey { addresses, of_entry, before } = HistorySurvey::new(of);
        let has_segments = !segments.is_empty() || !changes.is_empty();
        let mut replay = Replay {
            blocks: vec![NONE; addresses.len()],
            in_memory: has_segments.then(|| InMemory::new(&addresses)),
            addresses,
            level: Level {
                reserved: segments.values().fold(0, |sum: u64, &bytes| sum.saturating_add(bytes)),
                ..Level::default()
            },
            segments,
            near: Box::new([NO_SEGMENT; NEAR_SLOTS]),
            history: History { device: of.device, ..History::default() },
            looked_at: 0,
            last_gap: 0,
        };
        for block in before {
            replay.allocate(block.number, block.bytes, block.requested, 0, true, block.stack);
        }
        replay.history.at_start = replay.level;
        replay.history.peak = replay.level;
        let mut moment = 0;
        of.each(|block| {
            for (at, &number) in of_entry[moment..moment + block.actions.len()].iter().enumerate() {
                replay.step(block, at, number, (moment + at) as u32);
            }
            moment += block.actions.len();
        });
        replay.history
    }

    #[inline(always)]
    fn step(&mut self, of: &HistoryBlock<'_>, at: usize, number: u32, moment: u32) {
        match of.actions[at] {
            Action::Alloc => {
                let requested = of.bytes(at);
                let bytes = self.given(number, of.address(at), requested);
                self.allocate(number, bytes, requested, moment, false, of.stack(at));
                // Nothing else is held more after any other entry, but for what the allocator took from the device.
                if self.level.allocated > self.history.peak.allocated {
                    self.history.peak_moment = Some(moment);
                }
                self.history.peak = self.history.peak.most(self.level);
            }
            Action::FreeRequested => self.release(number, moment),
            Action::FreeCompleted => self.free(number, moment),
            Action::Snapshot | Action::Other => {}
            _ => {
                self.rare(of, at, moment);
                self.history.peak = self.history.peak.most(self.level);
            }
        }
        self.history.levels.push(self.level);
        self.history.times.push(of.at(at));
    }

    fn rare(&mut self, of: &HistoryBlock<'_>, at: usize, moment: u32) {
        let (action, address, bytes, stack) = (of.actions[at], of.address(at), of.bytes(at), of.stack(at));
        if action != Action::OutOfMemory {
            self.near.fill(NO_SEGMENT);
        }
        match action {
            Action::SegmentAlloc => {
                self.history.segments.0 += 1;
                self.history.grown.push((moment, bytes));
                self.segments.insert(address, bytes);
                self.level.reserved = self.level.reserved.saturating_add(bytes);
            }
            Action::SegmentFree => {
                self.history.segments.1 += 1;
                self.history.returned.push((moment, stack));
                self.segments.remove(&address);
                self.level.reserved = self.level.reserved.saturating_sub(bytes);
            }
            Action::SegmentMap => {
                add(&mut self.segments, address, bytes);
                self.level.reserved = self.level.reserved.saturating_add(bytes);
            }
            Action::SegmentUnmap => {
                take(&mut self.segments, address, bytes);
                self.level.reserved = self.level.reserved.saturating_sub(bytes);
            }
            Action::OutOfMemory => {
                let refusal = FailedAllocation {
                    moment,
                    bytes,
                    device_free: address,
                    level: self.level,
                    largest_gap: self.largest_gap(),
                    stack,
                };
                self.history.refusals.push(refusal);
            }
            _ => {}
        }
    }

    /// How much a request at an address is given: what it needs, or all that is free there.
    #[inline]
    fn given(&mut self, number: u32, address: u64, requested: u64) -> u64 {
        let needed = rounded(requested);
        let Some(in_memory) = &self.in_memory else { return needed };
        let near = &mut self.near[(address >> NEAR_SHIFT) as usize % NEAR_SLOTS];
        if address < near.start || address >= near.next {
            let Some((&start, &bytes)) = self.segments.range(..=address).next_back() else { return needed };
            let next = self.segments.range((Bound::Excluded(address), Bound::Unbounded)).next();
            let next = next.map_or(u64::MAX, |next| *next.0);
            *near = NearSegment { start, next, end: start.saturating_add(bytes) };
        }
        let end = near.end;
        let next = in_memory.next(number).map_or(end, |at| at.min(end));
        let Some(left) = next.checked_sub(address).and_then(|free| free.checked_sub(needed)) else {
            return needed;
        };
        let worth = if requested <= SMALL_REQUEST_BYTES { ROUNDING_BYTES } else { LARGE_REMAINDER_BYTES + 1 };
        if left >= worth { needed } else { needed + left }
    }

    fn allocate(&mut self, number: u32, bytes: u64, requested: u64, moment: u32, before: bool, stack: StackId) {
        let Some(allocation) = u32::try_from(self.history.allocations.len()).ok().filter(|at| *at != NONE)
        else {
            return;
        };
        self.history.allocations.push(Allocation {
            address: self.addresses[number as usize],
            bytes,
            requested,
            from: moment,
            to: NONE,
            done: NONE,
            before,
            stack,
        });
        let there = std::mem::replace(&mut self.blocks[number as usize], allocation);
        if there != NONE {
            // Its end was not recorded.
            self.history.unmatched += 1;
            self.forget(there, moment);
        } else if let Some(in_memory) = &mut self.in_memory {
            in_memory.live.insert(in_memory.ranks[number as usize]);
        }
        self.level.allocated = self.level.allocated.saturating_add(bytes);
        self.level.active = self.level.active.saturating_add(bytes);
        self.level.requested = self.level.requested.saturating_add(requested);
    }

    /// The program gives a block back.
    #[inline]
    fn release(&mut self, number: u32, moment: u32) {
        match self.history.allocations.get_mut(self.blocks[number as usize] as usize) {
            Some(block) if block.to == NONE => {
                block.to = moment;
                self.level.allocated = self.level.allocated.saturating_sub(block.bytes);
            }
            _ => self.history.unmatched += 1,
        }
    }

    /// A block is free again.
    #[inline]
    fn free(&mut self, number: u32, moment: u32) {
        let there = std::mem::replace(&mut self.blocks[number as usize], NONE);
        if there == NONE {
            self.history.unmatched += 1;
            return;
        }
        if let Some(in_memory) = &mut self.in_memory {
            in_memory.live.remove(in_memory.ranks[number as usize]);
        }
        self.forget(there, moment);
    }

    fn forget(&mut self, allocation: u32, moment: u32) {
        let block = &mut self.history.allocations[allocation as usize];
        if block.to == NONE {
            block.to = moment;
            self.level.allocated = self.level.allocated.saturating_sub(block.bytes);
        }
        block.done = moment;
        self.level.active = self.level.active.saturating_sub(block.bytes);
        self.level.requested = self.level.requested.saturating_sub(block.requested);
    }

    /// The longest free stretch of a segment. Requests are refused rarely, so this may look at everything.
    fn largest_gap(&mut self) -> u64 {
        let Some(in_memory) = &self.in_memory else { return 0 };
        if self.looked_at > MAX_BLOCKS_LOOKED_AT {
            return self.last_gap;
        }
        let mut largest = 0;
        for (&start, &bytes) in &self.segments {
            let end = start.saturating_add(bytes);
            let mut at = start;
            let mut rank = in_memory.sorted.partition_point(|address| *address < start) as u32;
            self.looked_at += 1;
            while let Some(next) = in_memory.live.next(rank)
                && let address = in_memory.sorted[next as usize]
                && address < end
            {
                largest = largest.max(address.saturating_sub(at));
                let number = in_memory.numbers[next as usize];
                let block = &self.history.allocations[self.blocks[number as usize] as usize];
                at = at.max(address.saturating_add(block.bytes));
                rank = next + 1;
                self.looked_at += 1;
            }
            largest = largest.max(end.saturating_sub(at));
        }
        self.last_gap = largest;
        largest
    }
}

/// A segment, and where the next one begins.
#[derive(Copy, Clone)]
struct NearSegment {
    start: u64,
    end: u64,
    next: u64,
}

const NO_SEGMENT: NearSegment = NearSegment { start: u64::MAX, end: 0, next: 0 };
/// How many segments are kept at hand, and the shortest that an allocator takes, as a power of two.
const NEAR_SLOTS: usize = 256;
const NEAR_SHIFT: u32 = 21;

pub(super) fn rounded(bytes: u64) -> u64 {
    bytes.max(1).div_ceil(ROUNDING_BYTES).saturating_mul(ROUNDING_BYTES)
}
