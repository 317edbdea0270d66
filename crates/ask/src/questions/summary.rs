//! Where the time went and what to change, on one screen.

mod ending;
mod runs;

use std::io::{self, Write};
use std::sync::Arc;

use stepscope_analyse::causes::verdict::{Grade, Verdict};
use stepscope_analyse::devices::copies::{self, copies};
use stepscope_analyse::devices::utilization::{self, GpuRow};
use stepscope_analyse::findings::{self, Finding};
use stepscope_analyse::memory;
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::Definition;
use stepscope_analyse::steps;
use stepscope_analyse::steps::breakdown::{self, Breakdown};
use stepscope_analyse::tables::flops;
use stepscope_analyse::tables::kernels::{self, KernelGroup, KernelsQuery};
use stepscope_analyse::tables::ops::{self, OpsQuery};
use stepscope_analyse::tables::run_info;

use super::steps::parts as step_parts;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Asked, Group, Question};
use crate::print::{self, Role, Screen, Table, units};
use crate::refusal::Refusal;
use crate::rows::arrange;

pub use runs::{RunRow, run_row, runs_part};

pub(super) const QUESTION: Question = Question {
    name: "summary",
    alias: None,
    about: "Where did the time go? Steps, GPU, operators, kernels, memory and what to change on one screen.",
    examples: &["summary TRACE", "TRACE --step 3-5"],
    group: Group::Change,
    by: &[],
    options: &["sort", "top", "filter", "step", "device", "full", "no-findings"],
    report_by: Some(&[]),
    definitions: &[
        OWN,
        steps::DEFINITIONS,
        breakdown::DEFINITIONS,
        utilization::DEFINITIONS,
        ops::DEFINITIONS,
        flops::DEFINITIONS,
        kernels::DEFINITIONS,
        copies::DEFINITIONS,
        memory::DEFINITIONS,
        findings::DEFINITIONS,
        run_info::DEFINITIONS,
    ],
    answer,
};

/// Where tables of the summary use one name for different numbers, this says which is which.
const OWN: &[Definition] = &[
    Definition {
        field: "calls",
        label: "Calls",
        text: "Operators and regions: how often it ran, on any thread; a call that is its caller's only one \
               and has its name is folded into the caller. Kernels and copies: how many ran.",
    },
    Definition {
        field: "kernel_ns",
        label: "Kernel time",
        text: "Steps: time during which at least one kernel other than communication ran on any device. GPUs: \
               the sum of kernel durations from the first step to the last; overlapping kernels each count in \
               full.",
    },
    Definition {
        field: "start_ns",
        label: "Start",
        text: "When it begins, counted from the trace's first event: a step, a slice that shows a finding, or \
               a recording window. A step begins with its host range, or where the step before it ended if \
               that is later.",
    },
    Definition {
        field: "dur_ns",
        label: "Duration",
        text: "How long a slice that shows a finding, or a recording window, lasts from start to end.",
    },
    Definition {
        field: "bytes",
        label: "Bytes",
        text: "Copies: bytes of the calls that record how many they moved. Memory: bytes alive at the peak \
               that this operator (from this stack) allocated.",
    },
    Definition {
        field: "streams",
        label: "Streams",
        text: "Trace: how many device streams have at least one slice. Kernels: the numbers of the streams it ran on.",
    },
    Definition {
        field: "count",
        label: "Count",
        text: "Categories: how many slices or points. Notes: how often it happened. Memory: how many \
               allocations alive at the peak the bytes came in.",
    },
];

