//! The four tables of the gaps.

use stepscope_analyse::causes::gaps::{CulpritRow, GapKindRow, GapRow, StreamGapsRow};
use stepscope_analyse::causes::idle::GapKind;

use super::super::account::role;
use super::super::kernels::shown_name;
use super::super::{gpu_name, host_name, users_line};
use super::NONE;
use super::QUESTION;
use crate::answer::Part;
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, end_ellipsis, middle_ellipsis, units};
use crate::rows::RowSelection;

fn kind_role(kind: GapKind) -> Role {
    match kind {
        GapKind::HostLate | GapKind::EndOfStep => Role::Warn,
        GapKind::LaunchLatency => Role::Runtime,
        GapKind::Dependency => Role::Bad,
        GapKind::QueuedGap | GapKind::Unlinked | GapKind::Unknown => Role::Idle,
    }
}

pub(super) fn kinds(rows: RowSelection<GapKindRow>, words: String) -> Part {
    let words = if rows.all == 0 { String::new() } else { words };
    rows.into_part("kinds", NONE, move |rows| kinds_table(rows, &words))
}

fn kinds_table(rows: &[GapKindRow], words: &str) -> Table {
    let several = rows.iter().any(|r| r.device != rows[0].device);
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Kind").keep(), |r| Cell::text(r.kind.label()))
        .add_if(several, Column::text("GPU").keep(), |r| Cell::text(gpu_name(r.device)))
        .metric("gaps", 150, |r| Cell::count(r.gaps))
        .metric("idle_ns", KEEP, |r| Cell::time(r.idle_ns))
        .metric("share_of_steps", 160, |r| Cell::share(r.share_of_steps).role(kind_role(r.kind)))
        .metric("max_ns", 90, |r| Cell::time(r.max_ns))
        .table()
        .title("Gaps", words)
}

pub(super) fn culprits(rows: RowSelection<CulpritRow>, full: bool) -> Part {
    rows.into_part("culprits", NONE, move |rows| culprits_table(rows, full))
}

fn culprits_table(rows: &[CulpritRow], full: bool) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Culprit"), |r| {
            // Where no one is to blame, the culprit is the cause again.
            let named = r.culprit != r.cause.label();
            if named {
                Cell::text(host_name(&r.culprit, full))
            } else {
                Cell::text("(unattributed)").role(Role::Dim)
            }
        })
        .add(Column::text("Cause").priority(130), |r| Cell::text(r.cause.label_of_idle()))
        .metric("idle_ns", KEEP, |r| Cell::time(r.idle_ns))
        .metric("share", 150, |r| Cell::share(r.share).role(role(r.cause)))
        .metric("pieces", 80, |r| Cell::count(r.pieces))
        .table()
        .title("What makes the device idle", "what the host was doing while the device had no work")
}

pub(super) fn longest(rows: RowSelection<GapRow>, full: bool) -> Part {
    rows.into_part("gaps", NONE, move |rows| longest_table(rows, full))
}

fn longest_table(rows: &[GapRow], full: bool) -> Table {
    let stacks = rows.iter().any(|r| !r.stack.is_empty());
    let several = rows.iter().any(|r| r.device != rows[0].device);
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .metric("idle_ns", KEEP, |r| Cell::time(r.idle_ns).role(role(r.cause)))
        .add_if(several, Column::text("GPU").priority(135), |r| Cell::text(gpu_name(r.device)))
        .metric("start_ns", 70, |r| Cell::text(units::time(r.start_ns)))
        .add(Column::number("Step").priority(120), |r| {
            if r.step >= 0 { Cell::text(r.step.to_string()) } else { Cell::nothing() }
        })
        .add(Column::text("Kind").priority(65), |r| Cell::text(r.kind.label()))
        .add(Column::text("Cause").priority(110), |r| Cell::text(r.cause.label_of_idle()))
        .add(Column::name("Culprit").flexible(16, middle_ellipsis), |r| {
            Cell::maybe(r.culprit.as_deref(), |culprit| Cell::text(host_name(culprit, full)))
        })
        .add(Column::text("Next").flexible(16, middle_ellipsis).priority(100), |r| {
            Cell::maybe(r.next.as_deref(), |next| Cell::text(work_name(next, full)))
        })
        .add_if(stacks, Column::text("Line").flexible(16, end_ellipsis).priority(130), |r| {
            Cell::maybe(users_line(&r.stack), Cell::text)
        })
        .table()
        .title("Longest gaps", "")
}

/// The name of work; of a copy, without the memories, for which there is no room.
fn work_name(name: &str, full: bool) -> String {
    match name.split_once(" (") {
        Some((copy, _)) if !full && name.starts_with("Mem") => copy.to_owned(),
        _ => shown_name(name, full),
    }
}

pub(super) fn streams(rows: RowSelection<StreamGapsRow>, of_some_steps: bool) -> Part {
    rows.into_part("streams", NONE, move |rows| streams_table(rows, of_some_steps))
}

fn streams_table(rows: &[StreamGapsRow], of_some_steps: bool) -> Table {
    let mut table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Stream").keep(), |r| Cell::text(gpu_name(r.stream)))
        .add(Column::text("GPU").priority(140), |r| Cell::text(gpu_name(r.device)))
        .metric("slices", 110, |r| Cell::count(r.slices))
        .metric("busy_ns", KEEP, |r| Cell::time(r.busy_ns).role(Role::Device))
        .metric("host_wait_ns", KEEP, |r| Cell::time(r.host_wait_ns))
        .metric("kernel_wait_ns", KEEP, |r| Cell::time(r.kernel_wait_ns))
        .metric("other_ns", KEEP, |r| Cell::time(r.other_ns))
        .table()
        .title("Streams", "gaps between the work of one stream, by HTA's classes");
    if of_some_steps {
        table.note("streams cover the whole trace, whichever steps are selected");
    }
    table
}
