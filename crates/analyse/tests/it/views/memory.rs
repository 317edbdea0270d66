//! Pictures of memory: their sums are those of the replay, and the allocator's map is the one that PyTorch wrote.

use std::path::{Path, PathBuf};

use stepscope_analyse::memory::history::History;
use stepscope_analyse::memory::places::Places;
use stepscope_analyse::memory::replay::histories;
use stepscope_analyse::views::memory::picture::Frame as Rows;
use stepscope_analyse::views::memory::{BlockUse, MemoryAxis, MemoryView, PictureQuery, Stacked};
use stepscope_formats::{OpenOptions, open};
use stepscope_model::{
    Action, BlockState, Document, Frame, HistoryEntry, Ns, Segment, Snapshot, StackId, StackTable,
};

use crate::growth::{assert_linear, timed};

fn fixtures() -> Vec<(String, Snapshot)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/memory");
    let folder = std::env::var_os("STEPSCOPE_SNAPSHOTS").map_or(folder, PathBuf::from);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    paths.sort();
    paths.retain(|path| path.to_string_lossy().ends_with(".pickle.gz"));
    let read = |path: PathBuf| match open(&path, &OpenOptions::default()).unwrap() {
        Document::Snapshot(snapshot) => (path.display().to_string(), snapshot),
        other => panic!("{}: {:?}", path.display(), other.kind()),
    };
    paths.into_iter().map(read).collect()
}

fn level(history: &History, state: u32) -> stepscope_analyse::memory::history::Level {
    match state.checked_sub(1) {
        Some(moment) => history.levels.get(moment as usize).unwrap(),
        None => history.at_start,
    }
}

#[test]
fn sums_at_every_state_are_those_of_the_replay() {
    let all = fixtures();
    assert!(all.len() >= 2);
    for (name, snapshot) in &all {
        let histories = histories(snapshot);
        let view = MemoryView::new(snapshot, &histories, &Places::new(snapshot));
        for history in &histories {
            let states = history.levels.len() as u32 + 1;
            for state in 0..states {
                let total = view.total(&histories, history.device, state).unwrap();
                assert_eq!(total, level(history, state).allocated, "{name}, state {state}");
            }
            let about = view.about(&histories);
            assert_eq!(about.devices[0].peak_bytes, history.peak.allocated, "{name}");
        }
    }
}

#[test]
fn lines_and_maps_add_up_to_the_replay() {
    for (name, snapshot) in &fixtures() {
        let histories = histories(snapshot);
        let view = MemoryView::new(snapshot, &histories, &Places::new(snapshot));
        for history in &histories {
            let states = history.levels.len() as u32 + 1;
            for state in (0..states).step_by((states as usize / 150).max(1)).chain([states - 1]) {
                let at = view.instant((snapshot, &histories), history.device, state).unwrap();
                let level = level(history, state);
                let case = format!("{name}, state {state}");
                assert_eq!(at.lines.iter().map(|line| line.bytes).sum::<u64>(), level.allocated, "{case}");
                assert_eq!(at.map.outside, 0, "{case}");
                let sum = |of: fn(&stepscope_analyse::views::memory::MapSegment) -> u64| {
                    at.map.segments.iter().map(of).sum::<u64>()
                };
                assert_eq!(sum(|s| s.bytes), level.reserved, "{case}");
                assert_eq!(sum(|s| s.allocated_bytes), level.allocated, "{case}");
                assert_eq!(sum(|s| s.pending_bytes), level.active - level.allocated, "{case}");
                let blocks: u64 = at.map.segments.iter().flat_map(|s| &s.blocks).map(|b| b.bytes).sum();
                assert_eq!(blocks, level.reserved, "{case}");
                let flame = view.flame(&histories, &Places::new(snapshot), history.device, state).unwrap();
                assert_eq!(flame.total_ns as u64, level.allocated, "{case}");
            }
        }
    }
}

/// A segment as both sides tell it: where, how long, and its blocks.
type Told = (String, u64, Option<u64>, Vec<(BlockUse, u64)>);

