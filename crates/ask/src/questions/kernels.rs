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
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_analyse::tables::kernels::{self, KernelGroup, KernelRow, KernelsQuery, KernelsReport};
use stepscope_ground::Problem;
use stepscope_model::{Kind, Trace};

use super::{DEFAULT_TOP, ops::unless_empty};
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::options::ChangeWord;
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, end_ellipsis, middle_ellipsis, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "kernels",
    about: "GPU kernels, copies and memsets.",
    examples: &["kernels TRACE --by launch", "kernels TRACE --op aten::mm", "kernels TRACE --by copies"],
    group: Group::Time,
    by: &["name", "op", "launch", "stream", "copies"],
    options: &["sort", "top", "filter", "step", "device", "full", "op"],
    report_by: Some(&["op", "launch", "stream", "copies"]),
    definitions: &[kernels::DEFINITIONS, copies::DEFINITIONS, OWN_DEFINITIONS],
    forms: &[
        Form {
            name: "KernelsAnswer",
            about: TRACES,
            members: &[&[
                rows::<KernelRow>("kernels"),
                rows::<CopyRow>("copies"),
                fact::<KernelsTotals>("totals"),
            ]],
        },
        Form {
            name: "KernelsByCopies",
            about: TRACES,
            members: &[&[rows::<CopyRow>("copies"), fact::<KernelsTotals>("totals")]],
        },
    ],
    answer,
    ..USUAL
};

const OWN_DEFINITIONS: &[Definition] = definitions! {
    "kernel_calls", "Kernels" => "How many kernels are selected.";
    "kernel_ns", "Kernel time" => "Summed duration of the selected kernels. Kernels that overlap each count in full.";
    "unlinked_ns", "Without operator" => "Summed duration of the selected kernels that name no recorded operator.";
    "memcpy_ns", "Copies" => "Summed duration of the selected copies. Copies that overlap each count in full.";
    "memset_ns", "Memsets" => "Summed duration of the selected memsets. Memsets that overlap each count in full.";
    "tensor_core_ns", "Tensor core time" =>
        "Summed duration of the selected kernels whose names say that they use tensor cores.";
    "tensor_core_unknown_ns", "Tensor cores unknown" =>
        "Summed duration of the selected kernels whose names do not say whether they use tensor cores.";
};

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
    let rows = arrange(report.rows, &ask.rows, Some("total_ns"), DEFAULT_TOP, |r| &r.name)?;
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
    let any = |has: fn(&KernelRow) -> bool| rows.iter().any(has);
    // What compiled programs in the file tell.
    let (paths, lines) = (any(|r| r.op_path.is_some()), any(|r| r.source.is_some()));
    // Where there is room: quantiles of calls that all take the same say nothing.
    let varies = any(|r| r.cv.is_some_and(|cv| cv > 0.0));
    let occupancy = any(|r| r.occupancy_percent.is_some());
    let largest = rows.iter().map(|r| r.share).fold(f64::MIN_POSITIVE, f64::max);
    let words = |label: &str, priority| Column::text(label).priority(priority);
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        // Kernels are distinguished by their template arguments: the name needs more room than usual.
        .add(Column::name("Kernel").flexible(36, middle_ellipsis), |r| Cell::text(shown_name(&r.name, full)))
        .add_if(group.op, words("Operator", 140).flexible(16, end_ellipsis), |r| {
            Cell::maybe(r.op.as_deref(), Cell::text)
        })
        .add_if(paths, words("From", 100).flexible(16, middle_ellipsis), |r| {
            Cell::maybe(r.op_path.as_deref(), Cell::text)
        })
        .add_if(lines, words("Line", 105), |r| Cell::maybe(r.source.as_deref(), Cell::text))
        .add_if(group.stream, words("Stream", 140), |r| {
            Cell::text(r.streams.iter().map(i64::to_string).collect::<Vec<_>>().join(" "))
        })
        .add_if(group.launch, words("Grid", 145), |r| Cell::maybe(r.grid.as_deref(), Cell::text))
        .add_if(group.launch, words("Block", 145), |r| Cell::maybe(r.block.as_deref(), Cell::text))
        .metric_if(group.launch, "registers", 135, |r| Cell::maybe(r.registers, |v| Cell::text(v.to_string())))
        .metric_if(group.launch, "shared_memory_bytes", 132, |r| {
            Cell::maybe(r.shared_memory_bytes, Cell::bytes)
        })
        .metric("calls", 150, |r| Cell::count(r.calls))
        .metric("total_ns", KEEP, |r| Cell::time(r.total_ns))
        .metric("share", 120, |r| Cell::percent(r.share).bar(r.share / largest).role(Role::Device))
        .metric("mean_ns", 110, |r| Cell::time(r.mean_ns.round() as i64))
        .metric("min_ns", 50, |r| Cell::time(r.min_ns))
        .metric("max_ns", 50, |r| Cell::time(r.max_ns))
        .metric_if(varies, "p50_ns", 32, |r| Cell::time(r.p50_ns))
        .metric_if(varies, "p95_ns", 34, |r| Cell::time(r.p95_ns))
        .metric_if(varies, "p99_ns", 31, |r| Cell::time(r.p99_ns))
        .metric_if(varies, "cv", 30, |r| Cell::maybe(r.cv, Cell::percent))
        .metric_if(occupancy, "blocks_per_sm", 45, |r| {
            Cell::maybe(r.blocks_per_sm, |v| Cell::text(format!("{v:.2}")))
        })
        .metric_if(occupancy, "occupancy_percent", 70, |r| {
            Cell::maybe(r.occupancy_percent, |v| Cell::text(units::percent(v / 100.0)))
        })
        .add(words("TC", 75), |r| match r.tensor_core {
            TensorCores::Yes => Cell::text("yes").role(Role::Good),
            TensorCores::No => Cell::text("no").role(Role::Dim),
            TensorCores::Unknown => Cell::nothing(),
        })
        .table()
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
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Kind"), |r| Cell::text(&r.name))
        .metric("calls", 150, |r| Cell::count(r.calls))
        .metric("total_ns", KEEP, |r| Cell::time(r.total_ns))
        .metric("bytes", 140, |r| Cell::maybe(r.bytes, Cell::bytes))
        .metric("bytes_per_second", 130, |r| Cell::maybe(r.bytes_per_second, Cell::rate_bytes))
        .metric("mean_ns", 60, |r| Cell::time(r.mean_ns.round() as i64))
        .metric("max_ns", 50, |r| Cell::time(r.max_ns))
        .table()
        .title("Copies and memsets", words)
        .when_empty("no copies or memsets in this trace")
}
