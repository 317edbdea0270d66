//! Calls in which the host waits until a device has caught up.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::causes::waits::{self, WaitKind, WaitRow};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use super::ops::ratio;
use super::{TOP, host_name, users_line};
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES};
use crate::print::{Cell, Column, Role, Table, end_ellipsis, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "waits",
    alias: Some("sync"),
    about: "Calls where the host waits for a device to catch up.",
    examples: &["waits TRACE", "waits TRACE --filter item --sort calls"],
    group: Group::Waiting,
    by: &[],
    options: &["sort", "top", "filter", "step", "full"],
    report_by: Some(&[]),
    definitions: &[waits::DEFINITIONS],
    answers_for: TRACES,
    answer,
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
    let rows = arrange(report.rows, &ask.rows, None, TOP, |r| r.op.as_deref().unwrap_or(&r.call))?;
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
    let mut columns = vec![
        Column::name("Asked for by").flexible(22, crate::print::middle_ellipsis),
        Column::text("Call").flexible(16, end_ellipsis).priority(100),
        Column::text("Waits for").priority(120),
        Column::number("Calls per step").priority(140),
        Column::number("Waited").keep(),
        Column::number("Of the steps").priority(150),
        Column::number("In calls").priority(70),
        Column::number("Longest").priority(80),
    ];
    if stacks {
        columns.push(Column::text("Line").flexible(20, end_ellipsis).priority(130));
    }
    let mut table = Table::new(columns);
    for r in rows {
        let mut cells = vec![
            Cell::text(host_name(r.op.as_deref().unwrap_or(&r.call), full)),
            Cell::text(&r.call),
            Cell::text(kind_label(r.kind)),
            Cell::text(format!("{:.1}", r.calls_per_step)),
            Cell::time(r.wait_ns),
            Cell::share(ratio(r.wait_ns, wall_ns)).role(Role::Bad),
            Cell::time(r.total_ns),
            Cell::time(r.max_wait_ns),
        ];
        if stacks {
            cells.push(Cell::maybe(users_line(&r.stack), Cell::text));
        }
        table.row(cells);
    }
    table
}
