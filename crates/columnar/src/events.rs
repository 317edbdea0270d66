//! Every slice of a trace as one row. Starts and lengths are the trace's own memory, not a copy.

mod args_text;
mod attributes;
mod columns;
mod dictionary;
mod times;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{Field, Schema, SchemaRef};
use stepscope_analyse::run::Run;
use stepscope_model::Trace;

use crate::{ColumnarError, Columns};

pub use columns::{EVENT_COLUMNS, EventColumn};

/// Rows of one batch at most.
const BATCH_ROWS: usize = 1 << 20;
/// Text of one batch's arguments at most: a column of texts counts its bytes in 32 bits.
const BATCH_TEXT_BYTES: usize = 1 << 30;

/// Every slice of a run's trace with its columns ([`EVENT_COLUMNS`]), in the order of their ids.
///
/// Times count from the trace's first event. The schema's metadata has `origin_ns`, to be added to have them on the
/// producer's clock, and, where the file says, `base_ns`, from which that counts since 1970.
pub fn events(run: &Run) -> Result<Columns, ColumnarError> {
    let trace = run.trace();
    let arrays = columns::arrays(run)?;
    let (names, arrays): (Vec<&str>, Vec<ArrayRef>) = arrays.into_iter().unzip();
    let schema = schema(trace, &names, &arrays);
    let mut batches = Vec::new();
    let mut first = 0;
    while first < trace.slices().len() {
        let texts = args_text::texts(trace, first, BATCH_ROWS, BATCH_TEXT_BYTES);
        let rows = texts.len();
        let mut own: Vec<ArrayRef> = arrays.iter().map(|array| array.slice(first, rows)).collect();
        own.push(Arc::new(texts));
        batches.push(RecordBatch::try_new(schema.clone(), own)?);
        first += rows;
    }
    Ok(Columns { schema, batches })
}

fn schema(trace: &Trace, names: &[&str], arrays: &[ArrayRef]) -> SchemaRef {
    let text = StringArray::new_null(0);
    let types = arrays.iter().map(|array| array.data_type().clone());
    let types = types.chain([text.data_type().clone()]);
    let named = names.iter().copied().chain([columns::ARGS]).zip(types);
    let fields = named.map(|(name, kind)| {
        let column = EVENT_COLUMNS.iter().find(|column| column.name == name);
        let nullable = column.is_none_or(|column| column.nullable);
        let text = column.map_or("", |column| column.text).to_owned();
        Field::new(name, kind, nullable).with_metadata(HashMap::from([("definition".to_owned(), text)]))
    });
    let mut metadata = HashMap::from([
        ("table".to_owned(), "events".to_owned()),
        ("origin_ns".to_owned(), trace.origin().0.to_string()),
    ]);
    if let Some(base_ns) = trace.meta().base_ns {
        metadata.insert("base_ns".to_owned(), base_ns.to_string());
    }
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), metadata))
}
