//! From a trace to groups and rows: one group per lane, one row per depth.

use std::cmp::Reverse;
use std::ops::Range;

use rayon::prelude::*;
use stepscope_model::{LaneId, SliceId, Trace};

use super::blocks::Blocks;
use super::instants::{Instants, Moment};
use super::lanes::Lanes;
use super::nesting::{RowNesting, nest};
use super::spans::{Content, RowSpans, StepSpan, times};

#[derive(Copy, Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupKind {
    /// The steps of the run.
    Steps,
    /// A stream of a device.
    Device,
    Host,
    /// Calls of `nn.Module`s.
    Modules,
    Other,
}

/// Whose slices a group shows, in the order of their starts.
#[derive(Debug)]
pub(super) enum Members {
    /// All of a lane; [`BuiltRows::depth`] has their rows.
    Lane(LaneId),
    /// These, with their rows.
    Listed { ids: Vec<u32>, rows: Vec<u16> },
    /// None: steps are not slices.
    Steps,
}

#[derive(Debug)]
pub(super) struct Group {
    pub(super) kind: GroupKind,
    pub(super) members: Members,
    /// Its rows; one of instants comes last.
    pub(super) rows: Range<u32>,
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) group: u32,
    pub(super) content: Content,
    pub(super) blocks: Blocks,
}

/// Groups and rows, and where each slice is in them.
#[derive(Debug, Default)]
pub(super) struct BuiltRows {
    pub(super) groups: Vec<Group>,
    pub(super) rows: Vec<Row>,
    /// By slice: its row, counted from the first of its lane's group.
    pub(super) depth: Vec<u16>,
    /// Slices that stand deeper than right below what holds them, by number.
    pub(super) displaced: Vec<u32>,
    pub(super) group_of_lane: Vec<u32>,
}

/// What the rows of one lane hold, and how they came about.
#[derive(Default)]
struct LaneRows {
    rows: Vec<(Content, Blocks)>,
    displaced: Vec<u32>,
}

/// The parts of a trace that building needs.
pub(super) struct Source<'a> {
    pub(super) trace: &'a Trace,
    pub(super) steps: &'a [StepSpan],
    /// Calls of modules, by number of slice.
    pub(super) modules: Vec<u32>,
}

impl BuiltRows {
    pub(super) fn new(source: &Source<'_>) -> BuiltRows {
        let trace = source.trace;
        let mut instants = Instants::new(trace);
        let lanes = Lanes::new(trace, &instants);
        let mut built =
            BuiltRows { group_of_lane: vec![u32::MAX; trace.lanes().len()], ..BuiltRows::default() };
        built.depth = vec![0; trace.slices().len()];
        let mut of_lanes = rows_of_lanes(source, &lanes, &mut built.depth);
        if !source.steps.is_empty() {
            let steps = source.row(Content::Steps, false);
            built.push(GroupKind::Steps, Members::Steps, vec![steps]);
        }
        let mut push_lanes = |built: &mut BuiltRows, kind: GroupKind, lanes: &[LaneId]| {
            for &lane in lanes {
                let LaneRows { mut rows, displaced } = std::mem::take(&mut of_lanes[lane.index()]);
                let first = trace.slices().lane_range(lane).start as u32;
                built.displaced.extend(displaced.into_iter().map(|position| first + position));
                let points = instants.take(lane);
                if !points.is_empty() {
                    rows.push(source.row(Content::Points(points.into()), false));
                }
                built.group_of_lane[lane.index()] = built.groups.len() as u32;
                built.push(kind, Members::Lane(lane), rows);
            }
        };
        push_lanes(&mut built, GroupKind::Device, &lanes.device);
        push_lanes(&mut built, GroupKind::Host, &lanes.host);
        built.push_modules(source, lanes.rows_a_lane);
        push_lanes(&mut built, GroupKind::Other, &lanes.other);
        built.push_rest(source, &lanes, &mut instants);
        built.displaced.sort_unstable();
        built
    }

    fn push(&mut self, kind: GroupKind, members: Members, rows: Vec<(Content, Blocks)>) {
        let group = self.groups.len() as u32;
        let first = self.rows.len() as u32;
        self.rows.extend(rows.into_iter().map(|(content, blocks)| Row { group, content, blocks }));
        self.groups.push(Group { kind, members, rows: first..self.rows.len() as u32 });
    }

    fn push_modules(&mut self, source: &Source<'_>, most: usize) {
        if source.modules.is_empty() {
            return;
        }
        // Threads may call at the same time, so they are put on rows together.
        let ids = source.by_start(source.modules.clone());
        let mut depth = vec![0; ids.len()];
        let nested = nest(ids.iter().map(|&id| source.times(id)), most, &mut depth);
        let rows = rows_of(source, ids.iter().copied(), &depth, &nested);
        self.push(GroupKind::Modules, Members::Listed { ids, rows: depth }, rows);
    }

