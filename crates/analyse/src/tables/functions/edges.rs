//! Who called a function, and what it called.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{CallRow, Caller, Order, Profile};

use super::tree::Tree;
use super::{AmountUnit, FunctionId, Names};

/// One function's calls of another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct EdgeRow {
    /// The function that called.
    pub caller: String,
    pub caller_place: String,
    /// The function that was called.
    pub callee: String,
    pub callee_place: String,
    /// How often, where calls were counted.
    pub calls: Option<u64>,
    /// The same without calls that recursion made.
    pub primitive_calls: Option<u64>,
    /// Time of the called function's own in these calls.
    pub self_ns: Option<i64>,
    pub self_samples: Option<i64>,
    pub self_bytes: Option<i64>,
    pub total_ns: Option<i64>,
    pub total_samples: Option<i64>,
    pub total_bytes: Option<i64>,
}

impl EdgeRow {
    /// The called function's own amount in whatever unit the profile has.
    pub fn own(&self) -> i64 {
        self.self_ns.or(self.self_samples).or(self.self_bytes).unwrap_or(0)
    }

    /// Its amount with all that it called.
    pub fn total(&self) -> i64 {
        self.total_ns.or(self.total_samples).or(self.total_bytes).unwrap_or(0)
    }
}

/// Calls of the functions that are meant.
pub fn callers(profile: &Profile, value: usize, is_meant: impl Fn(&str) -> bool) -> Vec<EdgeRow> {
    edges(profile, value, |names, _, callee| is_meant(&full_name(names, callee)))
}

/// Calls that the functions that are meant made.
pub fn callees(profile: &Profile, value: usize, is_meant: impl Fn(&str) -> bool) -> Vec<EdgeRow> {
    edges(profile, value, |names, caller, _| is_meant(&full_name(names, caller)))
}

/// What a function is looked for by: its place and its name, as pstats prints them.
fn full_name(names: &Names<'_>, function: FunctionId) -> String {
    match names.place(function) {
        (Some(file), Some(line)) => format!("{file}:{line}({})", names.name(function)),
        (Some(file), None) => format!("{file}({})", names.name(function)),
        _ => names.name(function).to_owned(),
    }
}

fn edges(
    profile: &Profile,
    value: usize,
    keep: impl Fn(&Names<'_>, FunctionId, FunctionId) -> bool,
) -> Vec<EdgeRow> {
    let names = Names::new(profile);
    let mut rows = match profile.calls.is_empty() {
        false => {
            let pairs =
                profile.calls.iter().flat_map(|row| row.callers.iter().map(move |caller| (row, caller)));
            let kept = pairs.filter(|(row, caller)| {
                keep(&names, names.function_of(caller.frame), names.function_of(row.frame))
            });
            kept.map(|(row, caller)| counted(&names, row, caller)).collect::<Vec<_>>()
        }
        true => {
            let unit = profile
                .values()
                .get(value)
                .map_or(AmountUnit::Samples, |kind| AmountUnit::from_unit(kind.unit));
            let all = Tree::new(profile, &names, value).edges();
            let kept = all.into_iter().filter(|((caller, callee), _)| keep(&names, *caller, *callee));
            kept.map(|((caller, callee), (own, total))| EdgeRow {
                self_ns: unit.only(AmountUnit::Nanoseconds, own),
                self_samples: unit.only(AmountUnit::Samples, own),
                self_bytes: unit.only(AmountUnit::Bytes, own),
                total_ns: unit.only(AmountUnit::Nanoseconds, total),
                total_samples: unit.only(AmountUnit::Samples, total),
                total_bytes: unit.only(AmountUnit::Bytes, total),
                ..between(&names, caller, callee)
            })
            .collect()
        }
    };
    rows.order_by(|a, b| {
        let texts = |row: &EdgeRow| {
            [&row.callee, &row.callee_place, &row.caller, &row.caller_place].map(|text| text.clone())
        };
        (b.total(), b.own()).cmp(&(a.total(), a.own())).then_with(|| texts(a).cmp(&texts(b)))
    });
    rows
}

fn between(names: &Names<'_>, caller: FunctionId, callee: FunctionId) -> EdgeRow {
    let place = |function| match names.place(function) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file,
        _ => String::new(),
    };
    EdgeRow {
        caller: names.name(caller).to_owned(),
        caller_place: place(caller),
        callee: names.name(callee).to_owned(),
        callee_place: place(callee),
        ..EdgeRow::default()
    }
}

fn counted(names: &Names<'_>, row: &CallRow, caller: &Caller) -> EdgeRow {
    let known = row.calls > 0;
    EdgeRow {
        calls: known.then_some(caller.calls),
        primitive_calls: known.then_some(caller.primitive_calls),
        self_ns: Some(caller.self_ns.0),
        total_ns: Some(caller.total_ns.0),
        ..between(names, names.function_of(caller.frame), names.function_of(row.frame))
    }
}
