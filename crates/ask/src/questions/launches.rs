//! What launches cost, how full the queue is, whether the host keeps up.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::causes::launches::{self, LaunchRow, QueuePoint, Queues};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use super::ops::ratio;
use super::{DEFAULT_TOP, gpu_name};
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, RunPart, TRACES, USUAL};
use crate::form::{Form, rows};
use crate::print::{self, Cell, Column, Columns, KEEP, Plot, Role, Table, end_ellipsis, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "launches",
    about: "Launches: what they cost, how full the queue is, whether the host keeps up.",
    examples: &["launches TRACE", "launches TRACE --by queue --format csv > queue.csv"],
    group: Group::Waiting,
    by: &["device", "queue"],
    options: &["sort", "top", "step", "device"],
    report_by: Some(&["queue"]),
    definitions: &[launches::DEFINITIONS, launches::QUEUE_DEFINITIONS],
    forms: &[
        Form { name: "LaunchesAnswer", about: TRACES, members: &[&[rows::<LaunchRow>("launches")]] },
        Form { name: "LaunchesByQueue", about: TRACES, members: &[&[rows::<DeviceQueuePoint>("queue")]] },
    ],
    answer,
    ..USUAL
};

use super::NO_DEVICE_WORK as NONE;

/// A point of a device's queue.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct DeviceQueuePoint {
    device: Option<i64>,
    #[serde(flatten)]
    point: QueuePoint,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let hint = "each device has one set of numbers; use `--by queue` for rows to sort and filter";
    match ask.grouped() {
        "queue" => ask.refuse(&["step"], "the queue, which covers the whole trace", "leave it out")?,
        _ => ask.refuse(&["sort", "top"], "the launches", hint)?,
    }
    let asked = ask.part_of(&runs[0])?;
    let mut rows = asked.run.launches().to_vec();
    rows.retain(|r| ask.device.is_none() || r.device == ask.device);
    let part = match ask.grouped() {
        "queue" => queue_part(&asked, &rows, ask)?,
        _ => launches_part(&asked, rows, ask),
    };
    Ok(Answer::new(vec![part]))
}

fn launches_part(asked: &RunPart, rows: Vec<LaunchRow>, ask: &Ask) -> Part {
    let some_steps = ask.steps.is_some();
    let window = asked.steps().window().filter(|_| some_steps).map(|(from, to)| (from.0, to.0));
    let devices: Vec<Option<i64>> = rows.iter().map(|row| row.device).collect();
    let run = asked.run.clone();
    let mut part = Part::new("launches", rows, move |rows| table(rows, some_steps));
    // The queue over time, drawn.
    part.picture = Some(Box::new(move |out, screen| {
        let queues = Queues::new(run.trace());
        for &device in &devices {
            let points: Vec<(i64, i64)> =
                queues.on_device(device).iter().map(|p| (p.at_ns, p.queued)).collect();
            if points.len() < 2 {
                continue;
            }
            let title = format!("Queue of GPU {}", gpu_name(device));
            let words = "work launched but not started; at zero the device waits for the host";
            print::heading(out, screen, &title, words)?;
            let plot = Plot {
                range: window,
                origin: Some(0),
                unit: |n| units::count(n.unsigned_abs()),
                ..Plot::new(screen.width.min(110), 8)
            };
            print::area_plot(out, screen, &points, &plot)?;
            writeln!(out)?;
        }
        Ok(())
    }));
    part
}

/// A line per metric, a column per device: there are more metrics than devices.
fn table(rows: &[LaunchRow], of_some_steps: bool) -> Table {
    let mut columns = vec![Column::text("").keep()];
    columns.extend(rows.iter().map(|r| Column::number(format!("GPU {}", gpu_name(r.device))).keep()));
    columns.push(Column::text("").flexible(24, end_ellipsis).priority(60));
    let mut table = Table::new(columns).title("Launches", "").when_empty(NONE);
    if rows.is_empty() {
        return table;
    }
    let mut line = |name: &str, meaning: &str, cell: &dyn Fn(&LaunchRow) -> Cell| {
        let mut cells = vec![Cell::text(name)];
        cells.extend(rows.iter().map(cell));
        cells.push(Cell::text(meaning).role(Role::Dim));
        table.row(cells);
    };
    let share =
        |share: f64, bad: f64| Cell::share(share).role(if share >= bad { Role::Bad } else { Role::Accent });
    line("Launch-bound", "of the steps: host too slow to launch", &|r| share(r.launch_bound_share, 0.2));
    line("Found its stream empty", "of the work: nothing queued before it", &|r| share(r.dry_share, 0.5));
    line("Short kernels", "of kernels: shorter than their launch", &|r| {
        share(ratio(r.short_kernels as i64, r.kernels as i64), 0.5)
    });
    line("Mean queue", "work launched but not started", &|r| Cell::text(format!("{:.1}", r.queue_mean)));
    line("Longest queue", "", &|r| Cell::count(r.queue_max.unsigned_abs()));
    line("Latency", "from call to start on an empty stream", &|r| Cell::time(r.latency_ns));
    line("Delay, median", "from call to start with the queue", &|r| Cell::time(r.delay_p50_ns));
    line("Delay, 95th percentile", "", &|r| Cell::time(r.delay_p95_ns));
    line("Delay, longest", "", &|r| Cell::time(r.delay_max_ns));
    line("Launching call, median", "time on the host", &|r| Cell::time(r.call_p50_ns));
    line("Launching calls, total", "", &|r| Cell::time(r.calls_ns));
    line("Kernel, median", "time on the device", &|r| Cell::time(r.kernel_p50_ns));
    line("Short kernels, total", "time on the device", &|r| Cell::time(r.short_kernels_ns));
    line("Kernels", "", &|r| Cell::count(r.kernels));
    line("Launches", "work with a known launch", &|r| Cell::count(r.launches));
    if of_some_steps {
        table.note("only Launch-bound covers just the selected steps; the rest covers the whole trace");
    }
    table
}

fn queue_part(asked: &RunPart, rows: &[LaunchRow], ask: &Ask) -> Result<Part, Problem> {
    let queues = Queues::new(asked.trace());
    let points = rows.iter().flat_map(|row| {
        let of_device = queues.on_device(row.device).into_iter();
        of_device.map(|point| DeviceQueuePoint { device: row.device, point })
    });
    let points = arrange(points.collect(), &ask.rows, None, 0, |_| "")?;
    let (left_out, all) = (points.left_out(), ask.rows.top.is_some());
    Ok(Part::new("queue", points.rows, move |rows| {
        // Programs get all of it, people the first rows.
        let few = if all { rows.len() } else { DEFAULT_TOP.min(rows.len()) };
        let mut table = Columns::of(&rows[..few])
            .defined_by(QUESTION.definitions)
            .metric("at_ns", KEEP, |p| Cell::text(units::time(p.point.at_ns)))
            .add(Column::text("GPU").keep(), |p| Cell::text(gpu_name(p.device)))
            .metric("queued", KEEP, |p| Cell::text(p.point.queued.to_string()))
            .table()
            .title("Queue", "work launched but not started, from each moment on")
            .when_empty(NONE);
        if few < rows.len() {
            let more = units::count((rows.len() - few) as u64);
            table.note(format!("{more} more of {} rows; --top 0 shows all", units::count(rows.len() as u64)));
        }
        table.notes(&left_out);
        table
    }))
}
