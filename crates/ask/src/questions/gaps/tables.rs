//! The four tables of the gaps.

use stepscope_analyse::causes::gaps::{CulpritRow, GapKindRow, GapRow, StreamRow};
use stepscope_analyse::causes::idle::GapKind;

use super::super::account::{role, without_idle};
use super::super::kernels::shown_name;
use super::super::{gpu_name, host_name, users_line};
use super::NONE;
use crate::answer::Part;
use crate::print::{Cell, Column, Role, Table, end_ellipsis, units};
use crate::rows::Arranged;

/// A kind in words.
pub(super) fn kind_label(kind: GapKind) -> &'static str {
    match kind {
        GapKind::HostLate => "host late",
        GapKind::LaunchLatency => "launch latency",
        GapKind::QueuedGap => "queued",
        GapKind::Dependency => "other stream",
        GapKind::EndOfStep => "end of step",
        GapKind::Unlinked => "unlinked",
        GapKind::Unknown => "unknown",
    }
}

/// What it means for the work after the gap, in a few words; `--explain` says more.
fn meaning(kind: GapKind) -> &'static str {
    match kind {
        GapKind::HostLate => "launched too late",
        GapKind::LaunchLatency => "on its way to the device",
        GapKind::QueuedGap => "from one kernel to the next",
        GapKind::Dependency => "waited for another stream",
        GapKind::EndOfStep => "next work in a later step",
        GapKind::Unlinked => "launch not recorded",
        GapKind::Unknown => "device work not recorded",
    }
}

fn kind_role(kind: GapKind) -> Role {
    match kind {
        GapKind::HostLate | GapKind::EndOfStep => Role::Warn,
        GapKind::LaunchLatency => Role::Runtime,
        GapKind::Dependency => Role::Bad,
        GapKind::QueuedGap | GapKind::Unlinked | GapKind::Unknown => Role::Idle,
    }
}

pub(super) fn kinds(rows: Arranged<GapKindRow>, words: String) -> Part {
    let words = if rows.all == 0 { String::new() } else { words };
    rows.into_part("kinds", NONE, move |rows| kinds_table(rows, &words))
}

fn kinds_table(rows: &[GapKindRow], words: &str) -> Table {
    let several = rows.iter().any(|r| r.device != rows[0].device);
    let mut columns = vec![Column::text("Kind").keep(), Column::text("Meaning").priority(105)];
    if several {
        columns.push(Column::text("GPU").keep());
    }
    columns.extend([
        Column::number("Gaps").priority(150),
        Column::number("Idle").keep(),
        Column::number("Of the steps").priority(160),
        Column::number("Longest").priority(90),
    ]);
    let mut table = Table::new(columns).title("Gaps", words);
    for r in rows {
        let mut cells = vec![Cell::text(kind_label(r.kind)), Cell::text(meaning(r.kind)).role(Role::Dim)];
        if several {
            cells.push(Cell::text(gpu_name(r.device)));
        }
        cells.extend([
            Cell::count(r.gaps),
            Cell::time(r.idle_ns),
            Cell::share(r.share_of_steps).role(kind_role(r.kind)),
            Cell::time(r.max_ns),
        ]);
        table.row(cells);
    }
    table
}

pub(super) fn culprits(rows: Arranged<CulpritRow>, full: bool) -> Part {
    rows.into_part("culprits", NONE, move |rows| culprits_table(rows, full))
}

fn culprits_table(rows: &[CulpritRow], full: bool) -> Table {
    let mut table = Table::new(vec![
        Column::name("Culprit"),
        Column::text("Cause").priority(130),
        Column::number("Idle").keep(),
        Column::number("Of idle").priority(150),
        Column::number("Pieces").priority(80),
    ])
    .title("What makes the device idle", "what the host was doing while the device had no work");
    for r in rows {
        let cause = without_idle(r.cause);
        // Where nobody is to blame, the culprit is the cause again.
        let named = r.culprit != r.cause.label();
        table.row(vec![
            if named {
                Cell::text(host_name(&r.culprit, full))
            } else {
                Cell::text("(nobody)").role(Role::Dim)
            },
            Cell::text(cause),
            Cell::time(r.idle_ns),
            Cell::share(r.share).role(role(r.cause)),
            Cell::count(r.pieces),
        ]);
    }
    table
}

pub(super) fn longest(rows: Arranged<GapRow>, full: bool) -> Part {
    rows.into_part("gaps", NONE, move |rows| longest_table(rows, full))
}

fn longest_table(rows: &[GapRow], full: bool) -> Table {
    let stacks = rows.iter().any(|r| !r.stack.is_empty());
    let several = rows.iter().any(|r| r.device != rows[0].device);
    let mut columns = vec![Column::number("Idle").keep()];
    if several {
        columns.push(Column::text("GPU").priority(135));
    }
    columns.extend([
        Column::number("At").priority(70),
        Column::number("Step").priority(120),
        Column::text("Kind").priority(65),
        Column::text("Cause").priority(110),
        Column::name("Culprit").flexible(16, crate::print::middle_ellipsis),
        Column::text("Next").flexible(16, crate::print::middle_ellipsis).priority(100),
    ]);
    if stacks {
        columns.push(Column::text("Line").flexible(16, end_ellipsis).priority(130));
    }
    let mut table = Table::new(columns).title("Longest gaps", "");
    for r in rows {
        let mut cells = vec![Cell::time(r.idle_ns).role(role(r.cause))];
        if several {
            cells.push(Cell::text(gpu_name(r.device)));
        }
        cells.extend([
            Cell::text(units::time(r.start_ns)),
            if r.step >= 0 { Cell::text(r.step.to_string()) } else { Cell::nothing() },
            Cell::text(kind_label(r.kind)),
            Cell::text(without_idle(r.cause)),
            Cell::maybe(r.culprit.as_deref(), |culprit| Cell::text(host_name(culprit, full))),
            Cell::maybe(r.next.as_deref(), |next| Cell::text(work_name(next, full))),
        ]);
        if stacks {
            cells.push(Cell::maybe(users_line(&r.stack), Cell::text));
        }
        table.row(cells);
    }
    table
}

/// The name of work; of a copy, without the memories, for which there is no room.
fn work_name(name: &str, full: bool) -> String {
    match name.split_once(" (") {
        Some((copy, _)) if !full && name.starts_with("Mem") => copy.to_owned(),
        _ => shown_name(name, full),
    }
}

pub(super) fn streams(rows: Arranged<StreamRow>, of_some_steps: bool) -> Part {
    rows.into_part("streams", NONE, move |rows| streams_table(rows, of_some_steps))
}

fn streams_table(rows: &[StreamRow], of_some_steps: bool) -> Table {
    let mut table = Table::new(vec![
        Column::text("Stream").keep(),
        Column::text("GPU").priority(140),
        Column::number("Work").priority(110),
        Column::number("Busy").keep(),
        Column::number("host_wait").keep(),
        Column::number("kernel_wait").keep(),
        Column::number("other").keep(),
    ])
    .title("Streams", "gaps between the work of one stream, by HTA's classes");
    for r in rows {
        table.row(vec![
            Cell::text(gpu_name(r.stream)),
            Cell::text(gpu_name(r.device)),
            Cell::count(r.slices),
            Cell::time(r.busy_ns).role(Role::Device),
            Cell::time(r.host_wait_ns),
            Cell::time(r.kernel_wait_ns),
            Cell::time(r.other_ns),
        ]);
    }
    if of_some_steps {
        table.note("streams cover the whole trace, whichever steps are selected");
    }
    table
}
