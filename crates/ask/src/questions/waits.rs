//! Calls in which the host waits until a device has caught up.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::causes::waits::{self, WaitKind, WaitRow};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use super::ops::ratio;
use super::{DEFAULT_TOP, host_name, users_line};
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, end_ellipsis, middle_ellipsis, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "waits",
    alias: Some("sync"),
    about: "Calls where the host waits for a device to catch up.",
    examples: &["waits TRACE", "waits TRACE --filter item --sort calls"],
    group: Group::Waiting,
    options: &["sort", "top", "filter", "step", "full"],
    report_by: Some(&[]),
    definitions: &[waits::DEFINITIONS],
    forms: &[Form {
        name: "WaitsAnswer",
        about: TRACES,
        members: &[&[rows::<WaitRow>("waits"), fact::<WaitsTotals>("totals")]],
    }],
    answer,
    ..USUAL
};

/// All waits together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct WaitsTotals {
    calls: u64,
    wait_ns: i64,
    steps: u64,
    wall_ns: i64,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let report = asked.run.wait_rows().clone();
    let words = format!(
        "{} waited {} in {} of steps ({})",
        calls(report.calls),
        units::time(report.wait_ns),
        units::time(report.wall_ns),
        units::percent(ratio(report.wait_ns, report.wall_ns)),
    );
    let words = if report.calls == 0 { String::new() } else { words };
    let totals = WaitsTotals {
        calls: report.calls,
        wait_ns: report.wait_ns,
        steps: report.steps as u64,
        wall_ns: report.wall_ns,
    };
    let rows = arrange(report.rows, &ask.rows, None, DEFAULT_TOP, |r| r.op.as_deref().unwrap_or(&r.call))?;
    let empty = rows.when_empty("no call waited for a device in these steps");
    let (full, wall_ns, left_out) = (ask.full, report.wall_ns, rows.left_out());
    let of_pytorch = asked.trace().meta().framework.is_none();
    let part = Part::new("waits", rows.rows, move |rows| {
        let mut table = table(rows, wall_ns, full).title("Waits for the device", &words).when_empty(empty);
        table.notes(&left_out);
        if of_pytorch && !rows.is_empty() && rows.iter().all(|r| r.stack.is_empty()) {
            table.note("record with with_stack=True to see the lines of your program");
        }
        table
    });
    Ok(Answer::new(vec![part]).fact("totals", &totals))
}

fn calls(count: u64) -> String {
    if count == 1 { "one call".to_owned() } else { format!("{} calls", units::count(count)) }
}

fn kind_label(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Stream => "stream",
        WaitKind::Device => "device",
        WaitKind::Event => "event",
        WaitKind::BlockingCopy => "blocking copy",
        WaitKind::Result => "result",
        WaitKind::FullQueue => "full queue",
        WaitKind::Free => "free",
    }
}

fn table(rows: &[WaitRow], wall_ns: i64, full: bool) -> Table {
    let stacks = rows.iter().any(|r| !r.stack.is_empty());
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Asked for by").flexible(22, middle_ellipsis), |r| {
            Cell::text(host_name(r.op.as_deref().unwrap_or(&r.call), full))
        })
        .add(Column::text("Call").flexible(16, end_ellipsis).priority(100), |r| Cell::text(&r.call))
        .add(Column::text("Waits for").priority(120), |r| Cell::text(kind_label(r.kind)))
        .metric("calls_per_step", 140, |r| Cell::text(format!("{:.1}", r.calls_per_step)))
        .metric("wait_ns", KEEP, |r| Cell::time(r.wait_ns))
        .add(Column::number("Of the steps").priority(150), |r| {
            Cell::share(ratio(r.wait_ns, wall_ns)).role(Role::Bad)
        })
        .metric("total_ns", 70, |r| Cell::time(r.total_ns))
        .metric("max_wait_ns", 80, |r| Cell::time(r.max_wait_ns))
        .add_if(stacks, Column::text("Line").flexible(20, end_ellipsis).priority(130), |r| {
            Cell::maybe(users_line(&r.stack), Cell::text)
        })
        .table()
}
