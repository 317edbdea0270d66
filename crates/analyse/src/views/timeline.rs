//! What a browser asks to draw a run: rows, what is in a stretch of a row, what a slice is, what an area holds,
//! where a name occurs. For traces of ten million slices and more.
//!
//! Each lane is a group of rows, one a depth; on a row no two slices overlap. A row is asked for in tiles: a level has
//! buckets of 2^level nanoseconds, a tile 512 of them. A bucket tells how many slices start in it, which is longest and
//! how much is covered, so a picture shows true counts and occupancy at every zoom and nothing is dropped.
//!
//! All times handed out are nanoseconds since the trace's first event.

mod area;
mod args_text;
mod blocks;
mod build;
mod category;
mod children;
mod counters;
mod curves;
mod definitions;
mod details;
mod file_counters;
mod instants;
mod item;
mod labels;
mod lanes;
mod layout;
mod name_sums;
mod nesting;
mod python_stack;
mod related;
mod row_ends;
mod search;
mod spans;
mod step_spans;
mod sweep;
mod tile;
mod wire;

use std::sync::OnceLock;

use stepscope_model::{Kind, LaneId, SliceId, StrId, Trace};

use crate::names::by_name::ByName;
use crate::names::ranges::MODULE_CALL;
use crate::steps::Steps;
use build::{BuiltRows, Row, Source};
use category::{Categories, Category};
use counters::Curves;
use related::DeviceLinks;
use spans::{Content, RowSpans, StepSpan, drawn, times};

pub use area::{Area, AreaName, RowBusy};
pub use build::GroupKind;
pub use category::CATEGORIES;
pub(crate) use category::category_of;
pub use counters::Counter;
pub use curves::Unit;
pub use definitions::DEFINITIONS;
pub use details::{Child, Details, Link, Ref, Relation};
pub use item::{RowItem, TileKey};
pub use lanes::{MAX_LANES, MAX_ROWS_PER_LANE};
pub use layout::{DrawnLedger, GroupInfo, Layout, RowInfo, StepInfo};
pub use search::{HitName, Hits, Order, SearchQuery};
pub use spans::{INSTANT, NO_SLICE};
pub use tile::{BUCKETS, MAX_LEVEL};
pub use wire::{UNITS, wire_header};

/// The index behind a picture of one trace. It holds about seven bytes a slice; every question also takes the trace it
/// was made of.
#[derive(Debug)]
pub struct Timeline {
    /// The last end.
    extent: i64,
    built: BuiltRows,
    categories: Categories,
    steps: Vec<StepSpan>,
    /// Names that are not a text of the trace; their numbers follow those of the texts.
    own_names: Vec<String>,
    related: OnceLock<DeviceLinks>,
    curves: OnceLock<Curves>,
}

impl Timeline {
    /// The index of a trace.
    pub fn new(trace: &Trace, steps: &Steps) -> Timeline {
        let categories = Categories::new(trace);
        let (steps, own_names) = step_spans::find(trace, steps);
        let source = Source { trace, steps: &steps, modules: module_calls(trace) };
        let built = BuiltRows::new(&source);
        let extent = last_moment(trace).max(steps.last().map_or(0, |step| step.end));
        let (related, curves) = (OnceLock::new(), OnceLock::new());
        Timeline { extent, built, categories, steps, own_names, related, curves }
    }

    /// Bytes held, what is made on demand left out.
    pub fn heap_bytes(&self) -> usize {
        self.built.heap_bytes() + self.categories.heap_bytes()
    }

    /// The text of a name's number, as tiles and hits give it; empty if there is none.
    pub fn name<'a>(&'a self, trace: &'a Trace, id: u32) -> &'a str {
        let (id, texts) = (id as usize, trace.strings().len());
        match id.checked_sub(texts) {
            None => trace.text(StrId::from_index(id)),
            Some(own) => self.own_names.get(own).map_or("", String::as_str),
        }
    }

    fn row(&self, row: u32) -> Option<&Row> {
        self.built.rows.get(row as usize)
    }

    fn spans<'a>(&'a self, trace: &'a Trace, content: &'a Content) -> RowSpans<'a> {
        RowSpans { trace, content, steps: &self.steps }
    }

    fn times(&self, trace: &Trace, id: SliceId) -> (i64, i64) {
        times(trace, id)
    }

    /// The category of what a tile or a hit shows: a slice, a moment or a step.
    fn category_of(&self, trace: &Trace, content: &Content, at: usize) -> u8 {
        match content {
            Content::Slices(ids) => self.categories.category_of(trace, SliceId::from_index(ids[at] as usize)),
            Content::Points(_) => Category::Other.number(),
            Content::Steps => Category::Step.number(),
        }
    }

    /// The row of a slice in its lane's group.
    fn row_of(&self, trace: &Trace, id: SliceId) -> u32 {
        self.first_row(trace.slices().lane(id)) + u32::from(self.built.depth[id.index()])
    }

    /// The first row of a lane's group.
    fn first_row(&self, lane: LaneId) -> u32 {
        let group = self.built.group_of_lane.get(lane.index()).and_then(|&g| self.built.groups.get(g as usize));
        group.map_or(0, |group| group.rows.start)
    }
}

/// The last moment of all slices and of all points that are not metadata.
fn last_moment(trace: &Trace) -> i64 {
    let (slices, points) = (trace.slices(), trace.points());
    let ends = slices.ids().map(|id| slices.end(id));
    let timed = points.ids().filter(|&id| points.is_timed(id)).map(|id| points.at(id));
    let counted = trace.counters().rows().map(|row| row.at);
    let allocated = trace.allocations().ids().map(|id| trace.allocations().at(id));
    ends.chain(timed).chain(counted).chain(allocated).max().map_or(0, drawn)
}

fn module_calls(trace: &Trace) -> Vec<u32> {
    let slices = trace.slices();
    let mut is_module = ByName::new(trace, |name| name.starts_with(MODULE_CALL));
    let python = slices.ids().filter(|&id| slices.kind(id) == Kind::PythonFunction);
    python.filter(|&id| is_module.get(slices.name(id))).map(|id| id.index() as u32).collect()
}
