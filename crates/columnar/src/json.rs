//! The rows of a batch as JSON.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Fields};
use serde_json::{Map, Value};

/// Every row as an object; nulls are written.
pub(crate) fn rows(batch: &RecordBatch) -> Result<Vec<Value>, ArrowError> {
    let schema = batch.schema();
    (0..batch.num_rows()).map(|row| object(schema.fields(), batch.columns(), row)).collect()
}

fn object(fields: &Fields, columns: &[arrow_array::ArrayRef], row: usize) -> Result<Value, ArrowError> {
    let member = |(field, column): (&arrow_schema::FieldRef, &arrow_array::ArrayRef)| {
        Ok((field.name().clone(), value(column, row)?))
    };
    Ok(Value::Object(fields.iter().zip(columns).map(member).collect::<Result<Map<_, _>, ArrowError>>()?))
}

fn list(items: &dyn Array) -> Result<Value, ArrowError> {
    (0..items.len()).map(|at| value(items, at)).collect()
}

fn value(array: &dyn Array, row: usize) -> Result<Value, ArrowError> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        // JSON has no word for a float that is not a number: it becomes null.
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into(),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        DataType::Dictionary(..) => {
            let dictionary = array.as_dictionary::<Int32Type>();
            match dictionary.key(row) {
                Some(key) => value(dictionary.values(), key)?,
                None => Value::Null,
            }
        }
        DataType::List(_) => list(&array.as_list::<i32>().value(row))?,
        DataType::Struct(fields) => object(fields, array.as_struct().columns(), row)?,
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let keys = entries.column(0).as_string::<i32>();
            let entry = |at: usize| Ok((keys.value(at).to_owned(), value(entries.column(1), at)?));
            Value::Object((0..entries.len()).map(entry).collect::<Result<Map<_, _>, ArrowError>>()?)
        }
        other => return Err(ArrowError::NotYetImplemented(format!("JSON of {other}"))),
    })
}
