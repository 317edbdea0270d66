//! JSON as its column holds it: lists of several things become structs, what no column type holds becomes JSON text.

use serde_json::{Map, Value};

use crate::shape::{Member, Shape};

/// Whether a value of this shape may look different in its column.
fn differs(shape: &Shape) -> bool {
    match shape {
        Shape::Plain(_) => false,
        Shape::Json | Shape::Tuple(_) => true,
        Shape::List(item) | Shape::Map(item) => differs(&item.shape),
        Shape::Struct(members) => members.iter().any(|member| differs(&member.shape)),
    }
}

/// The value as its column holds it.
pub(crate) fn conform(value: Value, shape: &Shape) -> Value {
    if !differs(shape) {
        return value;
    }
    match (shape, value) {
        (_, Value::Null) => Value::Null,
        (Shape::Json, value) => Value::String(value.to_string()),
        (Shape::List(item), Value::Array(items)) => {
            items.into_iter().map(|value| conform(value, &item.shape)).collect()
        }
        (Shape::Map(item), Value::Object(entries)) => {
            entries.into_iter().map(|(key, value)| (key, conform(value, &item.shape))).collect()
        }
        (Shape::Tuple(members), Value::Array(items)) => {
            let named = members.iter().zip(items);
            named.map(|(member, value)| (member.name.clone(), conform(value, &member.shape))).collect()
        }
        (Shape::Struct(members), Value::Object(object)) => Value::Object(conform_members(object, members)),
        (_, value) => value,
    }
}

fn conform_members(mut object: Map<String, Value>, members: &[Member]) -> Map<String, Value> {
    for member in members.iter().filter(|member| differs(&member.shape)) {
        if let Some(value) = object.get_mut(&member.name) {
            *value = conform(value.take(), &member.shape);
        }
    }
    object
}
