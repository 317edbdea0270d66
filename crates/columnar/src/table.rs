//! A table of an answer as Arrow.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use schemars::generate::SchemaSettings;
use serde_json::Value;
use stepscope_ask::{Answer, Part};

use crate::encode;
use crate::shape::{Member, Shape};
use crate::{ColumnarError, Columns};

/// The column of a table whose rows have no names.
const VALUE: &str = "value";

/// The schema of a part: the same for every trace. Columns carry their definitions.
pub fn part_schema(answer: &Answer, part: &Part) -> SchemaRef {
    schema_of(answer, part, &row_shape(part))
}

/// All rows of a part.
pub fn part_table(answer: &Answer, part: &Part) -> Result<Columns, ColumnarError> {
    let shape = row_shape(part);
    let schema = schema_of(answer, part, &shape);
    let rows = part.values(0..usize::MAX);
    let rows: Vec<&Value> = rows.iter().collect();
    let columns = match &shape {
        Shape::Struct(members) => {
            let column = |member| encode::column(member, &rows, |row| row.get(&member.name));
            members.iter().map(column).collect::<Result<Vec<_>, _>>()?
        }
        unnamed => vec![encode::array(unnamed, &rows)?],
    };
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let batch = RecordBatch::try_new_with_options(schema.clone(), columns, &options)?;
    Ok(Columns { schema, batches: vec![batch] })
}

fn row_shape(part: &Part) -> Shape {
    let mut generator = SchemaSettings::default().into_generator();
    let schema = part.schema(&mut generator);
    Shape::from_schema(schema.as_value(), generator.definitions())
}

fn schema_of(answer: &Answer, part: &Part, shape: &Shape) -> SchemaRef {
    let fields: Vec<Field> = match shape {
        Shape::Struct(members) => members.iter().map(Member::field).collect(),
        other => vec![Field::new(VALUE, other.data_type(), true)],
    };
    let meanings: HashMap<&str, &str> =
        answer.definitions.iter().map(|definition| (definition.field, definition.text)).collect();
    let defined = fields.into_iter().map(|field| match meanings.get(field.name().as_str()) {
        Some(text) => {
            let metadata = HashMap::from([("definition".to_owned(), (*text).to_owned())]);
            field.with_metadata(metadata)
        }
        None => field,
    });
    let metadata = [("question", answer.question), ("part", part.key)];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into_iter();
    let metadata = metadata.chain([("origin_ns".to_owned(), answer.origin_ns.to_string())]);
    Arc::new(Schema::new_with_metadata(defined.collect::<Vec<_>>(), metadata.collect::<HashMap<_, _>>()))
}
