//! Iterations of a serving engine.

use std::sync::Arc;

use stepscope_analyse::names::serving::IterationKind;
use stepscope_analyse::run::Run;
use stepscope_analyse::steps::serving::{self, FoundBy, Iteration, KindRow, Serving};
use stepscope_ground::Problem;

use super::DEFAULT_TOP;
use super::ops::{ratio, unless_empty};
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, end_ellipsis, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "serving",
    about: "Iterations of a serving engine (vLLM, SGLang): prefill and decode, latencies, gaps, tokens per second.",
    examples: &[
        "serving TRACE",
        "serving TRACE --sort wall --top 10",
        "serving TRACE --filter DECODE --format csv",
    ],
    group: Group::Time,
    options: &["sort", "top", "filter", "step", "full"],
    report_by: Some(&[]),
    definitions: &[serving::DEFINITIONS],
    forms: &[Form {
        name: "ServingAnswer",
        about: TRACES,
        members: &[&[
            rows::<KindRow>("kinds"),
            rows::<Iteration>("iterations"),
            fact::<FoundBy>("found_by"),
            fact::<i64>("span_ns"),
            fact::<i64>("between_ns"),
            fact::<u64>("on_other_threads"),
        ]],
    }],
    answer,
    page_parts: &["kinds", "iterations"],
    ..USUAL
};

const NONE: &str = "no serving engine in this trace: it has none of the ranges, Python calls and kernels by which vLLM and \
                    SGLang are known";

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let report = serving::serving(asked.trace(), &asked.selection);
    let Serving { found_by, iterations, kinds, span_ns, between_ns, on_other_threads } = report;
    let words = format!(
        "{} in {}; {} between them",
        units::counted(iterations.len() as u64, "iteration"),
        units::time(span_ns),
        units::percent(ratio(between_ns, span_ns))
    );
    let kinds = Part::new("kinds", kinds, move |rows| {
        let mut table =
            kinds_table(rows).title("Serving", if rows.is_empty() { "" } else { &words }).when_empty(NONE);
        if let Some(how) = how(found_by) {
            table.note(how);
        }
        if on_other_threads > 0 {
            table.note(format!(
                "{} on other threads are left out",
                units::counted(on_other_threads, "iteration")
            ));
        }
        table
    });
    let full = ask.full;
    let rows = arrange(iterations, &ask.rows, None, DEFAULT_TOP, |i| &i.name)?;
    let (empty, left_out) = (rows.when_empty(NONE), rows.left_out());
    let iterations = Part::new("iterations", rows.rows, move |rows| {
        let mut table =
            table(rows, full).title("Iterations", "wall time ends with the device's work").when_empty(empty);
        table.notes(&left_out);
        table
    });
    let iterations = if ask.rows.filter.is_some() { iterations } else { unless_empty(iterations) };
    Ok(Answer::new(vec![kinds, iterations])
        .main("iterations")
        .fact("found_by", &found_by)
        .fact("span_ns", &span_ns)
        .fact("between_ns", &between_ns)
        .fact("on_other_threads", &on_other_threads))
}

/// What to know about where iterations were found.
fn how(found_by: FoundBy) -> Option<&'static str> {
    match found_by {
        FoundBy::Range | FoundBy::Nothing => None,
        FoundBy::PythonCall => Some("found by the engine's Python calls, which say neither batch nor tokens"),
        FoundBy::DeviceRange => Some("found by ranges on the device; the host was not recorded"),
        FoundBy::ForwardPass => {
            Some("found by the ranges around forward passes; sampling counts as time between them")
        }
        FoundBy::CopiesToHost => Some(
            "a heuristic: the engine's ranges are not in the trace, so each small copy to the host (sampled tokens) ends an \
             iteration",
        ),
        FoundBy::GraphLaunch => Some(
            "a heuristic: the engine's ranges are not in the trace, so each replay of a graph is an iteration",
        ),
    }
}

fn role(kind: IterationKind) -> Role {
    match kind {
        IterationKind::Prefill => Role::Copy,
        IterationKind::Decode => Role::Device,
        IterationKind::Mixed => Role::Comm,
        IterationKind::Unknown => Role::Dim,
    }
}

fn kind_cell(kind: IterationKind) -> Cell {
    Cell::text(kind.label()).role(role(kind))
}

fn kinds_table(rows: &[KindRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Kind").keep(), |r| kind_cell(r.kind))
        .metric("iterations", KEEP, |r| Cell::count(r.iterations))
        .metric("wall_p50_ns", KEEP, |r| Cell::time(r.wall_p50_ns))
        .metric("wall_p95_ns", 150, |r| Cell::time(r.wall_p95_ns))
        .metric("wall_p99_ns", 140, |r| Cell::time(r.wall_p99_ns))
        .metric("total_ns", 120, |r| Cell::time(r.total_ns))
        .metric("share", 145, |r| Cell::share(r.share).role(role(r.kind)))
        .metric("busy_share", 130, |r| Cell::percent(r.busy_share))
        .metric("tokens", 110, |r| Cell::maybe(r.tokens, Cell::count))
        .metric("tokens_per_second", 135, |r| {
            Cell::maybe(r.tokens_per_second, |rate| Cell::count(rate.round() as u64))
        })
        .table()
}

fn table(rows: &[Iteration], full: bool) -> Table {
    let name = Column::text("Name");
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .metric("start_ns", 150, |i| Cell::text(units::time(i.start_ns)))
        .add(Column::text("Kind").keep(), |i| kind_cell(i.kind))
        .metric("requests", 140, |i| Cell::maybe(i.requests, Cell::count))
        .metric("tokens", 145, |i| Cell::maybe(i.tokens, Cell::count))
        .metric("wall_ns", KEEP, |i| Cell::time(i.wall_ns))
        .add(Column::number("GPU busy").priority(135), |i| {
            Cell::share(ratio(i.busy_ns, i.wall_ns)).role(Role::Device)
        })
        .metric("host_ns", 120, |i| Cell::maybe(i.host_ns, Cell::time))
        .metric("gap_ns", 130, |i| Cell::maybe(i.gap_ns, Cell::time))
        .add(if full { name.keep() } else { name.flexible(20, end_ellipsis).priority(60) }, |i| {
            Cell::text(&i.name)
        })
        .table()
}
