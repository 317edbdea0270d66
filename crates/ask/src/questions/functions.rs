//! Functions of a profile, or of the Python calls or samples in a trace: own time, time with what they call, calls.

use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_analyse::tables::functions::{
    self, AmountUnit, EdgeRow, FunctionRow, Functions, callees, callers, functions, value_of,
};
use stepscope_ground::Problem;
use stepscope_model::Profile;

use super::DEFAULT_TOP;
use super::ops::ratio;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES_AND_PROFILES, USUAL};
use crate::form::{Form, fact, rows};
use crate::options::RowOptions;
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, middle_ellipsis, units};
use crate::rows::{arrange, regex_of};

pub(super) const QUESTION: Question = Question {
    name: "functions",
    about: "Functions by self time, total time and calls, from cProfile, py-spy, pprof and other profiles, or from \
            Python calls and samples in a trace.",
    examples: &[
        "functions out.pstats --sort cumulative --top 10",
        "functions out.pstats --callers encode  who called it",
        "functions TRACE --sort waiting  where threads wait",
    ],
    group: Group::Time,
    options: &["sort", "top", "filter", "callers", "callees", "value"],
    report_by: Some(&[]),
    definitions: &[functions::DEFINITIONS, functions::EDGE_DEFINITIONS],
    forms: &[
        Form {
            name: "FunctionsAnswer",
            about: TRACES_AND_PROFILES,
            members: &[&[
                rows::<FunctionRow>("functions"),
                fact::<AmountUnit>("unit"),
                fact::<String>("value"),
                fact::<i64>("total"),
                fact::<Option<u64>>("samples"),
                fact::<Option<i64>>("waiting_ns"),
                fact::<Option<u64>>("calls"),
                fact::<Option<u64>>("primitive_calls"),
            ]],
        },
        Form {
            name: "FunctionsCallers",
            about: TRACES_AND_PROFILES,
            members: &[&[rows::<EdgeRow>("callers"), fact::<AmountUnit>("unit")]],
        },
        Form {
            name: "FunctionsCallees",
            about: TRACES_AND_PROFILES,
            members: &[&[rows::<EdgeRow>("callees"), fact::<AmountUnit>("unit")]],
        },
    ],
    answer,
    page_parts: &["functions"],
    ..USUAL
};

const NONE: &str = "no functions here; `stepscope run` records them, as do PyTorch's profiler (with_stack=True) and JAX's \
     (python_tracer_level=1)";

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let none = Profile::default();
    let profile = runs[0].profile().unwrap_or(&none);
    let value = chosen_value(profile, ask)?;
    match (&ask.callers, &ask.callees) {
        (Some(_), Some(_)) => {
            Err(Problem::new("--callers and --callees exclude each other", "ask for one after the other"))
        }
        (Some(pattern), None) => {
            let regex = regex_of("callers", pattern)?;
            calls_of(ask, callers(profile, value, |name| regex.is_match(name)), "callers", pattern)
        }
        (None, Some(pattern)) => {
            let regex = regex_of("callees", pattern)?;
            calls_of(ask, callees(profile, value, |name| regex.is_match(name)), "callees", pattern)
        }
        (None, None) => all(ask, functions(profile, value)),
    }
}

/// The value asked about, or the one that says most.
pub(super) fn chosen_value(profile: &Profile, ask: &Ask) -> Result<usize, Problem> {
    match value_of(profile, ask.value.as_deref()) {
        Some(value) => Ok(value),
        None if ask.value.is_none() => Ok(0),
        None => {
            let names: Vec<&str> = profile.values().iter().map(|value| value.name.as_str()).collect();
            Err(Problem::new(
                format!("this profile has no value '{}'", ask.value.as_deref().unwrap_or_default()),
                format!("it has {}", names.join(", ")),
            ))
        }
    }
}

