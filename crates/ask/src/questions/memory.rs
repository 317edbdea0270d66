//! Memory over time, what was live at the peak, and which operators allocate.

mod across;
mod fit;
mod leaks;
mod line_by_line;
mod live;
mod of_profile;
mod of_snapshot;
mod out_of_memory;
mod plan;
mod process;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::memory::{self, DeviceMemory, Event, MemoryReport, OperatorMemory, Options};
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_analyse::tables::heap;
use stepscope_ground::Problem;
use stepscope_model::{DocumentKind, Ns, Trace};

use super::DEFAULT_TOP;
use crate::answer::{Answer, Draw, Part};
use crate::ask::{Ask, Findings, Group, PROFILES, Question, TRACES, TRACES_AND_PROFILES, Takes, USUAL};
use crate::form::{Form, Member, fact, rows};
use crate::print::{self, Cell, Column, Columns, KEEP, Plot, Role, Table, units};
use crate::rows::arrange;

pub(super) use of_profile::{end_words, lines_table, peak_words};
pub(super) use of_snapshot::name as allocator_name;

pub(super) const QUESTION: Question = Question {
    name: "memory",
    about: "Memory over time, what was live at the peak, and which operators allocate; for compiled programs, \
            what the compiler planned; for `stepscope run --memory`, which lines \
            hold the peak and what was never freed.",
    examples: &[
        "memory TRACE",
        "memory TRACE --by event --sort bytes",
        "memory TRACE --from 12ms --to 1.5s --by peak",
        "memory TRACE --by buffer --program jit_train_step  what XLA keeps at a program's peak",
        "memory train.py.mem --leaks  what was not freed, by line",
        "memory train.py.mem --lines  line by line, as memory_profiler shows it",
        "memory snapshot.pickle --leaks  what grows per iteration, by line",
        "memory first.pickle second.pickle third.pickle --leaks  what grows between them",
        "memory snapshot.pickle --oom  why memory ran out",
        "memory snapshot.pickle --at peak --by category",
        "memory small.pickle large.pickle --fit --batch 16,64  the largest batch that fits",
    ],
    group: Group::Device,
    by: &["op", "event", "peak", "stack", "line", "module", "size", "category", "program", "buffer"],
    options: &[
        "sort", "top", "filter", "step", "device", "frames", "from", "to", "lines", "leaks", "oom", "at",
        "fit", "batch", "capacity", "program",
    ],
    report_by: Some(&["event", "peak", "stack", "leaks", "oom", "program", "buffer"]),
    findings: Findings::Included,
    definitions: &[
        memory::DEFINITIONS,
        memory::OPERATOR_DEFINITIONS,
        memory::EVENT_DEFINITIONS,
        OWN_DEFINITIONS,
        plan::DEFINITIONS,
        heap::DEFINITIONS,
        of_snapshot::DEFINITIONS,
        memory::leaks::DEFINITIONS,
        memory::live_at::DEFINITIONS,
        memory::across_snapshots::DEFINITIONS,
        memory::fit::DEFINITIONS,
        memory::process::DEFINITIONS,
        out_of_memory::DEFINITIONS,
        heap::MORE_DEFINITIONS,
    ],
    forms: &[
        Form {
            name: "MemoryAnswer",
            about: TRACES,
            members: &[OF_TRACE, &[rows::<OperatorMemory>("operators")]],
        },
        Form { name: "MemoryByEvent", about: TRACES, members: &[OF_TRACE, &[rows::<Event>("events")]] },
        Form { name: "MemoryByPeak", about: TRACES, members: &[OF_TRACE, &[rows::<PeakRow>("peak")]] },
        Form { name: "MemoryByStack", about: TRACES, members: &[OF_TRACE, &[rows::<PeakStackRow>("peak")]] },
        Form {
            name: "MemoryByProgram",
            about: TRACES,
            members: &[&[rows::<plan::ProgramPlanRow>("programs")]],
        },
        Form { name: "MemoryByBuffer", about: TRACES, members: &[&[rows::<plan::LiveBufferRow>("buffers")]] },
        Form {
            name: "MemoryOfProfile",
            about: PROFILES,
            members: &[
                of_profile::FACTS,
                of_snapshot::MEMBERS,
                &[rows::<heap::HeapLineRow>("heap_lines"), rows::<heap::MemoryPoint>("curve")],
            ],
        },
        Form {
            name: "MemoryOfProfileByStack",
            about: PROFILES,
            members: &[
                of_profile::FACTS,
                of_snapshot::MEMBERS,
                &[rows::<heap::HeapStackRow>("heap_stacks"), rows::<heap::MemoryPoint>("curve")],
            ],
        },
        Form { name: "MemoryByLine", about: TRACES, members: &[line_by_line::MEMBERS] },
        Form {
            name: "MemoryOfProfileByLine",
            about: PROFILES,
            members: &[of_profile::FACTS, of_snapshot::MEMBERS, line_by_line::MEMBERS],
        },
        Form {
            name: "MemoryLive",
            about: TRACES_AND_PROFILES,
            members: &[&[
                rows::<memory::live_at::LiveRow>("live"),
                fact::<Option<i64>>("moment_ns").sometimes(),
            ]],
        },
        Form { name: "MemoryLeaks", about: PROFILES, members: &[leaks::MEMBERS] },
        Form { name: "MemoryOutOfMemory", about: PROFILES, members: &[out_of_memory::MEMBERS] },
        Form {
            name: "MemoryAcross",
            about: PROFILES,
            members: &[&[rows::<memory::across_snapshots::AcrossRow>("across")]],
        },
        Form { name: "MemoryFit", about: TRACES_AND_PROFILES, members: &[fit::MEMBERS] },
    ],
    answer,
    takes: Takes::Several(
        "More recordings of the same program: with --leaks, the oldest first; with --fit, of other batches",
    ),
    page_parts: &["devices", "process", "programs"],
    ..USUAL
};

