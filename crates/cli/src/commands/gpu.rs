//! `stepscope gpu`: how well the devices were used.

use std::io::Write;

use serde_json::json;
use stepscope_analyse::gpu::{self, GpuReport};

use super::wants_only_definitions;
use crate::args::Common;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{Cell, Column, Role, Table, units};
use crate::words::{Part, answer, only_definitions};

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    if wants_only_definitions(common) {
        return only_definitions(out, common, &[gpu::DEFINITIONS]);
    }
    let input = Input::load(common)?;
    let mut report = gpu::gpu(&input.trace, &input.steps);
    if let Some(device) = common.device {
        report.devices.retain(|d| d.device == Some(device));
    }
    let mut parts = vec![Part::new("gpu", table(&report), json!(report.devices))];
    if !report.devices.is_empty() {
        parts.push(Part::new("streams", streams_table(&report), streams_json(&report)));
    }
    answer(out, common, parts, Vec::new(), &[gpu::DEFINITIONS])
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
