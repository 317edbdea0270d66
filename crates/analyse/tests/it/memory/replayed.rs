//! Histories replayed as they are against the same with trees, step by step: slow, and plain enough to be checked by reading.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stepscope_analyse::memory::history::{Allocation, History, Level};
use stepscope_analyse::memory::replay::histories;
use stepscope_formats::{OpenOptions, open, read};
use stepscope_model::{Action, BlockState, Document, HistoryEntry, Ns, Snapshot, StackId};

/// What is left of a request of up to 1 MiB is kept apart from 512 bytes on, of others if it is longer than 1 MiB.
const MIB: u64 = 1 << 20;

#[derive(Default)]
struct Plain {
    segments: BTreeMap<u64, u64>,
    blocks: BTreeMap<u64, usize>,
    level: Level,
    levels: Vec<Level>,
    allocations: Vec<Allocation>,
    gaps: Vec<u64>,
    unmatched: u64,
}

fn rounded(bytes: u64) -> u64 {
    bytes.max(1).div_ceil(512).saturating_mul(512)
}

impl Plain {
    fn replay(snapshot: &Snapshot, device: i64) -> Plain {
        let entries: Vec<HistoryEntry> =
            snapshot.history.iter().filter(|entry| entry.device == device).collect();
        let mut plain = Plain::default();
        let mut made = BTreeMap::new();
        let named = entries.iter().all(|entry| match entry.action {
            Action::Alloc => {
                made.insert(entry.address, entry.stack);
                true
            }
            Action::FreeRequested | Action::FreeCompleted => {
                made.get(&entry.address).is_none_or(|stack| *stack == entry.stack)
            }
            _ => true,
        });
        // Backwards: what is freed later was there, what is allocated later was not.
        let mut before = BTreeMap::new();
        for segment in snapshot.segments.iter().filter(|segment| segment.device == device) {
            assert!(!segment.expandable, "these have their own arithmetic");
            plain.segments.insert(segment.address, segment.bytes);
            for block in segment.blocks.iter().filter(|block| block.state != BlockState::Free) {
                before.insert(block.address, (block.bytes, block.requested_bytes, block.stack));
            }
        }
        for entry in entries.iter().rev() {
            match entry.action {
                Action::Alloc => drop(before.remove(&entry.address)),
                Action::FreeCompleted => {
                    let stack = if named { entry.stack } else { StackId::EMPTY };
                    before.insert(entry.address, (rounded(entry.bytes), entry.bytes, stack));
                }
                Action::SegmentAlloc => drop(plain.segments.remove(&entry.address)),
                Action::SegmentFree => drop(plain.segments.insert(entry.address, entry.bytes)),
                _ => {}
            }
        }
        plain.level.reserved = plain.segments.values().fold(0, |sum, bytes| sum.saturating_add(*bytes));
        for (address, (bytes, requested, stack)) in before {
            plain.allocate(address, bytes, requested, 0, true, stack);
        }
        for (moment, entry) in (0..).zip(&entries) {
            plain.step(entry, moment);
            plain.levels.push(plain.level);
        }
        plain
    }

    fn step(&mut self, entry: &HistoryEntry, moment: u32) {
        let (address, bytes) = (entry.address, entry.bytes);
        match entry.action {
            Action::Alloc => {
                self.allocate(address, self.given(address, bytes), bytes, moment, false, entry.stack)
            }
            Action::FreeRequested => match self.blocks.get(&address) {
                Some(&block) if self.allocations[block].to == u32::MAX => self.end(block, moment),
                _ => self.unmatched += 1,
            },
            Action::FreeCompleted => match self.blocks.remove(&address) {
                Some(block) => self.forget(block, moment),
                None => self.unmatched += 1,
            },
            Action::SegmentAlloc => {
                self.segments.insert(address, bytes);
                self.level.reserved = self.level.reserved.saturating_add(bytes);
            }
            Action::SegmentFree => {
                self.segments.remove(&address);
                self.level.reserved = self.level.reserved.saturating_sub(bytes);
            }
            Action::OutOfMemory => self.gaps.push(self.largest_gap()),
            _ => {}
        }
    }

    fn given(&self, address: u64, requested: u64) -> u64 {
        let needed = rounded(requested);
        let Some((start, length)) = self.segments.range(..=address).next_back() else { return needed };
        let end = start.saturating_add(*length);
        let next = self.blocks.range(address..).next().map_or(end, |(at, _)| end.min(*at));
        match next.checked_sub(address).and_then(|free| free.checked_sub(needed)) {
            Some(left) if left < if requested <= MIB { 512 } else { MIB + 1 } => needed + left,
            _ => needed,
        }
    }

    fn allocate(&mut self, address: u64, bytes: u64, requested: u64, from: u32, before: bool, stack: StackId) {
        let number = self.allocations.len();
        let (to, done) = (u32::MAX, u32::MAX);
        self.allocations.push(Allocation { address, bytes, requested, from, to, done, before, stack });
        if let Some(there) = self.blocks.insert(address, number) {
            self.unmatched += 1;
            self.forget(there, from);
        }
        self.level.allocated = self.level.allocated.saturating_add(bytes);
        self.level.active = self.level.active.saturating_add(bytes);
        self.level.requested = self.level.requested.saturating_add(requested);
    }

