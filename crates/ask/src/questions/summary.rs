//! Where the time went and what to change, on one screen.

mod first;
mod fix;
mod head;
mod hot;
mod of_heap;
mod of_profile;
mod remarks;
mod runs;
mod time;
mod top;
mod why;

use std::sync::Arc;

use stepscope_analyse::causes::verdict;
use stepscope_analyse::devices::copies::{self, copies};
use stepscope_analyse::devices::utilization::{self, GpuRow};
use stepscope_analyse::findings::{self, Finding};
use stepscope_analyse::memory;
use stepscope_analyse::run::{self, Run};
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_analyse::steps;
use stepscope_analyse::steps::breakdown;
use stepscope_analyse::steps::samples::{self, Samples};
use stepscope_analyse::tables::flops;
use stepscope_analyse::tables::functions::AmountUnit;
use stepscope_analyse::tables::heap;
use stepscope_analyse::tables::kernels::{self, KernelGroup, KernelsQuery};
use stepscope_analyse::tables::lines::Lines;
use stepscope_analyse::tables::ops::{self, OpsQuery};
use stepscope_analyse::tables::run_info;
use stepscope_ground::Problem;
use stepscope_model::{DocumentKind, ProgramPhases};

use self::first::First;
use self::fix::Fix;
use self::head::Head;
use self::hot::HotSpots;
use self::remarks::Remarks;
use self::time::Time;
use self::top::Top;
use self::why::Why;
use super::findings::STEP;
use super::findings::words::Whole;
use super::program_phases::phases_text;
use crate::answer::{Answer, Next, Part};
use crate::ask::{Ask, Findings, Group, PROFILES, Question, RunPart, TRACES, USUAL};
use crate::form::{Form, Member, fact, rows, single};
use crate::print::{Table, units};
use crate::rows::arrange;

pub use runs::{RunRow, late_rank_words, run_row, runs_part};

pub(super) const QUESTION: Question = Question {
    name: "summary",
    about: "Why it is slow, what to change, and where the time goes, on one screen.",
    examples: &["summary TRACE", "TRACE --step 3-5", "TRACE --all  all tables below the first screen"],
    group: Group::Change,
    options: &["all", "sort", "top", "filter", "step", "device", "full", "no-findings"],
    report_by: Some(&[]),
    definitions: &[
        OWN_DEFINITIONS,
        verdict::DEFINITIONS,
        steps::DEFINITIONS,
        samples::DEFINITIONS,
        breakdown::DEFINITIONS,
        utilization::DEFINITIONS,
        ops::DEFINITIONS,
        flops::DEFINITIONS,
        kernels::DEFINITIONS,
        copies::DEFINITIONS,
        memory::DEFINITIONS,
        findings::DEFINITIONS,
        STEP,
        run_info::DEFINITIONS,
        run::PHASE_DEFINITIONS,
        hot::DEFINITIONS,
        heap::DEFINITIONS,
        runs::DEFINITIONS,
    ],
    forms: &[
        Form { name: "SummaryAnswer", about: TRACES, members: &[MEMBERS] },
        Form { name: "SummaryOfProfile", about: PROFILES, members: &[of_profile::MEMBERS] },
        Form { name: "SummaryOfHeap", about: PROFILES, members: &[of_heap::MEMBERS] },
    ],
    answer,
    findings: Findings::Included,
    states_damage: true,
    lists_folder: true,
    ..USUAL
};

