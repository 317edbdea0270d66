//! `stepscope loading`: how long each step waited for its batch.

use std::io::Write;

use serde_json::json;
use stepscope_analyse::causes::data_loading::{self, DataLoading, LoadingRow, data_loading};

use super::ops::{ratio, share};
use super::{refuse, wants_only_definitions};
use crate::args::Common;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{Cell, Column, Format, Role, Table, units};
use crate::rows::arrange;
use crate::words::{Part, answer, only_definitions};

/// Operators of the loader shown.
const FEW: usize = 10;

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    if wants_only_definitions(common) {
        return only_definitions(out, common, &[data_loading::DEFINITIONS]);
    }
    refuse(common, &["--by"], "data loading", "it is shown step by step")?;
    refuse(common, &["--filter"], "the steps", "`--step 3-5` chooses steps")?;
    let hint = "loading is exposed while no device works; leave it out";
    refuse(common, &["--device"], "data loading, which keeps all devices waiting", hint)?;
    let input = Input::load(common)?;
    let report = data_loading(&input.trace, &input.steps);
    let words = words(&report);
    let extra = vec![
        ("workers", json!(report.workers)),
        ("range", json!(report.range)),
        (
            "totals",
            json!({
                "loading_ns": report.loading_ns,
                "exposed_ns": report.exposed_ns,
                "wall_ns": report.wall_ns,
            }),
        ),
    ];
    let operators = operators_part(&report);
    let rows = arrange(report.rows.clone(), common, None, 0, |_| "")?;
    // Steps without a figure say nothing.
    let (shown, none) = match report.loading_ns {
        0 => (
            &rows.rows[..0],
            "no data loader found: DataLoader is seen by its own ranges, others by record_function(\"data_loading\")",
        ),
        _ => (&rows.rows[..], "no steps in this trace"),
    };
    let mut table = table(shown, &report).title("Data loading", words).when_empty(none);
    if let Some(range) = &report.range {
        table.note(format!("batches are fetched in {range}"));
    }
    match report.workers {
        Some(true) => table.note("worker processes prepare them (num_workers > 0)"),
        Some(false) => table.note("the main thread prepares them itself (num_workers=0)"),
        None => {}
    }
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    let mut parts = vec![Part::new("loading", table, json!(rows.rows))];
    if common.format == Format::Json || !report.operators.is_empty() {
        parts.push(operators);
    }
    answer(out, common, parts, extra, &[data_loading::DEFINITIONS])
}

fn words(report: &DataLoading) -> String {
    if report.loading_ns == 0 {
        return String::new();
    }
    format!(
        "{} of {} ({}) with idle devices",
        units::time(report.exposed_ns),
        units::time(report.wall_ns),
        units::percent(ratio(report.exposed_ns, report.wall_ns)),
    )
}

fn table(rows: &[LoadingRow], report: &DataLoading) -> Table {
    let mut table = Table::new(vec![
        Column::text("Step").keep(),
        Column::number("Wall").keep(),
        Column::number("Loading").keep(),
        Column::number("Exposed").keep(),
        Column::number("Of the step").priority(150),
    ]);
    for r in rows {
        table.row(vec![
            Cell::text(if r.step >= 0 { r.step.to_string() } else { "all".to_owned() }),
            Cell::time(r.wall_ns),
            Cell::time(r.loading_ns),
            Cell::time(r.exposed_ns),
            Cell::share(ratio(r.exposed_ns, r.wall_ns)).role(Role::DataLoad),
        ]);
    }
    if rows.len() > 1 {
        table.total(vec![
            Cell::text("all"),
            Cell::time(report.wall_ns),
            Cell::time(report.loading_ns),
            Cell::time(report.exposed_ns),
            Cell::percent(ratio(report.exposed_ns, report.wall_ns)),
        ]);
    }
    table
}

/// What ran inside of it on the main thread.
fn operators_part(report: &DataLoading) -> Part {
    let mut table = Table::new(vec![
        Column::name("Operator or call"),
        Column::number("Time").keep(),
        Column::number("Of loading").priority(150),
    ])
    .title("While loading", "what the main thread does meanwhile, by self time");
    let largest = report.operators.first().map_or(0, |o| o.1);
    for (name, ns) in report.operators.iter().take(FEW) {
        table.row(vec![
            Cell::text(name),
            Cell::time(*ns),
            share(*ns, report.loading_ns, largest).role(Role::DataLoad),
        ]);
    }
    let rows: Vec<_> =
        report.operators.iter().map(|(name, ns)| json!({ "name": name, "self_ns": ns })).collect();
    Part::new("operators", table, json!(rows))
}
