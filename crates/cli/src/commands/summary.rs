//! `stepscope summary`: where the time went, on one screen.

use std::io::Write;

use serde::Serialize;
use serde_json::{Value, json};
use stepscope_analyse::breakdown::{self, Breakdown, breakdown};
use stepscope_analyse::comm::CommRule;
use stepscope_analyse::copies::{self, CopiesReport};
use stepscope_analyse::gpu::{self, GpuReport};
use stepscope_analyse::kernels::{self, KernelGroup, KernelsQuery, KernelsReport};
use stepscope_analyse::memory;
use stepscope_analyse::ops::{self, OpsQuery, OpsReport};
use stepscope_analyse::run_info;
use stepscope_analyse::steps::{self, Steps};
use stepscope_formats::discover;

use super::steps::parts;
use super::{refuse, wants_only_definitions};
use crate::args::Common;
use crate::failure::Failure;
use crate::input::{Input, choose, keep_asked, rank_of, remark};
use crate::print::{self, Cell, Column, Format, Role, Screen, Table, units};
use crate::rows::arrange;
use crate::words::{self, Part, answer, only_definitions};

/// Rows of the tables on the summary.
const TOP: usize = 10;
/// Steps drawn one by one before only the average is.
const STEPS_DRAWN: usize = 8;

/// One trace of several, in a line.
#[derive(Clone, Debug, Serialize)]
struct RunRow {
    path: String,
    worker: Option<String>,
    rank: Option<i64>,
    span: Option<String>,
    events: u64,
    steps: usize,
    mean_step_ns: Option<i64>,
    gpu_utilization: Option<f64>,
}

/// Everything the summary shows.
pub(super) struct Summary {
    pub(super) breakdown: Breakdown,
    pub(super) gpu: GpuReport,
    pub(super) ops: OpsReport,
    pub(super) kernels: KernelsReport,
    pub(super) copies: CopiesReport,
    pub(super) memory: memory::Report,
    pub(super) info: run_info::Report,
}

impl Summary {
    /// Asks every analysis; they are independent, so they run side by side.
    pub(super) fn of(input: &Input) -> Summary {
        let (trace, steps, selection) = (&input.trace, &input.steps, &input.selection);
        if selection.device.is_some() {
            remark("the parts of the steps count all devices; `stepscope steps --by device` tells them apart");
        }
        let mut gpu = gpu::gpu(trace, steps);
        super::gpu::keep_device(&mut gpu, selection.device);
        std::thread::scope(|scope| {
            let ops = scope
                .spawn(|| ops::ops(trace, &OpsQuery { selection: selection.clone(), ..OpsQuery::default() }));
            let memory = memory::analyse(
                trace,
                &memory::Options { selection: selection.clone(), ..memory::Options::default() },
            );
            let query = KernelsQuery { selection: selection.clone(), ..KernelsQuery::default() };
            Summary {
                breakdown: breakdown(trace, steps, CommRule::default()),
                gpu,
                kernels: kernels::kernels(trace, &query),
                copies: copies::copies(trace, selection),
                memory,
                info: run_info::analyse(trace),
                ops: ops.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            }
        })
    }
}

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    let definitions = [
        steps::DEFINITIONS,
        breakdown::DEFINITIONS,
        gpu::DEFINITIONS,
        ops::DEFINITIONS,
        kernels::DEFINITIONS,
        memory::DEFINITIONS,
    ];
    if wants_only_definitions(common) {
        return only_definitions(out, common, &definitions);
    }
    refuse(common, &["--by"], "the summary", "`stepscope ops --by …` and other commands group")?;
    let (input, runs) = load(common)?;
    let summary = Summary::of(&input);
    if common.format == Format::Table {
        let screen = words::screen(common);
        head(out, &screen, &summary, &input)?;
        if runs.len() > 1 {
            writeln!(out)?;
            runs_table(&runs).write(out, &screen)?;
        }
        step_bars(out, &screen, &summary.breakdown)?;
        if summary.ops.ops.is_empty() && summary.kernels.rows.is_empty() {
            print::note(
                out,
                &screen,
                "no operators or kernels in this trace; `stepscope info` lists what there is",
            )?;
        }
    }
    let notes = json!(summary.info.notes);
    let mut parts = tables(summary, common)?;
    if common.format != Format::Table && runs.len() > 1 {
        parts.insert(0, Part::new("runs", runs_table(&runs), json!(runs)));
    }
    answer(out, common, parts, vec![("notes", notes)], &definitions)?;
    if common.format == Format::Table && !input.trace.notes().is_empty() {
        writeln!(out)?;
        words::notes(out, &words::screen(common), &input.trace)?;
    }
    Ok(())
}

