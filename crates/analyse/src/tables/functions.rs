//! A row per function of a profile: its own time, its time with all that it called, and its calls where they were counted.
//!
//! Of counted calls (Python's `cProfile`) the numbers are the profiler's. Of weighted stacks, a function's own weight is that
//! of the stacks it ends, and its total that of the stacks it is in, however often.

mod calls;
mod definitions;
mod edges;
mod tree;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Frame, FrameId, LineIs, Order, Profile, StrId, ValueUnit};

use crate::names::python_frame::WAITING;
use tree::Tree;

pub use calls::{NoCalls, calls};
pub use definitions::{DEFINITIONS, EDGE_DEFINITIONS};
pub use edges::{EdgeRow, callees, callers};

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AmountUnit {
    #[default]
    Nanoseconds,
    /// Samples, or whatever else the file counts.
    Samples,
    Bytes,
}

impl AmountUnit {
    /// The unit of one of a profile's values.
    pub fn from_unit(unit: ValueUnit) -> AmountUnit {
        match unit {
            ValueUnit::Plain => AmountUnit::Samples,
            ValueUnit::Nanoseconds => AmountUnit::Nanoseconds,
            ValueUnit::Bytes => AmountUnit::Bytes,
        }
    }

    /// An amount, if this is its unit.
    pub(crate) fn only(self, unit: AmountUnit, amount: i64) -> Option<i64> {
        (self == unit).then_some(amount)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FunctionRow {
    pub name: String,
    /// The file it is in; none for functions that are not Python's.
    pub file: Option<String>,
    /// The line it starts at, where that is known.
    pub line: Option<u32>,
    /// How often it was called.
    pub calls: Option<u64>,
    /// The same without calls that recursion made.
    pub primitive_calls: Option<u64>,
    pub self_ns: Option<i64>,
    pub self_samples: Option<i64>,
    pub self_bytes: Option<i64>,
    /// Its own share of the profile.
    pub self_share: f64,
    pub self_per_call_ns: Option<f64>,
    pub total_ns: Option<i64>,
    pub total_samples: Option<i64>,
    pub total_bytes: Option<i64>,
    /// Its share of the profile with all that it called.
    pub total_share: f64,
    pub total_per_call_ns: Option<f64>,
    /// Time in which it waited, apart from its own.
    pub waiting_ns: Option<i64>,
}

impl FunctionRow {
    /// Where it is: `file:line`, or nothing.
    pub fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.clone(),
            _ => String::new(),
        }
    }

    /// Its own amount in whatever unit the profile has.
    pub fn own(&self) -> i64 {
        self.self_ns.or(self.self_samples).or(self.self_bytes).unwrap_or(0)
    }

    /// Its amount with all that it called.
    pub fn total(&self) -> i64 {
        self.total_ns.or(self.total_samples).or(self.total_bytes).unwrap_or(0)
    }
}

/// All functions of a profile.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    /// A row each, the largest own amount first.
    pub rows: Vec<FunctionRow>,
    pub unit: AmountUnit,
    /// The value they were taken from, by its name.
    pub value: String,
    /// The sum of all own amounts; waiting is not in it.
    pub total: i64,
    /// Time in which threads waited, where the profile knows.
    pub waiting_ns: Option<i64>,
    /// Calls, where they were counted.
    pub calls: Option<u64>,
    /// Calls that recursion did not make.
    pub primitive_calls: Option<u64>,
    /// Samples that were looked at, where the profile is made of them.
    pub samples: Option<u64>,
}

/// What tells functions apart: a name, a file and where the lines say so the line.
pub(crate) type FunctionKey = (StrId, StrId, u32);

/// Names one function of a profile.
pub(crate) type FunctionId = u32;

/// The functions behind a profile's frames.
pub(crate) struct Names<'a> {
    profile: &'a Profile,
    of_frame: Vec<FunctionId>,
    /// By function: a frame of it.
    frames: Vec<FrameId>,
    /// By function: whether its frames have more than one line.
    moves: Vec<bool>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(profile: &'a Profile) -> Names<'a> {
        let mut names = Names { profile, of_frame: Vec::new(), frames: Vec::new(), moves: Vec::new() };
        let mut known: HashMap<FunctionKey, FunctionId, RandomState> = HashMap::default();
        let starts = profile.line_is == LineIs::Start;
        for (id, frame) in profile.stacks.frames() {
            let key = (frame.name, frame.file, if starts { frame.line } else { 0 });
            let next = names.frames.len() as FunctionId;
            let function = *known.entry(key).or_insert(next);
            if function == next {
                names.frames.push(id);
                names.moves.push(!starts);
            }
            names.of_frame.push(function);
        }
        names
    }

    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(crate) fn function_of(&self, frame: FrameId) -> FunctionId {
        self.of_frame[frame.index()]
    }

    pub(crate) fn frame(&self, function: FunctionId) -> Frame {
        self.profile.stacks.get(self.frames[function as usize])
    }

    pub(crate) fn frame_id(&self, function: FunctionId) -> FrameId {
        self.frames[function as usize]
    }

    pub(crate) fn name(&self, function: FunctionId) -> &'a str {
        self.profile.stacks.text(self.frame(function).name)
    }

    /// Its file, and its first line if that is known.
    pub(crate) fn place(&self, function: FunctionId) -> (Option<String>, Option<u32>) {
        let frame = self.frame(function);
        let file = self.profile.stacks.text(frame.file);
        let line = (frame.line > 0 && !self.moves[function as usize]).then_some(frame.line);
        ((!file.is_empty()).then(|| file.to_owned()), line)
    }

    /// Whether it represents a thread that waits.
    pub(crate) fn is_waiting(&self, function: FunctionId) -> bool {
        self.name(function) == WAITING
    }
}

