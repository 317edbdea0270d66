//! JSON values as the array of their column: lists of several things become structs, what no column type holds becomes
//! JSON text.
//!
//! arrow-json would do most of this, and brings arrow-cast and arrow-ord: two minutes of processor time per build.

use std::sync::Arc;

use arrow_array::types::{
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, ListArray, MapArray, NullArray, PrimitiveArray, StringArray,
    StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use serde_json::Value;

use crate::shape::{Member, Shape};

/// The value of a field that is missing.
const MISSING: &Value = &Value::Null;

/// The values as one array. A value that is not of this shape is an error.
pub(crate) fn array(shape: &Shape, values: &[&Value]) -> Result<ArrayRef, ArrowError> {
    match shape {
        Shape::Plain(plain) => plain_array(plain, values),
        Shape::Json => texts(values.iter().map(|value| (!value.is_null()).then(|| value.to_string()))),
        Shape::List(item) => {
            let lists: Vec<&[Value]> = read(values, |value| value.as_array().map(Vec::as_slice), "a list")?
                .into_iter()
                .map(Option::unwrap_or_default)
                .collect();
            let items: Vec<&Value> = lists.iter().copied().flatten().collect();
            let inner = array(&item.shape, &items)?;
            let offsets = offsets(lists.iter().map(|list| list.len()))?;
            Ok(Arc::new(ListArray::try_new(Arc::new(item.field()), offsets, inner, nulls(values))?))
        }
        Shape::Map(item) => {
            let maps = read(values, Value::as_object, "an object")?;
            let keys = maps.iter().flatten().flat_map(|map| map.keys());
            let keys = texts(keys.map(|key| Some(key.as_str())))?;
            let items: Vec<&Value> = maps.iter().flatten().flat_map(|map| map.values()).collect();
            let inner = array(&item.shape, &items)?;
            let fields = Fields::from(vec![Field::new("keys", DataType::Utf8, false), item.field()]);
            let entries = StructArray::try_new(fields.clone(), vec![keys, inner], None)?;
            let field = Arc::new(Field::new("entries", DataType::Struct(fields), false));
            let offsets = offsets(maps.iter().map(|map| map.map_or(0, |map| map.len())))?;
            Ok(Arc::new(MapArray::try_new(field, offsets, entries, nulls(values), false)?))
        }
        Shape::Struct(members) => {
            read(values, Value::as_object, "an object")?;
            let columns = members.iter().map(|member| column(member, values, |value| value.get(&member.name)));
            struct_array(members, values, columns)
        }
        Shape::Tuple(members) => {
            read(values, Value::as_array, "a list")?;
            let columns = members.iter().enumerate();
            struct_array(
                members,
                values,
                columns.map(|(at, member)| column(member, values, |value| value.get(at))),
            )
        }
    }
}

/// The column of a member.
pub(crate) fn column<'a>(
    member: &Member,
    values: &[&'a Value],
    get: impl Fn(&'a Value) -> Option<&'a Value>,
) -> Result<ArrayRef, ArrowError> {
    let of_member: Vec<&Value> = values.iter().map(|value| get(value).unwrap_or(MISSING)).collect();
    array(&member.shape, &of_member)
}

fn struct_array(
    members: &[Member],
    values: &[&Value],
    columns: impl Iterator<Item = Result<ArrayRef, ArrowError>>,
) -> Result<ArrayRef, ArrowError> {
    let fields = members.iter().map(Member::field).collect::<Fields>();
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(StructArray::try_new(fields, columns, nulls(values))?))
}

fn plain_array(plain: &DataType, values: &[&Value]) -> Result<ArrayRef, ArrowError> {
    match plain {
        DataType::Null => Ok(Arc::new(NullArray::new(values.len()))),
        DataType::Boolean => Ok(Arc::new(BooleanArray::from(read(values, Value::as_bool, "true or false")?))),
        DataType::Utf8 => texts(read(values, Value::as_str, "a text")?.into_iter()),
        DataType::Float64 => numbers::<Float64Type>(values, Value::as_f64),
        DataType::Int8 => numbers::<Int8Type>(values, |value| value.as_i64()?.try_into().ok()),
        DataType::Int16 => numbers::<Int16Type>(values, |value| value.as_i64()?.try_into().ok()),
        DataType::Int32 => numbers::<Int32Type>(values, |value| value.as_i64()?.try_into().ok()),
        DataType::Int64 => numbers::<Int64Type>(values, Value::as_i64),
        DataType::UInt8 => numbers::<UInt8Type>(values, |value| value.as_u64()?.try_into().ok()),
        DataType::UInt16 => numbers::<UInt16Type>(values, |value| value.as_u64()?.try_into().ok()),
        DataType::UInt32 => numbers::<UInt32Type>(values, |value| value.as_u64()?.try_into().ok()),
        DataType::UInt64 => numbers::<UInt64Type>(values, Value::as_u64),
        other => Err(ArrowError::NotYetImplemented(format!("columns of {other}"))),
    }
}

fn numbers<T: ArrowPrimitiveType>(
    values: &[&Value],
    of: impl Fn(&Value) -> Option<T::Native>,
) -> Result<ArrayRef, ArrowError> {
    let numbers = read(values, of, "a number that its column can hold")?;
    Ok(Arc::new(numbers.into_iter().collect::<PrimitiveArray<T>>()))
}

fn texts<S: AsRef<str>>(texts: impl Iterator<Item = Option<S>>) -> Result<ArrayRef, ArrowError> {
    let texts: Vec<Option<S>> = texts.collect();
    // A column counts the bytes of its texts in 32 bits.
    offsets(texts.iter().map(|text| text.as_ref().map_or(0, |text| text.as_ref().len())))?;
    Ok(Arc::new(texts.into_iter().collect::<StringArray>()))
}

/// The values as what they must be; null is none.
fn read<'a, T>(
    values: &[&'a Value],
    of: impl Fn(&'a Value) -> Option<T>,
    what: &str,
) -> Result<Vec<Option<T>>, ArrowError> {
    let one = |value: &&'a Value| match of(value) {
        None if !value.is_null() => Err(ArrowError::JsonError(format!("this is not {what}: {value}"))),
        read => Ok(read),
    };
    values.iter().map(one).collect()
}

fn nulls(values: &[&Value]) -> Option<NullBuffer> {
    let there: NullBuffer = values.iter().map(|value| !value.is_null()).collect::<Vec<bool>>().into();
    (there.null_count() > 0).then_some(there)
}

fn offsets(lengths: impl Iterator<Item = usize>) -> Result<OffsetBuffer<i32>, ArrowError> {
    let mut ends = vec![0i32];
    let mut end = 0i32;
    for length in lengths {
        let longer = i32::try_from(length).ok().and_then(|length| end.checked_add(length));
        end = longer.ok_or_else(|| ArrowError::JsonError("a column is larger than 2 GiB".to_owned()))?;
        ends.push(end);
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(ends)))
}
