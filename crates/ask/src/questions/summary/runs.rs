//! The traces of a folder, a line each.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::compare::{LateRank, RankStep, late_rank};
use stepscope_analyse::findings::Thresholds;
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::{Definition, definitions};

use crate::answer::Part;
use crate::ask::Ask;
use crate::print::{Cell, Column, Columns, Role, Table, units};

pub(super) const DEFINITIONS: &[Definition] = definitions! {
    "events", "Events" => "Events in the file, those of kinds that no table counts included.";
    "mean_step_ns", "Mean step" =>
        "The same for each trace of a folder: the mean wall time of its steps that are not partial (of all, if all are).";
    "gpu_utilization", "GPU utilization" => "Of the device of this trace that was busy longest: share of the steps during which a kernel ran.";
    "communicates_ns", "Communicates" =>
        "What a rank does nothing but communicate for, per step, of the device where that is most: waiting for ranks that \
         come late is part of it. The rank that the others wait for communicates least, so it is called late if the others \
         communicate for at least late_rank.min_share of a step longer, and about equally long. A heuristic.";
};

/// One trace of several.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunRow {
    path: String,
    worker: Option<String>,
    rank: Option<i64>,
    span: Option<String>,
    events: u64,
    steps: usize,
    mean_step_ns: Option<i64>,
    gpu_utilization: Option<f64>,
    /// What a rank does nothing but communicate for, per step: waiting for a late one included.
    communicates_ns: Option<i64>,
    #[serde(skip)]
    step: Option<RankStep>,
}

/// What a line says about a run, or about those of its steps that are asked about.
pub fn run_row(ask: &Ask, run: &Run) -> RunRow {
    let run = &run.of_steps(ask.kept(run.all_steps()));
    let meta = run.trace().meta();
    let steps = run.steps();
    let step = RankStep::of_run(run).filter(|_| !steps.synthetic);
    RunRow {
        path: meta.source.path.clone(),
        worker: meta.source.worker.clone(),
        rank: meta.distributed.as_ref().and_then(|d| d.rank),
        span: meta.source.span.clone(),
        events: meta.events_in_file,
        steps: if steps.synthetic { 0 } else { steps.steps.len() },
        mean_step_ns: run.breakdown().average.map(|a| a.wall_ns),
        gpu_utilization: run.gpu().devices.iter().filter_map(|d| d.utilization).reduce(f64::max),
        communicates_ns: step.map(|step| step.communication_ns),
        step,
    }
}

/// The lines as a part of an answer, below its first screen.
pub fn runs_part(ask: &Ask, rows: Vec<RunRow>) -> Part {
    let mut part = Part::new("runs", rows, table);
    if !super::all_tables(ask) {
        // Where all tables follow, the first screen leaves a line free itself.
        part.picture = Some(Box::new(|out, _| writeln!(out)));
    }
    part
}

fn table(runs: &[RunRow]) -> Table {
    Columns::of(runs)
        .add(Column::name("Worker"), |r| Cell::text(r.worker.as_deref().unwrap_or(&r.path)))
        .add(Column::number("Rank").keep(), |r| Cell::maybe(r.rank, |v| Cell::text(v.to_string())))
        .add(Column::text("Span").priority(60), |r| Cell::maybe(r.span.as_deref(), Cell::text))
        .add(Column::number("Events").priority(80), |r| Cell::count(r.events))
        .add(Column::number("Steps").priority(100), |r| Cell::count(r.steps as u64))
        .add(Column::number("Mean step").keep(), |r| Cell::maybe(r.mean_step_ns, Cell::time))
        .add_if(runs.iter().any(|r| r.communicates_ns > Some(0)), Column::number("Communicates").keep(), |r| {
            Cell::maybe(r.communicates_ns, Cell::time).role(Role::Comm)
        })
        .add(Column::number("GPU utilization").priority(120), |r| {
            Cell::maybe(r.gpu_utilization, |v| Cell::share(v).role(Role::Device))
        })
        .table()
        .title("Traces", "")
}

/// Which rank the others wait for, in a sentence; none if they do not.
pub fn late_rank_words(runs: &[RunRow], limits: &Thresholds) -> Option<String> {
    let steps: Vec<RankStep> = runs.iter().filter_map(|run| run.step).collect();
    let found: LateRank = late_rank(&steps, limits)?;
    let RankStep { rank, communication_ns, .. } = found.late;
    let others = if steps.len() == 2 { "the other communicates" } else { "the others communicate" };
    Some(format!(
        "rank {rank} is late: {others} for {} of each step, rank {rank} for {}. So it is probably waited for, up to {} per \
         step: look at it with --rank {rank}",
        units::time(found.others_ns),
        units::time(communication_ns),
        units::time(found.waited_ns()),
    ))
}