    /// Lanes past the limit share one row, on which slices may overlap, and one of instants.
    fn push_rest(&mut self, source: &Source<'_>, lanes: &Lanes, instants: &mut Instants) {
        if lanes.rest.is_empty() {
            return;
        }
        let trace = source.trace;
        let of_lane = |&lane: &LaneId| trace.slices().of_lane(lane).map(|id| id.index() as u32);
        let ids = source.by_start(lanes.rest.iter().flat_map(of_lane).collect());
        let mut points: Vec<Moment> = lanes.rest.iter().flat_map(|&lane| instants.take(lane)).collect();
        points.sort_by_key(|&moment| (moment.at(trace), moment));
        let mut rows = Vec::new();
        if !ids.is_empty() {
            rows.push(source.row(Content::Slices(ids.clone().into()), true));
        }
        if !points.is_empty() {
            rows.push(source.row(Content::Points(points.into()), false));
        }
        for lane in &lanes.rest {
            self.group_of_lane[lane.index()] = self.groups.len() as u32;
        }
        let depth = vec![0; ids.len()];
        self.push(GroupKind::Other, Members::Listed { ids, rows: depth }, rows);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let of_row = |row: &Row| row.blocks.heap_bytes() + row.content.heap_bytes() + size_of::<Row>();
        let rows: usize = self.rows.iter().map(of_row).sum();
        rows + self.depth.len() * 2 + (self.displaced.len() + self.group_of_lane.len()) * 4
    }
}

impl Content {
    fn heap_bytes(&self) -> usize {
        match self {
            Content::Slices(ids) => ids.len() * 4,
            Content::Points(ids) => ids.len() * 4,
            Content::Steps => 0,
        }
    }
}

impl Source<'_> {
    fn times(&self, id: u32) -> (i64, i64) {
        times(self.trace, SliceId::from_index(id as usize))
    }

    /// Slices of several lanes in the order that each lane has: by start, the longer first.
    fn by_start(&self, mut ids: Vec<u32>) -> Vec<u32> {
        ids.par_sort_unstable_by_key(|&id| {
            let (start, end) = self.times(id);
            (start, Reverse(end), id)
        });
        ids
    }

    fn row(&self, content: Content, overlaps: bool) -> (Content, Blocks) {
        let spans = RowSpans { trace: self.trace, content: &content, steps: self.steps };
        let blocks = Blocks::new(&spans, overlaps);
        (content, blocks)
    }
}

/// The rows of all shown lanes, by lane; writes each slice's row.
fn rows_of_lanes(source: &Source<'_>, lanes: &Lanes, mut depth: &mut [u16]) -> Vec<LaneRows> {
    let slices = source.trace.slices();
    let mut work: Vec<(LaneId, &mut [u16])> = Vec::new();
    for (lane, _) in source.trace.lanes().iter() {
        let (of_lane, after) = std::mem::take(&mut depth).split_at_mut(slices.lane_range(lane).len());
        depth = after;
        if lanes.is_shown[lane.index()] {
            work.push((lane, of_lane));
        }
    }
    let one = |(lane, depth): (LaneId, &mut [u16])| {
        let nested = nest(slices.of_lane(lane).map(|id| times(source.trace, id)), lanes.rows_a_lane, depth);
        let rows = rows_of(source, slices.of_lane(lane).map(|id| id.index() as u32), depth, &nested);
        (lane, LaneRows { rows, displaced: nested.displaced })
    };
    let done: Vec<(LaneId, LaneRows)> = work.into_par_iter().map(one).collect();
    let mut all: Vec<LaneRows> = Vec::new();
    all.resize_with(source.trace.lanes().len(), LaneRows::default);
    for (lane, rows) in done {
        all[lane.index()] = rows;
    }
    all
}

/// Slices shared out among their rows.
fn rows_of(
    source: &Source<'_>,
    ids: impl Iterator<Item = u32>,
    depth: &[u16],
    nested: &RowNesting,
) -> Vec<(Content, Blocks)> {
    let mut counts = vec![0usize; nested.rows];
    depth.iter().for_each(|&row| counts[usize::from(row)] += 1);
    let mut rows: Vec<Vec<u32>> = counts.into_iter().map(Vec::with_capacity).collect();
    for (id, &row) in ids.zip(depth) {
        rows[usize::from(row)].push(id);
    }
    let last = nested.rows.saturating_sub(1);
    let row = |(depth, ids): (usize, Vec<u32>)| {
        source.row(Content::Slices(ids.into()), nested.overlaps && depth == last)
    };
    rows.into_par_iter().enumerate().map(row).collect()
}
