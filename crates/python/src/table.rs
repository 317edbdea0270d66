//! Tables for Python: rows as JSON for people, columns as an Arrow stream for pandas, polars and pyarrow.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatchIterator, RecordBatchReader};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use stepscope_ask::{Answer, Part};
use stepscope_columnar::{ColumnarError, Columns, EVENT_COLUMNS, part_schema, part_table};

use crate::{errors, pool};

/// Rows of a table of an answer, or of a trace's events.
#[pyclass(module = "stepscope._native", frozen)]
pub(crate) struct NativeTable {
    source: Arc<Source>,
    /// Its rows among those of the source: the first, the distance from one to the next, and how many.
    first: usize,
    step: isize,
    count: usize,
}

enum Source {
    /// A part of an answer, and its columns once someone wants them.
    Part {
        answer: Arc<Answer>,
        key: &'static str,
        columns: OnceLock<Columns>,
    },
    Events(Columns),
}

impl NativeTable {
    /// The part of an answer with this key; the main one without.
    pub(crate) fn of_answer(answer: &Arc<Answer>, key: Option<&str>) -> PyResult<NativeTable> {
        let key = key.unwrap_or(answer.main);
        let Some((key, count)) = answer.part(key).map(|part| (part.key, part.len())) else {
            let keys: Vec<&str> = answer.parts.iter().map(|part| part.key).collect();
            let words = format!("{} has no table '{key}'", answer.question);
            return Err(errors::stepscope(words, Some(format!("it has {}", keys.join(", ")))));
        };
        let source = Arc::new(Source::Part { answer: answer.clone(), key, columns: OnceLock::new() });
        Ok(NativeTable { source, first: 0, step: 1, count })
    }

    pub(crate) fn of_events(columns: Columns) -> NativeTable {
        let count = columns.rows();
        NativeTable { source: Arc::new(Source::Events(columns)), first: 0, step: 1, count }
    }

    /// Where a row is among those of the source.
    fn place(&self, row: usize) -> usize {
        self.first.saturating_add_signed(self.step.saturating_mul(row as isize))
    }

    fn columns(&self) -> Result<Columns, ColumnarError> {
        let columns = match &*self.source {
            Source::Events(columns) => columns,
            Source::Part { answer, key, columns } => match (columns.get(), answer.part(key)) {
                (Some(columns), _) => columns,
                (None, Some(part)) => {
                    let made = part_table(answer, part)?;
                    columns.get_or_init(|| made)
                }
                (None, None) => return Ok(Columns::default()),
            },
        };
        columns.pick(self.first, self.step, self.count)
    }

    fn json(&self, rows: std::ops::Range<usize>) -> Result<Vec<u8>, ColumnarError> {
        let rows = rows.start.min(self.count)..rows.end.min(self.count);
        match &*self.source {
            Source::Events(columns) => columns.pick(self.place(rows.start), self.step, rows.len())?.json(),
            Source::Part { answer, key, .. } => {
                let one = |part: &Part, row| part.values(self.place(row)..self.place(row) + 1);
                let part = answer.part(key);
                let values = match part {
                    Some(part) if self.step == 1 => {
                        part.values(self.place(rows.start)..self.place(rows.start) + rows.len())
                    }
                    Some(part) => rows.flat_map(|row| one(part, row)).collect(),
                    None => Vec::new(),
                };
                serde_json::to_vec(&values).map_err(|error| ColumnarError::Output(error.into()))
            }
        }
    }
}

#[pymethods]
impl NativeTable {
    fn __len__(&self) -> usize {
        self.count
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = match &*self.source {
            Source::Events(columns) => Some(columns.schema.clone()),
            Source::Part { answer, key, .. } => answer.part(key).map(|part| part_schema(answer, part)),
        };
        schema
            .map(|schema| schema.fields().iter().map(|field| field.name().clone()).collect())
            .unwrap_or_default()
    }

    /// What the numbers mean, by column.
    #[getter]
    fn definitions(&self) -> BTreeMap<&'static str, &'static str> {
        match &*self.source {
            Source::Events(_) => EVENT_COLUMNS.iter().map(|column| (column.name, column.text)).collect(),
            Source::Part { answer, .. } => answer.definitions.iter().map(|d| (d.field, d.text)).collect(),
        }
    }

    /// Some rows as a JSON list of objects.
    fn rows<'py>(&self, py: Python<'py>, start: usize, stop: usize) -> PyResult<Bound<'py, PyBytes>> {
        let text = py.detach(|| self.json(start..stop)).map_err(failed)?;
        Ok(PyBytes::new(py, &text))
    }

    /// Some of its rows, as Python's `slice.indices` and the length of the range give them.
    fn pick(&self, start: usize, step: isize, count: usize) -> NativeTable {
        NativeTable {
            source: self.source.clone(),
            first: self.place(start),
            step: self.step.saturating_mul(step),
            count: count.min(self.count),
        }
    }

    /// All rows as an Arrow stream, in the capsule that pandas, polars and pyarrow take.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol allows ignoring the wish: whoever has it casts.
        drop(requested_schema);
        let columns = pool::detached(py, || self.columns()).map_err(failed)?;
        let batches = columns.batches.into_iter().map(Ok);
        let stream: Box<dyn RecordBatchReader + Send> =
            Box::new(RecordBatchIterator::new(batches, columns.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(stream), c"arrow_array_stream")
    }
}

pub(crate) fn failed(error: ColumnarError) -> PyErr {
    errors::stepscope(error.to_string(), None)
}