#[test]
fn the_last_map_is_the_one_that_pytorch_wrote() {
    for (name, snapshot) in &fixtures() {
        let histories = histories(snapshot);
        let view = MemoryView::new(snapshot, &histories, &Places::new(snapshot));
        for history in &histories {
            let at = view.instant((snapshot, &histories), history.device, u32::MAX).unwrap();
            let mut ours: Vec<Told> = at
                .map
                .segments
                .iter()
                .map(|s| {
                    let blocks = s.blocks.iter().map(|b| (b.state, b.bytes)).collect();
                    (s.address.clone(), s.bytes, s.stream, blocks)
                })
                .collect();
            ours.sort();
            let told = |segment: &Segment| {
                let state = |state| match state {
                    BlockState::Allocated => BlockUse::Active,
                    BlockState::AwaitingFree => BlockUse::Pending,
                    BlockState::Free => BlockUse::Free,
                };
                let blocks = segment.blocks.iter().map(|block| (state(block.state), block.bytes)).collect();
                (format!("{:#x}", segment.address), segment.bytes, Some(segment.stream), blocks)
            };
            let mut theirs: Vec<Told> =
                snapshot.segments.iter().filter(|s| s.device == history.device).map(told).collect();
            theirs.sort();
            assert_eq!(ours, theirs, "{name}");
        }
    }
}

fn head(bytes: &[u8]) -> (serde_json::Value, usize) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..8 + length]).unwrap(), (8 + length).next_multiple_of(8))
}

#[test]
fn every_column_shows_its_highest_moment_to_the_byte() {
    for (name, snapshot) in &fixtures() {
        let histories = histories(snapshot);
        let view = MemoryView::new(snapshot, &histories, &Places::new(snapshot));
        for (history, axis) in histories.iter().flat_map(|h| [(h, MemoryAxis::Entry), (h, MemoryAxis::Time)]) {
            let about = view.about(&histories).devices.remove(0);
            let to = match axis {
                MemoryAxis::Entry => f64::from(about.states),
                MemoryAxis::Time => about.duration_ns.unwrap_or(0) as f64 + 1.0,
            };
            let frame = Rows { low: 0, high: about.peak_bytes, rows: 200 };
            let (stacked, columns) = (Stacked::Allocations, 37);
            let query = PictureQuery { device: history.device, stacked, axis, from: 0.0, to, columns, frame };
            let bytes = view.picture(&histories, &query).unwrap();
            let (head, at) = head(&bytes);
            let states = head["states"].as_u64().unwrap() as usize;
            let real = |n: usize| f64::from_le_bytes(bytes[at + 8 * n..at + 8 * n + 8].try_into().unwrap());
            let totals: Vec<f64> = (states..2 * states).map(real).collect();
            let most = totals.iter().copied().fold(0.0, f64::max);
            assert_eq!(most as u64, history.peak.allocated, "{name} {axis:?}");
            let drawn = head["drawn"].as_u64().unwrap() as usize;
            let numbers = at + 8 * (3 * states + drawn + 37);
            for (n, total) in totals.iter().enumerate() {
                let from = numbers + 4 * n;
                let state = u32::from_le_bytes(bytes[from..from + 4].try_into().unwrap());
                assert_eq!(*total as u64, level(history, state).allocated, "{name} {axis:?} state {state}");
            }
            assert_eq!(head["alive"].as_u64().unwrap(), history.allocations.len() as u64, "{name} {axis:?}");
        }
    }
}

/// A history made by hand: `(action, address, bytes)`.
fn snapshot(entries: &[(Action, u64, u64)]) -> Snapshot {
    let mut stacks = StackTable::default();
    let (name, file) = (stacks.intern("step"), stacks.intern("train.py"));
    let frame = stacks.frame(Frame { name, file, line: 7 });
    let stack = stacks.push(StackId::EMPTY, frame);
    let entry = |(at, &(action, address, bytes)): (usize, &(Action, u64, u64))| HistoryEntry {
        device: 0,
        action,
        address,
        bytes,
        stream: 3,
        at: Some(Ns(1_000 + 10 * at as i64)),
        stack,
    };
    let history = entries.iter().enumerate().map(entry).collect();
    Snapshot { stacks, history, ..Snapshot::default() }
}

const MIB: u64 = 1 << 20;