/// The trace to show, and a line on each trace of the folder unless one rank was asked for.
fn load(common: &Common) -> Result<(Input, Vec<RunRow>), Failure> {
    let several = match &common.path {
        Some(path) => discover(path)?.len() > 1,
        None => false,
    };
    if common.rank.is_some() || !several {
        return Ok((Input::of(choose(common, None)?, common)?, Vec::new()));
    }
    let mut runs = Vec::new();
    let trace = choose(
        common,
        Some(&mut |trace| {
            runs.push(run_row(trace, common)?);
            Ok(())
        }),
    )?;
    Ok((Input::of(trace, common)?, runs))
}

fn run_row(trace: &stepscope_model::Trace, common: &Common) -> Result<RunRow, Failure> {
    let mut steps = Steps::find(trace);
    keep_asked(&mut steps, common)?;
    let report = breakdown(trace, &steps, CommRule::default());
    let gpus = gpu::gpu(trace, &steps);
    let source = &trace.meta().source;
    Ok(RunRow {
        path: source.path.clone(),
        worker: source.worker.clone(),
        rank: rank_of(trace),
        span: source.span.clone(),
        events: trace.meta().events_in_file,
        steps: if steps.synthetic { 0 } else { steps.steps.len() },
        mean_step_ns: report.average.map(|a| a.wall_ns),
        gpu_utilization: gpus.devices.iter().filter_map(|d| d.utilization).reduce(f64::max),
    })
}

fn runs_table(runs: &[RunRow]) -> Table {
    let mut table = Table::new(vec![
        Column::name("Worker"),
        Column::number("Rank").keep(),
        Column::text("Span").priority(60),
        Column::number("Events").priority(80),
        Column::number("Steps").priority(100),
        Column::number("Mean step").keep(),
        Column::number("GPU utilization").priority(120),
    ])
    .title("Traces", "");
    for r in runs {
        table.row(vec![
            Cell::text(r.worker.as_deref().unwrap_or(&r.path)),
            Cell::maybe(r.rank, |v| Cell::text(v.to_string())),
            Cell::maybe(r.span.as_deref(), Cell::text),
            Cell::count(r.events),
            Cell::count(r.steps as u64),
            Cell::maybe(r.mean_step_ns, Cell::time),
            Cell::maybe(r.gpu_utilization, |v| Cell::share(v).role(Role::Device)),
        ]);
    }
    table
}

/// The lines on top: what this is, and the few figures that matter most.
fn head(out: &mut dyn Write, screen: &Screen, s: &Summary, input: &Input) -> Result<(), Failure> {
    let device = match s.info.devices.iter().find(|d| s.gpu.devices.iter().any(|g| g.device == Some(d.index))) {
        Some(d) => d.name.clone(),
        None if s.gpu.devices.is_empty() => "host only".to_owned(),
        None => "GPU".to_owned(),
    };
    let more = match s.gpu.devices.len() {
        0 | 1 => String::new(),
        n => format!(" × {n}"),
    };
    let framework = s.info.framework.as_deref().unwrap_or("trace");
    let words = format!(
        "{framework}, {device}{more}, {} events, {}",
        units::count(s.info.ledger.events_in_file),
        units::time(s.info.extent_ns),
    );
    print::heading(out, screen, &s.info.path, &words)?;
    if !input.is_whole() {
        print::note(out, screen, "only the steps and devices asked for")?;
    }
    Ok(())
}

