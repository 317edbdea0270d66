//! Named ranges with all the device time that they caused.

use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_analyse::tables::ops::{self, OpsQuery};
use stepscope_analyse::tables::regions::{self, Query, RegionRow, RegionsLedger};
use stepscope_ground::Problem;

use super::DEFAULT_TOP;
use super::ops::ratio;
use crate::answer::Answer;
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{Cell, Column, Columns, Role, Table, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "regions",
    about: "Ranges named by record_function, with the device time the backward pass launched for them.",
    examples: &["regions TRACE", "regions TRACE --sort backward_device", "regions TRACE --filter '^layer'"],
    group: Group::Time,
    options: &["sort", "top", "filter", "step", "device"],
    report_by: Some(&[]),
    definitions: &[regions::DEFINITIONS],
    forms: &[Form {
        name: "RegionsAnswer",
        about: TRACES,
        members: &[&[rows::<RegionRow>("regions"), fact::<RegionsLedger>("ledger")]],
    }],
    answer,
    page_parts: &["regions"],
    ..USUAL
};

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let run = &asked.run;
    let narrower;
    let pytorch = match asked.selection == run.narrowed() {
        true => run.ops(),
        false => {
            let query = OpsQuery { selection: asked.selection.clone(), ..OpsQuery::default() };
            narrower = ops::ops(asked.trace(), &query);
            &narrower
        }
    };
    let query = Query { selection: &asked.selection, steps: asked.steps(), pytorch };
    let report = regions::regions(asked.trace(), run.host(), run.tree(), &query);
    let (words, ledger) = (words(&report.ledger), report.ledger.clone());
    let has_device = ledger.total_device_ns > 0;
    let steps = (asked.steps().steps.len() as i64).max(1);
    let rows = arrange(report.regions, &ask.rows, None, DEFAULT_TOP, |r| &r.name)?;
    let of_pytorch = asked.trace().meta().framework.is_none();
    let empty = match asked.trace().meta().framework.as_ref().map(|framework| framework.name.as_str()) {
        None => {
            "no named ranges in this trace; put torch.profiler.record_function(\"name\") around parts of a step"
        }
        Some("TensorFlow") => {
            "no named ranges in this trace; put tf.profiler.experimental.Trace(\"name\") around parts of a step"
        }
        Some(_) => {
            "no named ranges in this trace; put jax.profiler.TraceAnnotation(\"name\") around parts of a step"
        }
    };
    let part = rows.into_part("regions", empty, move |rows| {
        let mut table = table(rows, has_device, steps, of_pytorch).title("Regions", &words);
        if rows.iter().any(|r| r.backward_device_ns > 0) {
            table.note(
                "Backward: device time of the backward pass of a region's own operators, wherever it ran",
            );
        }
        table
    });
    Ok(Answer::new(vec![part]).fact("ledger", &ledger))
}

fn words(ledger: &RegionsLedger) -> String {
    if ledger.total_device_ns == 0 {
        return "host time per step".to_owned();
    }
    let mut words = format!(
        "per step; {} of all device time is in regions",
        units::percent(ratio(ledger.in_regions_ns, ledger.total_device_ns)),
    );
    if ledger.handed_over_ns > 0 {
        let share = units::percent(ratio(ledger.handed_over_ns, ledger.total_device_ns));
        words.push_str(&format!(", {share} was launched by backward threads"));
    }
    words
}

/// Times are per step, except those of a column that says otherwise.
fn table(rows: &[RegionRow], has_device: bool, steps: i64, of_pytorch: bool) -> Table {
    let largest = rows.iter().filter_map(|r| r.share).fold(0.0, f64::max);
    let bar = |share: f64| if largest > 0.0 { share / largest } else { 0.0 };
    let number = |label: &str, priority| Column::number(label).priority(priority);
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Region"), |r| Cell::text(&r.name))
        .metric("calls", 110, |r| Cell::count(r.calls))
        .add(Column::number("Host").keep(), |r| Cell::time(r.host_step_ns))
        .add_if(has_device, Column::number("Device").keep(), |r| Cell::time(r.device_step_ns))
        .metric_if(has_device, "share", 150, |r| {
            Cell::maybe(r.share, |share| Cell::percent(share).bar(bar(share)).role(Role::Device))
        })
        .add_if(has_device, number("Device, all steps", 70), |r| Cell::time(r.device_ns))
        .add_if(has_device, number("Self", 100), |r| Cell::time(r.device_self_ns / steps))
        .add_if(has_device, number("Backward", 130), |r| Cell::time(r.backward_device_ns / steps))
        .add_if(has_device && of_pytorch, number("PyTorch's", 120), |r| Cell::time(r.pytorch_device_ns / steps))
        .table()
}
