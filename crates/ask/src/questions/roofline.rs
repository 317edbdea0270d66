//! How close operators come to what the device can do.

mod tables;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::roofline::{self, RooflineBy, RooflineQuery, roofline};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use super::DEFAULT_TOP;
use super::ops::unless_empty;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "roofline",
    about: "How close operators come to what the device can do; model FLOPs utilization (MFU).",
    examples: &[
        "roofline TRACE  (record with record_shapes=True)",
        "roofline TRACE --by name --sort device_ns",
        "roofline TRACE --filter mm --step 3",
    ],
    group: Group::Device,
    by: &["shape", "name"],
    options: &["sort", "top", "filter", "step", "device"],
    report_by: Some(&["name"]),
    definitions: &[roofline::DEFINITIONS, roofline::STEP_DEFINITIONS, roofline::HARDWARE_DEFINITIONS],
    forms: &[Form {
        name: "RooflineAnswer",
        about: TRACES,
        members: &[&[
            rows::<roofline::RooflineRow>("roofline"),
            rows::<roofline::UnmodeledRow>("unmodeled"),
            rows::<roofline::StepUse>("steps"),
            fact::<Vec<roofline::RooflineDevice>>("devices"),
            fact::<Option<f64>>("mean_mfu"),
            fact::<Option<f64>>("mean_hfu"),
            fact::<Option<f64>>("coverage"),
            fact::<bool>("lower_bound"),
            fact::<RooflineTotals>("totals"),
        ]],
    }],
    answer,
    ..USUAL
};

/// Operators without a model that people see.
const MAX_UNMODELED: usize = 5;

/// All rows together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct RooflineTotals {
    device_ns: i64,
    modeled_ns: i64,
    modeled_share: Option<f64>,
    flops: u64,
    bytes: u64,
    ideal_ns: Option<i64>,
    modeled_gbs: Option<f64>,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let by = match ask.grouped() {
        "name" => RooflineBy::Name,
        _ => RooflineBy::NameAndShape,
    };
    let asked = ask.part_of(&runs[0])?;
    let mut report = roofline(asked.trace(), &RooflineQuery { selection: asked.selection.clone(), by });
    let rows =
        arrange(std::mem::take(&mut report.rows), &ask.rows, Some("device_ns"), DEFAULT_TOP, |r| &r.name)?;
    let totals = RooflineTotals {
        device_ns: report.device_ns,
        modeled_ns: report.modeled_ns,
        modeled_share: report.modeled_share,
        flops: report.flops,
        bytes: report.bytes,
        ideal_ns: report.ideal_ns,
        modeled_gbs: report.modeled_gbs,
    };
    let (words, mean) = (tables::words(&report), report.mean);
    let arithmetic = report.steps.iter().any(|s| s.model_flops > 0);
    let none = match asked.trace().meta().framework {
        Some(_) => "no device work with a cost; peaks of CPUs are not known here",
        None => "no operator with a cost; record on a GPU with record_shapes=True",
    };
    let parts = vec![
        rows.into_part("roofline", none, move |rows| tables::rows(rows, &words)),
        unless_empty(Part::new("unmodeled", report.unmodeled, |rows| tables::unmodeled(rows, MAX_UNMODELED))),
        Part::new("steps", report.steps, move |steps| tables::steps(steps, &mean)).shown(arithmetic),
    ];
    let answer = Answer::new(parts).fact("devices", &report.devices).fact("mean_mfu", &mean.mfu);
    let answer = answer.fact("mean_hfu", &mean.hfu).fact("coverage", &mean.coverage);
    Ok(answer.fact("lower_bound", &mean.lower_bound).fact("totals", &totals))
}