/// What the memory of a trace has however it is grouped; plans where the file has compiled programs.
const OF_TRACE: &[Member] = &[
    rows::<DeviceMemory>("devices"),
    rows::<memory::process::ProcessMemory>("process"),
    rows::<plan::ProgramPlanRow>("programs").sometimes(),
    rows::<plan::LiveBufferRow>("buffers").sometimes(),
    fact::<u64>("records"),
    fact::<[i64; 2]>("range_ns").sometimes(),
];

const NONE: &str = "no allocations in this trace; record with profile_memory=True to see them";
const NONE_OF_XLA: &str =
    "no allocations in this profile: XLA's allocator on GPUs writes them, on CPUs it does not";

fn none(trace: &Trace) -> &'static str {
    if trace.meta().framework.is_some() { NONE_OF_XLA } else { NONE }
}

const OWN_DEFINITIONS: &[Definition] = definitions! {
    "share", "% of peak" => "Bytes alive at the peak / the device's peak allocated bytes, as a fraction.";
    "range_ns", "Range" =>
        "The window that was asked for: start and end, counted from the trace's first event. The end itself is outside.";
};

/// What lived at the peak, by the operator that allocated it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct PeakRow {
    device: String,
    operator: String,
    bytes: i64,
    count: Option<u64>,
    share: f64,
}

