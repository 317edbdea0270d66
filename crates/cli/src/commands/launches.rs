//! `stepscope launches`: what launches cost, how full the queue is, whether the host keeps up.

use std::io::Write;

use serde::Serialize;
use serde_json::json;
use stepscope_analyse::causes::launches::{self, LaunchRow, QueuePoint, Queues, launches};

use super::ops::ratio;
use super::{TOP, by, gpu_name, refuse, wants_only_definitions};
use crate::args::Common;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{self, Cell, Column, Format, Plot, Role, Table, end_ellipsis, units};
use crate::rows::arrange;
use crate::words::{self, Part, answer, only_definitions};

const NONE: &str = "no device work in this trace: record with ProfilerActivity.CUDA on a GPU";

/// A point of a device's queue.
#[derive(Clone, Copy, Debug, Serialize)]
struct Point {
    device: Option<i64>,
    #[serde(flatten)]
    point: QueuePoint,
}

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    if wants_only_definitions(common) {
        return only_definitions(out, common, &[launches::DEFINITIONS]);
    }
    let by = by(common, &["device", "queue"])?;
    let hint = "the figures of a device stand below each other; `--by queue` has rows to sort and cut";
    match by {
        "queue" => refuse(common, &["--filter", "--step"], "the queue, which has no names", "leave it out")?,
        _ => refuse(common, &["--sort", "--top", "--filter"], "the launches", hint)?,
    }
    let input = Input::load(common)?;
    let mut rows = launches(&input.trace, &input.steps);
    rows.retain(|r| common.device.is_none() || r.device == common.device);
    let part = match by {
        "queue" => queue_part(&input, &rows, common)?,
        _ => {
            let mut part = Part::new("launches", table(&rows, common.step.is_some()), json!(rows));
            if common.format == Format::Table {
                part.picture = curves(&input, &rows, common)?;
            }
            part
        }
    };
    answer(out, common, vec![part], Vec::new(), &[launches::DEFINITIONS])
}

/// The queue over time, drawn.
fn curves(input: &Input, rows: &[LaunchRow], common: &Common) -> Result<Vec<u8>, Failure> {
    let screen = words::screen(common);
    let mut out = Vec::new();
    let start = input.trace.extent().map(|(start, _)| start.0);
    let queues = Queues::new(&input.trace);
    for row in rows {
        let points = queues.of(row.device);
        let points: Vec<(i64, i64)> = points.iter().map(|p| (p.at_ns, p.queued)).collect();
        if points.len() < 2 {
            continue;
        }
        let title = format!("Queue of GPU {}", gpu_name(row.device));
        print::heading(
            &mut out,
            &screen,
            &title,
            "work launched but not started; at zero the device waits for the host",
        )?;
        let asked = common.step.as_ref().and_then(|_| input.steps.window()).map(|(from, to)| (from.0, to.0));
        let plot = Plot {
            range: asked,
            origin: start,
            unit: |n| units::count(n.unsigned_abs()),
            ..Plot::new(screen.width.min(110), 8)
        };
        print::area_plot(&mut out, &screen, &points, &plot)?;
        writeln!(out)?;
    }
    Ok(out)
}

/// A line a figure, a column a device: there are more figures than devices.
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
    line("Delay, 95 % under", "", &|r| Cell::time(r.delay_p95_ns));
    line("Delay, longest", "", &|r| Cell::time(r.delay_max_ns));
    line("Launching call, median", "time on the host", &|r| Cell::time(r.call_p50_ns));
    line("Launching calls in all", "", &|r| Cell::time(r.calls_ns));
    line("Kernel, median", "time on the device", &|r| Cell::time(r.kernel_p50_ns));
    line("Short kernels in all", "time on the device", &|r| Cell::time(r.short_kernels_ns));
    line("Kernels", "", &|r| Cell::count(r.kernels));
    line("Launches", "work with a known launch", &|r| Cell::count(r.launches));
    if of_some_steps {
        table.note("only Launch-bound is that of the steps asked for; the rest is of the whole trace");
    }
    table
}

fn queue_part(input: &Input, rows: &[LaunchRow], common: &Common) -> Result<Part, Failure> {
    let queues = Queues::new(&input.trace);
    let points = rows.iter().flat_map(|row| {
        let of_device = queues.of(row.device).into_iter();
        of_device.map(|point| Point { device: row.device, point })
    });
    // Programs get all of it, people the first rows.
    let top = if common.format == Format::Table { TOP } else { 0 };
    let points = arrange(points.collect(), common, None, top, |_| "")?;
    let start = input.trace.extent().map_or(0, |(start, _)| start.0);
    let mut table = Table::new(vec![
        Column::number("At").keep(),
        Column::text("GPU").keep(),
        Column::number("Queued").keep(),
    ])
    .title("Queue", "work launched but not started, from each moment on")
    .when_empty(NONE);
    for p in &points.rows {
        table.row(vec![
            Cell::text(units::time(p.point.at_ns.saturating_sub(start))),
            Cell::text(gpu_name(p.device)),
            Cell::text(p.point.queued.to_string()),
        ]);
    }
    if let Some(text) = points.left_out() {
        table.note(text);
    }
    Ok(Part::new("queue", table, json!(points.rows)))
}
