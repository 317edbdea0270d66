//! The shape of a row, from its JSON schema to Arrow's types.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};
use serde_json::{Map, Value};

/// Types nested deeper than this are kept as JSON text: a type may hold itself.
const MAX_DEPTH: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// A number, a text, true or false.
    Plain(DataType),
    /// Several things that no single column type holds: the JSON text of the value.
    Json,
    List(Box<Member>),
    /// Values by names that are not known before.
    Map(Box<Member>),
    /// Values by known names.
    Struct(Vec<Member>),
    /// A JSON list of several things in a fixed order; its columns are called `0`, `1`, ….
    Tuple(Vec<Member>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    pub(crate) nullable: bool,
}

impl Member {
    fn new(name: impl Into<String>, (shape, nullable): (Shape, bool)) -> Member {
        // A column of nothing but nulls could become anything later.
        let shape = if shape == Shape::Plain(DataType::Null) { Shape::Json } else { shape };
        // JSON has no word for a float that is not a number: it becomes null.
        let nullable = nullable || shape == Shape::Plain(DataType::Float64);
        Member { name: name.into(), shape, nullable }
    }

    pub(crate) fn field(&self) -> Field {
        Field::new(&self.name, self.shape.data_type(), self.nullable)
    }
}

impl Shape {
    /// The shape that a schema describes. `definitions` holds what it refers to.
    pub(crate) fn from_schema(schema: &Value, definitions: &Map<String, Value>) -> Shape {
        Reader { definitions }.read(schema, 0).0
    }

    /// The type of its column.
    pub(crate) fn data_type(&self) -> DataType {
        let fields = |members: &[Member]| members.iter().map(Member::field).collect::<Fields>();
        match self {
            Shape::Plain(plain) => plain.clone(),
            Shape::Json => DataType::Utf8,
            Shape::List(item) => DataType::List(Arc::new(item.field())),
            Shape::Struct(members) | Shape::Tuple(members) => DataType::Struct(fields(members)),
            Shape::Map(value) => {
                let entries = Fields::from(vec![Field::new("keys", DataType::Utf8, false), value.field()]);
                DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
            }
        }
    }
}

struct Reader<'a> {
    definitions: &'a Map<String, Value>,
}

