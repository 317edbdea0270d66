//! GPU kernels, copies and memsets.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::devices::copies::{self, CopyRow};
use stepscope_analyse::names::kernel_name;
use stepscope_analyse::names::nearest::nearest;
use stepscope_analyse::names::tensor_core::TensorCores;
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::Definition;
use stepscope_analyse::tables::kernels::{self, KernelGroup, KernelRow, KernelsQuery, KernelsReport};
use stepscope_ground::Problem;
use stepscope_model::{Kind, Trace};

use super::{TOP, ops::unless_empty};
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES};
use crate::options::ChangeWord;
use crate::print::{Cell, Column, Role, Table, end_ellipsis, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "kernels",
    alias: None,
    about: "GPU kernels, copies and memsets.",
    examples: &["kernels TRACE --by launch", "kernels TRACE --op aten::mm", "kernels TRACE --by copies"],
    group: Group::Time,
    by: &["name", "op", "launch", "stream", "copies"],
    options: &["sort", "top", "filter", "step", "device", "full", "op"],
    report_by: Some(&["op", "launch", "stream", "copies"]),
    definitions: &[kernels::DEFINITIONS, copies::DEFINITIONS, OWN],
    answers_for: TRACES,
    answer,
};

/// What the sums mean.
const OWN: &[Definition] = &[
    Definition { field: "kernel_calls", label: "Kernels", text: "How many kernels are selected." },
    Definition {
        field: "kernel_ns",
        label: "Kernel time",
        text: "Summed duration of the selected kernels. Kernels that overlap each count in full.",
    },
    Definition {
        field: "unlinked_ns",
        label: "Without operator",
        text: "Summed duration of the selected kernels that name no recorded operator.",
    },
    Definition {
        field: "memcpy_ns",
        label: "Copies",
        text: "Summed duration of the selected copies. Copies that overlap each count in full.",
    },
    Definition {
        field: "memset_ns",
        label: "Memsets",
        text: "Summed duration of the selected memsets. Memsets that overlap each count in full.",
    },
    Definition {
        field: "tensor_core_ns",
        label: "Tensor core time",
        text: "Summed duration of the selected kernels whose names say that they use tensor cores.",
    },
    Definition {
        field: "tensor_core_unknown_ns",
        label: "Tensor cores unknown",
        text: "Summed duration of the selected kernels whose names do not say whether they use tensor cores.",
    },
];

/// The time of all rows together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct KernelsTotals {
    kernel_calls: u64,
    kernel_ns: i64,
    unlinked_ns: i64,
    memcpy_ns: i64,
    memset_ns: i64,
    tensor_core_ns: i64,
    tensor_core_unknown_ns: i64,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let group = match ask.grouped() {
        "op" => KernelGroup { op: true, ..KernelGroup::default() },
        "launch" => KernelGroup { op: true, launch: true, ..KernelGroup::default() },
        "stream" => KernelGroup { stream: true, ..KernelGroup::default() },
        _ => KernelGroup::default(),
    };
    let asked = ask.part_of(&runs[0])?;
    let op = ask.words.iter().rev().find_map(|word| match word {
        ChangeWord::Op(name) => Some(name.clone()),
        _ => None,
    });
    if let Some(op) = &op {
        known_op(asked.trace(), op)?;
    }
    let selection = asked.selection.clone();
    let query = KernelsQuery { by: group, op: op.clone(), selection, ..KernelsQuery::default() };
    let report = kernels::kernels(asked.trace(), &query);
    let copied = copies::copies_of(asked.trace(), &asked.selection, op.as_deref());
    let words = words(&report);
    let totals = KernelsTotals {
        kernel_calls: report.calls,
        kernel_ns: report.total_ns,
        unlinked_ns: report.unlinked_ns,
        memcpy_ns: copied.memcpy_ns,
        memset_ns: copied.memset_ns,
        tensor_core_ns: report.tensor_core_ns,
        tensor_core_unknown_ns: report.tensor_core_unknown_ns,
    };
    let about = copies_words(copied.memcpy_ns, copied.memset_ns);
    if ask.grouped() == "copies" {
        let rows = arrange(copied.rows, &ask.rows, None, 0, |r| &r.name)?;
        let left_out = rows.left_out();
        let part = Part::new("copies", rows.rows, move |rows| {
            let mut table = copies_table(rows, &about);
            table.notes(&left_out);
            table
        });
        return Ok(Answer::new(vec![part]).fact("totals", &totals));
    }
    let rows = arrange(report.rows, &ask.rows, Some("total_ns"), TOP, |r| &r.name)?;
    let (title, none) = match &op {
        Some(op) => (format!("Kernels of {op}"), "it launched no kernels itself; what it called may have"),
        None if asked.trace().meta().framework.is_some() => (
            "Kernels".to_owned(),
            "no kernels in this trace: nothing ran on a GPU; `stepscope ops` has what ran on the CPU",
        ),
        None => ("Kernels".to_owned(), "no kernels in this trace; record with ProfilerActivity.CUDA on a GPU"),
    };
    let (full, empty, left_out) = (ask.full, rows.when_empty(none), rows.left_out());
    let parts = vec![
        Part::new("kernels", rows.rows, move |rows| {
            let mut table = table(rows, group, full).title(&title, &words).when_empty(empty);
            table.notes(&left_out);
            table
        }),
        unless_empty(Part::new("copies", copied.rows, move |rows| copies_table(rows, &about))),
    ];
    Ok(Answer::new(parts).fact("totals", &totals))
}