/// The field that a word of `--sort` means; pstats' words work too.
fn sort_field(asked: &str, unit: AmountUnit) -> String {
    let ending = match unit {
        AmountUnit::Nanoseconds => "ns",
        AmountUnit::Samples => "samples",
        AmountUnit::Bytes => "bytes",
    };
    match asked.trim().to_ascii_lowercase().as_str() {
        "cumulative" | "cumtime" | "total" => format!("total_{ending}"),
        "time" | "tottime" | "internal" | "self" => format!("self_{ending}"),
        "calls" | "ncalls" => "calls".to_owned(),
        "pcalls" => "primitive_calls".to_owned(),
        "file" | "filename" | "module" => "file".to_owned(),
        "percall" => "self_per_call_ns".to_owned(),
        "waiting" => "waiting_ns".to_owned(),
        other => other.to_owned(),
    }
}

/// The rows asked for, with the word of `--sort` as a field.
fn rows_asked(ask: &Ask, unit: AmountUnit) -> RowOptions {
    let mut asked = ask.rows.clone();
    asked.sort = asked.sort.map(|sort| sort_field(&sort, unit));
    asked
}

fn all(ask: &Ask, report: Functions) -> Result<Answer, Problem> {
    let (unit, total) = (report.unit, report.total);
    let words = words(&report);
    // Of lines only totals are known.
    let default = match report.rows.iter().any(|row| row.own() != 0) {
        true => sort_field("self", unit),
        false => sort_field("total", unit),
    };
    let facts = (report.value, report.samples, report.waiting_ns, report.calls, report.primitive_calls);
    let rows = arrange(report.rows, &rows_asked(ask, unit), Some(&default), DEFAULT_TOP, |row| &row.name)?;
    let part = rows.into_part("functions", NONE, move |rows| table(rows, unit).title("Functions", &words));
    Ok(Answer::new(vec![part])
        .fact("unit", &unit)
        .fact("value", &facts.0)
        .fact("total", &total)
        .fact("samples", &facts.1)
        .fact("waiting_ns", &facts.2)
        .fact("calls", &facts.3)
        .fact("primitive_calls", &facts.4))
}

/// What is counted, in words.
pub(super) fn words(report: &Functions) -> String {
    let amount = amount_text(report.total, report.unit);
    let mut words = match (report.calls, report.primitive_calls) {
        (Some(calls), Some(primitive)) if calls != primitive => {
            format!("{amount} in {} calls ({} primitive)", units::count(calls), units::count(primitive))
        }
        (Some(calls), _) => format!("{amount} in {} calls", units::count(calls)),
        _ if report.samples.is_some() => format!("{amount}, by sampled stacks"),
        _ => amount,
    };
    if let Some(waiting) = report.waiting_ns.filter(|&ns| ns > 0) {
        words.push_str(&format!("; threads waited another {}", units::time(waiting)));
    }
    words
}

pub(super) fn amount_text(amount: i64, unit: AmountUnit) -> String {
    match unit {
        AmountUnit::Nanoseconds => units::time(amount),
        AmountUnit::Samples if amount == 1 => "1 sample".to_owned(),
        AmountUnit::Samples => format!("{} samples", units::count(amount.unsigned_abs())),
        AmountUnit::Bytes => units::bytes(amount),
    }
}

pub(super) fn amount(amount: i64, unit: AmountUnit) -> Cell {
    match unit {
        AmountUnit::Nanoseconds => Cell::time(amount),
        AmountUnit::Samples => Cell::count(amount.unsigned_abs()),
        AmountUnit::Bytes => Cell::bytes(amount),
    }
}

/// Calls as pstats writes them: `8361/1` where recursion made some.
fn calls_cell(calls: Option<u64>, primitive: Option<u64>) -> Cell {
    match (calls, primitive) {
        (Some(calls), Some(primitive)) if calls != primitive => {
            Cell::text(format!("{}/{}", units::count(calls), units::count(primitive)))
        }
        (calls, _) => Cell::maybe(calls, Cell::count),
    }
}

