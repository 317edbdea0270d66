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
use stepscope_formats::{Look, OpenOptions, TraceFile, choose, open_trace};
use stepscope_model::Trace;

use crate::errors;

/// A trace in memory.
#[pyclass(module = "stepscope._native", frozen)]
pub(crate) struct NativeTrace {
    trace: Arc<Trace>,
    #[pyo3(get)]
    path: PathBuf,
}

#[pymethods]
impl NativeTrace {
    /// Reads a file, or one of a folder: that of the rank, else of the lowest. Files that cannot be read are passed over.
    #[staticmethod]
    #[pyo3(name = "open", signature = (path, rank = None))]
    fn read(py: Python<'_>, path: PathBuf, rank: Option<i64>) -> PyResult<NativeTrace> {
        py.detach(|| {
            let options = OpenOptions::default();
            let mut open = |file: &TraceFile| open_trace(&file.path, &options);
            let chosen = choose(&path, rank, Look::UntilClear, &mut open);
            let chosen = chosen.map_err(|error| errors::reading(&error))?;
            Ok(NativeTrace { trace: Arc::new(chosen.trace), path: chosen.file.path })
        })
    }

    /// The JSON that a command prints about it.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        command: &str,
        options: Vec<(String, String)>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let answer = py.detach(|| stepscope_cli::ask(&self.trace, command, &options));
        let text = answer.map_err(|(message, hint)| errors::stepscope(message, hint))?;
        Ok(PyBytes::new(py, &text))
    }
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
