//! Two sides compared, or more set side by side.

use std::sync::Arc;

use pyo3::prelude::*;
use stepscope_analyse::run::Run;
use stepscope_ask::{Ask, answer};

use crate::answer::NativeAnswer;
use crate::trace::NativeTrace;

/// Two sides or more, each with one recording or more.
#[pyclass(module = "stepscope._native", frozen)]
pub(crate) struct NativeDiff {
    runs: Vec<Arc<Run>>,
    sides: Vec<usize>,
}

#[pymethods]
impl NativeDiff {
    #[new]
    fn new(sides: Vec<Vec<PyRef<'_, NativeTrace>>>) -> NativeDiff {
        let runs = sides.iter().flatten().map(|trace| trace.run()).collect();
        NativeDiff { runs, sides: sides.iter().map(Vec::len).collect() }
    }

    /// The answer.
    fn ask(&self, py: Python<'_>, options: Vec<(String, String)>) -> PyResult<NativeAnswer> {
        NativeAnswer::of(py, || {
            let options = options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let mut ask = Ask::with("diff", options)?;
            ask.sides.clone_from(&self.sides);
            ask.thresholds = stepscope_cli::thresholds(None)?;
            answer(&ask, &self.runs)
        })
    }
}
