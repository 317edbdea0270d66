//! Captured graphs and their nodes.

use std::sync::Arc;

use stepscope_analyse::devices::graphs::{self, GraphRow, NodeRow};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use super::DEFAULT_TOP;
use super::kernels::shown_name;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, middle_ellipsis, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "graphs",
    about: "CUDA and HIP graphs: replays, device time, gaps, and the nodes that take the most time.",
    examples: &["graphs TRACE", "graphs TRACE --by node --top 0", "graphs TRACE --by node --filter gemm"],
    group: Group::Device,
    by: &["graph", "node"],
    options: &["sort", "top", "filter", "step", "device", "full"],
    report_by: Some(&["node"]),
    definitions: &[graphs::DEFINITIONS],
    forms: &[
        Form {
            name: "GraphsAnswer",
            about: TRACES,
            members: &[&[rows::<GraphRow>("graphs"), fact::<u64>("calls_without_work")]],
        },
        Form {
            name: "GraphsByNode",
            about: TRACES,
            members: &[&[rows::<NodeRow>("nodes"), fact::<u64>("calls_without_work")]],
        },
    ],
    answer,
    page_parts: &["graphs"],
    ..USUAL
};

const NONE: &str = "no graph was replayed in this trace";

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let report = graphs::graphs(asked.trace(), asked.steps(), &asked.selection);
    let full = ask.full;
    let without = report.calls_without_work;
    let by_names = report.graphs.iter().any(|g| !g.recorded);
    let several = report.graphs.len() > 1;
    let empty = match (report.graphs.is_empty(), without) {
        (true, 1..) => "graphs were launched, but none of their work was recorded",
        _ => NONE,
    };
    let graphs = units::counted(report.graphs.len() as u64, "graph");
    let part = match ask.grouped() {
        "node" => {
            let words = format!("{} of {graphs}", units::counted(report.nodes.len() as u64, "node"));
            let rows = arrange(report.nodes, &ask.rows, Some("total_ns"), DEFAULT_TOP, |n| &n.name)?;
            let (empty, left_out) = (rows.when_empty(empty), rows.left_out());
            Part::new("nodes", rows.rows, move |rows| {
                let mut table = nodes_table(rows, several, full)
                    .title("Graph nodes", shown(rows, &words))
                    .when_empty(empty);
                table.notes(&left_out);
                table
            })
        }
        _ => {
            let replays: u64 = report.graphs.iter().map(|g| g.replays).sum();
            let words = format!("{} of {graphs}", units::counted(replays, "replay"));
            let rows = arrange(report.graphs, &ask.rows, None, DEFAULT_TOP, |g| &g.longest)?;
            let (empty, left_out) = (rows.when_empty(empty), rows.left_out());
            Part::new("graphs", rows.rows, move |rows| {
                let mut table = table(rows, full).title("Graphs", shown(rows, &words)).when_empty(empty);
                table.notes(&left_out);
                if by_names {
                    table
                        .note("the trace records no graph ids: replays of the same kernels count as one graph");
                }
                if without > 0 && !rows.is_empty() {
                    table.note(format!("{} without recorded work", units::counted(without, "launch")));
                }
                table
            })
        }
    };
    Ok(Answer::new(vec![part]).fact("calls_without_work", &without))
}

/// What a table is about, if it has rows.
fn shown<'a, R>(rows: &[R], words: &'a str) -> &'a str {
    if rows.is_empty() { "" } else { words }
}

fn name_column(header: &str, full: bool) -> Column {
    let column = Column::text(header);
    if full { column.keep() } else { column.flexible(24, middle_ellipsis).priority(125) }
}

fn table(rows: &[GraphRow], full: bool) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Graph").keep(), |g| Cell::text(&g.graph))
        .metric("replays", KEEP, |g| Cell::count(g.replays))
        .metric("nodes", 150, |g| nodes_cell(g.nodes))
        .metric("device_p50_ns", KEEP, |g| Cell::time(g.device_p50_ns))
        .metric("device_p95_ns", 140, |g| Cell::time(g.device_p95_ns))
        .metric("busy_ns", 110, |g| Cell::time(g.busy_ns))
        .add(Column::number("% step").priority(145), |g| Cell::share(g.share).role(Role::Device))
        .metric("gap_share", 135, |g| Cell::percent(g.gap_share))
        .metric("call_p50_ns", 130, |g| Cell::time(g.call_p50_ns))
        .metric("call_ns", 90, |g| Cell::time(g.call_ns))
        .add(name_column("Longest node", full), |g| Cell::text(shown_name(&g.longest, full)))
        .table()
}

fn nodes_cell(nodes: f64) -> Cell {
    match nodes.fract() == 0.0 {
        true => Cell::count(nodes as u64),
        false => Cell::text(format!("{nodes:.1}")),
    }
}

fn nodes_table(rows: &[NodeRow], several: bool, full: bool) -> Table {
    let largest = rows.iter().map(|r| r.share).fold(f64::MIN_POSITIVE, f64::max);
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add_if(several, Column::text("Graph").keep(), |n| Cell::text(&n.graph))
        .metric("node", KEEP, |n| Cell::count(n.node))
        .add(Column::name("Kernel").flexible(36, middle_ellipsis), |n| Cell::text(shown_name(&n.name, full)))
        .metric("replays", 120, |n| Cell::count(n.replays))
        .metric("total_ns", 130, |n| Cell::time(n.total_ns))
        .add(Column::number("% graph").priority(140), |n| {
            Cell::percent(n.share).bar(n.share / largest).role(Role::Device)
        })
        .metric("mean_ns", KEEP, |n| Cell::time(n.mean_ns.round() as i64))
        .metric("p50_ns", 110, |n| Cell::time(n.p50_ns))
        .metric("p95_ns", 135, |n| Cell::time(n.p95_ns))
        .metric("max_ns", 125, |n| Cell::time(n.max_ns))
        .metric("before_ns", 115, |n| Cell::time(n.before_ns.round() as i64))
        .table()
}
