//! How well the devices were used.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::devices::utilization::{self, GpuRow, StreamUse};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use super::ops::unless_empty;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "gpu",
    about: "GPU utilization, SM efficiency, occupancy and tensor cores, per device and stream.",
    examples: &["gpu TRACE --explain"],
    group: Group::Device,
    options: &["sort", "top", "filter", "step", "device"],
    report_by: Some(&[]),
    definitions: &[utilization::DEFINITIONS],
    forms: &[Form {
        name: "GpuAnswer",
        about: TRACES,
        members: &[&[rows::<GpuRow>("gpu"), rows::<StreamRow>("streams")]],
    }],
    answer,
    ..USUAL
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
    let clock = |mhz: Option<f64>| Cell::maybe(mhz, |mhz| Cell::text(format!("{mhz:.0} MHz")));
    let mut table = Columns::of(devices)
        .defined_by(QUESTION.definitions)
        .add(Column::text("GPU").keep(), |d| Cell::text(d.device.map_or("?".to_owned(), |d| d.to_string())))
        .add(Column::text("Name").priority(80), |d| Cell::maybe(d.name.as_deref(), Cell::text))
        .metric("utilization", KEEP, |d| share(d.utilization))
        .metric("sm_efficiency", 130, |d| share(d.sm_efficiency))
        .metric("occupancy", 120, |d| share(d.occupancy))
        .add(Column::number("Tensor cores").priority(110), tensor_cores)
        .metric("eligible_share", 70, |d| share(d.eligible_share))
        .metric("busy_ns", 60, |d| Cell::time(d.busy_ns))
        .metric_if(measured, "memory_bandwidth_share", 105, |d| share(d.memory_bandwidth_share))
        .metric_if(clocked, "sm_clock_mean_mhz", 65, |d| clock(d.sm_clock_mean_mhz))
        .metric_if(clocked, "sm_clock_min_mhz", 55, |d| clock(d.sm_clock_min_mhz))
        .table()
        .title("GPU", format!("over {} from the first step to the last", units::time(window)))
        .when_empty("no device work in this trace");
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
    let number = |number: Option<i64>| Cell::text(number.map_or("?".to_owned(), |number| number.to_string()));
    Columns::of(rows.iter().map(|row| (row.device, &row.stream)))
        .defined_by(QUESTION.definitions)
        .add(Column::text("GPU").keep(), |(device, _)| number(device))
        .add(Column::text("Stream").keep(), |(_, s)| number(s.stream))
        .metric("utilization", KEEP, |(_, s)| share(s.utilization))
        .metric("busy_ns", 100, |(_, s)| Cell::time(s.busy_ns))
        .metric("kernels", 100, |(_, s)| Cell::count(s.kernels))
        .metric("memcpy", 100, |(_, s)| Cell::count(s.memcpy))
        .metric("memset", 100, |(_, s)| Cell::count(s.memset))
        .table()
        .title("Streams", "")
}
