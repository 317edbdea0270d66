//! Answers for Python, whatever was asked about: values, tables, text and Markdown.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use stepscope_ask::print::Screen;
use stepscope_ask::{Answer, write};
use stepscope_ground::Problem;

use crate::table::NativeTable;
use crate::{errors, pool};

/// The answer to a question about a trace, about sides, or about a service.
#[pyclass(module = "stepscope._native", frozen)]
pub(crate) struct NativeAnswer {
    answer: Arc<Answer>,
}

impl NativeAnswer {
    /// Works an answer out, without the interpreter.
    pub(crate) fn of(
        py: Python<'_>,
        work: impl FnOnce() -> Result<Answer, Problem> + Send,
    ) -> PyResult<NativeAnswer> {
        let answer = pool::detached(py, work).map_err(errors::problem)?;
        Ok(NativeAnswer { answer: Arc::new(answer) })
    }
}

#[pymethods]
impl NativeAnswer {
    /// All of it as JSON text, with the definitions of its numbers.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let text = pool::detached(py, || serde_json::to_vec(&write::object(&self.answer, true)));
        let text = text.map_err(|error| errors::stepscope(error.to_string(), None))?;
        Ok(PyBytes::new(py, &text))
    }

    /// One of its tables: that of the key, else the main one.
    #[pyo3(signature = (key = None))]
    fn table(&self, key: Option<&str>) -> PyResult<NativeTable> {
        NativeTable::of_answer(&self.answer, key)
    }

    /// Its tables in so many columns of plain text.
    fn show(&self, py: Python<'_>, width: usize) -> String {
        pool::detached(py, || {
            let mut text = Vec::new();
            // Writing to memory cannot fail.
            let _ = write::screen(&mut text, &self.answer, &Screen::plain(width), false);
            String::from_utf8_lossy(&text).into_owned()
        })
    }

    fn markdown(&self, py: Python<'_>) -> String {
        pool::detached(py, || write::markdown(&self.answer, false))
    }
}
