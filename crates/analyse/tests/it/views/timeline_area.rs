//! What an area holds, beside a slow and simple reckoning.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stepscope_analyse::views::timeline::{Area, Timeline};
use stepscope_model::{Kind, Trace};
use stepscope_testkit::{RunBuilder, Slice};

use crate::data::{all_fixtures, read};
use crate::views::timeline_any::{Told, build, parent, rows, told};
use crate::views::timeline_tools::timeline;

/// Count, total and self time by name of the slices on some rows.
fn naive(all: &[Told], (from, to): (i64, i64), rows: &[u32]) -> BTreeMap<String, (u64, i64, i64)> {
    let mut names = BTreeMap::<String, (u64, i64, i64)>::new();
    let parents: Vec<Option<u32>> = all.iter().map(|slice| parent(all, slice).map(|p| p.id)).collect();
    for slice in all.iter().filter(|slice| rows.contains(&slice.row)) {
        let inside = slice.start < to && slice.end > from;
        let moment = slice.start == slice.end && from <= slice.start && slice.start <= to;
        if !inside && !moment {
            continue;
        }
        let (start, end) = (slice.start.max(from), slice.end.min(to));
        let children: Vec<&Told> = all.iter().filter(|c| parents[c.id as usize] == Some(slice.id)).collect();
        let own = (start..end).filter(|&t| !children.iter().any(|c| c.start <= t && t < c.end)).count();
        let sums = names.entry(slice.name.clone()).or_default();
        *sums = (sums.0 + 1, sums.1 + (end - start).max(0), sums.2 + own as i64);
    }
    names
}

fn by_name(area: &Area) -> BTreeMap<String, (u64, i64, i64)> {
    area.names.iter().map(|n| (n.name.clone(), (n.count, n.total_ns, n.self_ns))).collect()
}

fn busy(all: &[Told], row: u32, (from, to): (i64, i64)) -> i64 {
    let on_row: Vec<&Told> = all.iter().filter(|s| s.row == row).collect();
    (from..to).filter(|&t| on_row.iter().any(|s| s.start <= t && t < s.end)).count() as i64
}

/// Rows that hold slices of the file, not what is derived from them.
fn slice_rows(timeline: &Timeline, trace: &Trace) -> Vec<u32> {
    let layout = timeline.layout(trace);
    let plain =
        layout.rows.iter().filter(|r| !layout.groups[r.group as usize].derived && r.label != "instants");
    plain.map(|r| r.id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn sums_are_those_of_a_plain_reckoning(
        slices in rows(),
        (a, b) in (0..700i64, 0..700i64),
        every in 1..4usize,
    ) {
        let trace = build(&slices);
        let timeline = timeline(&trace);
        let all = told(&timeline, &trace);
        let extent = timeline.layout(&trace).extent_ns;
        let window = (a.min(b).min(extent), a.max(b).min(extent));
        let rows: Vec<u32> = slice_rows(&timeline, &trace).into_iter().step_by(every).collect();
        let area = timeline.area(&trace, window.0, window.1, &rows);
        let want = naive(&all, window, &rows);
        prop_assert_eq!(by_name(&area), want.clone());
        prop_assert_eq!(area.count, want.values().map(|n| n.0).sum::<u64>());
        prop_assert_eq!(area.total_ns, want.values().map(|n| n.1).sum::<i64>());
        prop_assert_eq!(area.rows_busy.len(), rows.len());
        for row in &area.rows_busy {
            prop_assert_eq!(row.busy_ns, busy(&all, row.row, window));
        }
        for name in &area.names {
            let longest = all.iter().filter(|s| s.name == name.name && rows.contains(&s.row));
            let most = longest.map(|s| (s.end.min(window.1) - s.start.max(window.0)).max(0)).max().unwrap();
            let told = &all[name.longest as usize];
            prop_assert_eq!((told.end.min(window.1) - told.start.max(window.0)).max(0), most);
        }
    }
}

#[test]
fn everything_selected_counts_everything() {
    for path in all_fixtures().into_iter().step_by(7) {
        let trace = read(&path);
        let timeline = timeline(&trace);
        let layout = timeline.layout(&trace);
        let rows: Vec<u32> = (0..layout.rows.len() as u32).collect();
        let area = timeline.area(&trace, 0, layout.extent_ns, &rows);
        assert_eq!(area.count, layout.rows.iter().map(|r| r.count).sum::<u64>(), "{}", path.display());
        let share: f64 = area.names.iter().map(|n| n.share).sum();
        assert!(share > 0.9 && share <= 1.000_001, "{share}");
        // Two halves hold the time of the whole.
        let middle = layout.extent_ns / 2;
        let halves = [(0, middle), (middle, layout.extent_ns)].map(|(a, b)| timeline.area(&trace, a, b, &rows));
        assert_eq!(halves.iter().map(|h| h.total_ns).sum::<i64>(), area.total_ns);
        let own = |area: &Area| area.names.iter().map(|n| n.self_ns).sum::<i64>();
        if area.names_more == 0 {
            assert_eq!(own(&halves[0]) + own(&halves[1]), own(&area));
        }
    }
}

#[test]
fn large_areas_are_summed_in_parts_that_agree() {
    // More slices than one worker takes at a time, so parts have slices that reach over their edges.
    let mut run = RunBuilder::in_nanoseconds();
    run.add(Slice::new(Kind::PythonFunction, "main", (0, 4_000_000)));
    for i in 0..200_000 {
        run.add(Slice::new(Kind::HostOp, "op", (20 * i, 20 * i + 15)));
        run.add(Slice::new(Kind::Runtime, "call", (20 * i + 5, 20 * i + 5 + i % 10)));
    }
    let trace = run.finish();
    let timeline = timeline(&trace);
    let rows: Vec<u32> = slice_rows(&timeline, &trace);
    let area = timeline.area(&trace, 0, i64::MAX, &rows);
    let got = by_name(&area);
    let calls: i64 = (0..200_000).map(|i| i % 10).sum();
    assert_eq!(got["main"], (1, 4_000_000, 4_000_000 - 15 * 200_000));
    assert_eq!(got["op"], (200_000, 15 * 200_000, 15 * 200_000 - calls));
    assert_eq!(got["call"], (200_000, calls, calls));
}

#[test]
fn areas_without_sense_are_empty() {
    let mut run = RunBuilder::in_nanoseconds();
    run.add(Slice::new(Kind::HostOp, "op", (10, 20)));
    let trace = run.finish();
    let timeline = timeline(&trace);
    for (from, to, rows) in
        [(5, 1, vec![0, 1]), (i64::MIN, i64::MIN, vec![0]), (0, 10, vec![77]), (0, 10, vec![])]
    {
        let area = timeline.area(&trace, from, to, &rows);
        assert_eq!((area.total_ns, area.names.iter().map(|n| n.self_ns).sum::<i64>()), (0, 0), "{area:?}");
    }
    let all = timeline.area(&trace, i64::MIN, i64::MAX, &[0, 1, 1, 1]);
    assert_eq!((all.from_ns, all.to_ns), (0, 10));
    assert_eq!(all.rows_busy.len(), 2);
}
