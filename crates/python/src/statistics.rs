//! What the Python package asks the judges of `analyse`, by the thresholds in force.

use std::sync::Arc;

use pyo3::prelude::*;
use serde_json::Value;
use stepscope_analyse::findings::Thresholds;
use stepscope_analyse::statistics::{
    GrowthRule, Interval, Rule, Sample, Statistic, compare, growth, keeps_adding, mean_interval, warm_up,
};

use crate::errors;

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(compare_samples, module)?)?;
    module.add_function(wrap_pyfunction!(threshold, module)?)?;
    module.add_function(wrap_pyfunction!(judge_levels, module)?)?;
    module.add_function(wrap_pyfunction!(keeps_growing, module)?)?;
    module.add_function(wrap_pyfunction!(usual_growth, module)?)?;
    module.add_function(wrap_pyfunction!(usual_warmup, module)?)?;
    module.add_function(wrap_pyfunction!(pause_above, module)?)?;
    module.add_function(wrap_pyfunction!(warm_up_length, module)?)
}

/// Compares groups of values, one group per repeat, by their medians: the comparison as JSON, and whether the value rises
/// beyond the margin. Counted values have no noise: one is enough.
#[pyfunction]
#[pyo3(signature = (baseline, current, margin, confidence, counted = false))]
fn compare_samples(
    py: Python<'_>,
    baseline: Vec<Vec<f64>>,
    current: Vec<Vec<f64>>,
    margin: f64,
    confidence: f64,
    counted: bool,
) -> PyResult<Vec<u8>> {
    let rule = Rule { statistic: Statistic::MEDIAN, margin, confidence, counted, in_turns: false };
    let found = py.detach(|| compare(&Sample::new(baseline), &Sample::new(current), &rule));
    let told = serde_json::to_value(&found).and_then(|mut told| {
        told["beyond"] = found.beyond(margin, true).map_or(Value::Null, Value::Bool);
        serde_json::to_vec(&told)
    });
    told.map_err(|error| errors::stepscope(error.to_string(), None))
}

fn thresholds() -> PyResult<Arc<Thresholds>> {
    stepscope_cli::thresholds(None).map_err(errors::problem)
}

/// For levels of memory that the system tells.
fn rule() -> PyResult<GrowthRule> {
    Ok(thresholds()?.read_growth())
}

/// A threshold by its name, as `stepscope findings --list` shows it.
#[pyfunction]
fn threshold(name: &str) -> PyResult<f64> {
    let known = Thresholds::all().any(|threshold| threshold.name == name);
    match known {
        true => Ok(thresholds()?.get(name)),
        false => Err(errors::stepscope(format!("there is no threshold '{name}'"), None)),
    }
}

/// Whether levels keep growing, their slope, and its interval; none if they are too few.
#[pyfunction]
fn judge_levels(levels: Vec<f64>, at_least: f64) -> PyResult<Option<(bool, f64, f64, f64)>> {
    let points: Vec<(f64, f64)> =
        levels.into_iter().enumerate().map(|(at, level)| (at as f64, level)).collect();
    let found = growth(&points, at_least, &rule()?);
    Ok(found.map(|found| (found.grows, found.slope.slope, found.slope.low, found.slope.high)))
}

/// Whether what was added each time keeps being added.
#[pyfunction]
fn keeps_growing(added: Vec<f64>, at_least: f64) -> PyResult<bool> {
    Ok(keeps_adding(&added, at_least, &rule()?))
}

/// What was added each time on average, and the interval of that; of fewer than two, everything is possible.
#[pyfunction]
fn usual_growth(added: Vec<f64>) -> PyResult<(f64, f64, f64)> {
    let unknown = Interval { mean: 0.0, low: f64::NEG_INFINITY, high: f64::INFINITY };
    let found = mean_interval(&added, rule()?.confidence).unwrap_or(unknown);
    Ok((found.mean, found.low, found.high))
}

/// How many of so many levels are left out as warm-up.
#[pyfunction]
fn usual_warmup(levels: usize) -> usize {
    warm_up(levels)
}

/// What is longer than this is a pause among these times.
#[pyfunction]
fn pause_above(times: Vec<f64>) -> f64 {
    stepscope_analyse::statistics::pause_above(&times)
}

/// How many of these times in a row count as warm-up.
#[pyfunction]
fn warm_up_length(times: Vec<f64>) -> usize {
    stepscope_analyse::statistics::warm_up_length(&times)
}
