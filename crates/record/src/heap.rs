//! Live allocations by the Python stack that made them: what is alive now, what was at the peak, and all that ever was.
//!
//! Stacks are nodes of a tree, so that one costs as much as it differs from those before. What a node held at the peak is
//! not copied at every new peak: a node remembers it when it changes for the first time after one.

mod curve;
mod final_profile;
mod line_memory;
mod rss;
mod sampling;
mod stacks;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher};

use hashbrown::HashMap;

pub use curve::{Curve, CurvePoint};
pub use final_profile::{HeapEnd, LineMemory, NamedLine, NoName};
pub use line_memory::{LineGrowth, LineMemories};
pub use rss::Rss;
pub use sampling::{Sampling, SamplingState};
pub use stacks::{CodePosition, NodeId, Stacks};

/// Counts are kept in parts of one: a sampled allocation may represent one and a half.
const COUNT_UNIT: u64 = 256;
/// The clock is read at every so many small events; large ones read it always.
const CLOCK_EVERY: u64 = 64;
const LARGE_BYTES: u64 = 4096;
/// What was alive is remembered at this time, and whenever twice as much has passed.
const FIRST_MARK_NS: u64 = 250_000_000;

/// Bytes, and allocations in parts of [`COUNT_UNIT`].
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Level {
    bytes: u64,
    count: u64,
}

impl Level {
    fn add(&mut self, other: Level) {
        self.bytes += other.bytes;
        self.count += other.count;
    }

    fn take(&mut self, other: Level) {
        self.bytes = self.bytes.saturating_sub(other.bytes);
        self.count = self.count.saturating_sub(other.count);
    }
}

#[derive(Copy, Clone, Debug, Default)]
struct StackUse {
    live: Level,
    /// At the peak, if it changed since.
    at_peak: Level,
    peak_epoch: u64,
    /// At the last two marks, if it changed since.
    at_mark: [u64; 2],
    mark_epoch: u64,
    ever: Level,
}

/// A piece of memory that is alive.
#[derive(Copy, Clone, Debug)]
pub struct Block {
    size: u64,
    node: NodeId,
}

/// What one stack allocated, in the end.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HeapRow {
    pub node: NodeId,
    /// Bytes alive at the peak.
    pub peak_bytes: u64,
    /// Allocations alive at the peak.
    pub peak_count: u64,
    pub live_bytes: u64,
    pub live_count: u64,
    /// Bytes alive at the mark.
    pub mark_bytes: u64,
    pub allocated_bytes: u64,
    pub allocations: u64,
}

/// Addresses are unlike each other where it matters once they are multiplied.
#[derive(Copy, Clone, Debug, Default)]
struct AddressHash;

struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_usize(&mut self, address: usize) {
        let spread = (address as u64 >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = spread ^ (spread >> 32);
    }
}

impl BuildHasher for AddressHash {
    type Hasher = AddressHasher;

    fn build_hasher(&self) -> AddressHasher {
        AddressHasher(0)
    }
}

/// All that is alive, and who made it. Times are nanoseconds since the start.
#[derive(Debug)]
pub struct Heap {
    pub stacks: Stacks,
    held: Vec<StackUse>,
    live: HashMap<usize, Block, AddressHash>,
    maps: BTreeMap<usize, Block>,
    sampling: Sampling,
    total: Level,
    peak: Level,
    peak_at_ns: u64,
    peak_epoch: u64,
    mark_epoch: u64,
    marks_ns: [u64; 2],
    next_mark_ns: u64,
    events: u64,
    now_ns: u64,
    /// The level over time.
    pub curve: Curve,
}

impl Heap {
    /// Nothing is alive yet.
    pub fn new(sampling: Sampling) -> Heap {
        Heap {
            stacks: Stacks::default(),
            held: vec![StackUse::default()],
            live: HashMap::with_hasher(AddressHash),
            maps: BTreeMap::new(),
            sampling,
            total: Level::default(),
            peak: Level::default(),
            peak_at_ns: 0,
            peak_epoch: 0,
            mark_epoch: 0,
            marks_ns: [0; 2],
            next_mark_ns: FIRST_MARK_NS,
            events: 0,
            now_ns: 0,
            curve: Curve::default(),
        }
    }

