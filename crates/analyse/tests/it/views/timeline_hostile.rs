//! Files made to be slow or to break: time that grows like the file, right counts, no panic.

use proptest::prelude::*;
use stepscope_analyse::views::timeline::{
    INSTANT, MAX_LANES, MAX_ROWS_PER_LANE, NO_SLICE, SearchQuery, Timeline,
};
use stepscope_model::{Kind, PointKind, Trace};
use stepscope_testkit::{Point, RunBuilder, Slice};

use crate::growth::{assert_linear, timed, took};
use crate::views::timeline_tools::{tile, timeline, top_level};

/// Asks everything and checks that every row counts all it holds.
fn ask_all(trace: &Trace) -> Timeline {
    let timeline = timed("new", || timeline(trace));
    let layout = timed("layout", || timeline.layout(trace));
    assert_eq!(layout.ledger.drawn_slices, layout.ledger.slices);
    let points = layout.ledger.drawn_points + layout.ledger.metadata_points + layout.ledger.counter_points;
    assert_eq!(points, layout.ledger.points);
    timed("tiles", || {
        for row in layout.rows.iter().take(600) {
            for level in [54, top_level(layout.extent_ns)] {
                let tiles = (layout.extent_ns as u64 >> (level + 9).min(63)) + 1;
                let tiles = (0..tiles).map(|index| tile(&timeline, trace, row.id, level, index));
                assert_eq!(tiles.inspect(|t| t.assert_in_order()).map(|t| t.counted()).sum::<u64>(), row.count);
            }
            for (level, index) in [(0, 0), (0, u64::MAX), (55, 0), (u32::MAX, u64::MAX), (53, 1), (40, 1 << 13)]
            {
                tile(&timeline, trace, row.id, level, index).assert_in_order();
            }
        }
    });
    tile(&timeline, trace, u32::MAX, 0, 0);
    let rows: Vec<u32> = (0..layout.rows.len() as u32).collect();
    let area = timed("area", || timeline.area(trace, 0, i64::MAX, &rows));
    assert_eq!(area.count, layout.rows.iter().map(|r| r.count).sum::<u64>());
    let hits = timed("search", || timeline.search(trace, &SearchQuery::default()).unwrap());
    assert_eq!(hits.total, layout.ledger.drawn_slices + layout.ledger.drawn_points);
    let slices = trace.slices().len() as u32;
    for id in [0, slices / 2, slices.wrapping_sub(1), INSTANT, INSTANT | 1, NO_SLICE] {
        let details = timed("details", || timeline.details(trace, id));
        assert!(details.is_none_or(|d| d.self_ns <= d.reference.dur_ns.max(0)));
    }
    timed("counters", || timeline.counters(trace, i64::MIN, i64::MAX, 1_000));
    timeline
}

#[test]
fn nothing_at_all() {
    let trace = RunBuilder::new().finish();
    let timeline = ask_all(&trace);
    assert_eq!(timeline.layout(&trace).extent_ns, 0);
    assert!(timeline.layout(&trace).groups.is_empty());
}

#[test]
fn one_instant_and_nothing_else() {
    let mut run = RunBuilder::in_nanoseconds();
    run.mark(Point::new(PointKind::Instant, "here", 1, 77));
    run.mark(Point::new(PointKind::Metadata, "process_name", 1, 0));
    let trace = run.finish();
    let timeline = ask_all(&trace);
    assert_eq!(trace.origin().0, 77);
    let layout = timeline.layout(&trace);
    assert_eq!((layout.groups.len(), layout.rows[0].label.as_str()), (1, "instants"));
    let found = tile(&timeline, &trace, 0, 3, 0);
    assert_eq!((found.start, found.end, found.id, found.flags), (vec![0], vec![0], vec![INSTANT], vec![4]));
}

fn overlapping(n: i64) -> Trace {
    let mut run = RunBuilder::in_nanoseconds();
    for i in 0..n {
        run.add(Slice::new(Kind::Kernel, "k", (i, i + 10 * n)));
    }
    run.finish()
}

#[test]
fn slices_that_all_overlap() {
    const COUNT: i64 = 50_000;
    let trace = overlapping(COUNT);
    let timeline = ask_all(&trace);
    let layout = timeline.layout(&trace);
    let stream = layout.groups.iter().find(|g| g.label.contains("stream 7")).unwrap();
    assert_eq!(stream.rows.len(), MAX_ROWS_PER_LANE);
    let last = &layout.rows[*stream.rows.last().unwrap() as usize];
    assert!(last.label.contains("overlap"), "{}", last.label);
    assert_eq!(last.count, COUNT as u64 - 511);
    assert_eq!(last.last_ns, 11 * COUNT - 1);
}