/// The value that a question is about: the one of this name, else the last that is a time or a size, else the first.
pub fn value_of(profile: &Profile, name: Option<&str>) -> Option<usize> {
    let values = profile.values();
    match name {
        Some(name) => values.iter().position(|value| value.name.eq_ignore_ascii_case(name)),
        None => {
            let known = values.iter().rposition(|value| value.unit != ValueUnit::Plain);
            known.or((!values.is_empty()).then_some(0))
        }
    }
}

/// The functions of a profile by one of its values. Counted calls come first: they have no stacks.
pub fn functions(profile: &Profile, value: usize) -> Functions {
    let names = Names::new(profile);
    let mut report = match (profile.calls.is_empty(), profile.samples().is_empty()) {
        (false, _) => counted(profile, &names),
        (true, false) => stacked(profile, &names, value),
        (true, true) => timed_lines(profile, &names),
    };
    report.rows.order_by(|a, b| {
        let order = (b.own(), b.total()).cmp(&(a.own(), a.total()));
        order.then_with(|| (&a.name, &a.file, a.line).cmp(&(&b.name, &b.file, b.line)))
    });
    report
}

fn counted(profile: &Profile, names: &Names<'_>) -> Functions {
    let sum =
        |of: fn(&stepscope_model::CallRow) -> u64| profile.calls.iter().map(of).fold(0, u64::saturating_add);
    let total = profile.calls.iter().map(|row| row.self_ns.0).fold(0, i64::saturating_add);
    let (calls, primitive) = (sum(|row| row.calls), sum(|row| row.primitive_calls));
    // Samplers that write such files do not know.
    let known = calls > 0;
    let row = |row: &stepscope_model::CallRow| {
        let function = names.function_of(row.frame);
        let (file, line) = names.place(function);
        FunctionRow {
            name: names.name(function).to_owned(),
            file,
            line,
            calls: known.then_some(row.calls),
            primitive_calls: known.then_some(row.primitive_calls),
            self_ns: Some(row.self_ns.0),
            self_share: share(row.self_ns.0, total),
            self_per_call_ns: per(row.self_ns.0, row.calls),
            total_ns: Some(row.total_ns.0),
            total_share: share(row.total_ns.0, total),
            total_per_call_ns: per(row.total_ns.0, row.primitive_calls),
            ..FunctionRow::default()
        }
    };
    Functions {
        rows: profile.calls.iter().map(row).collect(),
        total,
        value: "time".to_owned(),
        calls: known.then_some(calls),
        primitive_calls: known.then_some(primitive),
        ..Functions::default()
    }
}

fn stacked(profile: &Profile, names: &Names<'_>, value: usize) -> Functions {
    let kind = profile.values().get(value);
    let unit = kind.map_or(AmountUnit::Samples, |kind| AmountUnit::from_unit(kind.unit));
    let tree = Tree::new(profile, names, value);
    let (own, totals) = tree.sums();
    let waits = |function: &usize| names.is_waiting(*function as FunctionId);
    let knows_waiting = (0..names.len()).any(|function| waits(&function));
    let waiting = tree.waiting();
    let total = own.iter().copied().fold(0, i64::saturating_add);
    let row = |at: usize| {
        let function = at as FunctionId;
        let (file, line) = names.place(function);
        FunctionRow {
            name: names.name(function).to_owned(),
            file,
            line,
            self_ns: unit.only(AmountUnit::Nanoseconds, own[at]),
            self_samples: unit.only(AmountUnit::Samples, own[at]),
            self_bytes: unit.only(AmountUnit::Bytes, own[at]),
            self_share: share(own[at], total),
            total_ns: unit.only(AmountUnit::Nanoseconds, totals[at]),
            total_samples: unit.only(AmountUnit::Samples, totals[at]),
            total_bytes: unit.only(AmountUnit::Bytes, totals[at]),
            total_share: share(totals[at], total),
            waiting_ns: knows_waiting.then(|| waiting[at]),
            ..FunctionRow::default()
        }
    };
    let seen =
        (0..names.len()).filter(|at| !waits(at) && (own[*at] != 0 || totals[*at] != 0 || waiting[*at] != 0));
    Functions {
        rows: seen.map(row).collect(),
        unit,
        value: kind.map_or_else(String::new, |kind| kind.name.clone()),
        total,
        waiting_ns: knows_waiting.then(|| waiting.iter().copied().fold(0, i64::saturating_add)),
        samples: Some(profile.samples().len() as u64),
        ..Functions::default()
    }
}

/// Of a profile that has only lines: a function's total is the sum of its lines, and no one knows what is its own.
fn timed_lines(profile: &Profile, names: &Names<'_>) -> Functions {
    let mut rows = Vec::new();
    let total = profile.lines.iter().map(|line| line.ns.0).fold(0, i64::saturating_add);
    for of_function in profile.lines.chunk_by(|a, b| a.function == b.function) {
        let function = names.function_of(of_function[0].function);
        let (file, line) = names.place(function);
        let sum = of_function.iter().map(|line| line.ns.0).fold(0, i64::saturating_add);
        rows.push(FunctionRow {
            name: names.name(function).to_owned(),
            file,
            line,
            total_ns: Some(sum),
            total_share: share(sum, total),
            ..FunctionRow::default()
        });
    }
    Functions { rows, total, value: "time".to_owned(), ..Functions::default() }
}

pub(crate) fn share(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn per(ns: i64, calls: u64) -> Option<f64> {
    (calls > 0).then(|| ns as f64 / calls as f64)
}