/// What lived at the peak, by operator and Python stack.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct PeakStackRow {
    device: String,
    operator: String,
    stack: Vec<String>,
    bytes: i64,
    count: Option<u64>,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    if ask.fit {
        return fit::answer(ask, runs);
    }
    ask.refuse(&["batch", "capacity"], "this", "add --fit, and name two files or more")?;
    if runs.len() > 1 {
        return across::answer(ask, runs);
    }
    if runs[0].kind() == DocumentKind::Profile {
        return of_a_profile(ask, &runs[0]);
    }
    ask.refuse(&["leaks"], "a trace", "record the script with `stepscope run --memory`")?;
    ask.refuse(&["oom", "at"], "a trace", SNAPSHOTS_ONLY)?;
    if live::GROUPS.contains(&ask.grouped()) {
        return Ok(live::nothing());
    }
    if ask.lines {
        return line_by_line::answer(ask, &heap::HeapReport::default(), "");
    }
    let asked = ask.part_of(&runs[0])?;
    if matches!(ask.grouped(), "program" | "buffer") {
        return plan::answer(ask, asked.trace());
    }
    ask.refuse(&["program"], "this grouping", "add --by buffer or --by program")?;
    let empty = none(asked.trace());
    let options = Options {
        selection: asked.selection.clone(),
        window: window(ask, asked.trace())?,
        frames: ask.frames,
        events: ask.grouped() == "event",
        ..Options::default()
    };
    let report = memory::analyze(asked.trace(), &options);
    let window = options.window;
    let records = report.records;
    let mut devices = Part::new("devices", report.devices.clone(), move |rows| {
        let mut table = devices_table(rows, records).when_empty(empty);
        if let Some((from, to)) = window {
            let (from, to) = (units::time(from.0), units::time(to.0));
            table.note(format!("only from {from} to {to} since the start of the trace"));
        }
        table
    });
    devices.picture = Some(curves(&report, true));
    let part = match ask.grouped() {
        "event" => {
            let rows = arrange(report.events, &ask.rows, Some("bytes"), DEFAULT_TOP, |r| {
                r.operator.as_deref().unwrap_or_default()
            })?;
            rows.into_part("events", empty, events_table)
        }
        "peak" => {
            let rows =
                arrange(peak(&report), &ask.rows, Some("bytes"), DEFAULT_TOP, |r: &PeakRow| &r.operator)?;
            rows.into_part("peak", empty, peak_table)
        }
        "stack" => {
            let rows = arrange(stacks(&report), &ask.rows, Some("bytes"), DEFAULT_TOP, |r: &PeakStackRow| {
                &r.operator
            })?;
            rows.into_part("peak", empty, stacks_table)
        }
        _ => {
            let sort = Some("self_allocated_bytes");
            let rows = arrange(report.operators, &ask.rows, sort, DEFAULT_TOP, |r| &r.name)?;
            rows.into_part("operators", empty, operators_table)
        }
    };
    let main = part.key;
    // Looks at the process are rare and whole: a window or a step has few of them.
    let process = process::part(memory::process::processes(runs[0].trace()));
    let mut parts = vec![devices, part, process];
    parts.extend(plan::parts(asked.trace()));
    let mut answer = Answer::new(parts).fact("records", &records).main(main);
    if let Some((from, to)) = window {
        answer = answer.fact("range_ns", &[from.0, to.0]);
    }
    Ok(answer)
}

const COMPILED_ONLY: &str =
    "it is about programs that XLA compiled, which are in profiles of JAX and TensorFlow";
const SNAPSHOTS_ONLY: &str = "it is about memory snapshots, which torch.cuda.memory._dump_snapshot() writes";

