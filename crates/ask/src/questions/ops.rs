//! Operators as PyTorch's key_averages counts them, annotations apart.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::run::Run;
use stepscope_analyse::tables::flops;
use stepscope_analyse::tables::ops::{self, Attribution, OpGroup, OpRow, OpsQuery, OpsReport, StrayCalls};
use stepscope_ground::Problem;

use super::DEFAULT_TOP;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{Cell, Column, Columns, Role, Table, end_ellipsis, units};
use crate::rows::{RowSelection, arrange};

pub(super) const QUESTION: Question = Question {
    name: "ops",
    about: "Operators: PyTorch's key_averages, with annotations listed separately.",
    examples: &[
        "ops TRACE --sort self_cuda_time_total --top 20",
        "ops TRACE --by shape --filter '^aten::(mm|addmm)$'",
        "ops TRACE --by stack --frames 5",
    ],
    group: Group::Time,
    by: &["name", "shape", "shape-lists", "stack", "overload"],
    options: &["sort", "top", "filter", "step", "device", "frames", "full", "own-threads", "by-launch"],
    report_by: Some(&["shape", "shape-lists", "stack", "overload"]),
    definitions: &[ops::DEFINITIONS, flops::DEFINITIONS, ops::TOTALS],
    forms: &[Form {
        name: "OpsAnswer",
        about: TRACES,
        members: &[&[
            rows::<OpRow>("ops"),
            rows::<OpRow>("annotations"),
            rows::<OpRow>("calls"),
            fact::<Option<OpRow>>("memory_outside"),
            fact::<OpsTotals>("totals"),
        ]],
    }],
    answer,
    ..USUAL
};

/// Where the time of a table went, in and out of its rows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct OpsTotals {
    total_host_self_ns: i64,
    total_device_self_ns: i64,
    device_time_in_ops_ns: i64,
    device_time_in_annotations_ns: i64,
    device_time_unlinked_ns: i64,
    device_time_elsewhere_ns: i64,
    device_time_overlap_ns: i64,
    device_time_by_launch_ns: i64,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let by = match ask.grouped() {
        "shape" => OpGroup::Shapes,
        "shape-lists" => OpGroup::ShapesWithLists,
        "stack" => OpGroup::Stack(ask.frames),
        "overload" => OpGroup::Overload,
        _ => OpGroup::Name,
    };
    let asked = ask.part_of(&runs[0])?;
    let stray_calls = if ask.own_threads { StrayCalls::OwnThread } else { StrayCalls::MainThread };
    let attribution = if ask.by_launch { Attribution::Launch } else { Attribution::PyTorch };
    let query = OpsQuery { by, selection: asked.selection.clone(), attribution, stray_calls };
    let report = match query == (OpsQuery { selection: asked.run.narrowed(), ..OpsQuery::default() }) {
        true => asked.run.ops().clone(),
        false => ops::ops(asked.trace(), &query),
    };
    let ledger = ledger(&report);
    // PyTorch's sum counts ranges with operators; elsewhere, ranges are around operators of other threads.
    let host = match asked.trace().meta().framework {
        Some(_) => report.ops.iter().fold(0i64, |sum, row| sum.saturating_add(row.host_self_ns)),
        None => report.total_host_self_ns,
    };
    let device = report.total_device_self_ns;
    let words = totals(&report, host);
    let totals = OpsTotals {
        total_host_self_ns: host,
        total_device_self_ns: device,
        device_time_in_ops_ns: report.device_time_in_ops_ns,
        device_time_in_annotations_ns: report.device_time_in_annotations_ns,
        device_time_unlinked_ns: report.device_time_unlinked_ns,
        device_time_elsewhere_ns: report.device_time_elsewhere_ns,
        device_time_overlap_ns: report.device_time_overlap_ns,
        device_time_by_launch_ns: report.device_time_by_launch_ns,
    };
    let memory_outside = report.memory_outside;
    let ops = arrange(report.ops, &ask.rows, Some(default_sort(device)), DEFAULT_TOP, |r| &r.name)?;
    let annotations = arrange(report.annotations, &ask.rows, Some("host_total_ns"), 10, |r| &r.name)?;
    let calls = arrange(report.calls, &ask.rows, Some("host_self_ns"), 10, |r| &r.name)?;
    let ranges = match asked.trace().meta().framework {
        Some(_) => "ranges that the program names, steps among them; not part of any share above",
        None => "ranges named by record_function and the profiler; not part of any share above",
    };
    let ranges = ranges.to_owned();
    let inside = "host time inside the GPU's libraries".to_owned();
    let parts = vec![
        part("ops", ops, (device, host), "Operators", words, ledger),
        unless_empty(part("annotations", annotations, (device, host), "Annotations", ranges, Vec::new())),
        unless_empty(part("calls", calls, (device, host), "Runtime and driver calls", inside, Vec::new())),
    ];
    Ok(Answer::new(parts).fact("memory_outside", &memory_outside).fact("totals", &totals))
}

fn part(
    key: &'static str,
    rows: RowSelection<OpRow>,
    (device, host): (i64, i64),
    title: &'static str,
    words: String,
    ledger: Vec<String>,
) -> Part {
    let (empty, left_out) = (rows.when_empty("none recorded"), rows.left_out());
    Part::new(key, rows.rows, move |rows| {
        let mut table = table(rows, device, host).title(title, &words).when_empty(empty);
        for text in left_out.iter().chain(&ledger) {
            table.note(text);
        }
        table
    })
}

/// People need not see a table without rows.
pub(super) fn unless_empty(part: Part) -> Part {
    let shown = !part.is_empty();
    part.shown(shown)
}

