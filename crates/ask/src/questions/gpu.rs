//! How well the devices were used.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::devices::utilization::{self, GpuRow, StreamRow as StreamUse};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use super::ops::unless_empty;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES};
use crate::print::{Cell, Column, Role, Table, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "gpu",
    alias: None,
    about: "GPU utilization, SM efficiency, occupancy and tensor cores, per device and stream.",
    examples: &["gpu TRACE --explain"],
    group: Group::Device,
    by: &[],
    options: &["sort", "top", "filter", "step", "device"],
    report_by: Some(&[]),
    definitions: &[utilization::DEFINITIONS],
    answers_for: TRACES,
    answer,
};

/// A stream with its device.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct StreamRow {
    device: Option<i64>,
    #[serde(flatten)]
    stream: StreamUse,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let mut devices = asked.run.gpu().devices.clone();
    devices.retain(|d| ask.device.is_none() || d.device == ask.device);
    let rows = arrange(devices, &ask.rows, None, 0, |d| d.name.as_deref().unwrap_or_default())?;
    let streams = rows
        .rows
        .iter()
        .flat_map(|d| d.streams.iter().map(|stream| StreamRow { device: d.device, stream: stream.clone() }));
    let streams: Vec<StreamRow> = streams.collect();
    let some_steps = ask.steps.is_some();
    let gap = asked.steps().steps.windows(2).any(|pair| pair[0].step.saturating_add(1) != pair[1].step);
    let left_out = rows.left_out();
    let devices = Part::new("gpu", rows.rows, move |rows| {
        let mut table = table(rows);
        table.notes(&left_out);
        if some_steps && gap {
            table.note("steps between the first and the last selected are included");
        }
        table
    });
    let streams = Part::new("streams", streams, move |rows| {
        let mut table = streams_table(rows);
        if some_steps {
            table.note("kernels, copies and memsets cover the whole trace, whichever steps are selected");
        }
        table
    });
    Ok(Answer::new(vec![devices, unless_empty(streams)]))
}

fn share(value: Option<f64>) -> Cell {
    Cell::maybe(value, |v| Cell::share(v).role(Role::Device))
}

pub(super) fn table(devices: &[GpuRow]) -> Table {
    let window = devices.first().map_or(0, |d| d.window_ns);
    let measured = devices.iter().any(|d| d.memory_bandwidth_share.is_some());
    let clocked = devices.iter().any(|d| d.sm_clock_mean_mhz.is_some());
    let mut columns = vec![
        Column::text("GPU").keep(),
        Column::text("Name").priority(80),
        Column::number("Utilization").keep(),
        Column::number("SM efficiency").priority(130),
        Column::number("Occupancy").priority(120),
        Column::number("Tensor cores").priority(110),
        Column::number("TC eligible").priority(70),
        Column::number("Busy").priority(60),
    ];
    if measured {
        columns.push(Column::number("Memory bandwidth").priority(105));
    }
    if clocked {
        columns.extend([Column::number("Mean clock").priority(65), Column::number("Lowest").priority(55)]);
    }
    let mut table = Table::new(columns)
        .title("GPU", format!("over {} from the first step to the last", units::time(window)))
        .when_empty("no device work in this trace");
    let clock = |mhz: Option<f64>| Cell::maybe(mhz, |mhz| Cell::text(format!("{mhz:.0} MHz")));
    for d in devices {
        let mut cells = vec![
            Cell::text(d.device.map_or("?".to_owned(), |d| d.to_string())),
            Cell::maybe(d.name.as_deref(), Cell::text),
            share(d.utilization),
            share(d.sm_efficiency),
            share(d.occupancy),
            tensor_cores(d),
            share(d.eligible_share),
            Cell::time(d.busy_ns),
        ];
        if measured {
            cells.push(share(d.memory_bandwidth_share));
        }
        if clocked {
            cells.extend([clock(d.sm_clock_mean_mhz), clock(d.sm_clock_min_mhz)]);
        }
        table.row(cells);
    }
    let [known, all] = devices.iter().fold([0i64; 2], |[known, all], d| {
        [known.saturating_add(d.occupancy_known_ns), all.saturating_add(d.kernel_ns)]
    });
    if known > 0 && known < all {
        let covered = units::percent(known as f64 / all as f64);
        table.note(format!("occupancy is known for {covered} of kernel time"));
    }
    table
}

/// The share on tensor cores; a lower bound where the names of kernels do not say.
fn tensor_cores(d: &GpuRow) -> Cell {
    match (d.tensor_core_share, d.tensor_core_unknown_share) {
        (Some(yes), Some(unknown)) if unknown > 0.0 => {
            let text = format!("{}, {} unknown", units::at_least(yes), units::percent(unknown));
            Cell::text(text).role(Role::Device)
        }
        (yes, _) => share(yes),
    }
}

fn streams_table(rows: &[StreamRow]) -> Table {
    let mut table = Table::new(vec![
        Column::text("GPU").keep(),
        Column::text("Stream").keep(),
        Column::number("Utilization").keep(),
        Column::number("Busy"),
        Column::number("Kernels"),
        Column::number("Copies"),
        Column::number("Memsets"),
    ])
    .title("Streams", "");
    for StreamRow { device, stream: s } in rows {
        table.row(vec![
            Cell::text(device.map_or("?".to_owned(), |d| d.to_string())),
            Cell::text(s.stream.map_or("?".to_owned(), |s| s.to_string())),
            share(s.utilization),
            Cell::time(s.busy_ns),
            Cell::count(s.kernels),
            Cell::count(s.memcpy),
            Cell::count(s.memset),
        ]);
    }
    table
}
