//! The traces of a folder, a line each.

use serde::Serialize;
use stepscope_analyse::devices::utilization;
use stepscope_analyse::names::comm::CommRule;
use stepscope_analyse::steps::Steps;
use stepscope_analyse::steps::breakdown::breakdown;
use stepscope_formats::{discover, rank_of};

use crate::args::Common;
use crate::failure::Failure;
use crate::input::{Input, choose, keep_asked};
use crate::print::{Cell, Column, Role, Table};

/// One trace of several, in a line.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RunRow {
    path: String,
    worker: Option<String>,
    rank: Option<i64>,
    span: Option<String>,
    events: u64,
    steps: usize,
    mean_step_ns: Option<i64>,
    gpu_utilization: Option<f64>,
}

/// The trace to show, and a line on each trace of the folder unless one rank was asked for.
pub(super) fn load(common: &Common) -> Result<(Input, Vec<RunRow>), Failure> {
    let several = match &common.path {
        Some(path) if common.loaded.is_none() => discover(path)?.len() > 1,
        _ => false,
    };
    if common.rank.is_some() || !several {
        return Ok((Input::of(choose(common, None)?, common)?, Vec::new()));
    }
    let mut runs = Vec::new();
    let trace = choose(
        common,
        Some(&mut |trace| {
            runs.push(run_row(trace, common)?);
            Ok(())
        }),
    )?;
    Ok((Input::of(trace, common)?, runs))
}

fn run_row(trace: &stepscope_model::Trace, common: &Common) -> Result<RunRow, Failure> {
    let mut steps = Steps::find(trace);
    keep_asked(&mut steps, common)?;
    let report = breakdown(trace, &steps, CommRule::default());
    let gpus = utilization::gpu(trace, &steps);
    let source = &trace.meta().source;
    Ok(RunRow {
        path: source.path.clone(),
        worker: source.worker.clone(),
        rank: rank_of(trace),
        span: source.span.clone(),
        events: trace.meta().events_in_file,
        steps: if steps.synthetic { 0 } else { steps.steps.len() },
        mean_step_ns: report.average.map(|a| a.wall_ns),
        gpu_utilization: gpus.devices.iter().filter_map(|d| d.utilization).reduce(f64::max),
    })
}

pub(super) fn table(runs: &[RunRow]) -> Table {
    let mut table = Table::new(vec![
        Column::name("Worker"),
        Column::number("Rank").keep(),
        Column::text("Span").priority(60),
        Column::number("Events").priority(80),
        Column::number("Steps").priority(100),
        Column::number("Mean step").keep(),
        Column::number("GPU utilization").priority(120),
    ])
    .title("Traces", "");
    for r in runs {
        table.row(vec![
            Cell::text(r.worker.as_deref().unwrap_or(&r.path)),
            Cell::maybe(r.rank, |v| Cell::text(v.to_string())),
            Cell::maybe(r.span.as_deref(), Cell::text),
            Cell::count(r.events),
            Cell::count(r.steps as u64),
            Cell::maybe(r.mean_step_ns, Cell::time),
            Cell::maybe(r.gpu_utilization, |v| Cell::share(v).role(Role::Device)),
        ]);
    }
    table
}
