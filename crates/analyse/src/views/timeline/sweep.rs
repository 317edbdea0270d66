//! One walk over a group's slices in order of time, which gives each moment to the innermost.

use std::ops::Range;

use stepscope_model::{SliceId, Trace};

use super::Timeline;
use super::build::{Group, Members};
use super::name_sums::NameSums;
use super::nesting::least_end;
use super::spans::{Content, times};

/// A group's slices in order of their starts, each with its row.
pub(super) struct Sequence<'a> {
    timeline: &'a Timeline,
    trace: &'a Trace,
    /// `None`: neighbors in the trace, from this one on.
    ids: Option<&'a [u32]>,
    first: usize,
    rows: &'a [u16],
}

impl<'a> Sequence<'a> {
    pub(super) fn new(timeline: &'a Timeline, trace: &'a Trace, group: &'a Group) -> Sequence<'a> {
        let (ids, first, rows): (Option<&[u32]>, usize, &[u16]) = match &group.members {
            Members::Lane(lane) => {
                let range = trace.slices().lane_range(*lane);
                (None, range.start, &timeline.built.depth[range])
            }
            Members::Listed { ids, rows } => (Some(ids), 0, rows),
            Members::Steps => (None, 0, &[]),
        };
        Sequence { timeline, trace, ids, first, rows }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn id(&self, at: usize) -> SliceId {
        SliceId::from_index(self.ids.map_or(self.first + at, |ids| ids[at] as usize))
    }

    pub(super) fn start(&self, at: usize) -> i64 {
        times(self.trace, self.id(at)).0
    }

    /// The first position that starts at this time or later.
    pub(super) fn position(&self, at: i64) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.start(middle) < at { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// A part of an area, small enough for one worker.
pub(super) struct AreaPart {
    /// Slices that start in it.
    pub(super) positions: Range<usize>,
    pub(super) window: (i64, i64),
    /// The time of the whole area.
    pub(super) area: (i64, i64),
    /// Whether those that are open at its start are counted here.
    pub(super) first: bool,
}

/// The last slice begun on a row.
#[derive(Copy, Clone, Default)]
struct OpenSlice {
    /// Up to where its time is already given to those inside it.
    given: i64,
    slot: Option<usize>,
}

/// Adds up the slices of a part by name: those of the selected rows, less the time of everything directly inside them.
pub(super) fn sweep(
    sequence: &Sequence<'_>,
    group: &Group,
    selected: &[bool],
    part: &AreaPart,
    sums: &mut NameSums,
) {
    let rows = selected.len();
    let (ends, open) = (vec![i64::MIN; rows], vec![OpenSlice::default(); rows]);
    let mut walk = Walk { sequence, selected, part, ends, open, sums };
    for (id, row) in carried(sequence, group, part.window.0) {
        walk.visit(id, row, part.first);
    }
    for at in part.positions.clone() {
        walk.visit(sequence.id(at), usize::from(sequence.rows[at]), true);
    }
}

struct Walk<'a> {
    sequence: &'a Sequence<'a>,
    selected: &'a [bool],
    part: &'a AreaPart,
    /// Where the last slice begun on each row ends.
    ends: Vec<i64>,
    open: Vec<OpenSlice>,
    sums: &'a mut NameSums,
}

impl Walk<'_> {
    fn visit(&mut self, id: SliceId, row: usize, counts: bool) {
        let trace = self.sequence.trace;
        let (start, end) = times(trace, id);
        let area = self.part.area;
        if start >= area.1 && end > start {
            return;
        }
        let (from, to) = (start.max(self.part.window.0), end.min(self.part.window.1));
        let least = least_end((start, end));
        if let Some(holder) = self.ends[..row].iter().rposition(|&end| end >= least) {
            let holder = &mut self.open[holder];
            let given = (to - from.max(holder.given)).max(0);
            holder.given = holder.given.max(to);
            if let Some(slot) = holder.slot {
                let sum = &mut self.sums.sums[slot];
                sum.own = sum.own.saturating_sub(given);
            }
        }
        let slot = self.selected[row].then(|| {
            let slot = self.sums.slot(trace.slices().name(id).index() as u32);
            let sum = &mut self.sums.sums[slot];
            let inside = (to - from).max(0);
            sum.total = sum.total.saturating_add(inside);
            sum.own = sum.own.saturating_add(inside);
            if counts {
                sum.count += 1;
                sum.offer((end.min(area.1) - start.max(area.0)).max(0), id.index() as u32);
            }
            slot
        });
        self.ends[row] = end;
        self.open[row] = OpenSlice { given: from, slot };
    }
}

/// Slices that began before a time and are still open then, the outermost first.
fn carried(sequence: &Sequence<'_>, group: &Group, at: i64) -> Vec<(SliceId, usize)> {
    let (timeline, trace) = (sequence.timeline, sequence.trace);
    let mut found = Vec::new();
    for (depth, row) in group.rows.clone().enumerate() {
        let Some(row) = timeline.row(row).filter(|row| matches!(row.content, Content::Slices(_))) else {
            continue;
        };
        let spans = timeline.spans(trace, &row.content);
        let before = row.blocks.position(&spans, 0, at);
        let open = row.blocks.open_at(&spans, before, at);
        found
            .extend(open.into_iter().map(|position| (SliceId::from_index(spans.id(position) as usize), depth)));
    }
    found.sort_unstable_by_key(|&(id, _)| {
        let (start, end) = times(trace, id);
        (start, std::cmp::Reverse(end), id)
    });
    found
}
