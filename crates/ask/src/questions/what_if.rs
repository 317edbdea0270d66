//! The run replayed with something changed; without a change, what would help most.

mod changes;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::replay::ReplayedStep;
use stepscope_analyse::replay::what_if::{self, Change, MAX_REPLAY_ERROR, WhatIf};
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_ground::Problem;

use super::ops::ratio;
use super::{DEFAULT_TOP, only_functions};
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, middle_ellipsis, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "what-if",
    about: "What would a change save? Replays the run with something made faster or removed.",
    examples: &[
        "what-if TRACE  what would help most?",
        "what-if TRACE --op aten::mm --speedup 2",
        "what-if TRACE --kernel gemm --speedup 1.5 --no-data-loading",
        "what-if TRACE --free-launches --format json",
    ],
    group: Group::Change,
    options: &[
        "op",
        "kernel",
        "speedup",
        "no-data-loading",
        "no-sync",
        "overlap-transfers",
        "free-launches",
        "tensor-cores",
        "sort",
        "top",
        "filter",
        "step",
    ],
    report_by: Some(&[]),
    definitions: &[what_if::DEFINITIONS, OWN_DEFINITIONS],
    forms: &[Form {
        name: "WhatIfAnswer",
        about: TRACES,
        members: &[&[rows::<ReplayRow>("what_if"), rows::<ReplayedStep>("steps")]],
    }],
    answer,
    ..USUAL
};

/// What the columns of our own mean.
const OWN_DEFINITIONS: &[Definition] = definitions! {
    "saves_ns", "Saves" => "Measured less predicted time; below zero if the change costs time.";
    "saves_share", "Of the step" => "Measured less predicted time / measured time, as a fraction.";
    "saves_unprofiled_ns", "Without the profiler" =>
        "What the change saves of a mean step without the profiler: the difference between two replays from which the \
         estimated cost of recording is taken out.";
    "saves_unprofiled_share", "No profiler" => "The same as a fraction of the step without the profiler.";
    "device_slices_changed", "Work touched" => "Kernels, copies and memsets whose duration the change sets.";
};

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ReplayRow {
    change: String,
    measured_ns: i64,
    predicted_ns: i64,
    saves_ns: i64,
    saves_share: f64,
    saves_unprofiled_ns: i64,
    saves_unprofiled_share: f64,
    speedup: f64,
    replay_error: f64,
    device_slices_changed: u64,
}

impl ReplayRow {
    fn new(answer: &WhatIf) -> ReplayRow {
        let saves_ns = answer.measured_ns - answer.predicted_ns;
        ReplayRow {
            change: answer.changes.join(", "),
            measured_ns: answer.measured_ns,
            predicted_ns: answer.predicted_ns,
            saves_ns,
            saves_share: ratio(saves_ns, answer.measured_ns),
            saves_unprofiled_ns: answer.saves_unprofiled_ns,
            saves_unprofiled_share: answer.saves_unprofiled_share,
            speedup: answer.speedup,
            replay_error: answer.replay_error,
            device_slices_changed: answer.device_slices_changed,
        }
    }
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let mut changes = changes::asked(ask)?;
    if !changes.is_empty() || ask.tensor_cores {
        let hint = "leave out the changes to compare many";
        ask.refuse(&["sort", "top", "filter"], "one replay", hint)?;
    }
    let asked = ask.part_of(&runs[0])?;
    let trace = asked.trace();
    if ask.tensor_cores {
        changes.push(changes::on_tensor_cores(trace)?);
    }
    let replay =
        |changes: &[Change]| asked.run.what_if(changes).map_err(|what| changes::unknown(trace, what, changes));
    let standard = changes.is_empty();
    if let Some(beside) = changes.iter().find_map(|change| match change {
        Change::Operator { name, .. } if changes::is_beside_steps(&asked, name) => Some(name),
        _ => None,
    }) {
        return Err(Problem::new(
            format!("{beside} ran on worker threads, and this profile does not say which steps waited for it"),
            "`stepscope ops` and `stepscope account` show its time",
        ));
    }
    let mut beside: Vec<String> = Vec::new();
    let functions = only_functions(&asked.run).filter(|_| standard);
    let (rows, steps) = match standard {
        true if functions.is_some() => (Vec::new(), Vec::new()),
        false => {
            let answer = replay(&changes)?;
            (vec![ReplayRow::new(&answer)], answer.steps)
        }
        true => {
            let mut rows = Vec::new();
            for change in changes::standard(&asked) {
                if let Change::Operator { name, .. } = &change
                    && changes::is_beside_steps(&asked, name)
                {
                    beside.push(name.clone());
                    continue;
                }
                rows.push(ReplayRow::new(&replay(&[change])?));
            }
            (rows, Vec::new())
        }
    };
    let rows = arrange(rows, &ask.rows, Some("saves_ns"), DEFAULT_TOP, |r| &r.change)?;
    let none = match rows.rows.is_empty() {
        true => functions.unwrap_or("nothing to replay: no steps in this trace"),
        false => "none of the changes below would save anything",
    };
    let several = steps.len() > 1;
    let parts = vec![
        rows.into_part("what_if", none, move |rows| {
            let mut table = table(rows, standard);
            if !beside.is_empty() {
                table.note(format!(
                    "not replayed, because they ran on worker threads and the profile does not say which steps waited for \
                     them: {}",
                    beside.join(", ")
                ));
            }
            table
        }),
        Part::new("steps", steps, steps_table).shown(several),
    ];
    Ok(Answer::new(parts))
}

