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
use stepscope_formats::{OpenOptions, discover, open};
use stepscope_model::Trace;

use crate::{errors, pool};

/// A trace in memory.
#[pyclass(module = "stepscope._native", frozen)]
pub(crate) struct NativeTrace {
    trace: Arc<Trace>,
    #[pyo3(get)]
    path: PathBuf,
}

#[pymethods]
impl NativeTrace {
    /// Reads a file, or one of a folder: that of the rank, else the first.
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
                    return Ok(NativeTrace { trace: Arc::new(trace), path: file.path });
                }
            }
            let words = format!("{} has no trace of rank {}", path.display(), rank.unwrap_or(0));
            Err(errors::stepscope(words, Some("leave rank out to get the first".to_owned())))
        })
    }

    /// The JSON that a command prints about it.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        command: &str,
        options: Vec<(String, String)>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let answer = pool::detached(py, || stepscope_cli::ask(&self.trace, command, &options));
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