fn of_a_profile(ask: &Ask, run: &Arc<Run>) -> Result<Answer, Problem> {
    ask.refuse(&["program"], "this profile", COMPILED_ONLY)?;
    if matches!(ask.grouped(), "program" | "buffer") {
        return Err(Problem::new("this profile has no compiled programs", COMPILED_ONLY));
    }
    let Some((snapshot, histories)) = run.snapshot() else {
        ask.refuse(&["oom", "at"], "this profile", SNAPSHOTS_ONLY)?;
        if live::GROUPS.contains(&ask.grouped()) && ask.grouped() != "line" {
            return Err(Problem::new("only a memory snapshot can be grouped like this", SNAPSHOTS_ONLY));
        }
        ask.refuse(&["device"], "a profile of memory", "it has no devices; leave the option out")?;
        return of_profile::answer(ask, run.profile(), None);
    };
    of_snapshot::known_device(ask, histories)?;
    if ask.oom {
        return out_of_memory::answer(ask, run, snapshot, histories);
    }
    if ask.leaks {
        return leaks::answer(ask, run, snapshot, histories);
    }
    if ask.at.is_some() || live::GROUPS.contains(&ask.grouped()) {
        return live::answer(ask, run, snapshot, histories);
    }
    let device = of_snapshot::chosen(ask, histories).filter(|_| histories.len() > 1);
    let device = device.map(|history| of_snapshot::name(history.device));
    let profile = of_snapshot::profile(ask, run, snapshot, histories);
    let mut answer = of_profile::answer(ask, profile.as_deref(), device)?;
    answer.parts.extend(of_snapshot::parts(snapshot, histories));
    Ok(answer)
}

/// The window asked for. What is left out is where the trace begins or ends.
fn window(ask: &Ask, trace: &Trace) -> Result<Option<(Ns, Ns)>, Problem> {
    if ask.from.is_none() && ask.to.is_none() {
        return Ok(None);
    }
    let (points, allocations) = (trace.points(), trace.allocations());
    let marks = points.ids().map(|id| points.at(id)).chain(allocations.ids().map(|id| allocations.at(id)));
    let reach = trace.extent().unwrap_or_default();
    let (first, last) = marks.fold(reach, |(first, last), at| (first.min(at), last.max(at)));
    let from = ask.from.map_or(first, Ns);
    let to = ask.to.map_or(last + Ns(1), Ns);
    if from >= to {
        let length = units::time((last - first).0);
        return Err(Problem::new(
            "--from is not before --to",
            format!("times count from the start of the trace, which is {length} long"),
        ));
    }
    Ok(Some((from, to)))
}

/// The memory curves: of all devices, or of accelerators only.
pub(super) fn curves(report: &MemoryReport, host_too: bool) -> Draw {
    let mut drawn = Vec::new();
    for device in &report.devices {
        let accelerator = device.device_id.is_some_and(|id| id >= 0);
        let points: Vec<(i64, i64)> = device.curve.iter().map(|p| (p.at_ns, p.allocated_bytes)).collect();
        if points.len() < 2 || device.peak_allocated_bytes <= 0 || !(accelerator || host_too) {
            continue;
        }
        let words = format!("allocated over time, peak {}", units::bytes(device.peak_allocated_bytes));
        let role = if accelerator { Role::Device } else { Role::Host };
        drawn.push((format!("Memory on {}", device.device), words, role, points));
    }
    Box::new(move |out, screen| {
        for (title, words, role, points) in &drawn {
            print::heading(out, screen, title, words)?;
            let plot = Plot { role: *role, ..Plot::new(screen.width.min(110), 8) };
            print::area_plot(out, screen, points, &plot)?;
            writeln!(out)?;
        }
        Ok(())
    })
}

fn peak(report: &MemoryReport) -> Vec<PeakRow> {
    let rows = report.devices.iter().flat_map(|d| {
        d.peak_by_operator.iter().map(|live| PeakRow {
            device: d.device.clone(),
            operator: live.operator.clone(),
            bytes: live.bytes,
            count: live.count,
            share: super::ops::ratio(live.bytes, d.peak_allocated_bytes),
        })
    });
    rows.collect()
}

fn stacks(report: &MemoryReport) -> Vec<PeakStackRow> {
    let rows = report.devices.iter().flat_map(|d| {
        d.peak_by_stack.iter().map(|live| PeakStackRow {
            device: d.device.clone(),
            operator: live.operator.clone(),
            stack: live.frames.clone(),
            bytes: live.bytes,
            count: live.count,
        })
    });
    rows.collect()
}

