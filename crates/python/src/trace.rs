//! Traces that are read, and tables as Arrow.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatchIterator, RecordBatchReader};
use arrow_json::ReaderBuilder;
use arrow_json::reader::infer_json_schema;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use stepscope_analyse::run::Run;
use stepscope_ask::print::Screen;
use stepscope_ask::{Answer, Ask, QUESTIONS, answer, write};
use stepscope_formats::{Look, OpenOptions, TraceFile, choose, open_trace};

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
            let mut open = |file: &TraceFile| open_trace(&file.path, &options);
            let chosen = choose(&path, rank, Look::UntilClear, &mut open);
            let chosen = chosen.map_err(|error| errors::reading(&error))?;
            Ok(NativeTrace { run: Arc::new(Run::new(chosen.trace)), path: chosen.file.path })
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
            let _ = write::screen(&mut text, &answer, &Screen::plain(width), false);
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

/// Every question that can be asked, and what its rows can be grouped by.
#[pyfunction]
pub(crate) fn questions() -> Vec<(&'static str, Vec<&'static str>)> {
    QUESTIONS.iter().map(|question| (question.name, question.by.to_vec())).collect()
}

/// Lines of JSON objects as an Arrow stream, in the capsule that pandas, polars and pyarrow take.
#[pyfunction]
pub(crate) fn arrow_stream<'py>(py: Python<'py>, json_lines: &[u8]) -> PyResult<Bound<'py, PyCapsule>> {
    let failed = |error: &dyn std::fmt::Display| errors::stepscope(format!("no Arrow table: {error}"), None);
    let (schema, rows) = infer_json_schema(Cursor::new(json_lines), None).map_err(|error| failed(&error))?;
    let schema = Arc::new(schema);
    let reader = ReaderBuilder::new(schema.clone()).with_batch_size(rows.max(1)).build(Cursor::new(json_lines));
    let batches: Vec<_> = reader.map_err(|error| failed(&error))?.collect();
    let stream: Box<dyn RecordBatchReader + Send> = Box::new(RecordBatchIterator::new(batches, schema));
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(stream), c"arrow_array_stream")
}
