//! Who allocates memory and who keeps it: a row per line or stack of a profile of memory.
//!
//! A line is the innermost one of the user's: that `numpy/core/numeric.py` allocates says little, and who called it much.

mod advice;
mod definitions;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{FrameId, HeapFacts, Order, Profile, StackId};

use crate::names::users_frames::users_frames;

pub use advice::{Advice, advice, growth, snapshot_advice};
pub use definitions::{DEFINITIONS, MORE_DEFINITIONS};

/// What stacks say where no Python was running.
const NO_PYTHON: &str = "<no Python>";

/// Bytes and allocations of one line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct HeapLineRow {
    pub function: String,
    pub file: String,
    pub line: u32,
    /// Bytes alive at the peak.
    pub peak_bytes: i64,
    /// Its share of the peak.
    pub peak_share: f64,
    /// Allocations alive at the peak.
    pub peak_count: i64,
    /// Bytes alive at the end.
    pub live_bytes: i64,
    /// Allocations alive at the end.
    pub live_count: i64,
    /// What was added to them in the later part of the run; none in one too short to say.
    pub growth_bytes: Option<i64>,
    pub allocated_bytes: i64,
    pub allocations: i64,
}

impl HeapLineRow {
    /// `file:line`, or the file alone.
    pub fn place(&self) -> String {
        match self.line {
            0 => self.file.clone(),
            line => format!("{}:{line}", self.file),
        }
    }
}

/// Bytes and allocations of one stack.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct HeapStackRow {
    /// Its frames, innermost first, as `file(line): name`.
    pub stack: Vec<String>,
    /// Bytes alive at the peak.
    pub peak_bytes: i64,
    /// Its share of the peak.
    pub peak_share: f64,
    /// Allocations alive at the peak.
    pub peak_count: i64,
    /// Bytes alive at the end.
    pub live_bytes: i64,
    pub allocated_bytes: i64,
    pub allocations: i64,
}

/// What a line of a chosen function did to the memory of the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LineMemoryRow {
    pub function: String,
    pub file: String,
    /// The line it starts at.
    pub function_line: u32,
    /// The line; 0 where the whole function is meant.
    pub line: u32,
    pub occurrences: u64,
    /// The most of the process that was in memory after it.
    pub memory_bytes: u64,
    /// What was in memory after it and not before, over all its runs.
    pub increment_bytes: i64,
    /// Bytes that the line itself allocated, or what it called outside the user's code.
    pub allocated_bytes: i64,
}

/// How much memory there was at one time.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryPoint {
    /// When, since the start.
    pub at_ns: i64,
    /// The most bytes allocated since the point before.
    pub live_bytes: Option<u64>,
    /// How much of the process was in memory.
    pub rss_bytes: Option<u64>,
}

/// The memory of a program.
#[derive(Clone, Debug, Default)]
pub struct HeapReport {
    /// A row per line, the largest at the peak first.
    pub lines: Vec<HeapLineRow>,
    /// What lines of chosen functions did.
    pub line_memory: Vec<LineMemoryRow>,
    pub facts: HeapFacts,
}

/// The memory of a program by line; empty for a profile of something else.
pub fn heap(profile: &Profile) -> HeapReport {
    let Some(facts) = &profile.heap else { return HeapReport::default() };
    let (places, _) = users_frames(&profile.stacks);
    let mut at: HashMap<Option<FrameId>, usize, RandomState> = HashMap::default();
    let mut rows: Vec<HeapLineRow> = Vec::new();
    for sample in profile.samples().iter() {
        let frame = places[sample.stack.index()];
        let row = *at.entry(frame).or_insert_with(|| {
            rows.push(row_of(profile, frame));
            rows.len() - 1
        });
        add(&mut rows[row], sample.amounts, facts);
    }
    for row in &mut rows {
        row.peak_share = share(row.peak_bytes, facts.peak_bytes);
    }
    rows.order_by(|a, b| {
        let key = |row: &HeapLineRow| (row.peak_bytes, row.live_bytes, row.allocated_bytes);
        key(b).cmp(&key(a)).then_with(|| (&a.file, a.line, &a.function).cmp(&(&b.file, b.line, &b.function)))
    });
    let line_memory = line_memory(profile, facts, &rows);
    HeapReport { lines: rows, line_memory, facts: facts.clone() }
}

fn row_of(profile: &Profile, frame: Option<FrameId>) -> HeapLineRow {
    let Some(id) = frame else {
        return HeapLineRow { function: NO_PYTHON.to_owned(), ..HeapLineRow::default() };
    };
    let frame = profile.stacks.get(id);
    HeapLineRow {
        function: profile.stacks.name(id).to_owned(),
        file: profile.stacks.text(frame.file).to_owned(),
        line: frame.line,
        ..HeapLineRow::default()
    }
}

