//! Two sides compared, or more set side by side.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use stepscope_analyse::run::Run;
use stepscope_ask::print::Screen;
use stepscope_ask::{Answer, Ask, answer, write};

use crate::table::NativeTable;
use crate::trace::NativeTrace;
use crate::{errors, pool};

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

    /// The answer, as JSON text with the definitions of its numbers.
    fn ask<'py>(&self, py: Python<'py>, options: Vec<(String, String)>) -> PyResult<Bound<'py, PyBytes>> {
        let text = pool::detached(py, || {
            let object = write::object(&self.answer(&options)?, true);
            serde_json::to_vec(&object).map_err(|error| errors::stepscope(error.to_string(), None))
        })?;
        Ok(PyBytes::new(py, &text))
    }

    fn table(&self, py: Python<'_>, options: Vec<(String, String)>, key: &str) -> PyResult<NativeTable> {
        pool::detached(py, || NativeTable::of_answer(self.answer(&options)?, Some(key)))
    }

    /// The answer as tables of so many columns, in plain text.
    fn show(&self, py: Python<'_>, options: Vec<(String, String)>, width: usize) -> PyResult<String> {
        pool::detached(py, || {
            let mut text = Vec::new();
            // Writing to memory cannot fail.
            let _ = write::screen(&mut text, &self.answer(&options)?, &Screen::plain(width), false);
            Ok(String::from_utf8_lossy(&text).into_owned())
        })
    }
}

impl NativeDiff {
    fn answer(&self, options: &[(String, String)]) -> PyResult<Answer> {
        let options = options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let asked = Ask::with("diff", options).and_then(|mut ask| {
            ask.sides.clone_from(&self.sides);
            ask.thresholds = stepscope_cli::thresholds(None)?;
            answer(&ask, &self.runs)
        });
        asked.map_err(errors::problem)
    }
}