    fn weight(&self, size: u64) -> Level {
        let (bytes, count) = self.sampling.weight(size);
        Level { bytes, count: (count * COUNT_UNIT as f64).round() as u64 }
    }

    /// Memory was allocated. `clock` is asked now and then; what is returned says that a point of the curve is due.
    #[inline]
    pub fn allocated(&mut self, address: usize, size: u64, node: NodeId, clock: impl FnOnce() -> u64) -> bool {
        let weight = self.weight(size);
        // What had this address before was freed unseen.
        if let Some(gone) = self.live.insert(address, Block { size, node }) {
            self.release(gone.node, self.weight(gone.size));
        }
        self.hold(node, weight, clock)
    }

    /// Memory was freed; what it was, if it was known.
    #[inline]
    pub fn freed(&mut self, address: usize) -> Option<Block> {
        let block = self.live.remove(&address)?;
        self.release(block.node, self.weight(block.size));
        Some(block)
    }

    /// It was not freed after all.
    pub fn restore(&mut self, address: usize, block: Block) {
        self.live.insert(address, block);
        let weight = self.weight(block.size);
        self.settle(block.node);
        self.held[block.node.index()].live.add(weight);
        self.total.add(weight);
    }

    /// Pages were mapped. These are few and large, so that each counts.
    pub fn mapped(&mut self, address: usize, size: u64, node: NodeId, clock: impl FnOnce() -> u64) -> bool {
        self.unmapped(address, size);
        self.maps.insert(address, Block { size, node });
        self.hold(node, Level { bytes: size, count: COUNT_UNIT }, clock)
    }

    /// Pages were unmapped, perhaps the middle of what was mapped.
    pub fn unmapped(&mut self, address: usize, size: u64) {
        let end = address.saturating_add(size as usize);
        while let Some((&start, &block)) = self.maps.range(..end).next_back() {
            let block_end = start.saturating_add(block.size as usize);
            if block_end <= address {
                return;
            }
            self.maps.remove(&start);
            let mut kept = 0;
            let pieces = [(start, address.max(start)), (end.min(block_end), block_end)];
            for (from, to) in pieces.into_iter().filter(|(from, to)| from < to) {
                self.maps.insert(from, Block { size: (to - from) as u64, node: block.node });
                kept += (to - from) as u64;
            }
            let count = if kept == 0 { COUNT_UNIT } else { 0 };
            self.release(block.node, Level { bytes: block.size - kept, count });
            if start <= address {
                return;
            }
        }
    }

    #[inline]
    fn settle(&mut self, node: NodeId) {
        let held = &mut self.held[node.index()];
        if held.peak_epoch != self.peak_epoch {
            held.at_peak = held.live;
            held.peak_epoch = self.peak_epoch;
        }
        if held.mark_epoch != self.mark_epoch {
            settle_marks(held, self.mark_epoch);
        }
    }

    #[inline]
    fn hold(&mut self, node: NodeId, weight: Level, clock: impl FnOnce() -> u64) -> bool {
        if self.held.len() < self.stacks.len() {
            self.held.resize(self.stacks.len(), StackUse::default());
        }
        self.events += 1;
        let mut due = false;
        if weight.bytes >= LARGE_BYTES || self.events.is_multiple_of(CLOCK_EVERY) {
            self.now_ns = clock();
            if self.now_ns >= self.next_mark_ns {
                self.mark();
            }
            due = self.curve.is_due(self.now_ns);
        }
        self.settle(node);
        let held = &mut self.held[node.index()];
        held.live.add(weight);
        held.ever.add(weight);
        self.total.add(weight);
        if self.total.bytes > self.peak.bytes {
            self.peak = self.total;
            self.peak_at_ns = self.now_ns;
            self.peak_epoch += 1;
        }
        self.curve.level(self.total.bytes);
        due
    }

    #[inline]
    fn release(&mut self, node: NodeId, weight: Level) {
        self.settle(node);
        self.held[node.index()].live.take(weight);
        self.total.take(weight);
    }

    fn mark(&mut self) {
        self.mark_epoch += 1;
        self.marks_ns[(self.mark_epoch & 1) as usize] = self.now_ns;
        while self.next_mark_ns <= self.now_ns {
            self.next_mark_ns = self.next_mark_ns.saturating_mul(2);
        }
    }

