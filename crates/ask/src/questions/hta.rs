//! The metrics of Meta's HTA (Holistic Trace Analysis), by its own rules and under its own names.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::peers::hta::critical_path::{self, HtaBound, PathOptions};
use stepscope_analyse::peers::hta::idle::{IdleOptions, IdlePart, IdleRow, idle_breakdown};
use stepscope_analyse::peers::hta::launches::{LaunchOptions, launch_stats};
use stepscope_analyse::peers::hta::loading::Loading;
use stepscope_analyse::peers::hta::queue::{QueueOptions, queue_length};
use stepscope_analyse::peers::tracelens::{TemporalRow, TimelineOptions, temporal_breakdown};
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_ground::Problem;

use super::gpu_name;
use super::ops::ratio;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "hta",
    about: "HTA's metrics by HTA's own rules: temporal breakdown, idle time, queue, launches, critical path.",
    examples: &["hta TRACE", "hta TRACE --by idle", "hta TRACE --by critical-path --format json"],
    group: Group::Device,
    by: &["breakdown", "idle", "queue", "launches", "critical-path"],
    options: &["sort", "top"],
    definitions: &[OWN_DEFINITIONS],
    forms: &[
        Form { name: "HtaAnswer", about: TRACES, members: &[&[rows::<TemporalRow>("breakdown")]] },
        Form { name: "HtaByIdle", about: TRACES, members: &[&[rows::<HtaIdleRow>("idle")]] },
        Form { name: "HtaByQueue", about: TRACES, members: &[&[rows::<HtaQueueRow>("queue")]] },
        Form { name: "HtaByLaunches", about: TRACES, members: &[&[rows::<HtaLaunchesRow>("launches")]] },
        Form { name: "HtaByCriticalPath", about: TRACES, members: &[&[rows::<HtaPathRow>("critical_path")]] },
    ],
    answer,
    ..USUAL
};

/// What each number means; the rules are those of HTA 0.6.1.
const OWN_DEFINITIONS: &[Definition] = definitions! {
    "kernel_time_ns", "Kernel time" =>
        "From the start of the first kernel, copy or memset to the end of the last. Idle, compute and non-compute add up \
         to it.";
    "compute_ns", "Compute" =>
        "Time during which a kernel other than communication ran; copies and memsets are not compute.";
    "non_compute_ns", "Non-compute" => "Time during which communication, a copy or a memset ran and no compute kernel did.";
    "idle_ns", "Idle" =>
        "Time during which nothing ran: on the device in the breakdown, between the work of one stream in the idle time.";
    "slices", "Work" => "Kernels, copies and memsets of the stream that count.";
    "host_wait_ns", "Host wait" =>
        "Gaps before work whose launching call started after the work before it had ended: the host came late.";
    "kernel_wait_ns", "Kernel wait" =>
        "Other gaps shorter than 30 microseconds: what starting one kernel after another takes.";
    "other_ns", "Other" => "All other gaps, for example waits for another stream.";
    "count", "Changes" => "Launches and starts of the stream; each changes the length of its queue.";
    "mean", "Mean" => "The mean of the queue lengths after each launch and each start, however long they lasted.";
    "p50", "Median" => "The median of the same lengths.";
    "max", "Max" => "The longest the queue got: work launched and not started yet.";
    "full_ns", "Full" => "Time during which the queue held 1,024 or more, which is where launching calls begin to block.";
    "full_share", "Full" =>
        "The same as a share of the time from the start of the first slice of the trace to the start of its last.";
    "launches", "Launches" => "Kernels whose launching call was recorded.";
    "short", "Short kernels" => "Launches whose work took less time than the call that launched it.";
    "cpu_outliers", "Runtime outliers" => "Launches whose call took longer than 50 microseconds.";
    "delay_outliers", "Launch delay outliers" =>
        "Launches whose work started more than 100 microseconds after the call had ended.";
    "uncounted", "Uncounted" =>
        "Kernels, copies and memsets without a recorded call, or launched by one HTA does not know as a launch.";
    "edges", "Edges" =>
        "Edges of the critical path that are spent on this. The path is the longest way through the starts and ends of \
         slices.";
    "time_ns", "Time" => "The time of these edges, summed.";
    "share", "Share" => "The same as a share of the path.";
};

