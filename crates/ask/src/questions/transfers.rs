//! Copies between host and devices.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::causes::transfers::{self, TransferRow, transfers};
use stepscope_analyse::names::copies::{Direction, HostMemory};
use stepscope_analyse::roofline::Hardware;
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_ground::Problem;
use stepscope_model::Trace;

use super::gpu_name;
use super::ops::ratio;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "transfers",
    about: "Copies between host and devices: how much, how fast, and whether computation hides them.",
    examples: &["transfers TRACE", "transfers TRACE --step 3 --sort exposed"],
    group: Group::Waiting,
    options: &["sort", "top", "filter", "step", "device"],
    report_by: Some(&[]),
    definitions: &[transfers::DEFINITIONS, OWN_DEFINITIONS],
    forms: &[Form { name: "TransfersAnswer", about: TRACES, members: &[&[rows::<BusRow>("transfers")]] }],
    answer,
    ..USUAL
};

/// What the column of our own means.
const OWN_DEFINITIONS: &[Definition] = definitions! {
    "of_bus", "Of bus" =>
        "Rate of large copies / the peak bandwidth of the bus between host and device in one direction, from the vendor's \
         data sheet, as a fraction; none for devices that are not in the hardware table.";
};

/// A row beside what the bus of its device could do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct BusRow {
    #[serde(flatten)]
    transfer: TransferRow,
    /// Large copies' share of the bus's bandwidth; none for an unknown device or copies that do not cross the bus.
    of_bus: Option<f64>,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let report = transfers(asked.trace(), &asked.selection);
    let rows = report.rows.into_iter().map(|t| BusRow { of_bus: of_bus(asked.trace(), &t), transfer: t });
    let rows = arrange(rows.collect(), &ask.rows, None, 0, |r: &BusRow| r.transfer.direction.label())?;
    let (empty, left_out) = (rows.when_empty("no copies in this trace"), rows.left_out());
    let part = Part::new("transfers", rows.rows, move |rows| {
        let mut table = table(rows)
            .title("Transfers", "copies by direction and memory; exposed: nothing computed meanwhile")
            .when_empty(empty);
        if rows.iter().any(|r| r.transfer.memory == HostMemory::Pageable) {
            table.note(
                "pageable memory is slow to copy and makes the host wait; use pin_memory=True, non_blocking=True",
            );
        }
        table.notes(&left_out);
        table
    });
    Ok(Answer::new(vec![part]))
}

fn of_bus(trace: &Trace, row: &TransferRow) -> Option<f64> {
    if !matches!(row.direction, Direction::HostToDevice | Direction::DeviceToHost) {
        return None;
    }
    let hardware = trace.meta().described(row.device).and_then(Hardware::for_device)?.0;
    Some(row.large_bytes_per_second? / (hardware.host_bus_gbs * 1e9))
}

fn memory_label(memory: HostMemory) -> Cell {
    match memory {
        HostMemory::Pageable => Cell::text("pageable").role(Role::Warn),
        HostMemory::Pinned => Cell::text("pinned").role(Role::Good),
        HostMemory::Unknown => Cell::nothing(),
    }
}

fn table(rows: &[BusRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Direction").keep(), |r| Cell::text(r.transfer.direction.label()))
        .add(Column::text("Memory").keep(), |r| memory_label(r.transfer.memory))
        .add(Column::text("GPU").priority(120), |r| Cell::text(gpu_name(r.transfer.device)))
        .metric("calls", 140, |r| Cell::count(r.transfer.calls))
        .metric("bytes", 150, |r| Cell::maybe(r.transfer.bytes, Cell::bytes))
        .metric("total_ns", KEEP, |r| Cell::time(r.transfer.total_ns))
        .metric("exposed_ns", KEEP, |r| Cell::time(r.transfer.exposed_ns))
        .add(Column::number("% exposed").priority(105), |r| {
            Cell::share(ratio(r.transfer.exposed_ns, r.transfer.total_ns)).role(Role::Copy)
        })
        .metric("bytes_per_second", 130, |r| Cell::maybe(r.transfer.bytes_per_second, Cell::rate_bytes))
        .metric("large_bytes_per_second", 80, |r| {
            Cell::maybe(r.transfer.large_bytes_per_second, Cell::rate_bytes)
        })
        .metric("of_bus", 90, |r| Cell::maybe(r.of_bus, |share| Cell::share(share).role(Role::Copy)))
        .metric("host_ns", 70, |r| Cell::time(r.transfer.host_ns))
        .table()
}