/// What the summary of a trace holds.
const MEMBERS: &[Member] = &[
    rows::<breakdown::BreakdownRow>("steps"),
    rows::<time::CauseOfStep>("causes"),
    rows::<top::TopRow>("top"),
    rows::<GpuRow>("gpu"),
    rows::<ops::OpRow>("ops"),
    rows::<ops::OpRow>("regions"),
    rows::<kernels::KernelRow>("kernels"),
    rows::<copies::CopyRow>("copies"),
    rows::<memory::DeviceMemory>("memory"),
    rows::<Finding>("findings"),
    single::<run_info::RunInfo>("info"),
    rows::<hot::HotFunction>("hot_functions"),
    fact::<Option<verdict::Verdict>>("verdict"),
    fact::<Option<String>>("uncovered"),
    fact::<Vec<findings::UncheckedRules>>("unchecked_rules"),
    fact::<i64>("step_ns"),
    fact::<Option<f64>>("samples_per_step"),
    fact::<Option<f64>>("samples_per_s"),
    fact::<Option<i64>>("unprofiled_step_ns"),
    fact::<Option<i64>>("unprofiled_step_low_ns"),
    fact::<Option<i64>>("unprofiled_step_high_ns"),
    fact::<Option<ProgramPhases>>("phases"),
    fact::<Option<String>>("phases_text"),
    fact::<Vec<run_info::NoteInfo>>("notes"),
    fact::<AmountUnit>("unit"),
];

/// Where tables of the summary use one name for different numbers, this says which is which.
const OWN_DEFINITIONS: &[Definition] = definitions! {
    "calls", "Calls" =>
        "Operators and regions: how often it ran, on any thread; a call that is its caller's only one and has its name is \
         folded into the caller. Kernels and copies: how many ran.";
    "kernel_ns", "Kernel time" =>
        "Steps: time during which at least one kernel other than communication ran on any device. GPUs: the sum of kernel \
         durations from the first step to the last; overlapping kernels each count in full.";
    "start_ns", "Start" =>
        "When it begins, counted from the trace's first event: a step, a slice that shows a finding, or a recording \
         window. A step begins with its host range, or where the step before it ended if that is later.";
    "dur_ns", "Duration" => "How long a slice that shows a finding, or a recording window, lasts from start to end.";
    "bytes", "Bytes" =>
        "Copies: bytes of the calls that record how many they moved. Memory: bytes alive at the peak that this operator \
         (from this stack) allocated.";
    "streams", "Streams" =>
        "Trace: how many device streams have at least one slice. Kernels: the numbers of the streams it ran on.";
    "per_step_ns", "Per step" =>
        "Time divided by the number of steps, rounded down to the nanosecond. Causes: of one device, or of the main thread \
         if there is none. Rows of the top: summed durations of its kernels, copies and memsets, per device; without a \
         device, self time of the operator or region on the host.";
    "of_step", "Of the step" =>
        "The time per step divided by the steps' mean wall time. Rows of the top that overlap each count in full.";
    "kernels_per_step", "Kernels per step" => "How many kernels, copies and memsets ran, per step and device.";
    "of_roofline", "Of roofline" =>
        "The time that the device's peaks allow divided by the time it took; unknown without recorded shapes or for a \
         device whose peaks are not known.";
    "count", "Count" =>
        "Categories: how many slices or points. Notes: how often it happened. Memory: how many allocations alive at the \
         peak the bytes came in.";
};

