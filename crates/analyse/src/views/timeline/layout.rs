//! The table of groups and rows, and whether everything in the file is on it.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{PointKind, Trace};

use super::Timeline;
use super::build::{Group, GroupKind, Row};
use super::category::CATEGORIES;
use super::labels::row_label;
use super::spans::{Content, Spans};

/// Everything a picture needs before its first tile.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Layout {
    /// From the first event to the last end.
    pub extent_ns: i64,
    /// From the first slice to the last end of one: instants alone may lie far outside.
    pub work_ns: [i64; 2],
    /// Groups in the order of the picture.
    pub groups: Vec<GroupInfo>,
    /// Rows, group by group.
    pub rows: Vec<RowInfo>,
    pub categories: [&'static str; 16],
    /// Whether everything in the file is drawn.
    pub ledger: DrawnLedger,
    pub steps: Vec<StepInfo>,
}

/// A thread, a stream, or something derived from them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GroupInfo {
    pub id: u32,
    pub label: String,
    pub detail: String,
    pub kind: GroupKind,
    pub rows: Vec<u32>,
    /// How many slices are on them; steps count as slices.
    pub slices: u64,
    /// Whether its slices also stand elsewhere; they are not part of the ledger.
    pub derived: bool,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RowInfo {
    pub id: u32,
    pub group: u32,
    /// Its name in the group.
    pub label: String,
    /// Its place in the group, from 0.
    pub depth: u32,
    /// Slices or instants on it.
    pub count: u64,
    /// The first start.
    pub first_ns: i64,
    /// The last end.
    pub last_ns: i64,
}

/// What of the file is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DrawnLedger {
    /// Slices of the trace.
    pub slices: u64,
    /// Points of the trace.
    pub points: u64,
    /// Ends of arrows of the trace.
    pub flows: u64,
    /// Slices on rows, each once.
    pub drawn_slices: u64,
    /// Points on rows, as instants.
    pub drawn_points: u64,
    /// Points that name processes and threads.
    pub metadata_points: u64,
    /// Points that are values of counters.
    pub counter_points: u64,
    /// Events found in the file.
    pub events_in_file: u64,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StepInfo {
    /// Its number; -1 for a whole trace.
    pub step: i64,
    pub name: String,
    pub start_ns: i64,
    pub end_ns: i64,
}

impl Timeline {
    /// The groups and rows of the picture.
    pub fn layout(&self, trace: &Trace) -> Layout {
        let groups: Vec<GroupInfo> = self
            .built
            .groups
            .iter()
            .enumerate()
            .map(|(id, group)| self.group_info(trace, id as u32, group))
            .collect();
        let rows: Vec<RowInfo> =
            self.built.rows.iter().enumerate().map(|(id, row)| self.row_info(trace, id as u32, row)).collect();
        let busy = || {
            let pairs = self.built.rows.iter().zip(&rows);
            pairs.filter(|(row, info)| info.count > 0 && !matches!(row.content, Content::Points(_)))
        };
        let first = busy().map(|(_, info)| info.first_ns).min().unwrap_or(0);
        let last = busy().map(|(_, info)| info.last_ns).max().unwrap_or(self.extent);
        Layout {
            extent_ns: self.extent,
            work_ns: [first, last],
            ledger: self.ledger(trace, &groups),
            groups,
            rows,
            categories: CATEGORIES,
            steps: self.step_infos(trace),
        }
    }

    fn group_info(&self, trace: &Trace, id: u32, group: &Group) -> GroupInfo {
        let (label, detail) = self.group_label(trace, group);
        let rows = &self.built.rows[group.rows.start as usize..group.rows.end as usize];
        let held = rows.iter().filter(|row| !matches!(row.content, Content::Points(_)));
        GroupInfo {
            id,
            label,
            detail,
            kind: group.kind,
            rows: group.rows.clone().collect(),
            slices: held.map(|row| self.spans(trace, &row.content).len() as u64).sum(),
            derived: matches!(group.kind, GroupKind::Steps | GroupKind::Modules),
        }
    }

    fn row_info(&self, trace: &Trace, id: u32, row: &Row) -> RowInfo {
        let spans = self.spans(trace, &row.content);
        let depth = id - self.built.groups[row.group as usize].rows.start;
        let last = row.blocks.reaching_before(&spans, spans.len());
        RowInfo {
            id,
            group: row.group,
            label: row_label(&row.content, depth, row.blocks.overlaps()),
            depth,
            count: spans.len() as u64,
            first_ns: if spans.len() > 0 { spans.start(0) } else { 0 },
            last_ns: last.map_or(0, |at| spans.end(at)),
        }
    }

    fn ledger(&self, trace: &Trace, groups: &[GroupInfo]) -> DrawnLedger {
        let points = trace.points();
        let of_kind = |wanted| points.ids().filter(|&id| points.kind(id) == wanted).count() as u64;
        let instants = self.built.rows.iter().map(|row| match &row.content {
            Content::Points(ids) => ids.len() as u64,
            _ => 0,
        });
        DrawnLedger {
            slices: trace.slices().len() as u64,
            points: trace.events_without_length() as u64,
            flows: trace.flows().len() as u64,
            drawn_slices: groups.iter().filter(|g| !g.derived).map(|g| g.slices).sum(),
            drawn_points: instants.sum(),
            metadata_points: of_kind(PointKind::Metadata),
            counter_points: of_kind(PointKind::Counter) + trace.counters().events() as u64,
            events_in_file: trace.meta().events_in_file,
        }
    }

    fn step_infos(&self, trace: &Trace) -> Vec<StepInfo> {
        let info = |step: &super::StepSpan| StepInfo {
            step: step.number.unwrap_or(-1),
            name: self.name(trace, step.name).to_owned(),
            start_ns: step.start,
            end_ns: step.end,
        };
        self.steps.iter().map(info).collect()
    }
}
