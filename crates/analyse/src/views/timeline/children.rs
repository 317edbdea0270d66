//! What is around a slice and what is directly inside it.

use stepscope_model::{LaneId, SliceId, Trace};

use super::Timeline;
use super::build::Members;
use super::name_sums::NameSums;
use super::nesting::least_end;
use super::spans::{Content, Spans};

/// What is directly inside a slice.
#[derive(Default)]
pub(super) struct Inside {
    pub(super) sums: NameSums,
    /// Time in which any of it ran.
    pub(super) covered: i64,
}

impl Timeline {
    /// The rows of a lane of its own with slices; none of lanes that share a group.
    fn slice_rows(&self, lane: LaneId) -> &[super::Row] {
        let group = self.built.group_of_lane.get(lane.index()).and_then(|&g| self.built.groups.get(g as usize));
        let Some(group) = group.filter(|group| matches!(group.members, Members::Lane(_))) else { return &[] };
        let rows = &self.built.rows[group.rows.start as usize..group.rows.end as usize];
        match rows.last().map(|row| &row.content) {
            Some(Content::Points(_)) => &rows[..rows.len() - 1],
            _ => rows,
        }
    }

    /// The slices of the same lane that hold a slice, the nearest first.
    pub(super) fn ancestors(&self, trace: &Trace, id: SliceId) -> Vec<SliceId> {
        let times = self.times(trace, id);
        let rows = self.slice_rows(trace.slices().lane(id));
        let above = rows.iter().take(usize::from(self.built.depth[id.index()])).rev();
        let holder = |row: &super::Row| {
            let spans = self.spans(trace, &row.content);
            let begun = row.blocks.position_after(&spans, 0, times.0);
            let last = begun.checked_sub(1).filter(|&at| spans.end(at) >= least_end(times))?;
            Some(SliceId::from_index(spans.id(last) as usize))
        };
        above.filter_map(holder).collect()
    }

    /// The slices of a lane that are open at a moment, the deepest first.
    pub(super) fn open_at(&self, trace: &Trace, lane: LaneId, at: i64) -> Vec<SliceId> {
        let open = |row: &super::Row| {
            let spans = self.spans(trace, &row.content);
            let begun = row.blocks.position_after(&spans, 0, at);
            let last = row.blocks.reaching_before(&spans, begun).filter(|&last| spans.end(last) > at)?;
            Some(SliceId::from_index(spans.id(last) as usize))
        };
        self.slice_rows(lane).iter().rev().filter_map(open).collect()
    }

    /// What is directly inside a slice, by name.
    pub(super) fn inside(&self, trace: &Trace, id: SliceId) -> Inside {
        let slices = trace.slices();
        let depth = usize::from(self.built.depth[id.index()]);
        let rows = self.slice_rows(slices.lane(id));
        let mut inside = Inside::default();
        if rows.is_empty() || rows.get(depth).is_none_or(|row| row.blocks.overlaps()) {
            return inside;
        }
        let times = self.times(trace, id);
        let lane = slices.lane_range(slices.lane(id));
        let after = &slices.starts()[id.index() + 1..lane.end];
        let end = id.index() + 1 + after.partition_point(|&start| start < slices.end(id));
        let mut given = times.0;
        let mut add = |child: SliceId| {
            let (start, end) = self.times(trace, child);
            inside.sums.add(slices.name(child).index() as u32, child.index() as u32, end - start);
            inside.covered += (end - start.max(given)).max(0);
            given = given.max(end);
        };
        let displaced = &self.built.displaced;
        let next_displaced = displaced.get(displaced.partition_point(|&d| (d as usize) <= id.index()));
        if next_displaced.is_none_or(|&d| d as usize >= end) {
            // All stand right below what holds them: those inside are the next row's.
            let Some(row) = rows.get(depth + 1) else { return inside };
            let spans = self.spans(trace, &row.content);
            let begin = row.blocks.position(&spans, 0, times.0);
            let within = (begin..spans.len()).take_while(|&at| spans.start(at) < times.1);
            within.for_each(|at| add(SliceId::from_index(spans.id(at) as usize)));
            return inside;
        }
        // Ends of the slices begun last on each row.
        let begun_before = |row: &super::Row| {
            let spans = self.spans(trace, &row.content);
            let last = row.blocks.position(&spans, 0, times.0).checked_sub(1);
            last.map_or(i64::MIN, |last| spans.end(last))
        };
        let mut open: Vec<i64> = rows.iter().map(begun_before).collect();
        for at in id.index() + 1..end {
            let child = SliceId::from_index(at);
            let row = usize::from(self.built.depth[at]);
            let of_child = self.times(trace, child);
            let least = least_end(of_child);
            let held_below = || open[(depth + 1).min(row)..row].iter().any(|&end| end >= least);
            if row > depth && times.1 >= least && !held_below() {
                add(child);
            }
            open[row] = of_child.1;
        }
        inside
    }
}