/// Rows of the tables below the first screen.
const DEFAULT_TOP: usize = 10;

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    if let Some(profile) = runs[0].profile().filter(|_| runs[0].kind() == DocumentKind::Profile) {
        ask.refuse(
            &["step", "device", "sort", "top", "filter"],
            "the summary of a profile",
            "`stepscope functions` and `stepscope lines` have options about rows",
        )?;
        if profile.heap.is_some() {
            return Ok(of_heap::answer(ask, &runs[0], profile));
        }
        return Ok(of_profile::answer(ask, &runs[0], profile));
    }
    let asked = ask.part_of(&runs[0])?;
    let run = &asked.run;
    let findings = warmed(&asked, ask);
    let spots = run.hot().map(|hot| HotSpots::new(hot, &Lines::default()));
    let mut gpus = run.gpu().devices.clone();
    gpus.retain(|d| ask.device.is_none() || d.device == ask.device);
    let devices: Vec<i64> = gpus.iter().filter_map(|gpu| gpu.device).collect();
    let top = Top::new(run, ask.device, gpus.len());
    let (mut parts, nothing) = tables(&asked, ask, gpus, findings.as_deref().unwrap_or_default(), &top)?;
    let unit = spots.as_ref().map(HotSpots::unit).unwrap_or_default();
    let hot_functions = spots.as_ref().map_or_else(Vec::new, |spots| spots.functions.clone());
    let part = Part::new("hot_functions", hot_functions, move |rows| {
        hot::functions_table(rows, unit).title("Functions", "`stepscope functions` shows all")
    });
    parts.push(Part { on_screen: false, in_document: spots.is_some(), ..part });
    let verdict = findings.as_ref().and_then(|_| run.verdict());
    let unprofiled = findings.as_ref().map(|_| *run.unprofiled());
    let uncovered = findings.as_deref().zip(verdict.as_ref());
    let uncovered = uncovered
        .filter(|_| spots.is_none())
        .and_then(|(findings, verdict)| findings::uncovered(run, verdict, findings));
    let blind = findings.as_ref().map_or_else(Vec::new, |_| findings::unchecked_rules(run));
    let samples = run.samples();
    let mut answer = Answer::new(parts)
        .fact("verdict", &verdict)
        .fact("uncovered", &uncovered)
        .fact("unchecked_rules", &blind)
        .fact("step_ns", &run.step_ns())
        .fact("samples_per_step", &samples.as_ref().map(Samples::per_step))
        .fact("samples_per_s", &samples.as_ref().and_then(Samples::per_s))
        .fact("unprofiled_step_ns", &unprofiled.map(|u| u.step_ns))
        .fact("unprofiled_step_low_ns", &unprofiled.map(|u| u.low_ns))
        .fact("unprofiled_step_high_ns", &unprofiled.map(|u| u.high_ns))
        .fact("phases", &run.program_phases().cloned())
        .fact("phases_text", &run.program_phases().map(phases_text))
        .fact("notes", &run.info().notes)
        .fact("unit", &unit);
    if ask.device.is_some() {
        answer.remarks.push(
            "step parts and findings cover all devices; `stepscope steps --by device` shows each one"
                .to_owned(),
        );
    }
    // Where nothing was recorded there is nothing to change.
    let fix = findings.filter(|_| verdict.is_some()).map(|findings| Fix {
        findings,
        whole: Whole::new(run),
        program: findings::program(run.trace().meta()),
        plain: spots.is_some(),
    });
    // That no rule speaks says little about a program without operators.
    let fix = fix.filter(|fix| spots.is_none() || !fix.findings.is_empty());
    answer.next = match &fix {
        None if spots.is_some() => plain_next(),
        Some(fix) => fix.next(!devices.is_empty()),
        None => vec![Next { question: "info", about: "what the file contains" }],
    };
    answer.next.retain(|next| !(all_tables(ask) && next.question == Next::ALL_TABLES));
    answer.next_label = Some("MORE");
    let why = verdict.map(|_| Why::new(run, uncovered));
    answer.headline = why.as_ref().and_then(Why::words).into_iter().collect();
    let first = Arc::new(First {
        head: Head::new(run, &devices, asked.is_whole()),
        why,
        fix,
        // Without operators all of it is time that only the functions explain.
        time: if spots.is_some() { None } else { Time::new(run, ask.device) },
        top,
        remarks: Remarks {
            trace: run.shared_trace(),
            own: if spots.is_some() { Vec::new() } else { own_remarks(&asked, nothing) },
            blind: if spots.is_some() { Vec::new() } else { blind },
        },
        spots,
        next: answer.next.len(),
    });
    let last = first.clone();
    let all = all_tables(ask);
    answer.above = Some(Box::new(move |out, screen| {
        first.write(out, screen)?;
        // Tables follow, or notes that begin with an empty line themselves.
        if all { writeln!(out) } else { Ok(()) }
    }));
    answer.below = Some(Box::new(move |out, screen| last.write_remarks(out, screen)));
    Ok(answer)
}

