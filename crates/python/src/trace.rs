//! Traces that are read.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use stepscope_analyse::run::Run;
use stepscope_ask::{Ask, QUESTIONS, answer};
use stepscope_formats::{Look, OpenOptions, TraceFile, choose, open};
use stepscope_model::Document;

use crate::answer::NativeAnswer;
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
    /// Reads a file, or one of a folder: that of the rank, else of the lowest. Files that cannot be read are skipped.
    #[staticmethod]
    #[pyo3(name = "open", signature = (path, rank = None))]
    fn read(py: Python<'_>, path: PathBuf, rank: Option<i64>) -> PyResult<NativeTrace> {
        pool::detached(py, || {
            let options = OpenOptions::default();
            let mut read = |file: &TraceFile| open(&file.path, &options);
            let chosen = choose(&path, rank, Look::UntilClear, &mut read);
            let chosen = chosen.map_err(|error| errors::reading(&error))?;
            Ok(NativeTrace { run: Arc::new(Run::from_document(chosen.document)), path: chosen.file.path })
        })
    }

    /// The answer to a question.
    fn ask(&self, py: Python<'_>, question: &str, options: Vec<(String, String)>) -> PyResult<NativeAnswer> {
        NativeAnswer::of(py, || {
            let options = options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let mut ask = Ask::with(question, options)?;
            if ask.question().judges() {
                ask.thresholds = stepscope_cli::thresholds(None)?;
            }
            answer(&ask, std::slice::from_ref(&self.run))
        })
    }

    /// Of a memory profile: the most bytes at once, when that was in nanoseconds, and the bytes at the end.
    #[getter]
    fn heap(&self) -> Option<(u64, i64, u64)> {
        let profile = self.run.profile()?;
        let facts = profile.heap.as_ref()?;
        Some((facts.peak_bytes, facts.peak_at.0, facts.end_bytes))
    }

    /// Every event with its columns.
    fn events(&self, py: Python<'_>) -> PyResult<NativeTable> {
        let columns = pool::detached(py, || stepscope_columnar::events(&self.run)).map_err(table::failed)?;
        Ok(NativeTable::of_events(columns))
    }
}

impl NativeTrace {
    pub(crate) fn from_document(document: Document, path: PathBuf) -> NativeTrace {
        NativeTrace { run: Arc::new(Run::from_document(document)), path }
    }

    pub(crate) fn run(&self) -> Arc<Run> {
        self.run.clone()
    }
}

/// Every question that can be asked about one trace, and what its rows can be grouped by.
#[pyfunction]
pub(crate) fn questions() -> Vec<(&'static str, Vec<&'static str>)> {
    let about_one = QUESTIONS.iter().filter(|question| !question.compares());
    about_one.map(|question| (question.name, question.by.to_vec())).collect()
}
