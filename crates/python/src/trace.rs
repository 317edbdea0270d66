//! Traces that are read.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use stepscope_analyse::run::Run;
use stepscope_ask::print::Screen;
use stepscope_ask::{Answer, Ask, answer, write};
use stepscope_formats::{OpenOptions, discover, open};

use crate::table::{self, NativeTable};
use crate::{errors, pool};

/// A trace in memory, with everything derived from it.
#[pyclass(module = "stepscope._native", frozen)]
pub(crate) struct NativeTrace {
    run: Arc<Run>,
    #[pyo3(get)]
    path: PathBuf,
}

#[pymethods]
impl NativeTrace {
    /// Reads a file, or one of a folder: that of the rank, else the lowest, as the program does.
    #[staticmethod]
    #[pyo3(name = "open", signature = (path, rank = None))]
    fn read(py: Python<'_>, path: PathBuf, rank: Option<i64>) -> PyResult<NativeTrace> {
        pool::detached(py, || {
            let files = discover(&path).map_err(|error| errors::reading(&error))?;
            for file in files {
                let trace =
                    open(&file.path, &OpenOptions::default()).map_err(|error| errors::reading(&error))?;
                let own = trace.meta().distributed.as_ref().and_then(|known| known.rank);
                if rank.is_none_or(|rank| own == Some(rank)) {
                    return Ok(NativeTrace { run: Arc::new(Run::new(trace)), path: file.path });
                }
            }
            let words = format!("{} has no trace of rank {}", path.display(), rank.unwrap_or(0));
            Err(errors::stepscope(words, Some("leave rank out to get the first".to_owned())))
        })
    }

    /// The answer to a question, as JSON text with the definitions of its numbers.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        question: &str,
        options: Vec<(String, String)>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let text = pool::detached(py, || {
            let answer = self.answer(question, &options)?;
            let object = write::object(&answer, true);
            serde_json::to_vec(&object).map_err(|error| errors::stepscope(error.to_string(), None))
        })?;
        Ok(PyBytes::new(py, &text))
    }

    /// One table of the answer to a question: that of the key, else the main one.
    #[pyo3(signature = (question, options, key = None))]
    fn table(
        &self,
        py: Python<'_>,
        question: &str,
        options: Vec<(String, String)>,
        key: Option<&str>,
    ) -> PyResult<NativeTable> {
        pool::detached(py, || NativeTable::of_answer(self.answer(question, &options)?, key))
    }

    /// Every event with its columns.
    fn events(&self, py: Python<'_>) -> PyResult<NativeTable> {
        let columns = pool::detached(py, || stepscope_store::events(&self.run)).map_err(table::failed)?;
        Ok(NativeTable::of_events(columns))
    }

    /// The answer to a question as tables of so many columns, in plain text.
    fn show(
        &self,
        py: Python<'_>,
        question: &str,
        options: Vec<(String, String)>,
        width: usize,
    ) -> PyResult<String> {
        pool::detached(py, || {
            let answer = self.answer(question, &options)?;
            let mut text = Vec::new();
            // Writing to memory cannot fail.
            let _ = write::screen(&mut text, &answer, &Screen::plain(width));
            Ok(String::from_utf8_lossy(&text).into_owned())
        })
    }
}

impl NativeTrace {
    fn answer(&self, question: &str, options: &[(String, String)]) -> PyResult<Answer> {
        let options = options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let ask = Ask::with(question, options);
        ask.and_then(|ask| answer(&ask, std::slice::from_ref(&self.run)))
            .map_err(|refusal| errors::stepscope(refusal.what, Some(refusal.hint)))
    }
}
