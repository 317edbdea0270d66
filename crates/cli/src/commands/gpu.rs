//! `stepscope gpu`: how well the devices were used.

use std::io::Write;

use serde_json::json;
use stepscope_analyse::devices::utilization::{self, GpuReport};

use super::{refuse, wants_only_definitions};
use crate::args::Common;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{Cell, Column, Format, Role, Table, units};
use crate::rows::arrange;
use crate::words::{Part, answer, only_definitions};

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    if wants_only_definitions(common) {
        return only_definitions(out, common, &[utilization::DEFINITIONS]);
    }
    refuse(common, &["--by"], "the devices", "`stepscope kernels --by …` groups what ran on them")?;
    let input = Input::load(common)?;
    let mut report = utilization::gpu(&input.trace, &input.steps);
    keep_device(&mut report, common.device);
    let rows = arrange(report.devices, common, None, 0, |d| d.name.as_deref().unwrap_or_default())?;
    let left_out = rows.left_out();
    report.devices = rows.rows;
    let mut table = table(&report);
    if let Some(text) = left_out {
        table.note(text);
    }
    let gap = input.steps.steps.windows(2).any(|pair| pair[0].step.saturating_add(1) != pair[1].step);
    if common.step.is_some() && gap {
        table.note("steps between the first and the last asked for count too");
    }
    let mut parts = vec![Part::new("gpu", table, json!(report.devices))];
    if !report.devices.is_empty() || common.format == Format::Json {
        let mut streams = streams_table(&report);
        if common.step.is_some() {
            streams
                .note("kernels, copies and fills are those of the whole trace, whatever the steps asked for");
        }
        parts.push(Part::new("streams", streams, streams_json(&report)));
    }
    answer(out, common, parts, Vec::new(), &[utilization::DEFINITIONS])
}

/// Keeps only the device asked for.
pub(super) fn keep_device(report: &mut GpuReport, device: Option<i64>) {
    if device.is_some() {
        report.devices.retain(|d| d.device == device);
    }
}

fn share(value: Option<f64>) -> Cell {
    Cell::maybe(value, |v| Cell::share(v).role(Role::Device))
}

pub(super) fn table(report: &GpuReport) -> Table {
    let window = report.devices.first().map_or(0, |d| d.window_ns);
    let mut table = Table::new(vec![
        Column::text("GPU").keep(),
        Column::text("Name").priority(80),
        Column::number("Utilization").keep(),
        Column::number("SM efficiency").priority(130),
        Column::number("Occupancy").priority(120),
        Column::number("Tensor cores").priority(110),
        Column::number("TC eligible").priority(70),
        Column::number("Busy").priority(60),
    ])
    .title("GPU", format!("over {} from the first step to the last", units::time(window)))
    .when_empty("no device work in this trace");
    for d in &report.devices {
        table.row(vec![
            Cell::text(d.device.map_or("?".to_owned(), |d| d.to_string())),
            Cell::text(d.name.clone().unwrap_or_default()),
            share(d.utilization),
            share(d.sm_efficiency),
            share(d.occupancy),
            share(d.tensor_core_share),
            share(d.eligible_share),
            Cell::time(d.busy_ns),
        ]);
    }
    table
}

fn streams_table(report: &GpuReport) -> Table {
    let mut table = Table::new(vec![
        Column::text("GPU").keep(),
        Column::text("Stream").keep(),
        Column::number("Utilization").keep(),
        Column::number("Busy"),
        Column::number("Kernels"),
        Column::number("Copies"),
        Column::number("Fills"),
    ])
    .title("Streams", "");
    for d in &report.devices {
        for s in &d.streams {
            table.row(vec![
                Cell::text(d.device.map_or("?".to_owned(), |d| d.to_string())),
                Cell::text(s.stream.map_or("?".to_owned(), |s| s.to_string())),
                share(s.utilization),
                Cell::time(s.busy_ns),
                Cell::count(s.kernels),
                Cell::count(s.memcpy),
                Cell::count(s.memset),
            ]);
        }
    }
    table
}

fn streams_json(report: &GpuReport) -> serde_json::Value {
    let rows = report.devices.iter().flat_map(|d| {
        d.streams.iter().map(move |s| {
            let mut row = json!({ "device": d.device });
            if let (Some(row), serde_json::Value::Object(stream)) = (row.as_object_mut(), json!(s)) {
                row.extend(stream);
            }
            row
        })
    });
    rows.collect()
}
