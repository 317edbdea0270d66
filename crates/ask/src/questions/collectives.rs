//! What ranks send each other, how fast, and how much of it nothing hides.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::run::Run;
use stepscope_analyse::tables::collectives::{self, CollectiveRow, Side, collectives};
use stepscope_ground::Problem;

use super::DEFAULT_TOP;
use super::ops::ratio;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, end_ellipsis, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "collectives",
    about: "Collectives: message sizes, durations, bandwidth, and how much is exposed.",
    examples: &["collectives TRACE", "collectives TRACE --filter all_reduce --sort bus_bytes_per_second"],
    group: Group::Device,
    options: &["sort", "top", "filter", "step", "device"],
    report_by: Some(&[]),
    definitions: &[collectives::DEFINITIONS],
    forms: &[Form {
        name: "CollectivesAnswer",
        about: TRACES,
        members: &[&[rows::<CollectiveRow>("collectives"), fact::<CollectivesTotals>("totals")]],
    }],
    answer,
    page_parts: &["collectives"],
    ..USUAL
};

/// All rows together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct CollectivesTotals {
    calls: u64,
    total_ns: i64,
    exposed_ns: i64,
    moved_bytes: i64,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let report = collectives(asked.trace(), &asked.selection);
    let totals = CollectivesTotals {
        calls: report.calls,
        total_ns: report.total_ns,
        exposed_ns: report.exposed_ns,
        moved_bytes: report.moved_bytes,
    };
    let words = format!(
        "{} calls, {} in total, {} exposed",
        units::count(report.calls),
        units::time(report.total_ns),
        units::time(report.exposed_ns),
    );
    let words = if report.calls == 0 { String::new() } else { words };
    let rows = arrange(report.rows, &ask.rows, Some("total_ns"), DEFAULT_TOP, |r| r.operation.name())?;
    let empty = rows.when_empty("no collectives in this trace; it is of one rank, or they were not recorded");
    let left_out = rows.left_out();
    let part = Part::new("collectives", rows.rows, move |rows| {
        let mut table = table(rows).title("Collectives", &words).when_empty(empty);
        table.notes(&left_out);
        if rows.iter().any(|r| r.bytes.is_none()) {
            table.note("a message without a size: the recording does not say what the call moved");
        }
        table
    });
    Ok(Answer::new(vec![part]).fact("totals", &totals))
}

fn table(rows: &[CollectiveRow]) -> Table {
    let host = rows.iter().any(|r| r.side == Side::Host);
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Operation"), |r| Cell::text(r.operation.name()))
        .add_if(host, Column::text("On").priority(60), |r| {
            Cell::text(if r.side == Side::Host { "host" } else { "device" })
        })
        .add(Column::text("Dtype").priority(100), |r| Cell::maybe(r.dtype.as_deref(), Cell::text))
        .add(Column::text("Group").flexible(8, end_ellipsis).priority(70), |r| {
            Cell::maybe(r.group.as_deref(), Cell::text)
        })
        .metric("ranks", 90, |r| Cell::maybe(r.ranks, |n| Cell::count(n.unsigned_abs())))
        .metric("bytes", 150, |r| Cell::maybe(r.bytes, Cell::bytes))
        .metric("calls", 140, |r| Cell::count(r.calls))
        .metric("total_ns", KEEP, |r| Cell::time(r.total_ns))
        .metric("mean_ns", 120, |r| Cell::time(r.mean_ns.round() as i64))
        .metric("p50_ns", 80, |r| Cell::time(r.p50_ns))
        .metric("algorithm_bytes_per_second", 85, |r| {
            Cell::maybe(r.algorithm_bytes_per_second, Cell::rate_bytes)
        })
        .metric("bus_bytes_per_second", 130, |r| Cell::maybe(r.bus_bytes_per_second, Cell::rate_bytes))
        .add(Column::number("Exposed").priority(135), |r| {
            Cell::share(ratio(r.exposed_ns, r.total_ns)).role(Role::Bad)
        })
        .table()
}
