//! `stepscope summary`: where the time went and what to change, on one screen.

mod ending;
mod runs;

use std::io::Write;

use serde_json::{Value, json};
use stepscope_analyse::causes::account::Account;
use stepscope_analyse::causes::verdict::{Grade, verdict};
use stepscope_analyse::devices::copies::{self, CopiesReport};
use stepscope_analyse::devices::utilization::{self, GpuReport};
use stepscope_analyse::findings::{self, Context, Finding, Thresholds};
use stepscope_analyse::memory;
use stepscope_analyse::names::comm::CommRule;
use stepscope_analyse::steps;
use stepscope_analyse::steps::breakdown::{self, Breakdown, breakdown};
use stepscope_analyse::tables::kernels::{self, KernelGroup, KernelsQuery, KernelsReport};
use stepscope_analyse::tables::ops::{self, OpsQuery, OpsReport};
use stepscope_analyse::tables::run_info;

use super::steps::parts;
use super::{refuse, wants_only_definitions};
use crate::args::{self, Common};
use crate::config;
use crate::failure::Failure;
use crate::input::{Input, remark};
use crate::print::{self, Format, Role, Screen, Table, units};
use crate::rows::arrange;
use crate::words::{self, Part, answer, only_definitions};

/// Rows of the tables on the summary.
const TOP: usize = 10;
/// Steps drawn one by one before only the average is.
const STEPS_DRAWN: usize = 8;

/// Everything the summary shows.
pub(super) struct Summary {
    pub(super) breakdown: Breakdown,
    pub(super) gpu: GpuReport,
    pub(super) ops: OpsReport,
    pub(super) kernels: KernelsReport,
    pub(super) copies: CopiesReport,
    pub(super) memory: memory::Report,
    pub(super) info: run_info::Report,
    pub(super) account: Account,
    pub(super) findings: Vec<Finding>,
    /// The mean step, which the findings are measured against.
    pub(super) step_ns: i64,
}

impl Summary {
    /// Asks every analysis; they are independent, so they run side by side. Without limits there are no findings.
    pub(super) fn of(input: &Input, thresholds: Option<&Thresholds>) -> Summary {
        let (trace, steps, selection) = (&input.trace, &input.steps, &input.selection);
        if selection.device.is_some() {
            remark(
                "the parts of the steps and the findings count all devices; `stepscope steps --by device` tells them apart",
            );
        }
        let mut gpu = utilization::gpu(trace, steps);
        super::gpu::keep_device(&mut gpu, selection.device);
        std::thread::scope(|scope| {
            let ops = scope
                .spawn(|| ops::ops(trace, &OpsQuery { selection: selection.clone(), ..OpsQuery::default() }));
            let found = scope.spawn(|| {
                let context = Context::new(trace, steps, thresholds?);
                Some((findings::in_context(&context), context.account().clone(), context.step_ns()))
            });
            let memory = memory::analyse(
                trace,
                &memory::Options { selection: selection.clone(), ..memory::Options::default() },
            );
            let query = KernelsQuery { selection: selection.clone(), ..KernelsQuery::default() };
            let breakdown = breakdown(trace, steps, CommRule::default());
            let kernels = kernels::kernels(trace, &query);
            let copies = copies::copies(trace, selection);
            let info = run_info::analyse(trace);
            let ops = ops.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let (findings, account, step_ns) =
                found.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).unwrap_or_default();
            Summary { breakdown, gpu, ops, kernels, copies, memory, info, account, findings, step_ns }
        })
    }
}

