//! Memory by line: which line is charged, what was left, and what to change.

use stepscope_analyse::tables::heap::{advice, heap, heap_stacks};
use stepscope_model::{Frame, HeapFacts, HeapLine, Ns, Profile, Sample, StackId, heap_values};

const MIB: i64 = 1 << 20;

/// `train.py:5` calls NumPy, which allocates; `train.py:9` keeps what it allocates; one thread has no Python.
fn profile() -> Profile {
    let mut profile = Profile::new(heap_values());
    let mut frame = |name: &str, file: &str, line| {
        let frame = Frame { name: profile.stacks.intern(name), file: profile.stacks.intern(file), line };
        profile.stacks.frame(frame)
    };
    let main = frame("main", "/home/me/train.py", 20);
    let load = frame("load", "/home/me/train.py", 5);
    let ones = frame("ones", "/usr/lib/python3.11/site-packages/numpy/core/numeric.py", 204);
    let cache = frame("cache", "/home/me/train.py", 9);
    let outer = profile.stacks.push(StackId::EMPTY, main);
    let loading = profile.stacks.push(outer, load);
    let in_numpy = profile.stacks.push(loading, ones);
    let caching = profile.stacks.push(outer, cache);
    // Allocations, allocated, live count, peak count, earlier, live, peak.
    profile.add(Sample::new(0, in_numpy, &[3, 300 * MIB, 0, 1, 100 * MIB, 0, 100 * MIB]));
    profile.add(Sample::new(0, loading, &[1, 5 * MIB, 1, 1, 5 * MIB, 5 * MIB, 5 * MIB]));
    profile.add(Sample::new(0, caching, &[80, 80 * MIB, 80, 40, 10 * MIB, 80 * MIB, 40 * MIB]));
    profile.add(Sample::new(0, StackId::EMPTY, &[1, MIB, 1, 1, MIB, MIB, MIB]));
    profile.heap = Some(HeapFacts {
        on_device: false,
        duration: Ns(10_000_000_000),
        peak_bytes: 146 * MIB as u64,
        peak_at: Ns(4_000_000_000),
        end_bytes: 86 * MIB as u64,
        earlier_at: Some(Ns(4_000_000_000)),
        lines: vec![HeapLine { function: load, line: 5, hits: 3, rss_bytes: 9, increment_bytes: -2 }],
        ..HeapFacts::default()
    });
    profile
}

#[test]
fn a_library_is_charged_to_the_line_that_called_it() {
    let report = heap(&profile());
    let rows: Vec<(&str, u32, i64, i64, Option<i64>)> = report
        .lines
        .iter()
        .map(|row| {
            (row.function.as_str(), row.line, row.peak_bytes / MIB, row.live_bytes / MIB, row.growth_bytes)
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("load", 5, 105, 5, Some(-100 * MIB)),
            ("cache", 9, 40, 80, Some(70 * MIB)),
            ("<no Python>", 0, 1, 1, Some(0)),
        ]
    );
    assert!((report.lines[0].peak_share - 105.0 / 146.0).abs() < 1e-12);
    let line = &report.line_memory[0];
    assert_eq!((line.line, line.increment_bytes, line.allocated_bytes), (5, -2, 305 * MIB));
}

#[test]
fn stacks_are_cut_from_the_inside() {
    let rows = heap_stacks(&profile(), 2);
    assert_eq!(rows[0].stack[1], "/home/me/train.py(5): load");
    assert_eq!((rows[0].peak_bytes, rows[0].allocations), (100 * MIB, 3));
    assert_eq!(rows.len(), 4);
    assert_eq!(heap_stacks(&profile(), 0).len(), 1);
}

#[test]
fn what_grows_comes_first_and_what_holds_second() {
    let found = advice(&heap(&profile()));
    let kinds: Vec<(&str, &str)> = found.iter().map(|one| (one.kind, one.function.as_str())).collect();
    assert_eq!(kinds, [("grows", "cache"), ("holds", "load")]);
    assert_eq!(found[0].bytes, 70 * MIB);
    assert!(advice(&heap(&Profile::default())).is_empty());
}