const NONE: &str = "no device work in this trace; record with ProfilerActivity.CUDA on a GPU";

/// The gaps of one stream by HTA's three kinds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct HtaIdleRow {
    device: Option<i64>,
    stream: Option<i64>,
    slices: u64,
    host_wait_ns: i64,
    kernel_wait_ns: i64,
    other_ns: i64,
    idle_ns: i64,
}

/// The queue of one stream.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct HtaQueueRow {
    device: Option<i64>,
    stream: Option<i64>,
    count: u64,
    mean: Option<f64>,
    p50: Option<f64>,
    max: Option<f64>,
    full_ns: i64,
    full_share: Option<f64>,
}

/// All launches together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct HtaLaunchesRow {
    launches: u64,
    short: u64,
    cpu_outliers: u64,
    delay_outliers: u64,
    uncounted: u64,
}

/// The time of the critical path that goes to one sort of work.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct HtaPathRow {
    bound: HtaBound,
    edges: u64,
    time_ns: i64,
    share: Option<f64>,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let trace = runs[0].trace();
    let loading = Loading::hta(trace);
    let part = match ask.grouped() {
        "idle" => {
            let options = IdleOptions { loading, ..IdleOptions::default() };
            let rows = idle_breakdown(trace, &options).iter().map(idle_row).collect();
            arrange(rows, &ask.rows, None, 0, |_| "")?.into_part("idle", NONE, idle_table)
        }
        "queue" => {
            let report = queue_length(trace, &QueueOptions { loading, ..QueueOptions::default() });
            let rows = report.streams.into_iter().map(|s| HtaQueueRow {
                device: s.device,
                stream: s.stream,
                count: s.summary.count,
                mean: s.summary.mean,
                p50: s.summary.p50,
                max: s.summary.max,
                full_ns: s.full_ns,
                full_share: s.full_share,
            });
            arrange(rows.collect(), &ask.rows, None, 0, |_| "")?.into_part("queue", NONE, queue_table)
        }
        "launches" => {
            let stats = launch_stats(trace, &LaunchOptions { loading, ..LaunchOptions::default() });
            let row = HtaLaunchesRow {
                launches: stats.launches.len() as u64,
                short: stats.short,
                cpu_outliers: stats.cpu_outliers,
                delay_outliers: stats.delay_outliers,
                uncounted: stats.uncounted,
            };
            Part::new("launches", vec![row], launches_table)
        }
        "critical-path" => path_part(&runs[0], loading)?,
        _ => {
            let rows = temporal_breakdown(trace, &TimelineOptions::default());
            arrange(rows, &ask.rows, None, 0, |_| "")?.into_part("breakdown", NONE, breakdown_table)
        }
    };
    Ok(Answer::new(vec![part]))
}

fn path_part(run: &Run, loading: Loading) -> Result<Part, Problem> {
    // HTA looks at one step; the second is the first that is not warming up.
    let steps = run.all_steps();
    let (annotation, instance) = match steps.synthetic || steps.found.is_some() {
        true => (String::new(), 0),
        false => {
            let kept = steps.steps.len() - usize::from(loading.drop_last_step);
            ("ProfilerStep".to_owned(), u32::from(kept > 1))
        }
    };
    let options =
        PathOptions { loading, annotation, instances: (instance, instance), ..PathOptions::default() };
    let path = critical_path::critical_path(run.trace(), &options).map_err(|why| {
        Problem::new(format!("HTA finds no critical path: {why}"), "try `stepscope critical-path`")
    })?;
    let total = path.total_ns;
    let rows = path.summary.iter().map(|row| HtaPathRow {
        bound: row.bound,
        edges: row.edges,
        time_ns: row.time_ns,
        share: row.share,
    });
    Ok(Part::new("critical_path", rows.collect(), move |rows| path_table(rows, total)))
}