#[test]
fn one_allocation_says_how_long_it_lived_and_where() {
    let snapshot = snapshot(&[
        (Action::SegmentAlloc, 0, 20 * MIB),
        (Action::Alloc, 0, 4 * MIB - 100),
        (Action::Alloc, 4 * MIB, 2 * MIB),
        (Action::FreeRequested, 0, 4 * MIB - 100),
        (Action::FreeCompleted, 0, 4 * MIB - 100),
    ]);
    let histories = histories(&snapshot);
    let view = MemoryView::new(&snapshot, &histories, &Places::new(&snapshot));
    let of = (&snapshot, histories.as_slice());
    let first = view.allocation(of, 0, 0).unwrap();
    assert_eq!((first.bytes, first.requested_bytes), (4 * MIB, 4 * MIB - 100));
    assert_eq!((first.start_state, first.end_state), (2, Some(4)));
    assert_eq!((first.start_ns, first.end_ns, first.lifetime_ns), (Some(10), Some(30), Some(20)));
    assert_eq!(first.pending_ns, Some(10));
    assert_eq!((first.segment.as_deref(), first.stream), (Some("0x0"), Some(3)));
    assert_eq!((first.place.function.as_str(), first.place.line), ("step", 7));
    assert_eq!(first.frames.len(), 1);
    let second = view.allocation(of, 0, 1).unwrap();
    // In use until the end.
    assert_eq!((second.end_state, second.lifetime_ns), (None, Some(20)));
    assert_eq!(view.allocation(of, 0, 2), None);
    assert_eq!(view.allocation(of, 1, 0), None);
    // Between the request and its completion, the first is pending.
    let at = view.instant(of, 0, 4).unwrap();
    assert_eq!((at.allocated_bytes, at.pending_bytes, at.free_bytes), (2 * MIB, 4 * MIB, 14 * MIB));
    let blocks: Vec<(BlockUse, u64)> = at.map.segments[0].blocks.iter().map(|b| (b.state, b.bytes)).collect();
    assert_eq!(blocks, [(BlockUse::Pending, 4 * MIB), (BlockUse::Active, 2 * MIB), (BlockUse::Free, 14 * MIB)]);
}

#[test]
fn expandable_segments_grow_and_shrink() {
    let snapshot = snapshot(&[
        (Action::SegmentMap, 0, 20 * MIB),
        (Action::SegmentMap, 20 * MIB, 20 * MIB),
        (Action::SegmentUnmap, 10 * MIB, 20 * MIB),
    ]);
    let histories = histories(&snapshot);
    let view = MemoryView::new(&snapshot, &histories, &Places::new(&snapshot));
    let sizes = |state: u32| -> Vec<(String, u64)> {
        let at = view.instant((&snapshot, &histories), 0, state).unwrap();
        at.map.segments.iter().map(|s| (s.address.clone(), s.bytes)).collect()
    };
    assert_eq!(sizes(1), [("0x0".to_owned(), 20 * MIB)]);
    // Two pieces that touch are one segment.
    assert_eq!(sizes(2), [("0x0".to_owned(), 40 * MIB)]);
    assert_eq!(sizes(3), [("0x0".to_owned(), 10 * MIB), ("0x1e00000".to_owned(), 10 * MIB)]);
}

#[test]
fn the_largest_segments_are_kept_wherever_they_lie() {
    let mut entries: Vec<(Action, u64, u64)> =
        (0..1_500).map(|at| (Action::SegmentAlloc, at * 64 * MIB, 20 * MIB)).collect();
    entries.push((Action::SegmentAlloc, 1 << 50, 900 * MIB));
    let snapshot = snapshot(&entries);
    let histories = histories(&snapshot);
    let view = MemoryView::new(&snapshot, &histories, &Places::new(&snapshot));
    let at = view.instant((&snapshot, &histories), 0, u32::MAX).unwrap();
    assert_eq!((at.map.segments.len(), at.map.segment_count), (1_000, 1_501));
    assert_eq!(at.map.segments[0].bytes, 900 * MIB);
}