    fn end(&mut self, block: usize, moment: u32) {
        self.allocations[block].to = moment;
        self.level.allocated = self.level.allocated.saturating_sub(self.allocations[block].bytes);
    }

    fn forget(&mut self, block: usize, moment: u32) {
        if self.allocations[block].to == u32::MAX {
            self.end(block, moment);
        }
        self.allocations[block].done = moment;
        self.level.active = self.level.active.saturating_sub(self.allocations[block].bytes);
        self.level.requested = self.level.requested.saturating_sub(self.allocations[block].requested);
    }

    fn largest_gap(&self) -> u64 {
        let mut largest = 0;
        for (&start, &bytes) in &self.segments {
            let (end, mut at) = (start.saturating_add(bytes), start);
            for (&address, &block) in self.blocks.range(start..end) {
                largest = largest.max(address.saturating_sub(at));
                at = at.max(address.saturating_add(self.allocations[block].bytes));
            }
            largest = largest.max(end.saturating_sub(at));
        }
        largest
    }
}

fn assert_same(snapshot: &Snapshot) -> usize {
    let found: Vec<History> = histories(snapshot);
    for history in &found {
        let plain = Plain::replay(snapshot, history.device);
        assert!(history.levels.iter().eq(plain.levels.iter().copied()));
        assert_eq!(history.allocations, plain.allocations);
        assert_eq!(history.unmatched, plain.unmatched);
        let gaps: Vec<u64> = history.refusals.iter().map(|refusal| refusal.largest_gap).collect();
        assert_eq!(gaps, plain.gaps);
        let peak = history.peak_moment.map_or(history.at_start, |at| history.levels.get(at as usize).unwrap());
        let most = plain.levels.iter().map(|level| level.allocated).max().unwrap_or(0);
        assert_eq!(peak.allocated, most.max(history.at_start.allocated));
    }
    found.iter().map(|history| history.levels.len()).sum()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/memory")
}

#[test]
fn recorded_histories_are_what_trees_say() {
    let mut entries = 0;
    for name in
        ["activations_kept", "emptied_cache", "pending_frees", "ring_buffer", "out_of_memory_by_shortage"]
    {
        let path = folder().join(format!("{name}.pickle.gz"));
        let Document::Snapshot(snapshot) = open(&path, &OpenOptions::default()).unwrap() else {
            panic!("{name}")
        };
        entries += assert_same(&snapshot);
    }
    assert!(entries > 5_000, "{entries}");
}

fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

#[test]
fn histories_of_anything_are_what_trees_say() {
    use Action::{Alloc, FreeCompleted, FreeRequested, OutOfMemory, SegmentAlloc, SegmentFree};
    for seed in 0..60 {
        let mut next = random(seed);
        let mut snapshot = Snapshot::default();
        // Few addresses, so that entries meet, and now and then an extreme one.
        for _ in 0..1_500 {
            let action =
                [Alloc, Alloc, Alloc, FreeRequested, FreeCompleted, FreeCompleted, SegmentAlloc, SegmentFree];
            let action = if next(200) == 0 { OutOfMemory } else { action[next(8) as usize] };
            let address = match next(300) {
                0 => u64::MAX - next(3),
                _ => next(if seed % 2 == 0 { 40 } else { 4_000 }) * 1_000,
            };
            let bytes = match (next(300), action) {
                (0, _) => u64::MAX - next(2),
                (_, SegmentAlloc | SegmentFree) => next(8) * 10_000,
                _ => next(5) * 700,
            };
            let (device, at) =
                ((seed % 3 * next(2)) as i64, Some(Ns(next(1_000) as i64)).filter(|at| at.0 > 9));
            snapshot.history.push(HistoryEntry {
                device,
                action,
                address,
                bytes,
                stream: 0,
                at,
                stack: StackId::EMPTY,
            });
        }
        assert_same(&snapshot);
    }
}

#[test]
fn damaged_files_are_what_trees_say() {
    let mut next = random(5);
    let mut whole = Vec::new();
    for name in ["2.1.protocol4", "2.5.protocol4", "2.15.protocol2", "2.15.protocol5"] {
        whole.push(std::fs::read(folder().join(format!("schemas/{name}.pickle"))).unwrap());
    }
    let mut seen = 0;
    for turn in 0..4_000 {
        let mut bytes = whole[turn % whole.len()].clone();
        for _ in 0..=next(4) {
            let at = next(bytes.len() as u64) as usize;
            match next(3) {
                0 => bytes[at] = next(256) as u8,
                1 => bytes[at] ^= 1 << next(8),
                _ => drop(bytes.remove(at)),
            }
        }
        if let Ok(Document::Snapshot(snapshot)) = read(&bytes[..], "damaged", &OpenOptions::default())
            && snapshot.segments.iter().all(|segment| !segment.expandable)
            && snapshot
                .history
                .iter()
                .all(|entry| !matches!(entry.action, Action::SegmentMap | Action::SegmentUnmap))
        {
            seen += assert_same(&snapshot);
        }
    }
    assert!(seen > 5_000, "{seen}");
}
