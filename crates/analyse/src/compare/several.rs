//! More than two runs side by side: each beside the first, and every pair judged.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::likeness::{differences, few_steps};
use super::metrics::{gpu_utilization, mean, peak};
use crate::run::Run;
use crate::statistics::{Comparison, Rule, Sample, Verdict, compare};

/// What two runs of several are compared by.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedBy {
    /// The time per sample: every run says how many samples its steps have.
    Sample,
    /// The time per step.
    Step,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SideRow {
    pub run: String,
    pub recordings: u64,
    pub steps: u64,
    pub mean_ns: i64,
    /// The shortest step that at least half of the steps do not exceed.
    pub p50_ns: i64,
    /// The shortest step that at least 95% of the steps do not exceed.
    pub p95_ns: i64,
    /// The mean step's samples; unknown where the program did not say.
    pub samples_per_step: Option<f64>,
    pub samples_per_s: Option<f64>,
    /// The share of the steps in which devices were busy.
    pub gpu_utilization: Option<f64>,
    /// The share of the devices' peak arithmetic that the steps use.
    pub mfu: Option<f64>,
    /// The most memory that was allocated on a device.
    pub peak_allocated_bytes: Option<i64>,
    /// The most memory that was reserved on a device.
    pub peak_reserved_bytes: Option<i64>,
    /// The energy of all devices per step, in joules.
    pub energy_j_per_step: Option<f64>,
    /// Whether it is faster than the first; none for the first.
    pub verdict: Option<Verdict>,
    /// Its time as a multiple of the first's.
    pub ratio: Option<f64>,
    /// The lowest ratio that 95% confidence allows.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// Two of several runs compared.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PairRow {
    /// The one named first.
    pub before: String,
    pub after: String,
    /// Whether the other is faster.
    pub verdict: Verdict,
    /// Its time as a multiple of the first's.
    pub ratio: Option<f64>,
    /// The lowest ratio that 95% confidence allows.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// What the interval rests on, in words.
    pub rests_on: &'static str,
}

/// Several runs side by side.
#[derive(Clone, Debug)]
pub struct Several {
    pub by: ComparedBy,
    /// In the order given.
    pub runs: Vec<SideRow>,
    /// Every pair, in that order.
    pub pairs: Vec<PairRow>,
    /// What is not alike, in words.
    pub unlike: Vec<String>,
}

/// Sets sides beside each other, each with one recording or more, under the names given.
pub fn several(sides: &[(String, &[Arc<Run>])], rule: &Rule) -> Several {
    let tells = |runs: &[Arc<Run>]| runs.iter().all(|run| run.samples().is_some());
    let by = match sides.iter().all(|(_, runs)| tells(runs)) {
        true => ComparedBy::Sample,
        false => ComparedBy::Step,
    };
    let samples: Vec<Sample> = sides.iter().map(|(_, runs)| sample(runs, by)).collect();
    let mut pairs = Vec::new();
    let mut with_first: Vec<Option<Comparison>> = vec![None];
    for (at, before) in samples.iter().enumerate() {
        for (other, after) in samples.iter().enumerate().skip(at + 1) {
            let mut found = compare(before, after, rule);
            if before == after {
                // The same recording twice has no noise to speak of.
                found.verdict = Verdict::NoDifference;
            }
            pairs.push(PairRow {
                before: sides[at].0.clone(),
                after: sides[other].0.clone(),
                verdict: found.verdict,
                ratio: found.ratio,
                low: found.low,
                high: found.high,
                rests_on: found.method.sentence(),
            });
            if at == 0 {
                with_first.push(Some(found));
            }
        }
    }
    let runs = sides.iter().zip(with_first).map(|((name, runs), found)| row(name, runs, found)).collect();
    let mut unlike = Vec::new();
    if let Some(((first, base), others)) = sides.split_first() {
        for (name, runs) in others {
            let notes = differences(base, runs);
            unlike.extend(notes.into_iter().map(|note| format!("{first} (before) and {name} (after): {note}")));
        }
    }
    for (name, runs) in sides {
        unlike.extend(few_steps(runs, "").map(|note| format!("{name}: {note}")));
    }
    Several { by, runs, pairs, unlike }
}

fn sample(runs: &[Arc<Run>], by: ComparedBy) -> Sample {
    Sample::new(runs.iter().map(|run| match (by, run.samples()) {
        (ComparedBy::Sample, Some(told)) => {
            told.steps.iter().map(|(ns, samples)| *ns as f64 / samples).collect()
        }
        _ => lengths(run).map(|ns| ns as f64).collect::<Vec<f64>>(),
    }))
}

fn lengths(run: &Run) -> impl Iterator<Item = i64> + '_ {
    run.steps().counted().map(|step| step.end_ns.saturating_sub(step.start_ns))
}

fn row(name: &str, runs: &[Arc<Run>], found: Option<Comparison>) -> SideRow {
    let of = |number: fn(&Run) -> Option<f64>| mean(runs.iter().filter_map(|run| number(run)));
    let whole = |number: Option<f64>| number.map(|number| number.round() as i64);
    let steps = super::step_numbers(runs.iter().flat_map(|run| lengths(run)).collect());
    SideRow {
        run: name.to_owned(),
        recordings: runs.len() as u64,
        steps: steps.count,
        mean_ns: steps.mean_ns,
        p50_ns: steps.p50_ns,
        p95_ns: steps.p95_ns,
        samples_per_step: of(|run| run.samples().map(|told| told.per_step())),
        samples_per_s: of(|run| run.samples().and_then(|told| told.per_s())),
        gpu_utilization: of(gpu_utilization),
        mfu: of(Run::mfu),
        peak_allocated_bytes: whole(of(|run| peak(run, |device| Some(device.peak_allocated_bytes)))),
        peak_reserved_bytes: whole(of(|run| peak(run, |device| device.peak_reserved_bytes))),
        energy_j_per_step: of(Run::energy_j_per_step),
        verdict: found.as_ref().map(|found| found.verdict),
        ratio: found.as_ref().and_then(|found| found.ratio),
        low: found.as_ref().and_then(|found| found.low),
        high: found.as_ref().and_then(|found| found.high),
    }
}