/// Device time decides where there is any.
pub(super) fn default_sort(device_ns: i64) -> &'static str {
    if device_ns > 0 { "device_self_ns" } else { "host_self_ns" }
}

fn totals(report: &OpsReport, host: i64) -> String {
    let host = units::time(host);
    match report.total_device_self_ns {
        0 => format!("host self {host} in total"),
        device => format!("host self {host}, device {} in total", units::time(device)),
    }
}

/// Where device time went that no operator row shows.
fn ledger(report: &OpsReport) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |ns: i64, text: &str| {
        if ns > 0 {
            lines.push(format!("{} of device time {text}", units::time(ns)));
        }
    };
    add(report.device_time_in_annotations_ns, "was launched inside annotations but no operator");
    match report.device_time_by_launch_ns {
        0 => add(report.device_time_unlinked_ns, "belongs to no operator in this file"),
        found => {
            let text = format!("names no operator; --by-launch finds one for {} of it", units::time(found));
            add(report.device_time_unlinked_ns, &text);
        }
    }
    add(report.device_time_elsewhere_ns, "belongs to operators outside the selection");
    if report.ops.iter().chain(&report.annotations).any(|row| row.host_self_ns < 0) {
        lines.push(
            "self times below zero: as in PyTorch's tables, calls of other threads are charged to the main \
             thread; --own-threads leaves them where they ran"
                .to_owned(),
        );
    }
    lines
}

/// The operator table; columns that would be empty throughout are left out.
pub(super) fn table(rows: &[OpRow], device_total: i64, host_total: i64) -> Table {
    let any = |has: fn(&OpRow) -> bool| rows.iter().any(has);
    let shapes = any(|r| r.input_shapes.is_some());
    let stacks = any(|r| r.stack.is_some());
    let overloads = any(|r| r.overload.is_some());
    let device = device_total > 0 && any(|r| r.device_total_ns != 0);
    let memory = any(|r| r.device_memory_bytes != 0);
    let host_memory = any(|r| r.host_memory_bytes != 0);
    let flops = any(|r| r.flops != 0);
    let varies = any(|r| r.host_cv.is_some_and(|cv| cv > 0.0));
    // Bars compare the rows shown: the largest fills its cell. The number next to it is the share of the whole.
    let largest = |value: fn(&OpRow) -> i64| rows.iter().map(value).max().unwrap_or(0);
    let (most_device, most_host) = (largest(|r| r.device_self_ns), largest(|r| r.host_self_ns));
    let words =
        |label: &str, least, priority| Column::text(label).flexible(least, end_ellipsis).priority(priority);
    let mut table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Name"), |r| Cell::text(&r.name))
        .add_if(overloads, Column::text("Overload").priority(90), |r| {
            Cell::text(r.overload.as_deref().unwrap_or_default())
        })
        .add_if(shapes, words("Input shapes", 16, 110), |r| {
            Cell::text(r.input_shapes.as_deref().unwrap_or_default())
        })
        .metric("calls", 150, |r| Cell::count(r.calls))
        .metric_if(device, "device_self_ns", 200, |r| Cell::time(r.device_self_ns))
        .add_if(device, Column::number("% device").priority(120), |r| {
            share(r.device_self_ns, device_total, most_device).role(Role::Device)
        })
        .metric_if(device, "device_total_ns", 90, |r| Cell::time(r.device_total_ns))
        .metric("host_self_ns", 200, |r| {
            if r.host_self_ns < 0 { Cell::nothing() } else { Cell::time(r.host_self_ns) }
        })
        .add_if(!device, Column::number("% host").priority(120), |r| {
            share(r.host_self_ns, host_total, most_host).role(Role::Host)
        })
        .metric("host_total_ns", 110, |r| Cell::time(r.host_total_ns))
        .metric("host_mean_ns", 50, |r| Cell::time(r.host_mean_ns.round() as i64))
        .metric_if(varies, "host_p95_ns", 24, |r| Cell::maybe(r.host_p95_ns, Cell::time))
        .metric_if(varies, "host_p99_ns", 22, |r| Cell::maybe(r.host_p99_ns, Cell::time))
        .metric_if(varies, "host_cv", 20, |r| Cell::maybe(r.host_cv, Cell::percent))
        .metric_if(device, "device_mean_ns", 52, |r| Cell::time(r.device_mean_ns.round() as i64))
        .metric_if(memory, "device_memory_bytes", 60, |r| Cell::bytes(r.device_memory_bytes))
        .metric_if(memory, "device_self_memory_bytes", 55, |r| Cell::bytes(r.device_self_memory_bytes))
        .metric_if(host_memory, "host_memory_bytes", 30, |r| Cell::bytes(r.host_memory_bytes))
        .metric_if(flops, "flops", 70, |r| Cell::flops(r.flops as f64))
        .add_if(stacks, words("Stack", 24, 130), |r| {
            Cell::text(r.stack.as_ref().map(|s| s.join(" < ")).unwrap_or_default())
        })
        .table();
    if rows.iter().any(|row| row.host_self_ns < 0) {
        table.note(BELOW_ZERO);
    }
    table
}

/// Why some rows have no self time.
const BELOW_ZERO: &str = "a host self time below zero is not shown: PyTorch counts calls of other threads on the main \
                          thread, where they overlap what it did; --own-threads counts them where they ran";

/// A share of the whole, with a bar relative to the largest. Less than nothing is none.
pub(super) fn share(part: i64, whole: i64, largest: i64) -> Cell {
    if part < 0 {
        return Cell::nothing();
    }
    Cell::percent(ratio(part, whole)).bar(ratio(part, largest))
}

pub(super) fn ratio(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
