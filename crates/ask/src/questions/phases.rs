//! Device time by kind of work and phase of the step.

use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_analyse::tables::phases::{self, Phase, PhaseRow, PhaseTotals};
use stepscope_ground::Problem;

use crate::answer::Answer;
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{Cell, Column, Columns, Role, Table, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "phases",
    about: "Device time per step by kind of work (GEMM, attention, pointwise, …) and phase (forward, backward, recompute, \
            update).",
    examples: &["phases TRACE", "phases TRACE --step 3 --sort backward"],
    group: Group::Time,
    options: &["sort", "top", "filter", "step", "device"],
    report_by: Some(&[]),
    definitions: &[phases::DEFINITIONS],
    forms: &[Form {
        name: "PhasesAnswer",
        about: TRACES,
        members: &[&[rows::<PhaseRow>("phases"), fact::<PhaseTotals>("totals")]],
    }],
    answer,
    page_parts: &["phases"],
    ..USUAL
};

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let run = &asked.run;
    let report = phases::phases(asked.trace(), run.host(), run.tree(), asked.steps(), ask.device);
    let (totals, sums) = (report.totals.clone(), report.phases.clone());
    let rows = arrange(report.phases, &ask.rows, None, 0, |r| r.category.label())?;
    let part = rows.into_part("phases", "nothing ran on a device in this trace", {
        let totals = totals.clone();
        move |rows| {
            let mut table = table(rows, &sums, totals.steps).title("Phases", words(&totals));
            if totals.outside_steps_ns > 0 {
                table.note(format!(
                    "{} of device time is outside every step",
                    units::time(totals.outside_steps_ns)
                ));
            }
            table
        }
    });
    Ok(Answer::new(vec![part]).fact("totals", &totals))
}

fn words(totals: &PhaseTotals) -> String {
    let device = units::time(totals.total_device_ns / (totals.steps as i64).max(1));
    match totals.steps {
        0 | 1 => format!("device time {device}; rows and columns add up"),
        steps => {
            format!("device time {device} per step, mean of {}; rows and columns add up", units::count(steps))
        }
    }
}

/// The phases in which there is anything are columns; a line below adds them up over all categories.
fn table(rows: &[PhaseRow], all: &[PhaseRow], steps: u64) -> Table {
    let per_step = |ns: i64| ns / (steps as i64).max(1);
    let phases: Vec<Phase> =
        Phase::ALL.into_iter().filter(|&phase| all.iter().any(|r| r.time_in(phase) != 0)).collect();
    let largest = rows.iter().filter_map(|r| r.share).fold(0.0, f64::max);
    let time = |ns: i64| if ns == 0 { Cell::nothing() } else { Cell::time(per_step(ns)) };
    let mut table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Category"), |r| Cell::text(r.category.label()))
        .add_each(
            phases.iter().copied(),
            |phase| Column::number(phase.label()).priority(140),
            |phase, r| time(r.time_in(phase)),
        )
        .add(Column::number("Total").keep(), |r| Cell::time(r.step_ns))
        .metric("share", 130, |r| {
            Cell::maybe(r.share, |share| {
                Cell::percent(share).bar(if largest > 0.0 { share / largest } else { 0.0 }).role(Role::Device)
            })
        })
        .metric("calls", 60, |r| Cell::count(r.calls))
        .table();
    if rows.len() > 1 && rows.len() == all.len() {
        let sum = |value: &dyn Fn(&PhaseRow) -> i64| all.iter().map(value).fold(0i64, i64::saturating_add);
        let mut cells = vec![Cell::text("all")];
        cells.extend(phases.iter().map(|&phase| time(sum(&|r| r.time_in(phase)))));
        cells.push(Cell::time(per_step(sum(&|r| r.total_ns))));
        cells.push(Cell::nothing());
        cells.push(Cell::count(all.iter().map(|r| r.calls).sum()));
        table.total(cells);
    }
    table
}
