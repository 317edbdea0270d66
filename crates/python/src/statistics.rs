//! Two samples compared, for the pytest plugin and regressions.

use pyo3::prelude::*;
use serde_json::Value;
use stepscope_analyse::statistics::{Rule, Sample, Statistic, compare};

use crate::errors;

/// Compares groups of values, one group per repeat, by their medians: the comparison as JSON, and whether the value rises
/// beyond the margin. Counted values have no noise: one is enough.
#[pyfunction]
#[pyo3(signature = (baseline, current, margin, confidence, counted = false))]
pub(crate) fn compare_samples(
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
