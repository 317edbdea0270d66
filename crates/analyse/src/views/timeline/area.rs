//! What an area of the picture holds: by name, and how busy each row is in it.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::Trace;

use super::Timeline;
use super::build::Row;
use super::name_sums::{NameSum, NameSums};
use super::spans::{Content, Spans};
use super::sweep::{AreaPart, Sequence, sweep};

/// Names listed; the rest are counted.
const MAX_NAMES: usize = 500;
/// Slices that one worker walks over at a time.
const MAX_SLICES_PER_TASK: usize = 1 << 17;

#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Area {
    pub from_ns: i64,
    pub to_ns: i64,
    /// Slices and instants in it, in part or wholly.
    pub count: u64,
    pub total_ns: i64,
    /// By name, the most self time first.
    pub names: Vec<AreaName>,
    pub names_more: u64,
    pub rows_busy: Vec<RowBusy>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AreaName {
    pub name: String,
    /// The category of the longest.
    pub category: u8,
    pub count: u64,
    /// Their time inside the area.
    pub total_ns: i64,
    /// The same less the time of what is directly inside them.
    pub self_ns: i64,
    /// Self time over that of all names.
    pub share: f64,
    /// The one with the most time inside the area.
    pub longest: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RowBusy {
    pub row: u32,
    /// Time in which anything is on it.
    pub busy_ns: i64,
}

impl Timeline {
    /// What lies between two times on some rows. Rows that there are none of are left out.
    pub fn area(&self, trace: &Trace, from: i64, to: i64, rows: &[u32]) -> Area {
        let (from, to) = (from.max(0), to.min(self.extent).max(from.max(0)));
        let mut wanted: Vec<u32> = rows.iter().copied().filter(|&row| self.row(row).is_some()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let tasks: Vec<Task> = wanted
            .chunk_by(|&a, &b| self.group_of(a) == self.group_of(b))
            .flat_map(|rows| self.tasks(trace, rows, (from, to)))
            .collect();
        let sums =
            tasks.par_iter().map(|task| self.run(trace, task)).reduce(NameSums::default, NameSums::merge);
        let busy = |&row: &u32| Some(RowBusy { row, busy_ns: self.busy(trace, self.row(row)?, (from, to)) });
        let rows_busy = wanted.par_iter().filter_map(busy).collect();
        self.report(trace, (from, to), sums.sums, rows_busy)
    }

    fn group_of(&self, row: u32) -> Option<u32> {
        self.row(row).map(|row| row.group)
    }

    /// The work on some rows of one group.
    fn tasks(&self, trace: &Trace, rows: &[u32], area: (i64, i64)) -> Vec<Task> {
        let Some(group) = rows.first().and_then(|&row| self.group_of(row)) else { return Vec::new() };
        let members = &self.built.groups[group as usize];
        let mut selected = vec![false; members.rows.len()];
        let (mut slices, mut tasks) = (false, Vec::new());
        for &row in rows {
            match self.row(row).map(|row| &row.content) {
                Some(Content::Slices(_)) => slices = true,
                _ => tasks.push(Task::Row { row, area }),
            }
            selected[(row - members.rows.start) as usize] = true;
        }
        if slices {
            let overlaps =
                members.rows.clone().any(|row| self.row(row).is_some_and(|row| row.blocks.overlaps()));
            // Where slices overlap without end, each part would begin with all of them.
            let at_once = if overlaps { usize::MAX } else { MAX_SLICES_PER_TASK };
            let parts = parts(&Sequence::new(self, trace, members), area, at_once);
            tasks.extend(parts.into_iter().map(|part| Task::Sweep { group, selected: selected.clone(), part }));
        }
        tasks
    }

    fn run(&self, trace: &Trace, task: &Task) -> NameSums {
        let mut sums = NameSums::default();
        match task {
            Task::Sweep { group, selected, part } => {
                let group = &self.built.groups[*group as usize];
                sweep(&Sequence::new(self, trace, group), group, selected, part, &mut sums);
            }
            Task::Row { row, area } => {
                let Some(row) = self.row(*row) else { return sums };
                let spans = self.spans(trace, &row.content);
                let begin = row.blocks.position(&spans, 0, area.0);
                let end = row.blocks.position_after(&spans, begin, area.1);
                for at in row.blocks.open_at(&spans, begin, area.0).into_iter().chain(begin..end) {
                    let (start, end) = (spans.start(at), spans.end(at));
                    if start < area.1 || start == end {
                        let inside = end.min(area.1) - start.max(area.0);
                        sums.add(spans.name(at), spans.id(at), inside.max(0));
                    }
                }
            }
        }
        sums
    }

    /// Time in which anything is on a row.
    fn busy(&self, trace: &Trace, row: &Row, (from, to): (i64, i64)) -> i64 {
        let spans = self.spans(trace, &row.content);
        let begin = row.blocks.position(&spans, 0, from);
        let end = row.blocks.position(&spans, begin, to);
        let carried = row.blocks.open_at(&spans, begin, from);
        let mut reach = carried.iter().map(|&at| spans.end(at).min(to)).max().unwrap_or(from);
        let mut busy = reach - from;
        if !row.blocks.overlaps() {
            let over = end
                .checked_sub(1)
                .filter(|&last| last >= begin)
                .map_or(0, |last| (spans.end(last) - to).max(0));
            return busy.saturating_add(row.blocks.sum(&spans, begin, end) - over);
        }
        for at in begin..end {
            let until = spans.end(at).min(to);
            busy += (until - spans.start(at).max(reach)).max(0);
            reach = reach.max(until);
        }
        busy
    }

    fn report(
        &self,
        trace: &Trace,
        (from_ns, to_ns): (i64, i64),
        mut sums: Vec<NameSum>,
        rows_busy: Vec<RowBusy>,
    ) -> Area {
        let add = |sum: i64, ns: i64| sum.saturating_add(ns);
        let all_self = sums.iter().map(|s| s.own).fold(0, add);
        let name = |sum: &NameSum| self.name(trace, sum.name);
        sums.sort_unstable_by(|a, b| {
            (b.own, b.total, b.count)
                .cmp(&(a.own, a.total, a.count))
                .then_with(|| (name(a), a.name).cmp(&(name(b), b.name)))
        });
        let row = |sum: &NameSum| {
            let longest = sum.longest.map_or(super::NO_SLICE, |l| l.1);
            AreaName {
                name: name(sum).to_owned(),
                category: self.category_of_id(trace, longest),
                count: sum.count,
                total_ns: sum.total,
                self_ns: sum.own,
                share: if all_self > 0 { sum.own as f64 / all_self as f64 } else { 0.0 },
                longest,
            }
        };
        Area {
            from_ns,
            to_ns,
            count: sums.iter().map(|s| s.count).sum(),
            total_ns: sums.iter().map(|s| s.total).fold(0, add),
            names: sums.iter().take(MAX_NAMES).map(row).collect(),
            names_more: sums.len().saturating_sub(MAX_NAMES) as u64,
            rows_busy,
        }
    }
}

enum Task {
    /// Slices of a group, those inside others distinguished.
    Sweep { group: u32, selected: Vec<bool>, part: AreaPart },
    /// Steps or instants: nothing is inside of another.
    Row { row: u32, area: (i64, i64) },
}

/// An area of a group in parts of about equal work.
fn parts(sequence: &Sequence<'_>, area: (i64, i64), at_once: usize) -> Vec<AreaPart> {
    let begin = sequence.position(area.0);
    let end = area.1.checked_add(1).map_or(sequence.len(), |next| sequence.position(next));
    let mut cuts = vec![(begin, area.0)];
    for at in (begin..end).step_by(at_once).skip(1) {
        // All that start together stay together.
        let time = sequence.start(at).min(area.1);
        let at = sequence.position(time);
        if cuts.last().is_some_and(|last| last.0 < at && last.1 < time) {
            cuts.push((at, time));
        }
    }
    let ends = cuts.iter().skip(1).copied().chain([(end, area.1)]);
    let pairs = cuts.iter().zip(ends).enumerate();
    pairs
        .map(|(number, (from, to))| AreaPart {
            positions: from.0..to.0,
            window: (from.1, to.1),
            area,
            first: number == 0,
        })
        .collect()
}