/// Functions that are not Python's have names in brackets, which say nothing.
pub(super) fn plain_name(name: &str) -> &str {
    name.strip_prefix('<')
        .and_then(|name| name.strip_suffix('>'))
        .filter(|name| name.contains(' '))
        .unwrap_or(name)
}

pub(super) fn table(rows: &[FunctionRow], unit: AmountUnit) -> Table {
    let counted = rows.iter().any(|r| r.calls.is_some());
    let waits = rows.iter().any(|r| r.waiting_ns.is_some_and(|ns| ns != 0));
    let own = rows.iter().any(|r| r.own() != 0);
    let largest = rows.iter().map(|r| r.self_share).fold(0.0, f64::max);
    let per_call = |ns: Option<f64>| Cell::maybe(ns, |ns| Cell::time(ns.round() as i64));
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Function"), |r| Cell::text(plain_name(&r.name)))
        .metric_if(counted, "calls", 120, |r| calls_cell(r.calls, r.primitive_calls))
        .add_if(own, Column::number("Self").keep(), |r| amount(r.own(), unit))
        .metric_if(own, "self_share", 150, |r| {
            let bar = if largest > 0.0 { r.self_share / largest } else { 0.0 };
            Cell::percent(r.self_share).bar(bar).role(Role::Host)
        })
        .metric_if(counted, "self_per_call_ns", 70, |r| per_call(r.self_per_call_ns))
        .add(Column::number("Total").keep(), |r| amount(r.total(), unit))
        .metric("total_share", 110, |r| Cell::percent(r.total_share))
        .metric_if(counted, "total_per_call_ns", 60, |r| per_call(r.total_per_call_ns))
        .metric_if(waits, "waiting_ns", 140, |r| Cell::maybe(r.waiting_ns, Cell::time))
        .add(Column::text("Where").flexible(14, middle_ellipsis).priority(130), |r| Cell::text(r.place()))
        .table()
}

fn calls_of(ask: &Ask, rows: Vec<EdgeRow>, key: &'static str, pattern: &str) -> Result<Answer, Problem> {
    let unit = match rows.first() {
        Some(EdgeRow { self_samples: Some(_), .. }) => AmountUnit::Samples,
        Some(EdgeRow { self_bytes: Some(_), .. }) => AmountUnit::Bytes,
        _ => AmountUnit::Nanoseconds,
    };
    let default = sort_field("total", unit);
    let rows = arrange(rows, &rows_asked(ask, unit), Some(&default), DEFAULT_TOP, |row| match key {
        "callers" => &row.caller,
        _ => &row.callee,
    })?;
    let title = match key {
        "callers" => format!("Callers of {pattern}"),
        _ => format!("What {pattern} called"),
    };
    let empty = "no such calls; the expression is looked for in file:line(name)";
    let part: Part = rows.into_part(key, empty, move |rows| {
        edges(rows, unit).title(&title, "times are those of the called function in these calls")
    });
    Ok(Answer::new(vec![part]).fact("unit", &unit))
}

fn edges(rows: &[EdgeRow], unit: AmountUnit) -> Table {
    let counted = rows.iter().any(|r| r.calls.is_some());
    let largest = rows.iter().map(EdgeRow::total).max().unwrap_or(0);
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Caller"), |r| Cell::text(plain_name(&r.caller)))
        .add(Column::name("Called"), |r| Cell::text(plain_name(&r.callee)))
        .metric_if(counted, "calls", KEEP, |r| calls_cell(r.calls, r.primitive_calls))
        .add(Column::number("Self").keep(), |r| amount(r.own(), unit))
        .add(Column::number("Total").keep(), |r| {
            amount(r.total(), unit).bar(ratio(r.total(), largest)).role(Role::Host)
        })
        .add(Column::text("Caller at").flexible(14, middle_ellipsis).priority(120), |r| {
            Cell::text(&r.caller_place)
        })
        .add(Column::text("Called at").flexible(14, middle_ellipsis).priority(110), |r| {
            Cell::text(&r.callee_place)
        })
        .table()
}