fn idle_row(row: &IdleRow) -> HtaIdleRow {
    let ns = |part: IdlePart| part.idle_ns;
    HtaIdleRow {
        device: row.device,
        stream: row.stream,
        slices: row.slices,
        host_wait_ns: ns(row.host_wait),
        kernel_wait_ns: ns(row.kernel_wait),
        other_ns: ns(row.other),
        idle_ns: row.idle_ns(),
    }
}

fn breakdown_table(rows: &[TemporalRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("GPU").keep(), |r| Cell::text(gpu_name(r.device)))
        .metric("kernel_time_ns", KEEP, |r| Cell::time(r.kernel_time_ns))
        .add(Column::number("Idle").keep(), |r| {
            Cell::share(ratio(r.idle_ns, r.kernel_time_ns)).role(Role::Idle)
        })
        .add(Column::number("Compute").keep(), |r| {
            Cell::share(ratio(r.compute_ns, r.kernel_time_ns)).role(Role::Device)
        })
        .add(Column::number("Non-compute").keep(), |r| {
            Cell::share(ratio(r.non_compute_ns, r.kernel_time_ns)).role(Role::Copy)
        })
        .table()
        .title("Temporal breakdown", "by HTA's rules, to the nanosecond")
}

fn idle_table(rows: &[HtaIdleRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("GPU").keep(), |r| Cell::text(gpu_name(r.device)))
        .add(Column::text("Stream").keep(), |r| Cell::text(gpu_name(r.stream)))
        .metric("slices", 90, |r| Cell::count(r.slices))
        .metric("host_wait_ns", KEEP, |r| Cell::time(r.host_wait_ns))
        .metric("kernel_wait_ns", KEEP, |r| Cell::time(r.kernel_wait_ns))
        .metric("other_ns", KEEP, |r| Cell::time(r.other_ns))
        .table()
        .title("Idle time", "gaps between the work of one stream, as HTA counts them")
}

fn queue_table(rows: &[HtaQueueRow]) -> Table {
    let number = |value: Option<f64>| Cell::maybe(value, |v| Cell::text(format!("{v:.1}")));
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("GPU").keep(), |r| Cell::text(gpu_name(r.device)))
        .add(Column::text("Stream").keep(), |r| Cell::text(gpu_name(r.stream)))
        .metric("count", 90, |r| Cell::count(r.count))
        .metric("mean", KEEP, |r| number(r.mean))
        .metric("p50", KEEP, |r| number(r.p50))
        .metric("max", KEEP, |r| number(r.max))
        .metric("full_share", KEEP, |r| Cell::maybe(r.full_share, |share| Cell::share(share).role(Role::Warn)))
        .table()
        .title("Queue length", "launched but not finished, as HTA counts it")
}

fn launches_table(rows: &[HtaLaunchesRow]) -> Table {
    let mut table = Table::new(vec![Column::text("").keep(), Column::number("").keep()])
        .title("Launch statistics", "as HTA counts them");
    for row in rows {
        for (what, count) in [
            ("launches", row.launches),
            ("work shorter than its launch", row.short),
            ("launching calls that are outliers", row.cpu_outliers),
            ("launch delays that are outliers", row.delay_outliers),
            ("device work without a counted call", row.uncounted),
        ] {
            table.row(vec![Cell::text(what), Cell::count(count)]);
        }
    }
    table
}

fn path_table(rows: &[HtaPathRow], total_ns: i64) -> Table {
    let words = format!("{} on the path of one step", units::time(total_ns));
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Spent on").keep(), |r| {
            let name = serde_json::to_value(r.bound).unwrap_or_default();
            Cell::text(name.as_str().unwrap_or_default().replace('_', " "))
        })
        .metric("edges", 90, |r| Cell::count(r.edges))
        .metric("time_ns", KEEP, |r| Cell::time(r.time_ns))
        .metric("share", KEEP, |r| Cell::maybe(r.share, |share| Cell::share(share).role(Role::Accent)))
        .table()
        .title("Critical path", words)
}