pub(super) fn run(args: &args::Summary, out: &mut dyn Write) -> Result<(), Failure> {
    let common = &args.common;
    let definitions = [
        steps::DEFINITIONS,
        breakdown::DEFINITIONS,
        utilization::DEFINITIONS,
        ops::DEFINITIONS,
        kernels::DEFINITIONS,
        memory::DEFINITIONS,
        findings::DEFINITIONS,
    ];
    if wants_only_definitions(common) {
        return only_definitions(out, common, &definitions);
    }
    refuse(common, &["--by"], "the summary", "`stepscope ops --by …` and other commands group")?;
    let thresholds = config::thresholds(args.config.as_deref())?;
    let (input, runs) = runs::load(common)?;
    let summary = Summary::of(&input, (!args.no_findings).then_some(&thresholds));
    if common.format == Format::Table {
        let screen = words::screen(common);
        head(out, &screen, &summary, &input)?;
        if runs.len() > 1 {
            writeln!(out)?;
            runs::table(&runs).write(out, &screen)?;
        }
        step_bars(out, &screen, &summary.breakdown)?;
        let Summary { ops, kernels, .. } = &summary;
        if ops.ops.is_empty() && ops.annotations.is_empty() && kernels.rows.is_empty() {
            print::note(
                out,
                &screen,
                "no operators or kernels in this trace; `stepscope info` lists what there is",
            )?;
        }
    }
    let notes = json!(summary.info.notes);
    let verdict = json!(verdict(&summary.account));
    let ending = ending::Ending::of(&summary);
    let mut parts = tables(summary, common)?;
    if common.format != Format::Table && runs.len() > 1 {
        parts.insert(0, Part::new("runs", runs::table(&runs), json!(runs)));
    }
    if common.format == Format::Table {
        // Definitions come last: what to do next stands right below the tables.
        let plain = Common { explain: false, ..common.clone() };
        answer(out, &plain, parts, Vec::new(), &[])?;
        let screen = words::screen(common);
        if !input.trace.notes().is_empty() {
            writeln!(out)?;
            words::notes(out, &screen, &input.trace)?;
        }
        if !args.no_findings {
            writeln!(out)?;
            ending.write(out, &screen, common)?;
        }
        if common.explain {
            writeln!(out)?;
            words::explain(out, &screen, &definitions)?;
        }
        return Ok(());
    }
    answer(out, common, parts, vec![("verdict", verdict), ("notes", notes)], &definitions)
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
    if let Some(verdict) = verdict(&s.account) {
        let role = match verdict.grade {
            Grade::Good => Role::Good,
            Grade::Fair => Role::Warn,
            Grade::Poor => Role::Bad,
        };
        for line in print::wrap(&screen.text(&verdict.text), screen.width) {
            writeln!(out, "{}", screen.paint(role, &line))?;
        }
    }
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
    // A program without operators still has the regions it names.
    let named = if s.ops.ops.is_empty() { s.ops.annotations } else { Vec::new() };
    let ops = arrange(s.ops.ops, common, Some(sort), TOP, |r| &r.name)?;
    let mut ops_table = super::ops::table(&ops.rows, device, host)
        .title("Operators", "by self time; `stepscope ops` shows all");
    if s.ops.device_time_unlinked_ns > 0 {
        ops_table.note(format!(
            "{} of device time belongs to no operator in this file",
            units::time(s.ops.device_time_unlinked_ns)
        ));
    }
    let named_ns = named.iter().map(|row| row.host_self_ns).fold(0, i64::saturating_add);
    let regions = arrange(named, common, Some("host_self_ns"), TOP, |r| &r.name)?;
    let regions_table = super::ops::table(&regions.rows, device, named_ns)
        .title("Regions", "named by the program, with shares of their own time; `stepscope ops` shows all");
    let kernel_ns = s.kernels.total_ns;
    let kernels = arrange(s.kernels.rows, common, Some("total_ns"), TOP, |r| &r.name)?;
    let kernel_words = format!("{} in all; `stepscope kernels` shows all", units::time(kernel_ns));
    let kernels_table = super::kernels::table(&kernels.rows, KernelGroup::default(), common.full)
        .title("Kernels", kernel_words);
    let steps = json!(s.breakdown.rows);
    let findings = Part::new("findings", ending::table(&s.findings, s.step_ns), json!(s.findings));
    let mut all = vec![
        Part::new("gpu", super::gpu::table(&s.gpu), json!(s.gpu.devices)),
        Part::new("ops", ops_table, json!(ops.rows)),
        Part::new("regions", regions_table, json!(regions.rows)),
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
        all.push(findings);
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
