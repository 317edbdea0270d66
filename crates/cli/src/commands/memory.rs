//! `stepscope memory`: memory over time, what lived at the peak, and which operators allocate.

mod window;

use std::io::Write;

use serde_json::json;
use stepscope_analyse::memory::{self, Options, Report};
use stepscope_model::Ns;

use super::{TOP, by, wants_only_definitions};
use crate::args::{Common, Memory};
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{self, Cell, Column, Format, Plot, Role, Screen, Table, units};
use crate::rows::arrange;
use crate::words::{self, Part, answer, only_definitions};

const NONE: &str = "no allocations in this trace: record with profile_memory=True to see them";

pub(super) fn run(args: &Memory, out: &mut dyn Write) -> Result<(), Failure> {
    let common = &args.common;
    if wants_only_definitions(common) {
        return only_definitions(out, common, &[memory::DEFINITIONS]);
    }
    let by = by(common, &["op", "event", "peak", "stack"])?;
    let input = Input::load(common)?;
    let options = Options {
        selection: input.selection.clone(),
        window: window::window(args, &input.trace)?,
        frames: common.frames,
        events: by == "event",
        ..Options::default()
    };
    let report = memory::analyse(&input.trace, &options);
    let start = input.trace.extent().map_or(0, |(start, _)| start.0);
    let mut table = devices_table(&report);
    if let Some((from, to)) = options.window {
        let since = |at: Ns| units::time(at.0.saturating_sub(start));
        table.note(format!("only from {} to {} since the start of the trace", since(from), since(to)));
    }
    let mut devices = Part::new("devices", table, json!(report.devices));
    devices.picture = curves(&words::screen(common), &report, true)?;
    let mut extra = vec![("records", json!(report.records))];
    if let Some((from, to)) = options.window {
        extra.push(("range_ns", json!([from.0, to.0])));
    }
    let part = match by {
        "event" => events_part(report, common, start)?,
        "peak" => peak_part(&report, common)?,
        "stack" => stack_part(&report, common)?,
        _ => operators_part(report, common)?,
    };
    // CSV prints the first part: the one that was asked for.
    let parts = if common.format == Format::Csv { vec![part] } else { vec![devices, part] };
    answer(out, common, parts, extra, &[memory::DEFINITIONS])
}

/// The memory curves, drawn: of all devices, or of accelerators only.
pub(super) fn curves(screen: &Screen, report: &Report, host_too: bool) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    for device in &report.devices {
        let accelerator = device.device_id.is_some_and(|id| id >= 0);
        let points: Vec<(i64, i64)> = device.curve.iter().map(|p| (p.at_ns, p.allocated_bytes)).collect();
        if points.len() < 2 || device.peak_allocated_bytes <= 0 || !(accelerator || host_too) {
            continue;
        }
        let words = format!("allocated over time, peak {}", units::bytes(device.peak_allocated_bytes));
        print::heading(&mut out, screen, &format!("Memory on {}", device.device), &words)?;
        let role = if accelerator { Role::Device } else { Role::Host };
        print::area_plot(&mut out, screen, &points, &Plot { role, ..Plot::new(screen.width.min(110), 8) })?;
        writeln!(out)?;
    }
    Ok(out)
}

pub(super) fn devices_table(report: &Report) -> Table {
    let mut table = Table::new(vec![
        Column::text("Device").keep(),
        Column::number("Peak allocated").keep(),
        Column::number("Peak reserved").priority(130),
        Column::number("At start").priority(80),
        Column::number("At end").priority(85),
        Column::number("Allocations").priority(110),
        Column::number("Allocated in all").priority(70),
        Column::number("Still live").priority(60),
        Column::number("Unmatched frees").priority(50),
    ])
    .title("Memory", format!("{} allocator records", units::count(report.records)))
    .when_empty(NONE);
    for d in &report.devices {
        table.row(vec![
            Cell::text(&d.device),
            Cell::bytes(d.peak_allocated_bytes),
            Cell::maybe(d.peak_reserved_bytes, Cell::bytes),
            Cell::bytes(d.opening_allocated_bytes),
            Cell::bytes(d.closing_allocated_bytes),
            Cell::count(d.allocation_count),
            Cell::bytes(d.allocated_bytes),
            Cell::bytes(d.still_live_bytes),
            Cell::count(d.unmatched_frees),
        ]);
        if !d.totals_from_file {
            table.note(format!(
                "{}: the file holds no totals; the curve is the running sum of its records",
                d.device
            ));
        }
    }
    table
}