/// Each step as a bar of its parts, or their average if there are many.
fn step_bars(out: &mut dyn Write, screen: &Screen, report: &Breakdown) -> Result<(), Failure> {
    let Some(average) = &report.average else { return Ok(()) };
    writeln!(out)?;
    print::heading(out, screen, "Steps", &super::steps::words(report))?;
    writeln!(out)?;
    let longest = report.rows.iter().map(|r| r.parts.wall_ns).max().unwrap_or(1).max(1);
    let room = screen.width.min(110);
    let mut line = |label: &str, p: &breakdown::Parts| -> Result<(), Failure> {
        let bar_room = room.saturating_sub(24).max(10);
        let width = (bar_room as i128 * i128::from(p.wall_ns) / i128::from(longest)).max(1) as usize;
        let bar = print::stacked_line(screen, &parts(p), width.min(bar_room));
        Ok(writeln!(out, "{label:>8}  {:>9}  {bar}", units::time(p.wall_ns))?)
    };
    if report.rows.len() <= STEPS_DRAWN {
        for row in &report.rows {
            let label = if row.step >= 0 { row.step.to_string() } else { "all".to_owned() };
            line(&label, &row.parts)?;
        }
    } else {
        let by_wall = |r: &&breakdown::BreakdownRow| r.parts.wall_ns;
        if let (Some(fast), Some(slow)) =
            (report.rows.iter().min_by_key(by_wall), report.rows.iter().max_by_key(by_wall))
        {
            line("fastest", &fast.parts)?;
            line("average", average)?;
            line("slowest", &slow.parts)?;
        }
    }
    writeln!(out)?;
    print::stacked_legend(out, screen, &parts(average), room)?;
    if report.synthetic {
        print::note(
            out,
            screen,
            "no ProfilerStep marks: the whole trace is shown as one step (call prof.step() after each iteration)",
        )?;
    }
    writeln!(out)?;
    Ok(())
}

/// The tables, and the same data for programs.
pub(super) fn tables(s: Summary, common: &Common) -> Result<Vec<Part>, Failure> {
    let (device, host) = (s.ops.total_device_self_ns, s.ops.total_host_self_ns);
    let sort = super::ops::default_sort(device);
    let ops = arrange(s.ops.ops, common, Some(sort), TOP, |r| &r.name)?;
    let mut ops_table = super::ops::table(&ops.rows, device, host)
        .title("Operators", "by self time; `stepscope ops` shows all");
    if s.ops.device_time_unlinked_ns > 0 {
        ops_table.note(format!(
            "{} of device time belongs to no operator in this file",
            units::time(s.ops.device_time_unlinked_ns)
        ));
    }
    let kernel_ns = s.kernels.total_ns;
    let kernels = arrange(s.kernels.rows, common, Some("total_ns"), TOP, |r| &r.name)?;
    let kernel_words = format!("{} in all; `stepscope kernels` shows all", units::time(kernel_ns));
    let kernels_table = super::kernels::table(&kernels.rows, KernelGroup::default(), common.full)
        .title("Kernels", kernel_words);
    let steps = json!(s.breakdown.rows);
    let mut all = vec![
        Part::new("gpu", super::gpu::table(&s.gpu), json!(s.gpu.devices)),
        Part::new("ops", ops_table, json!(ops.rows)),
        Part::new("kernels", kernels_table, json!(kernels.rows)),
        Part::new("copies", super::kernels::copies_table(&s.copies), json!(s.copies.rows)),
        Part::new("memory", super::memory::devices_table(&s.memory), json!(s.memory.devices)),
    ];
    if common.format == Format::Table {
        if let Some(part) = all.last_mut() {
            part.picture = super::memory::curves(&words::screen(common), &s.memory, false)?;
        }
        all.retain(|part| has_rows(&part.data));
    } else {
        let average = s.breakdown.average.as_ref();
        let table =
            super::steps::table(&s.breakdown.rows, average).title("Steps", super::steps::words(&s.breakdown));
        all.insert(0, Part::new("steps", table, steps));
        // Facts, not rows: only JSON has a place for them here.
        if common.format == Format::Json {
            all.push(Part::new("info", Table::default(), json!(s.info)));
        }
    }
    Ok(all)
}

fn has_rows(data: &Value) -> bool {
    data.as_array().is_some_and(|rows| !rows.is_empty())
}