impl Reader<'_> {
    /// The shape, and whether it may be null.
    fn read(&self, schema: &Value, depth: usize) -> (Shape, bool) {
        let Some(object) = schema.as_object().filter(|_| depth < MAX_DEPTH) else { return (Shape::Json, true) };
        if let Some(name) = object.get("$ref").and_then(Value::as_str) {
            let known = name.strip_prefix("#/$defs/").and_then(|name| self.definitions.get(name));
            return known.map_or((Shape::Json, true), |known| self.read(known, depth + 1));
        }
        let mut found: Vec<(Shape, bool)> = Vec::new();
        if let Some(own) = self.own(object, depth) {
            found.push(own);
        }
        // One of several, or (`allOf`, and what is beside `properties`) several at once: columns for all of them.
        for (word, all) in [("anyOf", false), ("oneOf", false), ("allOf", true)] {
            let Some(branches) = object.get(word).and_then(Value::as_array) else { continue };
            let branches: Vec<_> = branches.iter().map(|branch| self.read(branch, depth + 1)).collect();
            if let Some(branch) = either(branches, all) {
                found.push(branch);
            }
        }
        either(found, true).unwrap_or((Shape::Json, true))
    }

    /// What a schema says itself; `None` where it only points elsewhere. Null alone is not a shape.
    fn own(&self, object: &Map<String, Value>, depth: usize) -> Option<(Shape, bool)> {
        let constant = object.get("const").map(std::slice::from_ref);
        let values = constant.or(object.get("enum").and_then(Value::as_array).map(Vec::as_slice));
        if let Some(values) = values {
            let nullable = values.iter().any(Value::is_null);
            let texts = values.iter().all(|value| value.is_string() || value.is_null());
            return Some((if texts { Shape::Plain(DataType::Utf8) } else { Shape::Json }, nullable));
        }
        let silent = ["properties", "additionalProperties"].iter().all(|word| !object.contains_key(*word));
        if silent && ["anyOf", "oneOf", "allOf"].iter().any(|word| object.contains_key(*word)) {
            return None;
        }
        let names: Vec<&str> = match object.get("type")? {
            Value::String(name) => vec![name],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => return None,
        };
        let nullable = names.contains(&"null");
        let mut names = names.into_iter().filter(|name| *name != "null");
        let shape = match (names.next(), names.next()) {
            (None, _) => Shape::Plain(DataType::Null),
            (Some(name), None) => self.typed(name, object, depth),
            (Some(_), Some(_)) => Shape::Json,
        };
        Some((shape, nullable))
    }

    fn typed(&self, name: &str, object: &Map<String, Value>, depth: usize) -> Shape {
        match name {
            "string" => Shape::Plain(DataType::Utf8),
            "boolean" => Shape::Plain(DataType::Boolean),
            "number" => Shape::Plain(DataType::Float64),
            "integer" => {
                Shape::Plain(integer(object.get("format").and_then(Value::as_str).unwrap_or_default()))
            }
            "array" => self.array(object, depth),
            "object" => self.object(object, depth),
            _ => Shape::Json,
        }
    }

    fn array(&self, object: &Map<String, Value>, depth: usize) -> Shape {
        if let Some(items) = object.get("prefixItems").and_then(Value::as_array) {
            let members = items.iter().enumerate();
            let members: Vec<Member> =
                members.map(|(at, item)| Member::new(at.to_string(), self.read(item, depth + 1))).collect();
            let alike = members.windows(2).all(|two| two[0].shape == two[1].shape);
            return match members.first() {
                Some(first) if alike => {
                    let nullable = members.iter().any(|member| member.nullable);
                    Shape::List(Box::new(Member::new("item", (first.shape.clone(), nullable))))
                }
                Some(_) => Shape::Tuple(members),
                None => Shape::Json,
            };
        }
        match object.get("items") {
            Some(items) => Shape::List(Box::new(Member::new("item", self.read(items, depth + 1)))),
            None => Shape::Json,
        }
    }

    fn object(&self, object: &Map<String, Value>, depth: usize) -> Shape {
        let properties = object.get("properties").and_then(Value::as_object);
        if let Some(properties) = properties.filter(|properties| !properties.is_empty()) {
            let required = object.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let members = properties.iter().map(|(name, schema)| {
                let (shape, nullable) = self.read(schema, depth + 1);
                let always = required.iter().any(|one| one == name);
                Member::new(name, (shape, nullable || !always))
            });
            return Shape::Struct(members.collect());
        }
        match object.get("additionalProperties") {
            Some(values @ Value::Object(_)) => {
                Shape::Map(Box::new(Member::new("values", self.read(values, depth + 1))))
            }
            _ => Shape::Json,
        }
    }
}

fn integer(format: &str) -> DataType {
    match format {
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "uint64" | "uint" => DataType::UInt64,
        _ => DataType::Int64,
    }
}

/// One shape for several; with `all` a value is all of them at once, else one of them. `None` for none.
fn either(shapes: Vec<(Shape, bool)>, all: bool) -> Option<(Shape, bool)> {
    let mut nullable = false;
    let mut joined: Option<Shape> = None;
    for (shape, may_be_null) in shapes {
        nullable |= may_be_null;
        joined = match (joined, shape) {
            (joined, Shape::Plain(DataType::Null)) => {
                nullable = true;
                joined
            }
            (None, shape) => Some(shape),
            (Some(joined), shape) => Some(join(joined, shape, all)),
        };
    }
    let null = nullable.then_some((Shape::Plain(DataType::Null), true));
    joined.map(|shape| (shape, nullable)).or(null)
}