/// What to ask about a program without operators.
fn plain_next() -> Vec<Next> {
    vec![
        Next { question: "functions --sort cumulative", about: "functions with all that they call" },
        Next { question: "stacks", about: "whole stacks by time" },
        Next { question: "export --to svg -o flame.svg", about: "a flame graph for the browser" },
        Next { question: "view", about: "the same in the browser, with a timeline" },
    ]
}

/// Whether the tables are wanted: they are if something is asked about their rows.
fn all_tables(ask: &Ask) -> bool {
    ask.all || ask.full || ask.rows != Default::default()
}

/// What is to be said about the file or the question as a whole.
fn own_remarks(asked: &RunPart, nothing: bool) -> Vec<String> {
    let mark = findings::how_to_mark_steps(asked.run.trace().meta());
    let mut own = Vec::new();
    if nothing {
        own.push("no operators or kernels in this trace; `stepscope info` lists what it contains".to_owned());
    } else if let Some(found) = &asked.steps().found {
        own.push(format!("no steps are marked: {}", found.sentence));
    } else if asked.steps().synthetic {
        own.push(format!("no steps are marked, so the whole trace is one; {mark}"));
    }
    if !asked.is_whole() {
        own.push("only the selected steps and devices".to_owned());
    }
    own
}

/// Makes the analyses that are needed, side by side, and returns the findings if they are wanted.
fn warmed(asked: &RunPart, ask: &Ask) -> Option<Vec<Finding>> {
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
        run.costs();
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

/// The tables, and whether there is nothing to show in those that matter most.
fn tables(
    asked: &RunPart,
    ask: &Ask,
    gpus: Vec<GpuRow>,
    findings: &[Finding],
    top: &Top,
) -> Result<(Vec<Part>, bool), Problem> {
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
            memory::analyze(asked.trace(), &memory::Options { selection, ..memory::Options::default() })
        }
    };
    let nothing = report.ops.is_empty() && report.annotations.is_empty() && kernels.rows.is_empty();
    let (device, host) = (report.total_device_self_ns, report.total_host_self_ns);
    let sort = super::ops::default_sort(device);
    // A program without operators still has the regions it names.
    let named = if report.ops.is_empty() { report.annotations } else { Vec::new() };
    let ops = arrange(report.ops, &ask.rows, Some(sort), DEFAULT_TOP, |r| &r.name)?;
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
    let regions = arrange(named, &ask.rows, Some("host_self_ns"), DEFAULT_TOP, |r| &r.name)?;
    let regions = Part::new("regions", regions.rows, move |rows| {
        let words = "named by your program; shares are of the time in regions; `stepscope ops` shows all";
        super::ops::table(rows, device, named_ns).title("Regions", words)
    });
    let (kernel_ns, full) = (kernels.total_ns, ask.full);
    let kernels = arrange(kernels.rows, &ask.rows, Some("total_ns"), DEFAULT_TOP, |r| &r.name)?;
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
    let whole = Whole::new(run);
    let findings = Part::new("findings", findings.to_vec(), move |rows| fix::table(rows, whole));
    let all = all_tables(ask);
    let if_any = |part: Part| Part { on_screen: all && !part.is_empty(), ..part };
    let causes = Part::new("causes", time::causes(run.account(), ask.device), time::table);
    let largest = top.clone();
    let top =
        Part::new("top", top.rows.clone(), move |rows| largest.table(rows).title("Top", "by time per step"));
    let parts = vec![
        steps.off_screen(),
        causes.off_screen(),
        top.off_screen(),
        if_any(Part::new("gpu", gpus, super::gpu::table)),
        if_any(ops),
        if_any(regions),
        if_any(kernels),
        if_any(copies),
        if_any(memory),
        findings.off_screen(),
        Part::single("info", run.info().clone(), |_| Table::default()).shown(false),
    ];
    Ok((parts, nothing))
}