fn table(rows: &[ReplayRow], standard: bool) -> Table {
    let (measured, error) = rows.first().map_or((0, 0.0), |r| (r.measured_ns, r.replay_error));
    let error_words = match error {
        0.0 => "exact".to_owned(),
        error => format!("{} off", units::percent(error)),
    };
    let title = if standard { "What would help most" } else { "What if" };
    let words = format!("{} per step; the replay without a change is {error_words}", units::time(measured));
    // What would not help is named below: many lines of nothing hide the others.
    let (idle, rest): (Vec<&ReplayRow>, Vec<&ReplayRow>) =
        rows.iter().partition(|r| standard && r.saves_ns <= 0);
    let mut table = Columns::of(rest)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Change").flexible(36, middle_ellipsis), |r| Cell::text(&r.change))
        .metric("predicted_ns", KEEP, |r| Cell::time(r.predicted_ns))
        .metric("saves_ns", KEEP, |r| Cell::time(r.saves_ns))
        .metric("saves_share", 150, |r| {
            Cell::share(r.saves_share).role(if r.saves_ns < 0 { Role::Bad } else { Role::Good })
        })
        .metric("saves_unprofiled_share", 140, |r| Cell::share(r.saves_unprofiled_share))
        .metric("speedup", 130, |r| Cell::text(format!("{:.2}x", r.speedup)))
        .metric("device_slices_changed", 60, |r| Cell::count(r.device_slices_changed))
        .table()
        .title(title, if rows.is_empty() { String::new() } else { words });
    if !idle.is_empty() {
        const FASTER: &str = " 2x faster";
        let names = |faster: bool| -> String {
            let some = idle.iter().filter(|r| r.change.ends_with(FASTER) == faster);
            some.map(|r| r.change.trim_end_matches(FASTER)).collect::<Vec<_>>().join(", ")
        };
        for (what, names) in [("saves nothing", names(false)), ("saves nothing even 2x faster", names(true))] {
            if !names.is_empty() {
                table.note(format!("{what}: {names}"));
            }
        }
    }
    if !standard && rows.iter().any(|r| r.saves_ns == 0) {
        table.note(
            "it saves nothing: other work takes at least as long meanwhile; `stepscope critical-path` shows which",
        );
    }
    if error > MAX_REPLAY_ERROR {
        table.note("the replay does not reproduce this run well: read each saving as \"at most\"");
    }
    if standard && !rows.is_empty() {
        table.note(
            "each change is replayed alone: savings do not add up. Estimates: the host makes the same calls in the same \
             order, and overlapping work does not slow down",
        );
    }
    table
}

fn steps_table(steps: &[ReplayedStep]) -> Table {
    let saves = |s: &ReplayedStep| s.measured_ns - s.replayed_ns;
    Columns::of(steps)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Step").keep(), |s| {
            let name = if s.step >= 0 { s.step.to_string() } else { "all".to_owned() };
            let mark = if s.partial { " (left out)" } else { "" };
            Cell::text(format!("{name}{mark}"))
        })
        .metric("measured_ns", KEEP, |s| Cell::time(s.measured_ns))
        .metric("replayed_ns", KEEP, |s| Cell::time(s.replayed_ns))
        .add(Column::number("Saves").keep(), |s| Cell::time(saves(s)))
        .add(Column::number("Of the step").priority(150), |s| Cell::share(ratio(saves(s), s.measured_ns)))
        .table()
        .title("Step by step", "")
}
