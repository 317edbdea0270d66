//! `stepscope transfers`: copies between host and devices.

use std::io::Write;

use serde::Serialize;
use serde_json::json;
use stepscope_analyse::causes::transfers::{self, TransferRow, transfers};
use stepscope_analyse::names::copies::{Direction, HostMemory};
use stepscope_analyse::roofline::{Hardware, device_name};
use stepscope_analyse::scope::definition::Definition;
use stepscope_model::Trace;

use super::ops::ratio;
use super::{gpu_name, refuse, wants_only_definitions};
use crate::args::Common;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{Cell, Column, Role, Table};
use crate::rows::arrange;
use crate::words::{Part, answer, only_definitions};

/// What the column of our own means.
const OWN: &[Definition] = &[Definition {
    field: "of_bus",
    label: "Of bus",
    text: "Rate of large copies / what the bus between host and device can do in one direction, by the maker's figures; \
           none for devices that the table of hardware does not know.",
}];

/// A row beside what the bus of its device could do.
#[derive(Clone, Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    transfer: TransferRow,
    /// Large copies' part of the bus's bandwidth; none for an unknown device or copies that do not cross the bus.
    of_bus: Option<f64>,
}

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    if wants_only_definitions(common) {
        return only_definitions(out, common, &[transfers::DEFINITIONS, OWN]);
    }
    refuse(common, &["--by"], "the transfers", "they are grouped by direction and memory")?;
    let input = Input::load(common)?;
    let report = transfers(&input.trace, &input.selection);
    let rows = report.rows.into_iter().map(|t| Row { of_bus: of_bus(&input.trace, &t), transfer: t });
    let rows = arrange(rows.collect(), common, None, 0, |r| r.transfer.direction.label())?;
    let mut table = table(&rows.rows)
        .title("Transfers", "copies by direction and memory; exposed: nothing computed meanwhile")
        .when_empty(rows.when_empty("no copies in this trace"));
    if rows.rows.iter().any(|r| r.transfer.memory == HostMemory::Pageable) {
        table.note(
            "pageable memory is slow to copy and makes the host wait: use pin_memory=True, non_blocking=True",
        );
    }
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    let part = Part::new("transfers", table, json!(rows.rows));
    answer(out, common, vec![part], Vec::new(), &[transfers::DEFINITIONS, OWN])
}

fn of_bus(trace: &Trace, row: &TransferRow) -> Option<f64> {
    if !matches!(row.direction, Direction::HostToDevice | Direction::DeviceToHost) {
        return None;
    }
    let hardware = device_name(trace, row.device).and_then(Hardware::find)?;
    Some(row.large_bytes_per_second? / (hardware.host_bus_gbs * 1e9))
}

fn memory_label(memory: HostMemory) -> Cell {
    match memory {
        HostMemory::Pageable => Cell::text("pageable").role(Role::Warn),
        HostMemory::Pinned => Cell::text("pinned").role(Role::Good),
        HostMemory::Unknown => Cell::nothing(),
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(vec![
        Column::text("Direction").keep(),
        Column::text("Memory").keep(),
        Column::text("GPU").priority(120),
        Column::number("Copies").priority(140),
        Column::number("Bytes").priority(150),
        Column::number("Time").keep(),
        Column::number("Exposed").keep(),
        Column::number("% exposed").priority(105),
        Column::number("Rate").priority(130),
        Column::number("Large rate").priority(80),
        Column::number("Of bus").priority(90),
        Column::number("Host calls").priority(70),
    ]);
    for row in rows {
        let r = &row.transfer;
        table.row(vec![
            Cell::text(r.direction.label()),
            memory_label(r.memory),
            Cell::text(gpu_name(r.device)),
            Cell::count(r.calls),
            Cell::maybe(r.bytes, Cell::bytes),
            Cell::time(r.total_ns),
            Cell::time(r.exposed_ns),
            Cell::share(ratio(r.exposed_ns, r.total_ns)).role(Role::Copy),
            Cell::maybe(r.bytes_per_second, Cell::rate_bytes),
            Cell::maybe(r.large_bytes_per_second, Cell::rate_bytes),
            Cell::maybe(row.of_bus, |share| Cell::share(share).role(Role::Copy)),
            Cell::time(r.host_ns),
        ]);
    }
    table
}
