//! Whatever slices a file holds: rows, tiles and details are what a slow and simple reading of the rules says.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stepscope_analyse::views::timeline::Timeline;
use stepscope_model::{Kind, PointKind, SliceId, Trace};
use stepscope_testkit::{Point, RunBuilder, Slice};

use crate::views::timeline_tools::{Tile, tile, timeline, top_level};

const KINDS: [Kind; 6] =
    [Kind::HostOp, Kind::PythonFunction, Kind::Runtime, Kind::HostAnnotation, Kind::Kernel, Kind::Memcpy];
const NAMES: [&str; 6] = ["aten::mm", "nn.Module: A_0", "ProfilerStep#1", "f", "cudaLaunchKernel", "gemm"];

pub type Row = (usize, usize, i64, i64, i64);

pub fn rows() -> impl Strategy<Value = Vec<Row>> {
    let short = (0..KINDS.len(), 0..NAMES.len(), 0..3i64, 0..300i64, 0..40i64);
    let long = (0..KINDS.len(), 0..NAMES.len(), 0..3i64, 0..300i64, 0..400i64);
    prop::collection::vec(prop_oneof![3 => short, 1 => long], 0..120)
}

/// A trace of these slices; every fifth also has an instant.
pub fn build(rows: &[Row]) -> Trace {
    let mut run = RunBuilder::in_nanoseconds();
    for (i, &(kind, name, thread, start, length)) in rows.iter().enumerate() {
        run.add(
            Slice::new(KINDS[kind], NAMES[name], (start, start + length))
                .thread(thread)
                .correlation(i as i64 % 7),
        );
        if i % 5 == 0 {
            run.mark(Point::new(PointKind::Instant, NAMES[name], thread, start + 3));
            run.mark(Point::new(PointKind::Metadata, "process_name", thread, -50));
        }
    }
    run.finish()
}

#[derive(Clone, Debug)]
pub struct Told {
    pub id: u32,
    pub lane: usize,
    pub row: u32,
    pub start: i64,
    pub end: i64,
    pub name: String,
}

impl Told {
    pub fn holds(&self, other: &Told) -> bool {
        let before = (self.start, -self.end, self.id) < (other.start, -other.end, other.id);
        self.lane == other.lane
            && before
            && self.row < other.row
            && self.end >= other.end
            && self.end > other.start
    }
}

pub fn told(timeline: &Timeline, trace: &Trace) -> Vec<Told> {
    let one = |id: SliceId| {
        let slices = trace.slices();
        let details = timeline.details(trace, id.index() as u32).unwrap().reference;
        let (start, end) = (slices.start(id).0, slices.end(id).0);
        assert_eq!((details.start_ns, details.dur_ns), (start, end - start));
        Told { id: details.id, lane: slices.lane(id).index(), row: details.row, start, end, name: details.name }
    };
    trace.slices().ids().map(one).collect()
}

/// The slice that directly holds another: of those that hold it, the one on the deepest row.
pub fn parent<'a>(all: &'a [Told], of: &Told) -> Option<&'a Told> {
    all.iter().filter(|slice| slice.holds(of)).max_by_key(|slice| slice.row)
}

