//! How long each step waited for its batch.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::causes::data_loading::{self, DataLoading, LoadingRow};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use super::ops::{ratio, share, unless_empty};
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "loading",
    about: "Data loading: how long each step waited for its batch.",
    examples: &["loading TRACE", "loading TRACE --sort exposed --top 5"],
    group: Group::Waiting,
    options: &["sort", "top", "step"],
    report_by: Some(&[]),
    definitions: &[data_loading::DEFINITIONS],
    forms: &[Form {
        name: "LoadingAnswer",
        about: TRACES,
        members: &[&[
            rows::<LoadingRow>("loading"),
            rows::<LoaderOp>("operators"),
            fact::<Option<bool>>("workers"),
            fact::<Option<String>>("range"),
            fact::<LoadingTotals>("totals"),
        ]],
    }],
    answer,
    ..USUAL
};

/// Operators of the loader that people see.
const MAX_OPERATORS: usize = 10;

/// All steps together.
#[derive(Copy, Clone, Debug, Serialize, JsonSchema)]
struct LoadingTotals {
    loading_ns: i64,
    exposed_ns: i64,
    wall_ns: i64,
}

/// What the main thread does while a batch is loaded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct LoaderOp {
    name: String,
    self_ns: i64,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let report = asked.run.loading();
    let words = words(report);
    let totals =
        LoadingTotals { loading_ns: report.loading_ns, exposed_ns: report.exposed_ns, wall_ns: report.wall_ns };
    let operators =
        report.operators.iter().map(|(name, ns)| LoaderOp { name: name.clone(), self_ns: *ns }).collect();
    let rows = arrange(report.rows.clone(), &ask.rows, None, 0, |_| "")?;
    let none = match report.loading_ns {
        0 => {
            "no data loader found: PyTorch's DataLoader and tf.data are recognized by their own ranges, others by a range \
             called data_loading"
        }
        _ => "no steps in this trace",
    };
    let mut notes: Vec<String> = Vec::new();
    notes.extend(report.range.as_ref().map(|range| format!("batches are fetched in {range}")));
    notes.extend(report.workers.map(|workers| match workers {
        true => "worker processes prepare them (num_workers > 0)".to_owned(),
        false => "the main thread prepares them itself (num_workers=0)".to_owned(),
    }));
    notes.extend(rows.left_out());
    let loading = Part::new("loading", rows.rows, move |rows| {
        // Steps that loaded nothing say nothing.
        let shown = if totals.loading_ns == 0 { &rows[..0] } else { rows };
        let mut table = table(shown, &totals).title("Data loading", &words).when_empty(none);
        table.notes(&notes);
        table
    });
    let operators = Part::new("operators", operators, move |rows| operators_table(rows, totals.loading_ns));
    Ok(Answer::new(vec![loading, unless_empty(operators)])
        .fact("workers", &report.workers)
        .fact("range", &report.range)
        .fact("totals", &totals))
}

fn words(report: &DataLoading) -> String {
    if report.loading_ns == 0 {
        return String::new();
    }
    format!(
        "{} of {} ({}) with idle devices",
        units::time(report.exposed_ns),
        units::time(report.wall_ns),
        units::percent(ratio(report.exposed_ns, report.wall_ns)),
    )
}

fn table(rows: &[LoadingRow], report: &LoadingTotals) -> Table {
    let mut table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Step").keep(), |r| {
            Cell::text(if r.step >= 0 { r.step.to_string() } else { "all".to_owned() })
        })
        .metric("wall_ns", KEEP, |r| Cell::time(r.wall_ns))
        .metric("loading_ns", KEEP, |r| Cell::time(r.loading_ns))
        .metric("exposed_ns", KEEP, |r| Cell::time(r.exposed_ns))
        .add(Column::number("Of the step").priority(150), |r| {
            Cell::share(ratio(r.exposed_ns, r.wall_ns)).role(Role::DataLoad)
        })
        .table();
    if rows.len() > 1 {
        table.total(vec![
            Cell::text("all"),
            Cell::time(report.wall_ns),
            Cell::time(report.loading_ns),
            Cell::time(report.exposed_ns),
            Cell::percent(ratio(report.exposed_ns, report.wall_ns)),
        ]);
    }
    table
}

/// What ran inside of it on the main thread.
fn operators_table(rows: &[LoaderOp], loading_ns: i64) -> Table {
    let largest = rows.first().map_or(0, |o| o.self_ns);
    Columns::of(rows.iter().take(MAX_OPERATORS))
        .defined_by(QUESTION.definitions)
        .add(Column::name("Operator or call"), |op| Cell::text(&op.name))
        .metric("self_ns", KEEP, |op| Cell::time(op.self_ns))
        .add(Column::number("Of loading").priority(150), |op| {
            share(op.self_ns, loading_ns, largest).role(Role::DataLoad)
        })
        .table()
        .title("While loading", "what the main thread does meanwhile, by self time")
}