/// What a table of copies is about.
pub(super) fn copies_words(memcpy_ns: i64, memset_ns: i64) -> String {
    format!("copies {}, memsets {}", units::time(memcpy_ns), units::time(memset_ns))
}

/// Fails for a name that no operator or range has.
fn known_op(trace: &Trace, op: &str) -> Result<(), Problem> {
    let slices = trace.slices();
    let ops = || slices.ids().filter(|&id| matches!(slices.kind(id), Kind::HostOp | Kind::HostAnnotation));
    let wanted = trace.strings().find(op);
    if ops().any(|id| Some(slices.name(id)) == wanted) {
        return Ok(());
    }
    let names: BTreeSet<&str> = ops().map(|id| trace.name(id)).collect();
    let near = nearest(op, names, 4);
    let hint = match near.is_empty() {
        true => "`stepscope ops` lists the names".to_owned(),
        false => format!("did you mean {}?", near.join(", ")),
    };
    Err(Problem::new(format!("no operator or range here is called '{op}'"), hint))
}

fn words(report: &KernelsReport) -> String {
    format!("{} launches, {} in total", units::count(report.calls), units::time(report.total_ns))
}

pub(super) fn table(rows: &[KernelRow], group: KernelGroup, full: bool) -> Table {
    let occupancy = rows.iter().any(|r| r.occupancy_percent.is_some());
    // Kernels are told apart by their template arguments: the name needs more room than usual.
    let mut columns = vec![Column::name("Kernel").flexible(36, crate::print::middle_ellipsis)];
    if group.op {
        columns.push(Column::text("Operator").flexible(16, end_ellipsis).priority(140));
    }
    // What compiled programs in the file tell.
    let (paths, lines) = (rows.iter().any(|r| r.op_path.is_some()), rows.iter().any(|r| r.source.is_some()));
    if paths {
        columns.push(Column::text("From").flexible(16, crate::print::middle_ellipsis).priority(100));
    }
    if lines {
        columns.push(Column::text("Line").priority(105));
    }
    if group.stream {
        columns.push(Column::text("Stream").priority(140));
    }
    if group.launch {
        columns.push(Column::text("Grid").priority(145));
        columns.push(Column::text("Block").priority(145));
        columns.push(Column::number("Regs").priority(135));
        columns.push(Column::number("Shared").priority(132));
    }
    columns.push(Column::number("Calls").priority(150));
    columns.push(Column::number("Total").keep());
    columns.push(Column::number("% kernels").priority(120));
    columns.push(Column::number("Mean").priority(110));
    columns.push(Column::number("Min").priority(50));
    columns.push(Column::number("Max").priority(50));
    // Where there is room: quantiles of calls that all take the same say nothing.
    let varies = rows.iter().any(|r| r.cv.is_some_and(|cv| cv > 0.0));
    if varies {
        columns.push(Column::number("p50").priority(32));
        columns.push(Column::number("p95").priority(34));
        columns.push(Column::number("p99").priority(31));
        columns.push(Column::number("Variation").priority(30));
    }
    if occupancy {
        columns.push(Column::number("Blocks/SM").priority(45));
        columns.push(Column::number("Occupancy").priority(70));
    }
    columns.push(Column::text("TC").priority(75));
    let mut table = Table::new(columns);
    let largest = rows.iter().map(|r| r.share).fold(f64::MIN_POSITIVE, f64::max);
    for row in rows {
        let mut cells = vec![Cell::text(shown_name(&row.name, full))];
        if group.op {
            cells.push(Cell::maybe(row.op.as_deref(), Cell::text));
        }
        if paths {
            cells.push(Cell::maybe(row.op_path.as_deref(), Cell::text));
        }
        if lines {
            cells.push(Cell::maybe(row.source.as_deref(), Cell::text));
        }
        if group.stream {
            let streams: Vec<String> = row.streams.iter().map(i64::to_string).collect();
            cells.push(Cell::text(streams.join(" ")));
        }
        if group.launch {
            cells.push(Cell::maybe(row.grid.as_deref(), Cell::text));
            cells.push(Cell::maybe(row.block.as_deref(), Cell::text));
            cells.push(Cell::maybe(row.registers, |v| Cell::text(v.to_string())));
            cells.push(Cell::maybe(row.shared_memory_bytes, Cell::bytes));
        }
        cells.push(Cell::count(row.calls));
        cells.push(Cell::time(row.total_ns));
        cells.push(Cell::percent(row.share).bar(row.share / largest).role(Role::Device));
        cells.push(Cell::time(row.mean_ns.round() as i64));
        cells.push(Cell::time(row.min_ns));
        cells.push(Cell::time(row.max_ns));
        if varies {
            cells.extend([row.p50_ns, row.p95_ns, row.p99_ns].map(Cell::time));
            cells.push(Cell::maybe(row.cv, Cell::percent));
        }
        if occupancy {
            cells.push(Cell::maybe(row.blocks_per_sm, |v| Cell::text(format!("{v:.2}"))));
            cells.push(Cell::maybe(row.occupancy_percent, |v| Cell::text(units::percent(v / 100.0))));
        }
        cells.push(match row.tensor_core {
            TensorCores::Yes => Cell::text("yes").role(Role::Good),
            TensorCores::No => Cell::text("no").role(Role::Dim),
            TensorCores::Unknown => Cell::nothing(),
        });
        table.row(cells);
    }
    table
}

