//! `stepscope steps`: where each step's wall time went.

use std::io::Write;

use serde_json::json;
use stepscope_analyse::names::comm::CommRule;
use stepscope_analyse::peers::tracelens::{self, TimelineOptions, TimelineRow, timeline_of_steps};
use stepscope_analyse::steps;
use stepscope_analyse::steps::breakdown::{self, Breakdown, BreakdownRow, Parts, breakdown};

use super::{by, refuse_device_of_steps, wants_only_definitions};
use crate::args::Common;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{Cell, Column, Role, Table, units};
use crate::rows::arrange;
use crate::words::{Part, answer, only_definitions};

/// How much the columns of the parts matter on a narrow screen: what is usually large stays longest.
const PRIORITIES: [u8; 8] = [180, 130, 110, 160, 140, 170, 175, 120];

/// The exclusive parts in priority order: label, colour, value.
pub(super) fn parts(p: &Parts) -> [(&'static str, i64, Role); 8] {
    [
        ("Kernel", p.kernel_ns, Role::Device),
        ("Memcpy", p.memcpy_ns, Role::Copy),
        ("Memset", p.memset_ns, Role::Copy),
        ("Communication", p.communication_ns, Role::Comm),
        ("Runtime", p.runtime_ns, Role::Runtime),
        ("Data loading", p.data_loading_ns, Role::DataLoad),
        ("Host", p.host_ns, Role::Host),
        ("Other", p.other_ns, Role::Idle),
    ]
}

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    let definitions = [steps::DEFINITIONS, breakdown::DEFINITIONS, tracelens::DEFINITIONS];
    if wants_only_definitions(common) {
        return only_definitions(out, common, &definitions);
    }
    let by = by(common, &["breakdown", "device"])?;
    if by == "breakdown" {
        refuse_device_of_steps(common)?;
    }
    let input = Input::load(common)?;
    let report = breakdown(&input.trace, &input.steps, CommRule::default());
    let average = report.average;
    let part = match by {
        "device" => device_part(&input, common)?,
        _ => host_part(&input, report, common)?,
    };
    let extra = vec![
        ("average", json!(average)),
        ("synthetic", json!(input.steps.synthetic)),
        ("device_slices_outside", json!(input.steps.device_slices_outside)),
    ];
    answer(out, common, vec![part], extra, &definitions)
}

fn host_part(input: &Input, report: Breakdown, common: &Common) -> Result<Part, Failure> {
    let steps = &input.steps;
    let average = report.average;
    let words = words(&report);
    let synthetic = report.synthetic;
    let rows = arrange(report.rows, common, None, 0, |r| &r.name)?;
    let mut table = table(&rows.rows, average.as_ref()).title("Steps", words);
    if synthetic {
        table.note("no ProfilerStep marks in this trace: it is shown as one step (call prof.step() after each iteration)");
    }
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    if steps.device_slices_outside > 0 {
        table.note(format!(
            "{} device slices lie outside every step",
            units::count(steps.device_slices_outside)
        ));
    }
    Ok(Part::new("steps", table, json!(rows.rows)))
}

pub(super) fn words(report: &Breakdown) -> String {
    match &report.average {
        Some(average) if report.averaged_steps > 1 => {
            format!(
                "{} steps, {} on average; the parts add up exactly",
                report.averaged_steps,
                units::time(average.wall_ns)
            )
        }
        Some(average) => format!("{}; the parts add up exactly", units::time(average.wall_ns)),
        None => String::new(),
    }
}

pub(super) fn table(rows: &[BreakdownRow], average: Option<&Parts>) -> Table {
    let used: Vec<usize> = (0..8).filter(|&i| rows.iter().any(|r| r.parts.exclusive()[i] != 0)).collect();
    let labels = parts(&Parts::default());
    let mut columns = vec![Column::text("Step").keep(), Column::number("Wall").keep()];
    for &i in &used {
        columns.push(Column::number(labels[i].0).priority(PRIORITIES[i]));
    }
    columns.push(Column::number("GPU busy").priority(165));
    let mut table = Table::new(columns);
    let cells = |p: &Parts, name: String| {
        let mut cells = vec![Cell::text(name), Cell::time(p.wall_ns)];
        let values = parts(p);
        cells.extend(used.iter().map(|&i| Cell::time(values[i].1)));
        cells.push(Cell::share(super::ops::ratio(p.gpu_busy_ns, p.wall_ns)).role(Role::Device));
        cells
    };
    for row in rows {
        let mark = if row.partial { " (partial)" } else { "" };
        let name = if row.step >= 0 { row.step.to_string() } else { row.name.clone() };
        table.row(cells(&row.parts, format!("{name}{mark}")));
    }
    if let Some(average) = average
        && rows.len() > 1
    {
        table.total(cells(average, "average".to_owned()));
    }
    table
}

fn device_part(input: &Input, common: &Common) -> Result<Part, Failure> {
    #[derive(serde::Serialize)]
    struct Row {
        step: i64,
        name: String,
        #[serde(flatten)]
        timeline: TimelineRow,
    }
    let options = TimelineOptions { linked_only: false, selection: input.selection.clone() };
    let rows: Vec<Row> = timeline_of_steps(&input.trace, &input.steps, &options)
        .into_iter()
        .flat_map(|s| {
            s.rows.into_iter().map(move |timeline| Row { step: s.step, name: s.name.clone(), timeline })
        })
        .collect();
    let rows = arrange(rows, common, None, 0, |r| &r.name)?;
    let mut table = Table::new(vec![
        Column::text("Step").keep(),
        Column::number("Device").priority(110),
        Column::number("Total").keep(),
        Column::number("Computation").priority(120),
        Column::number("Exposed comm").priority(115),
        Column::number("Exposed memcpy").priority(115),
        Column::number("Idle").priority(120),
        Column::number("Busy").priority(100),
    ])
    .title(
        "Steps on the device",
        "computation, exposed communication, exposed copies and idle add up to the total",
    );
    for row in &rows.rows {
        let t = &row.timeline;
        let name = if row.step >= 0 { row.step.to_string() } else { row.name.clone() };
        table.row(vec![
            Cell::text(name),
            Cell::maybe(t.device, |d| Cell::text(d.to_string())),
            Cell::time(t.total_ns),
            Cell::time(t.computation_ns),
            Cell::time(t.exposed_comm_ns),
            Cell::time(t.exposed_memcpy_ns),
            Cell::time(t.idle_ns),
            Cell::share(super::ops::ratio(t.busy_ns, t.total_ns)).role(Role::Device),
        ]);
    }
    table = table.when_empty("no device work in this trace");
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    Ok(Part::new("steps", table, json!(rows.rows)))
}
