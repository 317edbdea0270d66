//! `stepscope waits`: calls in which the host stands still until a device has caught up.

use std::io::Write;

use serde_json::json;
use stepscope_analyse::causes::waits::{self, WaitKind, WaitRow, waits};

use super::ops::ratio;
use super::{TOP, host_name, refuse, users_line, wants_only_definitions};
use crate::args::Common;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{Cell, Column, Role, Table, end_ellipsis, units};
use crate::rows::arrange;
use crate::words::{Part, answer, only_definitions};

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    if wants_only_definitions(common) {
        return only_definitions(out, common, &[waits::DEFINITIONS]);
    }
    refuse(common, &["--by"], "the waits", "they are grouped by operator, call and kind")?;
    refuse(common, &["--device"], "the waits, which are calls of the host", "leave it out")?;
    let input = Input::load(common)?;
    let report = waits::report(&input.trace, &input.steps, &waits(&input.trace));
    let words = format!(
        "{} waited {} in {} of steps ({})",
        calls(report.calls),
        units::time(report.wait_ns),
        units::time(report.wall_ns),
        units::percent(ratio(report.wait_ns, report.wall_ns)),
    );
    let extra = vec![(
        "totals",
        json!({
            "calls": report.calls,
            "wait_ns": report.wait_ns,
            "steps": report.steps,
            "wall_ns": report.wall_ns,
        }),
    )];
    let rows = arrange(report.rows, common, None, TOP, |r| r.op.as_deref().unwrap_or(&r.call))?;
    let mut table = table(&rows.rows, report.wall_ns, common.full)
        .title("Waits for the device", if report.calls == 0 { String::new() } else { words })
        .when_empty(rows.when_empty("no call waited for a device in these steps"));
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    if !rows.rows.is_empty() && rows.rows.iter().all(|r| r.stack.is_empty()) {
        table.note("record with with_stack=True to see the lines of your program");
    }
    answer(out, common, vec![Part::new("waits", table, json!(rows.rows))], extra, &[waits::DEFINITIONS])
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
        WaitKind::Free => "free",
    }
}

fn table(rows: &[WaitRow], wall_ns: i64, full: bool) -> Table {
    let stacks = rows.iter().any(|r| !r.stack.is_empty());
    let mut columns = vec![
        Column::name("Asked for by").flexible(22, crate::print::middle_ellipsis),
        Column::text("Call").flexible(16, end_ellipsis).priority(100),
        Column::text("Waits for").priority(120),
        Column::number("Calls a step").priority(140),
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
