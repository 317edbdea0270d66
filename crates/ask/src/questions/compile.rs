//! How torch.compile does.

use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_analyse::tables::compiled::{self, CompilePhase, CompiledRegion, EagerRow, GeneratedRow, Health};
use stepscope_ground::Problem;

use super::DEFAULT_TOP;
use super::ops::{ratio, unless_empty};
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, end_ellipsis, middle_ellipsis, units};
use crate::rows::{RowSelection, arrange};

pub(super) const QUESTION: Question = Question {
    name: "compile",
    about: "torch.compile: compiled regions, graph breaks, guards, recompiles, compile time, and generated kernels with their \
            source.",
    examples: &[
        "compile TRACE",
        "compile TRACE --by kernel",
        "compile TRACE --by eager",
        "compile TRACE --by phase",
    ],
    group: Group::Time,
    by: &["region", "kernel", "eager", "phase"],
    options: &["sort", "top", "filter", "step", "full"],
    report_by: Some(&["kernel", "eager", "phase"]),
    definitions: &[compiled::DEFINITIONS],
    forms: &[
        Form {
            name: "CompileAnswer",
            about: TRACES,
            members: &[&[rows::<Health>("health"), rows::<CompiledRegion>("regions")]],
        },
        Form { name: "CompileByKernel", about: TRACES, members: &[&[rows::<GeneratedRow>("kernels")]] },
        Form { name: "CompileByEager", about: TRACES, members: &[&[rows::<EagerRow>("eager")]] },
        Form { name: "CompileByPhase", about: TRACES, members: &[&[rows::<CompilePhase>("phases")]] },
    ],
    answer,
    page_parts: &["health", "compiled", "eager", "regions"],
    ..USUAL
};

const NONE: &str = "nothing in this trace was compiled by torch.compile";

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let report = compiled::compiled(asked.trace(), asked.steps(), &asked.selection);
    let (by, full) = (ask.grouped(), ask.full);
    let found = report.health.is_some();
    let health =
        Part::new("health", report.health.into_iter().collect(), |rows: &[Health]| match rows.first() {
            Some(health) => health_table(health),
            None => Table::new(vec![Column::text("")]).title("torch.compile", "").when_empty(NONE),
        });
    let part = match by {
        "kernel" => {
            let none = if found { "no generated kernels ran on a device" } else { NONE };
            let rows = arrange(report.generated, &ask.rows, None, DEFAULT_TOP, |r| &r.kernel)?;
            part("kernels", rows, none, move |rows| generated_table(rows, full))
        }
        "eager" => {
            let none = if found { "no operators ran between compiled parts" } else { NONE };
            let rows = arrange(report.eager, &ask.rows, None, DEFAULT_TOP, |r| &r.name)?;
            part("eager", rows, none, eager_table)
        }
        "phase" => {
            let none = if found { "nothing was compiled while this trace was recorded" } else { NONE };
            let rows = arrange(report.phases, &ask.rows, None, DEFAULT_TOP, |r| &r.phase)?;
            part("phases", rows, none, phases_table)
        }
        _ => {
            let rows = arrange(report.regions, &ask.rows, None, DEFAULT_TOP, |r| {
                r.function.as_deref().unwrap_or(&r.region)
            })?;
            let none = if found { "no compiled region was entered" } else { NONE };
            let regions = part("regions", rows, none, move |rows| regions_table(rows, full));
            let regions = if found { regions } else { unless_empty(regions) };
            return Ok(Answer::new(vec![health, regions]).main("regions"));
        }
    };
    Ok(Answer::new(vec![part]))
}

fn part<R: serde::Serialize + schemars::JsonSchema + Send + Sync + 'static>(
    key: &'static str,
    rows: RowSelection<R>,
    none: &'static str,
    table: impl Fn(&[R]) -> Table + Send + Sync + 'static,
) -> Part {
    rows.into_part(key, none, table)
}

fn bad(is: bool, cell: Cell) -> Cell {
    if is { cell.role(Role::Bad) } else { cell }
}

/// A line per metric with what it means.
fn health_table(h: &Health) -> Table {
    let mut table = Table::new(vec![
        Column::text("").keep(),
        Column::number("").keep(),
        Column::text("").flexible(24, end_ellipsis).priority(60),
    ]);
    let mut line = |name: &str, cell: Cell, words: String| {
        table.row(vec![Cell::text(name), cell, Cell::text(words).role(Role::Dim)]);
    };
    let calls = if h.calls_per_step == 1.0 { "call" } else { "calls" };
    line("Regions", Cell::count(h.regions), format!("{} {calls} per step", number(h.calls_per_step)));
    let breaks = bad(h.breaks_per_step > 0.0, Cell::text(number(h.breaks_per_step)));
    line("Graph breaks per step", breaks, "regions entered inside another".to_owned());
    let eager = Cell::text(number(h.eager_per_step));
    line("Eager operators per step", eager, "at breaks and between regions; --by eager".to_owned());
    let again = bad(h.recompiles > 0, Cell::count(h.recompiles));
    line("Recompiles", again, format!("of {} within the trace", units::counted(h.compiles, "compile")));
    let compile = bad(h.compile_ns > 0, Cell::time(h.compile_ns));
    line("Compiling", compile, "on the host; --by phase".to_owned());
    let each = h.lookup_ns.checked_div(h.lookups as i64).unwrap_or(0);
    let words = format!("{} of guards, {} each", units::counted(h.lookups, "check"), units::time(each));
    line("Cache lookups", Cell::time(h.lookup_ns), words);
    line("Host time", Cell::time(h.host_ns), "in regions and their backward passes".to_owned());
    let device = match h.device_share {
        Some(share) => format!("{} of all device time", units::percent(share)),
        None => "no device work in this trace".to_owned(),
    };
    line("Device time", Cell::time(h.device_ns), device);
    table.title("torch.compile", units::counted(h.steps, "step"))
}