/// A tile as the rules say it, of slices that do not overlap.
fn naive_tile(on_row: &[&Told], row: u32, level: u32, index: u64) -> Tile {
    let width = 1i64 << level;
    let (begin, end) = (index as i64 * 512 * width, (index as i64 + 1) * 512 * width);
    let units = |at: i64| ((at - begin) as i128 * 4096 / i128::from(width)) as u32;
    let mut tile = Tile { row, level, index, ..Tile::default() };
    let mut push = |slices: &[&Told], start: i64, count: u32| {
        let longest = slices.iter().rev().max_by_key(|s| s.end - s.start).unwrap();
        let last = slices.iter().map(|s| s.end).max().unwrap();
        let stop = last.min(end);
        let covered: i64 = slices.iter().map(|s| s.end.min(end) - s.start.max(begin)).sum();
        let share = if stop == start { 1.0 } else { covered as f64 / (stop - start) as f64 };
        tile.start.push(units(start));
        tile.end.push(units(stop));
        tile.id.push(longest.id);
        tile.count.push(count);
        tile.busy.push((share * 255.0).round() as u8);
        tile.flags.push(u8::from(count == 0) + if last > end { 2 } else { 0 });
    };
    if let Some(left) = on_row.iter().find(|s| s.start < begin && s.end > begin) {
        push(&[left], begin, 0);
    }
    let mut buckets = BTreeMap::<i64, Vec<&Told>>::new();
    for slice in on_row.iter().filter(|s| begin <= s.start && s.start < end) {
        buckets.entry((slice.start - begin) / width).or_default().push(slice);
    }
    for slices in buckets.values() {
        push(slices, slices[0].start, slices.len() as u32);
    }
    tile
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_row_holds_two_slices_at_once_and_tiles_tell_the_truth(rows in rows()) {
        let trace = build(&rows);
        let timeline = timeline(&trace);
        let layout = timeline.layout(&trace);
        let all = told(&timeline, &trace);
        let mut of_row = BTreeMap::<u32, Vec<&Told>>::new();
        all.iter().for_each(|slice| of_row.entry(slice.row).or_default().push(slice));
        let top = top_level(layout.extent_ns);
        for (&row, slices) in &of_row {
            prop_assert!(slices.windows(2).all(|w| w[0].end <= w[1].start), "row {row}: {slices:?}");
            prop_assert_eq!(slices.len() as u64, layout.rows[row as usize].count);
            for level in 0..=top {
                for index in 0..=(layout.extent_ns as u64 >> (level + 9)) {
                    let mut got = tile(&timeline, &trace, row, level, index);
                    got.assert_in_order();
                    let named = |(&name, &id)| timeline.name(&trace, name) == all[id as usize].name;
                    prop_assert!(got.name.iter().zip(&got.id).all(named));
                    (got.name, got.category) = (Vec::new(), Vec::new());
                    let want = naive_tile(slices, row, level, index);
                    let near = got.busy.iter().zip(&want.busy).all(|(a, b)| a.abs_diff(*b) <= 1);
                    prop_assert!(near, "{:?} {:?}", got.busy, want.busy);
                    got.busy.clone_from(&want.busy);
                    prop_assert_eq!(got, want);
                }
            }
        }
        for row in &layout.rows {
            for level in [0, 1, top / 2, top] {
                let tiles = (0..=(layout.extent_ns as u64 >> (level + 9))).map(|i| tile(&timeline, &trace, row.id, level, i));
                prop_assert_eq!(tiles.inspect(Tile::assert_in_order).map(|t| t.counted()).sum::<u64>(), row.count);
            }
        }
    }

    #[test]
    fn parents_children_and_self_time_follow_from_the_rows(rows in rows()) {
        let trace = build(&rows);
        let timeline = timeline(&trace);
        let all = told(&timeline, &trace);
        let parents: Vec<Option<u32>> = all.iter().map(|slice| parent(&all, slice).map(|p| p.id)).collect();
        for slice in &all {
            let details = timeline.details(&trace, slice.id).unwrap();
            prop_assert_eq!(details.parents.first().map(|p| p.id), parents[slice.id as usize]);
            let mut around: Vec<&Told> = all.iter().filter(|other| other.holds(slice)).collect();
            around.sort_by_key(|other| std::cmp::Reverse(other.row));
            let wanted: Vec<u32> = around.iter().map(|a| a.id).collect();
            prop_assert_eq!(details.parents.iter().map(|p| p.id).collect::<Vec<_>>(), wanted);
            let children: Vec<&Told> = all.iter().filter(|c| parents[c.id as usize] == Some(slice.id)).collect();
            let counted: u64 = details.children.iter().map(|c| c.count).sum();
            prop_assert_eq!(counted as usize, children.len());
            let time: i64 = details.children.iter().map(|c| c.total_ns).sum();
            prop_assert_eq!(time, children.iter().map(|c| c.end - c.start).sum::<i64>());
            let covered = (slice.start..slice.end).filter(|&t| children.iter().any(|c| c.start <= t && t < c.end)).count();
            prop_assert_eq!(details.self_ns, slice.end - slice.start - covered as i64);
        }
    }
}
