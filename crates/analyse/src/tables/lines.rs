//! A row per line of a profile: measured one by one by a line profiler, or seen by a sampler.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{LineIs, Order, Profile, StrId};

use super::functions::{AmountUnit, Names, share};
use crate::scope::definition::{Definition, definitions};

#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TimedLine")]
pub struct LineRow {
    pub function: String,
    pub file: Option<String>,
    /// The line the function starts at, where that is known.
    pub function_line: Option<u32>,
    pub line: u32,
    pub hits: Option<u64>,
    pub time_ns: Option<i64>,
    pub samples: Option<i64>,
    pub bytes: Option<i64>,
    pub per_hit_ns: Option<f64>,
    /// Its share of its function.
    pub share: f64,
    /// Its share of the profile.
    pub profile_share: f64,
}

impl LineRow {
    /// Its amount in whatever unit the profile has.
    pub fn amount(&self) -> i64 {
        self.time_ns.or(self.samples).or(self.bytes).unwrap_or(0)
    }
}

/// The lines of a profile, those of a function together and rising.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    pub rows: Vec<LineRow>,
    pub unit: AmountUnit,
    /// The sum over all lines.
    pub total: i64,
}

/// The lines, if the profile has any: functions as the file has them where lines were timed, the largest first where
/// they were sampled.
pub fn lines(profile: &Profile, value: usize) -> Lines {
    match profile.lines.is_empty() {
        false => timed(profile),
        true => sampled(profile, value),
    }
}

fn timed(profile: &Profile) -> Lines {
    let names = Names::new(profile);
    let all = profile.lines.iter().map(|line| line.ns.0).fold(0, i64::saturating_add);
    let mut rows = Vec::with_capacity(profile.lines.len());
    for of_function in profile.lines.chunk_by(|a, b| a.function == b.function) {
        let function = names.function_of(of_function[0].function);
        let total = of_function.iter().map(|line| line.ns.0).fold(0, i64::saturating_add);
        let (file, function_line) = names.place(function);
        let first = rows.len();
        rows.extend(of_function.iter().map(|line| LineRow {
            function: names.name(function).to_owned(),
            file: file.clone(),
            function_line,
            line: line.line,
            hits: Some(line.hits).filter(|hits| *hits > 0),
            time_ns: Some(line.ns.0),
            per_hit_ns: (line.hits > 0).then(|| line.ns.0 as f64 / line.hits as f64),
            share: share(line.ns.0, total),
            profile_share: share(line.ns.0, all),
            ..LineRow::default()
        }));
        rows[first..].order_by_key(|row| row.line);
    }
    Lines { rows, unit: AmountUnit::Nanoseconds, total: all }
}

/// Own weight by line: that of the stacks whose innermost frame is at it. Only where frames say where they were.
fn sampled(profile: &Profile, value: usize) -> Lines {
    let unit = profile.values().get(value).map_or(AmountUnit::Samples, |kind| AmountUnit::from_unit(kind.unit));
    if profile.line_is == LineIs::Start {
        return Lines { unit, ..Lines::default() };
    }
    let names = Names::new(profile);
    let mut sums: HashMap<(StrId, StrId, u32), i64, RandomState> = HashMap::default();
    let mut of_function: HashMap<(StrId, StrId), i64, RandomState> = HashMap::default();
    for sample in profile.samples().iter() {
        let Some((_, frame)) = profile.stacks.pop(sample.stack) else { continue };
        if names.is_waiting(names.function_of(frame)) {
            continue;
        }
        let frame = profile.stacks.get(frame);
        let amount = sample.amounts.get(value).copied().unwrap_or(0);
        if frame.line > 0 && amount != 0 {
            for sum in [
                sums.entry((frame.name, frame.file, frame.line)).or_default(),
                of_function.entry((frame.name, frame.file)).or_default(),
            ] {
                *sum = sum.saturating_add(amount);
            }
        }
    }
    let all = of_function.values().copied().fold(0, i64::saturating_add);
    let mut keyed: Vec<((StrId, StrId, u32), i64)> = sums.into_iter().collect();
    let text = |id| profile.stacks.text(id);
    keyed.order_by(|(a, _), (b, _)| {
        let whole = |key: &(StrId, StrId, u32)| of_function.get(&(key.0, key.1)).copied().unwrap_or(0);
        let place = |key: &(StrId, StrId, u32)| (text(key.1), text(key.0), key.2);
        whole(b).cmp(&whole(a)).then_with(|| place(a).cmp(&place(b)))
    });
    let row = |((name, file, line), amount): ((StrId, StrId, u32), i64)| LineRow {
        function: text(name).to_owned(),
        file: Some(text(file)).filter(|file| !file.is_empty()).map(str::to_owned),
        line,
        time_ns: unit.only(AmountUnit::Nanoseconds, amount),
        samples: unit.only(AmountUnit::Samples, amount),
        bytes: unit.only(AmountUnit::Bytes, amount),
        share: share(amount, of_function.get(&(name, file)).copied().unwrap_or(0)),
        profile_share: share(amount, all),
        ..LineRow::default()
    };
    Lines { rows: keyed.into_iter().map(row).collect(), unit, total: all }
}

/// Every number of the table of lines.
pub const DEFINITIONS: &[Definition] = definitions! {
    "line", "Line" => "The line in its file, counted from 1.";
    "function_line", "Function's line" => "The line at which the function starts, where the profile says.";
    "hits", "Hits" => "How often the line ran. Unknown where stacks were sampled.";
    "time_ns", "Time" =>
        "Time in the line: measured around every run of it, with what it called, or, where stacks were sampled, the time \
         of those whose innermost frame was at it.";
    "samples", "Samples" =>
        "The weight of the stacks whose innermost frame was at the line, where the file has counts and no times.";
    "bytes", "Memory" =>
        "The memory of the stacks whose innermost frame was at the line, where the profile is one of memory.";
    "per_hit_ns", "Per hit" => "Time in the line divided by hits.";
    "share", "% Time" => "The line's amount divided by the sum over all lines of its function.";
    "profile_share", "Of all" => "The line's amount divided by the sum over all lines of the profile.";
    "total", "Sum" => "The sum over all lines, in the profile's unit.";
};