/// Rows of the tables on the summary.
const TOP: usize = 10;
/// Steps drawn one by one before only the average is.
const STEPS_DRAWN: usize = 8;

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Refusal> {
    let asked = ask.part_of(&runs[0])?;
    let run = &asked.run;
    let findings = warmed(&asked, ask);
    let verdict = findings.as_ref().and_then(|_| run.verdict());
    let mut gpus = run.gpu().devices.clone();
    gpus.retain(|d| ask.device.is_none() || d.device == ask.device);
    let on_device = !gpus.is_empty();
    let head = Head {
        info: run.info().clone(),
        gpus: gpus.clone(),
        verdict: verdict.clone(),
        whole: asked.is_whole(),
        breakdown: run.breakdown().clone(),
    };
    let (parts, nothing) = tables(&asked, ask, gpus, findings.as_deref().unwrap_or_default())?;
    let mut answer = Answer::new(parts).fact("verdict", &verdict).fact("notes", &run.info().notes);
    if ask.device.is_some() {
        answer.remarks.push(
            "step parts and findings cover all devices; `stepscope steps --by device` shows each one"
                .to_owned(),
        );
    }
    answer.above = Some(Box::new(move |out, screen| head.write(out, screen, nothing)));
    let trace = run.shared_trace();
    let ending = findings.map(|findings| ending::Ending { findings, step_ns: run.step_ns() });
    if let Some(ending) = &ending {
        answer.next = ending.next(on_device);
    }
    answer.below = Some(Box::new(move |out, screen| {
        if !trace.notes().is_empty() {
            writeln!(out)?;
            super::notes::write(out, screen, &trace)?;
        }
        match &ending {
            Some(ending) => {
                writeln!(out)?;
                ending.write(out, screen)
            }
            None => Ok(()),
        }
    }));
    Ok(answer)
}