pub(super) fn devices_table(devices: &[DeviceMemory], records: u64) -> Table {
    let mut table = Columns::of(devices)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Device").keep(), |d| Cell::text(&d.device))
        .metric("peak_allocated_bytes", KEEP, |d| Cell::bytes(d.peak_allocated_bytes))
        .metric("peak_reserved_bytes", 130, |d| Cell::maybe(d.peak_reserved_bytes, Cell::bytes))
        .metric("opening_allocated_bytes", 80, |d| Cell::bytes(d.opening_allocated_bytes))
        .metric("closing_allocated_bytes", 85, |d| Cell::bytes(d.closing_allocated_bytes))
        .metric("allocation_count", 110, |d| Cell::count(d.allocation_count))
        .metric("allocated_bytes", 70, |d| Cell::bytes(d.allocated_bytes))
        .metric("still_live_bytes", 60, |d| Cell::bytes(d.still_live_bytes))
        .metric("unmatched_frees", 50, |d| Cell::count(d.unmatched_frees))
        .table()
        .title("Memory", format!("{} allocator records", units::count(records)))
        .when_empty(NONE);
    for d in devices.iter().filter(|d| !d.totals_from_file) {
        table.note(format!(
            "{}: the file has no totals, so the curve is the running sum of its records",
            d.device
        ));
    }
    table
}

fn operators_table(rows: &[OperatorMemory]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Operator"), |r| Cell::text(&r.name))
        .add(Column::text("Device").priority(140), |r| Cell::text(&r.device))
        .metric("calls", 90, |r| Cell::count(r.calls))
        .metric("self_allocated_bytes", KEEP, |r| Cell::bytes(r.self_allocated_bytes))
        .metric("self_allocation_count", 110, |r| Cell::count(r.self_allocation_count))
        .metric("self_increase_bytes", 120, |r| Cell::bytes(r.self_increase_bytes))
        .metric("allocated_bytes", 60, |r| Cell::bytes(r.allocated_bytes))
        .metric("increase_bytes", 70, |r| Cell::bytes(r.increase_bytes))
        .table()
        .title("Memory by operator", "self: by the operator itself, not its children")
}

fn events_table(rows: &[Event]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Operator"), |r| Cell::maybe(r.operator.as_deref(), Cell::text))
        .add(Column::text("Device").priority(140), |r| Cell::text(&r.device))
        .metric("bytes", KEEP, |r| Cell::bytes(r.bytes))
        .metric("allocated_at_ns", 100, |r| Cell::maybe(r.allocated_at_ns, Cell::time))
        .metric("released_at_ns", 90, |r| Cell::maybe(r.released_at_ns, Cell::time))
        .metric("duration_ns", 110, |r| Cell::maybe(r.duration_ns, Cell::time))
        .table()
        .title("Allocations", "times since the start of the trace")
}

fn peak_table(rows: &[PeakRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Operator"), |r| Cell::text(&r.operator))
        .add(Column::text("Device").priority(140), |r| Cell::text(&r.device))
        .metric("bytes", KEEP, |r| Cell::bytes(r.bytes))
        .metric("share", 120, |r| Cell::share(r.share).role(Role::Device))
        .metric("count", 100, |r| Cell::maybe(r.count, Cell::count))
        .table()
        .title("What was live at the peak", "by the operator that allocated it")
}

fn stacks_table(rows: &[PeakStackRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .metric("bytes", KEEP, |r| Cell::bytes(r.bytes))
        .add(Column::text("Device").priority(90), |r| Cell::text(&r.device))
        .metric("count", 80, |r| Cell::maybe(r.count, Cell::count))
        .add(Column::text("Operator").keep(), |r| Cell::text(&r.operator))
        .add(Column::name("Stack").flexible(24, print::end_ellipsis), |r| Cell::text(r.stack.join(" < ")))
        .table()
        .title("What was live at the peak", "by operator and Python stack")
}