/// A mean count: whole if it is.
fn number(mean: f64) -> String {
    if mean.fract() == 0.0 { units::count(mean as u64) } else { format!("{mean:.1}") }
}

fn regions_table(rows: &[CompiledRegion], full: bool) -> Table {
    let any = |has: fn(&CompiledRegion) -> bool| rows.iter().any(has);
    let functions = any(|r| r.function.is_some());
    let device = any(|r| r.device_ns > 0);
    let backward = any(|r| r.backward_host_ns > 0);
    let compile = any(|r| r.compile_ns.is_some());
    let function = Column::text("Function");
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Region").keep(), |r| {
            let again = r.region.split_once('/').is_some_and(|(_, version)| version != "0");
            if again { Cell::text(&r.region).role(Role::Warn) } else { Cell::text(&r.region) }
        })
        .add_if(
            functions,
            if full { function.keep() } else { function.flexible(20, middle_ellipsis).priority(100) },
            |r| Cell::maybe(r.function.as_deref(), Cell::text),
        )
        .metric("calls", KEEP, |r| Cell::count(r.calls))
        .metric("breaks", 130, |r| bad(r.breaks > 0, Cell::count(r.breaks)))
        .metric("host_ns", KEEP, |r| Cell::time(r.host_ns))
        .metric_if(device, "device_ns", KEEP, |r| Cell::time(r.device_ns))
        .metric_if(backward, "backward_host_ns", 110, |r| Cell::time(r.backward_host_ns))
        .metric_if(backward && device, "backward_device_ns", 115, |r| Cell::time(r.backward_device_ns))
        .metric_if(device, "device_slices", 90, |r| Cell::count(r.device_slices))
        .metric_if(compile, "compile_ns", 140, |r| Cell::maybe(r.compile_ns, Cell::time))
        .table()
        .title("Regions", "frame/version; a version above 0 was compiled because no earlier one fit")
}

fn generated_table(rows: &[GeneratedRow], full: bool) -> Table {
    let source = Column::text("Source");
    let mut table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Kernel").flexible(30, middle_ellipsis), |r| Cell::text(&r.kernel))
        .add(Column::text("Region").priority(130), |r| Cell::maybe(r.region.as_deref(), Cell::text))
        .add(Column::text("Config").flexible(10, end_ellipsis).priority(90), |r| {
            Cell::maybe(r.config.as_deref(), Cell::text)
        })
        .metric("calls", 140, |r| Cell::count(r.calls))
        .metric("total_ns", KEEP, |r| Cell::time(r.total_ns))
        .metric("share", 120, |r| Cell::percent(r.share))
        .metric("mean_ns", 80, |r| Cell::time(r.mean_ns.round() as i64))
        .add(if full { source.keep() } else { source.flexible(24, middle_ellipsis).priority(135) }, |r| {
            Cell::maybe(r.file.as_deref(), Cell::text)
        })
        .table()
        .title("Generated kernels", "kernels the compiler wrote, and the file with their source");
    if !rows.is_empty() && rows.iter().all(|r| r.file.is_none()) {
        table.note("the trace names no source files; record with record_shapes=True");
    }
    table
}

fn eager_table(rows: &[EagerRow]) -> Table {
    let device = rows.iter().any(|r| r.device_ns > 0);
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Operator"), |r| Cell::text(&r.name))
        .metric("calls", KEEP, |r| Cell::count(r.calls))
        .metric("calls_per_step", 130, |r| Cell::text(number(r.calls_per_step)))
        .metric("in_regions", 120, |r| Cell::count(r.in_regions))
        .metric("host_ns", KEEP, |r| Cell::time(r.host_ns))
        .metric_if(device, "device_ns", KEEP, |r| Cell::time(r.device_ns))
        .table()
        .title(
            "Eager operators",
            "operators between compiled parts: at graph breaks (in regions) and between regions",
        )
}

fn phases_table(rows: &[CompilePhase]) -> Table {
    let all: i64 = rows.iter().fold(0, |sum: i64, r| sum.saturating_add(r.self_ns));
    let largest = rows.iter().map(|r| r.self_ns).max().unwrap_or(0);
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Phase"), |r| Cell::text(&r.phase))
        .metric("calls", 120, |r| Cell::count(r.calls))
        .metric("self_ns", KEEP, |r| Cell::time(r.self_ns))
        .add(Column::number("% shown").priority(110), |r| {
            Cell::percent(ratio(r.self_ns, all)).bar(ratio(r.self_ns, largest)).role(Role::Host)
        })
        .metric("total_ns", 130, |r| Cell::time(r.total_ns))
        .table()
        .title("Compiling", "phases of the compiler on the host; self is without phases inside")
}