/// Amounts of a sample, in the order of `HEAP_VALUES`.
fn amounts(values: &[i64]) -> [i64; 7] {
    std::array::from_fn(|at| values.get(at).copied().unwrap_or(0).max(0))
}

fn add(row: &mut HeapLineRow, values: &[i64], facts: &HeapFacts) {
    let [allocations, allocated, live_count, peak_count, earlier, live, peak] = amounts(values);
    let sum = |sum: &mut i64, more: i64| *sum = sum.saturating_add(more);
    sum(&mut row.allocations, allocations);
    sum(&mut row.allocated_bytes, allocated);
    sum(&mut row.live_count, live_count);
    sum(&mut row.peak_count, peak_count);
    sum(&mut row.live_bytes, live);
    sum(&mut row.peak_bytes, peak);
    if facts.earlier_at.is_some() {
        let growth = row.growth_bytes.unwrap_or(0);
        row.growth_bytes = Some(growth.saturating_add(live.saturating_sub(earlier)));
    }
}

fn share(bytes: i64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { bytes as f64 / of as f64 }
}

/// Stacks by what they held at the peak, the largest first, each of so many frames at most.
pub fn heap_stacks(profile: &Profile, frames: usize) -> Vec<HeapStackRow> {
    let Some(facts) = &profile.heap else { return Vec::new() };
    let mut sums: HashMap<Vec<FrameId>, [i64; 7], RandomState> = HashMap::default();
    for sample in profile.samples().iter() {
        let stack = innermost(profile, sample.stack, frames);
        let sum = sums.entry(stack).or_default();
        for (sum, more) in sum.iter_mut().zip(amounts(sample.amounts)) {
            *sum = sum.saturating_add(more);
        }
    }
    let mut rows: Vec<HeapStackRow> = sums
        .into_iter()
        .map(|(stack, [allocations, allocated_bytes, _, peak_count, _, live_bytes, peak_bytes])| HeapStackRow {
            stack: match stack.is_empty() {
                true => vec![NO_PYTHON.to_owned()],
                false => stack.into_iter().map(|frame| frame_text(profile, frame)).collect(),
            },
            peak_bytes,
            peak_share: share(peak_bytes, facts.peak_bytes),
            peak_count,
            live_bytes,
            allocated_bytes,
            allocations,
        })
        .collect();
    rows.order_by(|a, b| {
        (b.peak_bytes, b.allocated_bytes)
            .cmp(&(a.peak_bytes, a.allocated_bytes))
            .then_with(|| a.stack.cmp(&b.stack))
    });
    rows
}

fn innermost(profile: &Profile, mut stack: StackId, most: usize) -> Vec<FrameId> {
    let mut found = Vec::new();
    while found.len() < most
        && let Some((below, frame)) = profile.stacks.pop(stack)
    {
        found.push(frame);
        stack = below;
    }
    found
}

fn frame_text(profile: &Profile, id: FrameId) -> String {
    let frame = profile.stacks.get(id);
    format!("{}({}): {}", profile.stacks.text(frame.file), frame.line, profile.stacks.name(id))
}

fn line_memory(profile: &Profile, facts: &HeapFacts, rows: &[HeapLineRow]) -> Vec<LineMemoryRow> {
    let allocated: HashMap<(&str, u32), i64, RandomState> =
        rows.iter().fold(HashMap::default(), |mut sums, row| {
            let sum: &mut i64 = sums.entry((row.file.as_str(), row.line)).or_default();
            *sum = sum.saturating_add(row.allocated_bytes);
            sums
        });
    let row = |line: &stepscope_model::HeapLine| {
        let frame = profile.stacks.get(line.function);
        let file = profile.stacks.text(frame.file);
        LineMemoryRow {
            function: profile.stacks.name(line.function).to_owned(),
            file: file.to_owned(),
            function_line: frame.line,
            line: line.line,
            occurrences: line.hits,
            memory_bytes: line.rss_bytes,
            increment_bytes: line.increment_bytes,
            allocated_bytes: allocated.get(&(file, line.line)).copied().unwrap_or(0),
        }
    };
    facts.lines.iter().map(row).collect()
}

impl HeapReport {
    /// The most of the process that was in memory, and when.
    pub fn peak_rss(&self) -> Option<(u64, i64)> {
        let points = self.facts.curve.iter().filter_map(|point| Some((point.rss_bytes?, point.at.0)));
        points.max_by_key(|&(bytes, at)| (bytes, std::cmp::Reverse(at)))
    }

    pub fn curve(&self) -> Vec<MemoryPoint> {
        let point = |point: &stepscope_model::HeapPoint| MemoryPoint {
            at_ns: point.at.0,
            live_bytes: point.live_bytes,
            rss_bytes: point.rss_bytes,
        };
        self.facts.curve.iter().map(point).collect()
    }
}
