//! Everything in a file is drawn, at every zoom.

use std::path::Path;

use stepscope_analyse::tables::run_info;
use stepscope_analyse::views::timeline::{GroupKind, Layout, RowInfo, Timeline};
use stepscope_model::{NoteKind, Trace};

use crate::data::{all_fixtures, peer, read};
use crate::views::timeline_tools::{tile, timeline, top_level};

/// What the tiles of a level count on a row, all tiles of the level.
fn counted(
    timeline: &Timeline,
    trace: &Trace,
    row: u32,
    level: u32,
    indexes: impl Iterator<Item = u64>,
) -> u64 {
    let tiles = indexes.map(|index| tile(timeline, trace, row, level, index));
    tiles.inspect(|tile| tile.assert_in_order()).map(|tile| tile.counted()).sum()
}

/// Every level from the one with a single tile down to nanoseconds. Where a level has too many tiles, one tile of the
/// level above is taken apart and must hold what its parts hold.
fn assert_row_is_whole(timeline: &Timeline, trace: &Trace, row: &RowInfo, extent: i64) {
    let top = top_level(extent);
    for level in [54, top, top.saturating_sub(2), top.saturating_sub(5), top.saturating_sub(8)] {
        let tiles = (extent as u64 >> (level + 9).min(63)) + 1;
        let count = counted(timeline, trace, row.id, level, 0..tiles);
        assert_eq!(count, row.count, "row {} ({}) at level {level}", row.id, row.label);
    }
    let (mut level, mut index, mut holds) = (top, 0, row.count);
    while level > 0 {
        let down = level.min(6);
        let parts = (index << down)..((index + 1) << down);
        assert_eq!(
            counted(timeline, trace, row.id, level - down, parts.clone()),
            holds,
            "row {} at {level}",
            row.id
        );
        let fullest = parts.map(|part| (tile(timeline, trace, row.id, level - down, part).counted(), part));
        (holds, index) = fullest.max().unwrap();
        level -= down;
    }
    if row.count <= 2_000 {
        let mut tiles: Vec<u64> =
            timeline.row_items(trace, row.id, 0).iter().map(|item| item.start as u64 / 512).collect();
        tiles.dedup();
        assert_eq!(counted(timeline, trace, row.id, 0, tiles.into_iter()), row.count);
    }
}

fn assert_all_is_drawn(name: &str, trace: &Trace) -> (Timeline, Layout) {
    let timeline = timeline(trace);
    let layout = timeline.layout(trace);
    for (id, row) in layout.rows.iter().enumerate() {
        assert_eq!(row.id as usize, id);
        assert!(layout.groups[row.group as usize].rows.contains(&row.id) && row.count > 0);
        assert!(
            0 <= row.first_ns && row.first_ns <= row.last_ns && row.last_ns <= layout.extent_ns,
            "{name} {row:?}"
        );
        assert_row_is_whole(&timeline, trace, row, layout.extent_ns);
    }
    let drawn = layout.rows.iter().filter(|row| !layout.groups[row.group as usize].derived);
    let drawn: u64 = drawn.map(|row| row.count).sum();
    let (ledger, file) = (&layout.ledger, run_info::analyze(trace).ledger);
    assert!(file.closes, "{name}");
    assert_eq!(drawn, ledger.drawn_slices + ledger.drawn_points, "{name}");
    assert_eq!(ledger.drawn_slices, ledger.slices, "{name}");
    assert_eq!(ledger.drawn_points + ledger.metadata_points + ledger.counter_points, ledger.points, "{name}");
    let all = drawn + ledger.metadata_points + ledger.counter_points + ledger.flows;
    assert_eq!(all + file.joined_pairs + file.set_aside, file.events_in_file, "{name}");
    assert_eq!(ledger.events_in_file, file.events_in_file);
    (timeline, layout)
}

#[test]
fn every_event_of_every_fixture_is_drawn_once() {
    let mini = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch/mini/mini.pt.trace.json");
    for path in all_fixtures().into_iter().chain([mini]) {
        assert_all_is_drawn(&path.display().to_string(), &read(&path));
    }
}

#[test]
fn groups_are_in_the_order_of_the_picture() {
    for path in all_fixtures() {
        let trace = read(&path);
        let layout = timeline(&trace).layout(&trace);
        let order = |kind: GroupKind| {
            [GroupKind::Steps, GroupKind::Device, GroupKind::Host, GroupKind::Modules, GroupKind::Other]
                .iter()
                .position(|k| *k == kind)
        };
        assert!(layout.groups.is_sorted_by_key(|g| order(g.kind)), "{}", path.display());
        let threads: Vec<u64> =
            layout.groups.iter().filter(|g| g.kind == GroupKind::Host).map(|g| g.slices).collect();
        assert!(threads.is_sorted_by(|a, b| a >= b), "{threads:?}");
        assert_eq!(layout.categories.len(), 16);
        for step in &layout.steps {
            assert!(0 <= step.start_ns && step.start_ns <= step.end_ns && step.end_ns <= layout.extent_ns);
        }
    }
}

#[test]
fn the_74_overlapping_kernels_of_a_b200_stand_on_rows_of_their_own() {
    let Some(path) = peer("tracelens/b200/eager_trace.json.gz") else { return };
    let trace = read(&path);
    assert_eq!(trace.notes().count(NoteKind::STREAM_OVERLAP), 74);
    let (timeline, layout) = assert_all_is_drawn("b200", &trace);
    let slices = trace.slices();
    let of_devices = layout.groups.iter().filter(|g| g.kind == GroupKind::Device);
    let drawn: u64 = of_devices.map(|g| g.slices).sum();
    assert_eq!(drawn as usize, slices.ids().filter(|&id| slices.kind(id).is_device()).count());
    let mut rows = std::collections::BTreeMap::<u32, Vec<(i64, i64)>>::new();
    for id in slices.ids().filter(|&id| slices.kind(id).is_device_work()) {
        let details = timeline.details(&trace, id.index() as u32).unwrap().reference;
        rows.entry(details.row).or_default().push((details.start_ns, details.start_ns + details.dur_ns));
    }
    assert!(rows.len() > 1);
    for spans in rows.values() {
        assert!(spans.windows(2).all(|w| w[0].1 <= w[1].0), "two kernels on one row at once");
    }
}

#[test]
fn traces_of_other_tools_are_drawn_whole() {
    for path in [
        "tb_plugin/resnet50_num_workers_0.pt.trace.json.gz",
        "tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
        "hta/call_stack/backward_thread.json",
    ] {
        let Some(path) = peer(path) else { return };
        assert_all_is_drawn(&path.display().to_string(), &read(&path));
    }
}