    /// Bytes alive now.
    pub fn live_bytes(&self) -> u64 {
        self.total.bytes
    }

    /// The most bytes that were alive at once, and when.
    pub fn peak(&self) -> (u64, u64) {
        (self.peak.bytes, self.peak_at_ns)
    }

    /// Allocations that are known to be alive, which is what the table of them grows with.
    pub fn entries(&self) -> usize {
        self.live.len() + self.maps.len()
    }

    /// The mark that lies nearest to the middle of the time until now: its slot, and when it was.
    fn middle(&self, end_ns: u64) -> Option<(usize, u64)> {
        let slots = (0..2usize).filter(|&slot| self.marks_ns[slot] > 0);
        slots.map(|slot| (slot, self.marks_ns[slot])).min_by_key(|(_, at)| at.abs_diff(end_ns / 2))
    }

    /// When the mark was that rows compare with; none in a run too short to have one.
    pub fn marked_at_ns(&self, end_ns: u64) -> Option<u64> {
        self.middle(end_ns).map(|(_, at)| at)
    }

    /// A row for every stack that allocated, in the order in which they first did.
    pub fn rows(&self, end_ns: u64) -> Vec<HeapRow> {
        let slot = self.middle(end_ns).map(|(slot, _)| slot);
        let whole = |count: u64| (count + COUNT_UNIT / 2) / COUNT_UNIT;
        let row = |(at, held): (usize, &StackUse)| {
            let mut held = *held;
            let at_peak = if held.peak_epoch == self.peak_epoch { held.at_peak } else { held.live };
            settle_marks(&mut held, self.mark_epoch);
            HeapRow {
                node: NodeId::new(at),
                peak_bytes: at_peak.bytes,
                peak_count: whole(at_peak.count),
                live_bytes: held.live.bytes,
                live_count: whole(held.live.count),
                mark_bytes: slot.map_or(0, |slot| held.at_mark[slot]),
                allocated_bytes: held.ever.bytes,
                allocations: whole(held.ever.count),
            }
        };
        self.held.iter().enumerate().map(row).filter(|row| row.allocated_bytes > 0).collect()
    }
}