#[test]
fn histories_that_contradict_themselves_add_up_all_the_same() {
    const ACTIONS: [Action; 10] = [
        Action::Alloc,
        Action::Alloc,
        Action::FreeRequested,
        Action::FreeCompleted,
        Action::SegmentAlloc,
        Action::SegmentFree,
        Action::SegmentMap,
        Action::SegmentUnmap,
        Action::OutOfMemory,
        Action::Other,
    ];
    let mut random = 11u32;
    let mut next = |below: u64| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u64::from(random >> 8) % below
    };
    for case in 0..200 {
        // Few places, so that things lie on top of each other, are freed twice or were never there.
        let entries: Vec<(Action, u64, u64)> =
            (0..80).map(|_| (ACTIONS[next(10) as usize], next(24) * MIB, next(5) * MIB + next(900))).collect();
        let snapshot = snapshot(&entries);
        let histories = histories(&snapshot);
        let view = MemoryView::new(&snapshot, &histories, &Places::new(&snapshot));
        let of = (&snapshot, histories.as_slice());
        for state in 0..=entries.len() as u32 {
            let level = level(&histories[0], state);
            let case = format!("case {case}, state {state}");
            assert_eq!(view.total(&histories, 0, state), Some(level.allocated), "{case}");
            let at = view.instant(of, 0, state).unwrap();
            assert_eq!(at.lines.iter().map(|line| line.bytes).sum::<u64>(), level.allocated, "{case}");
            for segment in &at.map.segments {
                assert_eq!(segment.blocks.iter().map(|b| b.bytes).sum::<u64>(), segment.bytes, "{case}");
            }
        }
        for number in 0..histories[0].allocations.len() as u32 {
            let one = view.allocation(of, 0, number).unwrap();
            assert!(one.end_state.is_none_or(|end| end > one.start_state), "case {case}, {one:?}");
        }
    }
}

/// Entries for each of many devices, segments and pools.
fn many(n: u64) -> Snapshot {
    let mut made = snapshot(&[]);
    for at in 0..n {
        for (action, address, bytes) in [
            (Action::SegmentMap, at * 4 * MIB, 2 * MIB),
            (Action::Alloc, at * 4 * MIB, MIB),
            (Action::SegmentUnmap, at * 4 * MIB + MIB, MIB / 2),
        ] {
            let device = if at % 2 == 0 { 0 } else { at as i64 };
            let (stream, stack) = (at, StackId::EMPTY);
            made.history.push(HistoryEntry { device, action, address, bytes, stream, at: None, stack });
        }
    }
    made
}

#[test]
fn many_devices_and_segments_cost_what_their_entries_do() {
    assert_linear(|times| {
        let snapshot = many(4_000 * times as u64);
        let histories = timed("histories", || histories(&snapshot));
        let view = timed("index", || MemoryView::new(&snapshot, &histories, &Places::new(&snapshot)));
        let of = (&snapshot, histories.as_slice());
        let at = timed("instant", || view.instant(of, 0, u32::MAX).unwrap());
        assert!(at.map.segments.len() <= 1_000);
        assert!(at.map.segment_count >= 4_000);
        let frame = Rows { low: 0, high: 1 << 40, rows: 400 };
        let (stacked, axis) = (Stacked::Segments, MemoryAxis::Entry);
        let query = PictureQuery { device: 0, stacked, axis, from: 0.0, to: 20_000.0, columns: 900, frame };
        let bytes = timed("picture", || view.picture(&histories, &query).unwrap());
        assert!(bytes.len() < 8 << 20);
        let about = timed("about", || view.about(&histories));
        assert!(about.devices.len() <= 64 && about.device_count > 2_000);
    });
}

#[test]
fn windows_that_make_no_sense_are_answered() {
    let snapshot = snapshot(&[(Action::SegmentAlloc, 0, 20 * MIB), (Action::Alloc, 0, u64::MAX)]);
    let histories = histories(&snapshot);
    let view = MemoryView::new(&snapshot, &histories, &Places::new(&snapshot));
    for (from, to, low, high) in
        [(5.0, 1.0, 9, 3), (-1e300, 1e300, 0, u64::MAX), (1e18, 2e18, u64::MAX, u64::MAX)]
    {
        for axis in [MemoryAxis::Entry, MemoryAxis::Time] {
            let frame = Rows { low, high, rows: u32::MAX };
            let (stacked, columns) = (Stacked::OfPool(1, 2), u32::MAX);
            let query = PictureQuery { device: 0, stacked, axis, from, to, columns, frame };
            assert!(view.picture(&histories, &query).is_some());
            let query = PictureQuery { stacked: Stacked::Allocations, ..query };
            assert!(view.picture(&histories, &query).is_some());
            assert!(view.picture(&histories, &PictureQuery { device: 9, ..query }).is_none());
        }
    }
}