fn join(one: Shape, other: Shape, all: bool) -> Shape {
    match (one, other) {
        (one, other) if one == other => one,
        (Shape::Struct(one), Shape::Struct(other)) => {
            let mut of_other: BTreeMap<String, Member> =
                other.iter().map(|member| (member.name.clone(), member.clone())).collect();
            let mut members: Vec<Member> = one
                .into_iter()
                .map(|member| match of_other.remove(&member.name) {
                    Some(twin) => {
                        let nullable = member.nullable || twin.nullable;
                        Member::new(member.name, (join(member.shape, twin.shape, all), nullable))
                    }
                    None => Member { nullable: member.nullable || !all, ..member },
                })
                .collect();
            let new = other.into_iter().filter(|member| of_other.contains_key(&member.name));
            members.extend(new.map(|member| Member { nullable: member.nullable || !all, ..member }));
            Shape::Struct(members)
        }
        _ => Shape::Json,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(schema: Value) -> Vec<(String, DataType, bool)> {
        let definitions = json!({
            "Color": { "oneOf": [{ "const": "red", "type": "string" }, { "const": "blue", "type": "string" }] },
            "Loop": { "type": "object", "properties": { "next": { "$ref": "#/$defs/Loop" } } },
        });
        let shape = Shape::from_schema(&schema, definitions.as_object().unwrap());
        let DataType::Struct(fields) = shape.data_type() else { panic!("{shape:?}") };
        fields.iter().map(|f| (f.name().clone(), f.data_type().clone(), f.is_nullable())).collect()
    }

    fn one(schema: Value) -> (DataType, bool) {
        let row = json!({ "type": "object", "properties": { "a": schema }, "required": ["a"] });
        let (_, kind, nullable) = fields(row).remove(0);
        (kind, nullable)
    }

    #[test]
    fn plain_types() {
        assert_eq!(one(json!({ "type": "integer", "format": "int64" })), (DataType::Int64, false));
        assert_eq!(one(json!({ "type": "integer", "format": "uint" })), (DataType::UInt64, false));
        assert_eq!(one(json!({ "type": ["integer", "null"], "format": "uint32" })), (DataType::UInt32, true));
        assert_eq!(one(json!({ "type": "number", "format": "double" })), (DataType::Float64, true));
        assert_eq!(one(json!({ "type": "boolean" })), (DataType::Boolean, false));
        assert_eq!(one(json!({ "type": "string", "enum": ["a", "b"] })), (DataType::Utf8, false));
        assert_eq!(one(json!({ "$ref": "#/$defs/Color" })), (DataType::Utf8, false));
        let maybe = json!({ "anyOf": [{ "$ref": "#/$defs/Color" }, { "type": "null" }] });
        assert_eq!(one(maybe), (DataType::Utf8, true));
        assert_eq!(one(json!(true)), (DataType::Utf8, true));
        assert_eq!(one(json!({ "type": "null" })), (DataType::Utf8, true));
        let mixed = json!({ "oneOf": [{ "type": "integer" }, { "type": "string" }] });
        assert_eq!(one(mixed), (DataType::Utf8, false));
    }

    #[test]
    fn nested_types() {
        let list = |kind, nullable| DataType::List(Arc::new(Field::new("item", kind, nullable)));
        let items = json!({ "type": "array", "items": { "type": "string" } });
        assert_eq!(one(items), (list(DataType::Utf8, false), false));
        let pair =
            json!({ "type": ["array", "null"], "prefixItems": [{ "type": "integer" }, { "type": "integer" }] });
        assert_eq!(one(pair), (list(DataType::Int64, false), true));
        let mixed = json!({ "type": "array", "prefixItems": [{ "type": "string" }, { "type": "integer" }] });
        let two =
            Fields::from(vec![Field::new("0", DataType::Utf8, false), Field::new("1", DataType::Int64, false)]);
        assert_eq!(one(mixed), (DataType::Struct(two), false));
        assert!(matches!(
            one(json!({ "type": "object", "additionalProperties": { "type": "string" } })).0,
            DataType::Map(..)
        ));
        // A type that holds itself ends.
        assert!(matches!(one(json!({ "$ref": "#/$defs/Loop" })).0, DataType::Struct(_)));
    }

    #[test]
    fn one_of_several_objects_has_the_columns_of_all() {
        let variant = |name: &str, more: Value| {
            let mut properties = json!({ "is": { "const": name, "type": "string" } });
            properties.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let required: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
            json!({ "type": "object", "properties": properties, "required": required })
        };
        let size = json!({ "size": { "type": "integer" } });
        let named = json!({ "size": { "type": "integer" }, "name": { "type": "string" } });
        let row = json!({
            "type": "object",
            "properties": { "at": { "type": "integer" } },
            "required": ["at"],
            "oneOf": [variant("a", size), variant("b", named), variant("c", json!({}))],
        });
        let expected = [
            ("at", DataType::Int64, false),
            ("is", DataType::Utf8, false),
            ("size", DataType::Int64, true),
            ("name", DataType::Utf8, true),
        ];
        assert_eq!(fields(row), expected.map(|(name, kind, nullable)| (name.to_owned(), kind, nullable)));
    }
}