/// Marks that passed since the last change found what is there now.
fn settle_marks(held: &mut StackUse, epoch: u64) {
    match epoch - held.mark_epoch {
        0 => {}
        1 => held.at_mark[(epoch & 1) as usize] = held.live.bytes,
        _ => held.at_mark = [held.live.bytes; 2],
    }
    held.mark_epoch = epoch;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(code: usize) -> CodePosition {
        CodePosition { code, at: 2 }
    }

    fn two() -> (Heap, NodeId, NodeId) {
        let mut heap = Heap::new(Sampling::EXACT);
        let a = heap.stacks.child(NodeId::ROOT, place(1)).0;
        let b = heap.stacks.child(a, place(2)).0;
        (heap, a, b)
    }

    #[test]
    fn the_peak_is_who_held_it_then() {
        let (mut heap, a, b) = two();
        heap.allocated(0x10, 100, a, || 5_000);
        heap.allocated(0x20, 5_000, b, || 6_000);
        heap.freed(0x10);
        heap.allocated(0x30, 40, a, || 7_000);
        assert_eq!(heap.peak(), (5_100, 6_000));
        heap.freed(0x20);
        heap.freed(0x30);
        // Freed twice, and freed by who never was.
        assert!(heap.freed(0x30).is_none() && heap.freed(0x99).is_none());
        let rows = heap.rows(9_000);
        let peak: Vec<(u64, u64)> = rows.iter().map(|row| (row.peak_bytes, row.peak_count)).collect();
        assert_eq!(peak, [(100, 1), (5_000, 1)]);
        assert_eq!(rows[0].allocated_bytes, 140);
        assert_eq!((rows[0].allocations, rows[0].live_bytes, heap.live_bytes()), (2, 0, 0));
    }

    #[test]
    fn an_address_that_comes_again_was_freed() {
        let (mut heap, a, b) = two();
        heap.allocated(0x10, 100, a, || 0);
        heap.allocated(0x10, 30, b, || 0);
        assert_eq!((heap.live_bytes(), heap.entries()), (30, 1));
        assert_eq!(heap.rows(1).iter().map(|row| row.live_bytes).collect::<Vec<_>>(), [0, 30]);
    }

    #[test]
    fn pages_can_be_unmapped_in_pieces() {
        let (mut heap, a, _) = two();
        heap.mapped(0x1000, 0x4000, a, || 0);
        heap.unmapped(0x2000, 0x1000);
        assert_eq!(heap.live_bytes(), 0x3000);
        heap.unmapped(0x0, 0x10_0000);
        assert_eq!((heap.live_bytes(), heap.entries(), heap.rows(1)[0].live_count), (0, 0, 0));
    }

    #[test]
    fn growth_is_counted_from_the_middle() {
        let (mut heap, a, b) = two();
        let ms = 1_000_000;
        heap.allocated(0x10_000, 8_000, a, || ms);
        // Marks lie at 300 and 600 ms: 300 is nearer to the middle of 800.
        heap.allocated(0x20_000, 8_000, b, || 300 * ms);
        heap.allocated(0x30_000, 8_000, b, || 600 * ms);
        heap.allocated(0x40_000, 8_000, b, || 700 * ms);
        assert_eq!(heap.marked_at_ns(800 * ms), Some(300 * ms));
        let rows = heap.rows(800 * ms);
        assert_eq!((rows[0].mark_bytes, rows[0].live_bytes), (8_000, 8_000));
        assert_eq!((rows[1].mark_bytes, rows[1].live_bytes), (0, 24_000));
        assert_eq!(heap.rows(1_200 * ms)[1].mark_bytes, 8_000);
    }

    #[test]
    fn a_peak_in_a_long_random_run_equals_a_naive_one() {
        let mut heap = Heap::new(Sampling::EXACT);
        let nodes: Vec<NodeId> = (0..7).map(|at| heap.stacks.child(NodeId::ROOT, place(at)).0).collect();
        let mut seed = 7u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut alive: Vec<Option<(u64, usize)>> = vec![None; 200];
        let (mut peak, mut at_peak) = (0, vec![0u64; 7]);
        for _ in 0..20_000 {
            let slot = next(200) as usize;
            if alive[slot].take().is_some() {
                heap.freed(slot * 16 + 16);
            } else {
                let (size, node) = (next(10_000) + 1, next(7) as usize);
                heap.allocated(slot * 16 + 16, size, nodes[node], || 0);
                alive[slot] = Some((size, node));
            }
            let total: u64 = alive.iter().flatten().map(|(size, _)| size).sum();
            if total > peak {
                peak = total;
                at_peak = vec![0; 7];
                alive.iter().flatten().for_each(|(size, node)| at_peak[*node] += size);
            }
        }
        assert_eq!(heap.peak().0, peak);
        let mut found = vec![0; 7];
        for row in heap.rows(1) {
            found[nodes.iter().position(|node| *node == row.node).unwrap()] = row.peak_bytes;
        }
        assert_eq!(found, at_peak);
    }

    #[test]
    fn sampling_is_right_on_average() {
        let sampling = Sampling::every(4_096);
        let mut state = sampling.state(42);
        let mut heap = Heap::new(sampling);
        let node = heap.stacks.child(NodeId::ROOT, place(1)).0;
        let (mut bytes, mut count) = (0u64, 0u64);
        for at in 0..400_000usize {
            let size = [16, 100, 900, 5_000, 60_000][at % 5];
            bytes += size;
            count += 1;
            if state.takes(size) {
                heap.allocated(at * 16 + 16, size, node, || 0);
            }
        }
        let row = heap.rows(1)[0];
        let off = |found: u64, real: u64| (found as f64 - real as f64).abs() / real as f64;
        assert!(off(row.live_bytes, bytes) < 0.01, "{row:?} {bytes}");
        // A small allocation that is seen represents 256 of them, so that counts are rougher.
        assert!(off(row.live_count, count) < 0.10, "{row:?} {count}");
        for at in 0..400_000usize {
            heap.freed(at * 16 + 16);
        }
        assert_eq!((heap.live_bytes(), heap.rows(1)[0].live_count), (0, 0));
    }
}
