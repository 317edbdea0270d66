//! Captured graphs and their nodes.

use std::sync::Arc;

use stepscope_analyse::devices::graphs::{self, GraphRow, NodeRow};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use super::TOP;
use super::kernels::shown_name;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES};
use crate::print::{Cell, Column, Role, Table, middle_ellipsis, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "graphs",
    alias: None,
    about: "CUDA and HIP graphs: replays, device time, gaps, and the nodes that take the most time.",
    examples: &["graphs TRACE", "graphs TRACE --by node --top 0", "graphs TRACE --by node --filter gemm"],
    group: Group::Device,
    by: &["graph", "node"],
    options: &["sort", "top", "filter", "step", "device", "full"],
    report_by: Some(&["node"]),
    definitions: &[graphs::DEFINITIONS],
    answers_for: TRACES,
    answer,
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
    let part = match ask.grouped() {
        "node" => {
            let words =
                format!("{} of {}", plural(report.nodes.len(), "node"), plural(report.graphs.len(), "graph"));
            let rows = arrange(report.nodes, &ask.rows, Some("total_ns"), TOP, |n| &n.name)?;
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
            let words =
                format!("{} of {}", plural(replays as usize, "replay"), plural(report.graphs.len(), "graph"));
            let rows = arrange(report.graphs, &ask.rows, None, TOP, |g| &g.longest)?;
            let (empty, left_out) = (rows.when_empty(empty), rows.left_out());
            Part::new("graphs", rows.rows, move |rows| {
                let mut table = table(rows, full).title("Graphs", shown(rows, &words)).when_empty(empty);
                table.notes(&left_out);
                if by_names {
                    table
                        .note("the trace records no graph ids: replays of the same kernels count as one graph");
                }
                if without > 0 && !rows.is_empty() {
                    table.note(format!("{} without recorded work", plural(without as usize, "launch")));
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

fn plural(n: usize, one: &str) -> String {
    let end = match (n, one.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {one}{end}", units::count(n as u64))
}

fn name_column(header: &str, full: bool) -> Column {
    let column = Column::text(header);
    if full { column.keep() } else { column.flexible(24, middle_ellipsis).priority(125) }
}

fn table(rows: &[GraphRow], full: bool) -> Table {
    let mut table = Table::new(vec![
        Column::text("Graph").keep(),
        Column::number("Replays").keep(),
        Column::number("Nodes").priority(150),
        Column::number("Device p50").keep(),
        Column::number("p95").priority(140),
        Column::number("Busy").priority(110),
        Column::number("% step").priority(145),
        Column::number("% gaps").priority(135),
        Column::number("Call p50").priority(130),
        Column::number("Calls").priority(90),
        name_column("Longest node", full),
    ]);
    for g in rows {
        table.row(vec![
            Cell::text(&g.graph),
            Cell::count(g.replays),
            nodes_cell(g.nodes),
            Cell::time(g.device_p50_ns),
            Cell::time(g.device_p95_ns),
            Cell::time(g.busy_ns),
            Cell::share(g.share).role(Role::Device),
            Cell::percent(g.gap_share),
            Cell::time(g.call_p50_ns),
            Cell::time(g.call_ns),
            Cell::text(shown_name(&g.longest, full)),
        ]);
    }
    table
}

fn nodes_cell(nodes: f64) -> Cell {
    match nodes.fract() == 0.0 {
        true => Cell::count(nodes as u64),
        false => Cell::text(format!("{nodes:.1}")),
    }
}

fn nodes_table(rows: &[NodeRow], several: bool, full: bool) -> Table {
    let mut columns = Vec::new();
    if several {
        columns.push(Column::text("Graph").keep());
    }
    columns.extend([
        Column::number("Node").keep(),
        Column::name("Kernel").flexible(36, middle_ellipsis),
        Column::number("Replays").priority(120),
        Column::number("Total").priority(130),
        Column::number("% graph").priority(140),
        Column::number("Mean").keep(),
        Column::number("p50").priority(110),
        Column::number("p95").priority(135),
        Column::number("Max").priority(125),
        Column::number("Gap before").priority(115),
    ]);
    let mut table = Table::new(columns);
    let largest = rows.iter().map(|r| r.share).fold(f64::MIN_POSITIVE, f64::max);
    for n in rows {
        let mut cells = Vec::new();
        if several {
            cells.push(Cell::text(&n.graph));
        }
        cells.extend([
            Cell::count(n.node),
            Cell::text(shown_name(&n.name, full)),
            Cell::count(n.replays),
            Cell::time(n.total_ns),
            Cell::percent(n.share).bar(n.share / largest).role(Role::Device),
            Cell::time(n.mean_ns.round() as i64),
            Cell::time(n.p50_ns),
            Cell::time(n.p95_ns),
            Cell::time(n.max_ns),
            Cell::time(n.before_ns.round() as i64),
        ]);
        table.row(cells);
    }
    table
}