/// A kernel's name as tables show it.
pub(super) fn shown_name(name: &str, full: bool) -> String {
    if full { kernel_name::demangled(name).into_owned() } else { kernel_name::short(name) }
}

/// The same where a name may also be an operator's, a range's or a Python call's, which are left alone.
pub(super) fn shorter(name: &str) -> String {
    let kernel =
        name.contains('<') && !name.starts_with('<') || name.starts_with("void ") || name.starts_with("_Z");
    if kernel { kernel_name::short(name) } else { name.to_owned() }
}

pub(super) fn copies_table(rows: &[CopyRow], words: &str) -> Table {
    let mut table = Table::new(vec![
        Column::name("Kind"),
        Column::number("Calls").priority(150),
        Column::number("Total").keep(),
        Column::number("Bytes").priority(140),
        Column::number("Bandwidth").priority(130),
        Column::number("Mean").priority(60),
        Column::number("Max").priority(50),
    ])
    .title("Copies and memsets", words)
    .when_empty("no copies or memsets in this trace");
    for row in rows {
        table.row(vec![
            Cell::text(&row.name),
            Cell::count(row.calls),
            Cell::time(row.total_ns),
            Cell::maybe(row.bytes, Cell::bytes),
            Cell::maybe(row.bytes_per_second, Cell::rate_bytes),
            Cell::time(row.mean_ns.round() as i64),
            Cell::time(row.max_ns),
        ]);
    }
    table
}