/// Makes the analyses that are needed, side by side, and returns the findings if they are wanted.
fn warmed(asked: &Asked, ask: &Ask) -> Option<Vec<Finding>> {
    let run = &asked.run;
    std::thread::scope(|scope| {
        let ops = scope.spawn(|| {
            run.ops();
        });
        let found = scope.spawn(|| (!ask.no_findings).then(|| findings::findings(run, &ask.thresholds)));
        run.memory();
        run.breakdown();
        run.gpu();
        run.info();
        for thread in [ops.join().map(|()| None), found.join()] {
            match thread {
                Ok(Some(findings)) => return Some(findings),
                Ok(None) => {}
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        None
    })
}

/// The lines on top: what this is, and the few numbers that matter most.
struct Head {
    info: run_info::Report,
    gpus: Vec<GpuRow>,
    verdict: Option<Verdict>,
    whole: bool,
    breakdown: Breakdown,
}

impl Head {
    fn write(&self, out: &mut dyn Write, screen: &Screen, nothing: bool) -> io::Result<()> {
        let info = &self.info;
        let device = match info.devices.iter().find(|d| self.gpus.iter().any(|g| g.device == Some(d.index))) {
            Some(d) => d.name.clone(),
            None if self.gpus.is_empty() => "host only".to_owned(),
            None => "GPU".to_owned(),
        };
        let more = match self.gpus.len() {
            0 | 1 => String::new(),
            n => format!(" × {n}"),
        };
        let framework = info.framework.as_deref().unwrap_or("trace");
        let words = format!(
            "{framework}, {device}{more}, {} events, {}",
            units::count(info.ledger.events_in_file),
            units::time(info.extent_ns),
        );
        print::heading(out, screen, &info.path, &words)?;
        if let Some(verdict) = &self.verdict {
            let role = match verdict.grade {
                Grade::Good => Role::Good,
                Grade::Fair => Role::Warn,
                Grade::Poor => Role::Bad,
            };
            for line in print::wrap(&screen.text(&verdict.text), screen.width) {
                writeln!(out, "{}", screen.paint(role, &line))?;
            }
        }
        if !self.whole {
            print::note(out, screen, "only the selected steps and devices")?;
        }
        step_bars(out, screen, &self.breakdown)?;
        if nothing {
            let text = "no operators or kernels in this trace; `stepscope info` lists what it contains";
            print::note(out, screen, text)?;
        }
        Ok(())
    }
}

/// Each step as a bar of its parts, or their average if there are many.
fn step_bars(out: &mut dyn Write, screen: &Screen, report: &Breakdown) -> io::Result<()> {
    let Some(average) = &report.average else { return Ok(()) };
    writeln!(out)?;
    print::heading(out, screen, "Steps", &super::steps::words(report))?;
    writeln!(out)?;
    let longest = report.rows.iter().map(|r| r.parts.wall_ns).max().unwrap_or(1).max(1);
    let room = screen.width.min(110);
    let mut line = |label: &str, p: &breakdown::Parts| -> io::Result<()> {
        let bar_room = room.saturating_sub(24).max(10);
        let width = (bar_room as i128 * i128::from(p.wall_ns) / i128::from(longest)).max(1) as usize;
        let bar = print::stacked_line(screen, &step_parts(p), width.min(bar_room));
        writeln!(out, "{label:>8}  {:>9}  {bar}", units::time(p.wall_ns))
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
    print::stacked_legend(out, screen, &step_parts(average), room)?;
    if report.synthetic {
        print::note(
            out,
            screen,
            "no ProfilerStep marks, so the whole trace is one step; call prof.step() after each iteration",
        )?;
    }
    writeln!(out)?;
    Ok(())
}

/// The tables, and whether there is nothing to show in those that matter most.
fn tables(
    asked: &Asked,
    ask: &Ask,
    gpus: Vec<GpuRow>,
    findings: &[Finding],
) -> Result<(Vec<Part>, bool), Refusal> {
    let run = &asked.run;
    let report = match asked.selection == run.narrowed() {
        true => run.ops().clone(),
        false => {
            ops::ops(asked.trace(), &OpsQuery { selection: asked.selection.clone(), ..OpsQuery::default() })
        }
    };
    let selection = asked.selection.clone();
    let kernels = kernels::kernels(asked.trace(), &KernelsQuery { selection, ..KernelsQuery::default() });
    let copied = copies(asked.trace(), &asked.selection);
    let memory = match asked.selection == run.narrowed() {
        true => run.memory().clone(),
        false => {
            let selection = asked.selection.clone();
            memory::analyse(asked.trace(), &memory::Options { selection, ..memory::Options::default() })
        }
    };
    let nothing = report.ops.is_empty() && report.annotations.is_empty() && kernels.rows.is_empty();
    let (device, host) = (report.total_device_self_ns, report.total_host_self_ns);
    let sort = super::ops::default_sort(device);
    // A program without operators still has the regions it names.
    let named = if report.ops.is_empty() { report.annotations } else { Vec::new() };
    let ops = arrange(report.ops, &ask.rows, Some(sort), TOP, |r| &r.name)?;
    let unlinked = report.device_time_unlinked_ns;
    let ops = Part::new("ops", ops.rows, move |rows| {
        let words = "by self time; `stepscope ops` shows all";
        let mut table = super::ops::table(rows, device, host).title("Operators", words);
        if unlinked > 0 {
            let time = units::time(unlinked);
            table.note(format!("{time} of device time belongs to no operator in this file"));
        }
        table
    });
    let named_ns = named.iter().map(|row| row.host_self_ns).fold(0, i64::saturating_add);
    let regions = arrange(named, &ask.rows, Some("host_self_ns"), TOP, |r| &r.name)?;
    let regions = Part::new("regions", regions.rows, move |rows| {
        let words = "named by your program; shares are of the time in regions; `stepscope ops` shows all";
        super::ops::table(rows, device, named_ns).title("Regions", words)
    });
    let (kernel_ns, full) = (kernels.total_ns, ask.full);
    let kernels = arrange(kernels.rows, &ask.rows, Some("total_ns"), TOP, |r| &r.name)?;
    let kernels = Part::new("kernels", kernels.rows, move |rows| {
        let words = format!("{} in total; `stepscope kernels` shows all", units::time(kernel_ns));
        super::kernels::table(rows, KernelGroup::default(), full).title("Kernels", words)
    });
    let words = super::kernels::copies_words(copied.memcpy_ns, copied.memset_ns);
    let copies = Part::new("copies", copied.rows, move |rows| super::kernels::copies_table(rows, &words));
    let records = memory.records;
    let curves = super::memory::curves(&memory, false);
    let mut memory =
        Part::new("memory", memory.devices, move |rows| super::memory::devices_table(rows, records));
    memory.picture = Some(curves);
    let (average, words) = (run.breakdown().average, super::steps::words(run.breakdown()));
    let steps = Part::new("steps", run.breakdown().rows.clone(), move |rows| {
        super::steps::table(rows, average.as_ref()).title("Steps", &words)
    });
    let step_ns = run.step_ns();
    let findings = Part::new("findings", findings.to_vec(), move |rows| ending::table(rows, step_ns));
    let document_only = |part: Part| Part { on_screen: false, ..part };
    let if_any = |part: Part| Part { on_screen: !part.is_empty(), ..part };
    let parts = vec![
        document_only(steps),
        if_any(Part::new("gpu", gpus, super::gpu::table)),
        if_any(ops),
        if_any(regions),
        if_any(kernels),
        if_any(copies),
        if_any(memory),
        document_only(findings),
        Part::single("info", run.info().clone(), |_| Table::default()).shown(false),
    ];
    Ok((parts, nothing))
}