fn chains(n: i64) -> Trace {
    let mut run = RunBuilder::in_nanoseconds();
    for i in 0..n {
        run.add(Slice::new(Kind::HostOp, "chain", (10 * i, 10 * i + 15)));
        run.add(Slice::new(Kind::HostOp, "nest", (i, 4 * n - i)).thread(2));
        run.add(Slice::new(Kind::HostOp, "saw", (10 * (i % 1000), 10 * n - 2 * i)).thread(3));
    }
    run.finish()
}

#[test]
fn a_long_chain_of_overlaps_and_deep_nests() {
    let trace = chains(30_000);
    let timeline = ask_all(&trace);
    let layout = timeline.layout(&trace);
    let chain = layout.groups.iter().find(|g| g.label == "thread 1").unwrap();
    assert_eq!(chain.rows.len(), 2);
}

fn lanes(n: i64) -> Trace {
    let mut run = RunBuilder::in_nanoseconds();
    for i in 0..n {
        run.add(Slice::new(Kind::HostOp, "op", (i, i + 50)).thread(i));
        run.add(Slice::new(Kind::HostOp, "inner", (i + 1, i + 20)).thread(i));
        run.mark(Point::new(PointKind::Instant, "mark", i, i + 2));
    }
    for i in 0..10 {
        run.add(Slice::new(Kind::Kernel, "k", (i, i + 1)));
    }
    run.finish()
}

#[test]
fn a_lane_for_each_of_many_slices() {
    const LANES: i64 = 20_000;
    let trace = lanes(LANES);
    let timeline = ask_all(&trace);
    let layout = timeline.layout(&trace);
    // Steps, the lanes shown, and the rest together; the busiest lane is among those shown.
    assert_eq!(layout.groups.len(), MAX_LANES + 2);
    assert!(layout.groups[1].label.contains("stream 7"));
    let rest = layout.groups.last().unwrap();
    assert_eq!((rest.label.as_str(), rest.rows.len()), ("Other lanes", 2));
    assert_eq!(rest.slices, 2 * (LANES as u64 + 1 - MAX_LANES as u64));
}

/// A name for each event, and a counter for each tenth.
fn names(n: i64) -> Trace {
    let mut run = RunBuilder::in_nanoseconds();
    for i in 0..n {
        run.add(Slice::new(Kind::HostOp, &format!("op {i}"), (10 * i, 10 * i + 5)));
        if i % 10 == 0 {
            run.mark(
                Point::new(PointKind::Counter, &format!("counter {i}"), 1, 10 * i).arg(format!("key {i}"), i),
            );
        }
    }
    run.finish()
}

#[test]
fn a_name_and_a_counter_for_each_event() {
    let trace = names(20_000);
    let timeline = ask_all(&trace);
    let counters = timeline.counters(&trace, 0, i64::MAX, 10);
    assert_eq!(counters.len(), 257);
    assert_eq!(counters[256].label, "1744 more counters are not shown");
}

#[test]
fn time_grows_like_the_file() {
    for (make, n) in
        [(overlapping as fn(i64) -> Trace, 20_000), (chains, 8_000), (lanes, 8_000), (names, 20_000)]
    {
        assert_linear(|times| {
            ask_all(&make(n * times));
        });
    }
}

#[test]
#[ignore = "takes long; shows what is no more than slow"]
fn large_files() {
    for (make, n) in
        [(overlapping as fn(i64) -> Trace, 1_000_000), (chains, 300_000), (lanes, 200_000), (names, 200_000)]
    {
        took();
        ask_all(&make(n));
        let slow = took().into_iter().filter(|took| took.1 > 6.0);
        assert_eq!(slow.collect::<Vec<_>>(), []);
    }
}

proptest! {
    #[test]
    fn times_at_the_edge_do_not_panic(slices in prop::collection::vec((any::<i64>(), any::<i64>(), 0..3i64), 0..30)) {
        let mut run = RunBuilder::in_nanoseconds();
        for (i, &(start, end, thread)) in slices.iter().enumerate() {
            let kind = if i % 2 == 0 { Kind::HostOp } else { Kind::Kernel };
            run.add(Slice::new(kind, "op", (start, end)).thread(thread));
            run.mark(Point::new(PointKind::Instant, "mark", thread, end));
            run.mark(Point::new(PointKind::Counter, "value", thread, start));
        }
        ask_all(&run.finish());
    }
}
