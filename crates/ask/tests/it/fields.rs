//! The fields that the answers to a question can have, read off the types of their rows and facts.

use std::collections::{BTreeMap, BTreeSet};

use schemars::SchemaGenerator;
use serde_json::{Map, Value};
use stepscope_ask::Answer;

#[derive(Default)]
pub struct Fields {
    /// All of them, and the parts and facts they are in.
    pub all: BTreeMap<String, BTreeSet<String>>,
    /// Those that hold a number, lists and maps of numbers included.
    pub numbers: BTreeSet<String>,
}

impl Fields {
    /// Takes in the fields of an answer's parts and facts.
    pub fn add(&mut self, answer: &Answer) {
        let mut generator = SchemaGenerator::default();
        let parts = answer.parts.iter().map(|part| (part.key, part.schema(&mut generator)));
        let mut found: Vec<_> = parts.collect();
        found.extend(answer.facts.iter().map(|fact| (fact.key, fact.schema(&mut generator))));
        let types = Value::Object(generator.definitions().clone());
        for (key, schema) in found {
            let mut walk = Walk { fields: self, types: &types, place: key, seen: BTreeSet::new() };
            walk.named(key, schema.as_value());
        }
    }
}

struct Walk<'a> {
    fields: &'a mut Fields,
    types: &'a Value,
    place: &'a str,
    seen: BTreeSet<(String, String)>,
}

impl Walk<'_> {
    fn named(&mut self, field: &str, schema: &Value) {
        self.fields.all.entry(field.to_owned()).or_default().insert(self.place.to_owned());
        self.value(field, schema);
    }

    /// A value of a field: itself, an element of its list, a value of its map.
    fn value(&mut self, field: &str, schema: &Value) {
        let Value::Object(schema) = schema else { return };
        if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
            // A type may hold itself.
            if self.seen.insert((field.to_owned(), path.to_owned())) {
                let name = path.rsplit('/').next().unwrap_or(path);
                let target = self.types.get(name).unwrap_or_else(|| panic!("no type {path}"));
                self.value(field, target);
            }
        }
        if is_number(schema) {
            self.fields.numbers.insert(field.to_owned());
        }
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.named(name, property);
        }
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get(key) {
                self.value(field, inner);
            }
        }
        for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
            for inner in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.value(field, inner);
            }
        }
    }
}

fn is_number(schema: &Map<String, Value>) -> bool {
    let numeric = |value: &Value| matches!(value.as_str(), Some("integer" | "number"));
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(numeric),
        Some(one) => numeric(one),
        None => false,
    }
}
