//! Two samples compared, for the pytest plugin.

use pyo3::prelude::*;
use stepscope_analyse::statistics::{Rule, Sample, Statistic, compare};

use crate::errors;

/// Compares groups of values, one group per repeat, by their medians; the comparison as JSON.
#[pyfunction]
pub(crate) fn compare_samples(
    py: Python<'_>,
    baseline: Vec<Vec<f64>>,
    current: Vec<Vec<f64>>,
    margin: f64,
    confidence: f64,
) -> PyResult<Vec<u8>> {
    let rule = Rule { statistic: Statistic::MEDIAN, margin, confidence, counted: false, in_turns: false };
    let found = py.detach(|| compare(&Sample::new(baseline), &Sample::new(current), &rule));
    serde_json::to_vec(&found).map_err(|error| errors::stepscope(error.to_string(), None))
}
