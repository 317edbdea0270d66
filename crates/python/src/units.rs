//! Numbers and sentences as the terminal shows them.

use pyo3::prelude::*;
use stepscope_ask::print::units;

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(time_text, module)?)?;
    module.add_function(wrap_pyfunction!(size_text, module)?)?;
    module.add_function(wrap_pyfunction!(share_text, module)?)?;
    module.add_function(wrap_pyfunction!(nanoseconds, module)?)?;
    module.add_function(wrap_pyfunction!(phases_text, module)?)
}

#[pyfunction]
fn time_text(ns: f64) -> String {
    units::time(ns.round() as i64)
}

#[pyfunction]
fn size_text(bytes: f64) -> String {
    units::bytes(bytes.round() as i64)
}

#[pyfunction]
fn share_text(share: f64) -> String {
    units::percent(share)
}

/// A time as people write it, with its unit; None if it is not one.
#[pyfunction]
fn nanoseconds(text: &str) -> Option<i64> {
    stepscope_ground::units::nanoseconds(text, "")
}

/// The sentence about what a program went through; None if the text is not what a trace has of that.
#[pyfunction]
fn phases_text(json: &str) -> Option<String> {
    stepscope_formats::read_phases(json).map(|phases| stepscope_ask::phases_text(&phases))
}
