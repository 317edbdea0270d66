//! Files made to be slow or to break: bounded time, right counts, no panic.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use stepscope_analyse::views::timeline::{
    INSTANT, MOST_LANES, MOST_ROWS_A_LANE, NO_SLICE, SearchQuery, Timeline,
};
use stepscope_model::{Kind, PointKind, Trace};

use crate::views::timeline_tools::{Make, tile, timeline, top_level};

/// Far more than any takes in a build for tests, far less than what is quadratic takes.
const LIMIT: Duration = Duration::from_secs(6);

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let answer = work();
    let took = begun.elapsed();
    assert!(took < LIMIT, "{what} took {took:?}");
    answer
}

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
    let trace = Make::default().0.finish();
    let timeline = ask_all(&trace);
    assert_eq!(timeline.layout(&trace).extent_ns, 0);
    assert!(timeline.layout(&trace).groups.is_empty());
}

#[test]
fn one_instant_and_nothing_else() {
    let mut make = Make::default();
    make.point(PointKind::Instant, "here", 1, 77);
    make.point(PointKind::Metadata, "process_name", 1, 0);
    let trace = make.0.finish();
    let timeline = ask_all(&trace);
    assert_eq!(trace.origin().0, 77);
    let layout = timeline.layout(&trace);
    assert_eq!((layout.groups.len(), layout.rows[0].label.as_str()), (1, "instants"));
    let found = tile(&timeline, &trace, 0, 3, 0);
    assert_eq!((found.start, found.end, found.id, found.flags), (vec![0], vec![0], vec![INSTANT], vec![4]));
}

#[test]
fn a_million_slices_that_all_overlap() {
    const COUNT: i64 = 1_000_000;
    let mut make = Make::default();
    for i in 0..COUNT {
        make.slice(Kind::Kernel, "k", 7, (i, i + 10 * COUNT), (0, 0));
    }
    let trace = make.0.finish();
    let timeline = ask_all(&trace);
    let layout = timeline.layout(&trace);
    let stream = layout.groups.iter().find(|g| g.label.contains("stream 7")).unwrap();
    assert_eq!(stream.rows.len(), MOST_ROWS_A_LANE);
    let last = &layout.rows[*stream.rows.last().unwrap() as usize];
    assert!(last.label.contains("overlap"), "{}", last.label);
    assert_eq!(last.count, COUNT as u64 - 511);
    assert_eq!(last.last_ns, 11 * COUNT - 1);
}

#[test]
fn a_long_chain_of_overlaps_and_deep_nests() {
    let mut make = Make::default();
    for i in 0..300_000 {
        make.slice(Kind::HostOp, "chain", 1, (10 * i, 10 * i + 15), (0, 0));
        make.slice(Kind::HostOp, "nest", 2, (i, 1_000_000 - i), (0, 0));
        make.slice(Kind::HostOp, "saw", 3, (10 * (i % 1000), 3_000_000 - 2 * i), (0, 0));
    }
    let trace = make.0.finish();
    let timeline = ask_all(&trace);
    let layout = timeline.layout(&trace);
    let chain = layout.groups.iter().find(|g| g.label == "thread 1").unwrap();
    assert_eq!(chain.rows.len(), 2);
}

#[test]
fn a_lane_for_each_of_many_slices() {
    const LANES: i64 = 200_000;
    let mut make = Make::default();
    for i in 0..LANES {
        make.slice(Kind::HostOp, "op", i, (i, i + 50), (0, 0));
        make.slice(Kind::HostOp, "inner", i, (i + 1, i + 20), (0, 0));
        make.point(PointKind::Instant, "mark", i, i + 2);
    }
    (0..10).for_each(|i| make.slice(Kind::Kernel, "k", 7, (i, i + 1), (0, 0)));
    let trace = make.0.finish();
    let timeline = ask_all(&trace);
    let layout = timeline.layout(&trace);
    // Steps, the lanes shown, and the rest together; the busiest lane is among those shown.
    assert_eq!(layout.groups.len(), MOST_LANES + 2);
    assert!(layout.groups[1].label.contains("stream 7"));
    let rest = layout.groups.last().unwrap();
    assert_eq!((rest.label.as_str(), rest.rows.len()), ("Other lanes", 2));
    assert_eq!(rest.slices, 2 * (LANES as u64 + 1 - MOST_LANES as u64));
}

#[test]
fn a_name_and_a_counter_for_each_event() {
    let mut make = Make::default();
    for i in 0..200_000i64 {
        make.slice(Kind::HostOp, &format!("op {i}"), 1, (10 * i, 10 * i + 5), (0, 0));
        if i % 10 == 0 {
            let key = make.0.intern(&format!("key {i}"));
            make.0.push_arg(key, stepscope_model::ArgValue::Int(i));
            make.point(PointKind::Counter, &format!("counter {i}"), 1, 10 * i);
        }
    }
    let trace = make.0.finish();
    let timeline = ask_all(&trace);
    let counters = timeline.counters(&trace, 0, i64::MAX, 10);
    assert_eq!(counters.len(), 257);
    assert_eq!(counters[256].label, "19744 more counters are not shown");
}

proptest! {
    #[test]
    fn times_at_the_edge_do_not_panic(slices in prop::collection::vec((any::<i64>(), any::<i64>(), 0..3i64), 0..30)) {
        let mut make = Make::default();
        for (i, &(start, end, thread)) in slices.iter().enumerate() {
            let kind = if i % 2 == 0 { Kind::HostOp } else { Kind::Kernel };
            make.slice(kind, "op", thread, (start, end), (0, 0));
            make.point(PointKind::Instant, "mark", thread, end);
            make.point(PointKind::Counter, "value", thread, start);
        }
        ask_all(&make.0.finish());
    }
}