fn operators_part(report: Report, common: &Common) -> Result<Part, Failure> {
    let rows = arrange(report.operators, common, Some("self_allocated_bytes"), TOP, |r| &r.name)?;
    let mut table = Table::new(vec![
        Column::name("Operator"),
        Column::text("Device").priority(140),
        Column::number("Calls").priority(90),
        Column::number("Self allocated").keep(),
        Column::number("Self allocs").priority(110),
        Column::number("Self increase").priority(120),
        Column::number("Allocated").priority(60),
        Column::number("Increase").priority(70),
    ])
    .title("Memory by operator", "self: by the operator itself, not its children")
    .when_empty(rows.when_empty(NONE));
    for r in &rows.rows {
        table.row(vec![
            Cell::text(&r.name),
            Cell::text(&r.device),
            Cell::count(r.calls),
            Cell::bytes(r.self_allocated_bytes),
            Cell::count(r.self_allocation_count),
            Cell::bytes(r.self_increase_bytes),
            Cell::bytes(r.allocated_bytes),
            Cell::bytes(r.increase_bytes),
        ]);
    }
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    Ok(Part::new("operators", table, json!(rows.rows)))
}

/// Times are shown since the trace's first slice; the data keeps them since its base.
fn events_part(report: Report, common: &Common, start: i64) -> Result<Part, Failure> {
    let rows =
        arrange(report.events, common, Some("bytes"), TOP, |r| r.operator.as_deref().unwrap_or_default())?;
    let mut table = Table::new(vec![
        Column::name("Operator"),
        Column::text("Device").priority(140),
        Column::number("Bytes").keep(),
        Column::number("Allocated at").priority(100),
        Column::number("Released at").priority(90),
        Column::number("Lived").priority(110),
    ])
    .title("Allocations", "times since the start of the trace")
    .when_empty(rows.when_empty(NONE));
    for r in &rows.rows {
        table.row(vec![
            Cell::maybe(r.operator.as_deref(), Cell::text),
            Cell::text(&r.device),
            Cell::bytes(r.bytes),
            Cell::maybe(r.allocated_at_ns, |at| Cell::time(at.saturating_sub(start))),
            Cell::maybe(r.released_at_ns, |at| Cell::time(at.saturating_sub(start))),
            Cell::maybe(r.duration_ns, Cell::time),
        ]);
    }
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    Ok(Part::new("events", table, json!(rows.rows)))
}

fn peak_part(report: &Report, common: &Common) -> Result<Part, Failure> {
    #[derive(serde::Serialize)]
    struct Row {
        device: String,
        operator: String,
        bytes: i64,
        count: Option<u64>,
        share: f64,
    }
    let rows = report.devices.iter().flat_map(|d| {
        d.peak_by_operator.iter().map(|live| Row {
            device: d.device.clone(),
            operator: live.operator.clone(),
            bytes: live.bytes,
            count: live.count,
            share: super::ops::ratio(live.bytes, d.peak_allocated_bytes),
        })
    });
    let rows = arrange(rows.collect(), common, Some("bytes"), TOP, |r: &Row| &r.operator)?;
    let mut table = Table::new(vec![
        Column::name("Operator"),
        Column::text("Device").priority(140),
        Column::number("Live bytes").keep(),
        Column::number("% of peak").priority(120),
        Column::number("Allocations").priority(100),
    ])
    .title("What lived at the peak", "by the operator that allocated it")
    .when_empty(rows.when_empty(NONE));
    for r in &rows.rows {
        table.row(vec![
            Cell::text(&r.operator),
            Cell::text(&r.device),
            Cell::bytes(r.bytes),
            Cell::share(r.share).role(Role::Device),
            Cell::maybe(r.count, Cell::count),
        ]);
    }
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    Ok(Part::new("peak", table, json!(rows.rows)))
}

fn stack_part(report: &Report, common: &Common) -> Result<Part, Failure> {
    #[derive(serde::Serialize)]
    struct Row {
        device: String,
        operator: String,
        stack: Vec<String>,
        bytes: i64,
        count: Option<u64>,
    }
    let rows = report.devices.iter().flat_map(|d| {
        d.peak_by_stack.iter().map(|live| Row {
            device: d.device.clone(),
            operator: live.operator.clone(),
            stack: live.frames.clone(),
            bytes: live.bytes,
            count: live.count,
        })
    });
    let rows = arrange(rows.collect(), common, Some("bytes"), TOP, |r: &Row| &r.operator)?;
    let mut table = Table::new(vec![
        Column::number("Live bytes").keep(),
        Column::text("Device").priority(90),
        Column::number("Allocations").priority(80),
        Column::text("Operator").keep(),
        Column::name("Stack").flexible(24, print::end_ellipsis),
    ])
    .title("What lived at the peak", "by operator and Python stack")
    .when_empty(rows.when_empty(NONE));
    for r in &rows.rows {
        table.row(vec![
            Cell::bytes(r.bytes),
            Cell::text(&r.device),
            Cell::maybe(r.count, Cell::count),
            Cell::text(&r.operator),
            Cell::text(r.stack.join(" < ")),
        ]);
    }
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    Ok(Part::new("peak", table, json!(rows.rows)))
}
