//! A JSON schema as a TypeScript type.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Longer lists of one length are written as lists of any length.
const MAX_TUPLE: u64 = 4;

/// The declaration of a named type.
pub(super) fn declaration(name: &str, schema: &Value) -> String {
    let is_union =
        |object: &Map<String, Value>| ["oneOf", "anyOf", "allOf"].iter().any(|key| object.contains_key(*key));
    match schema.as_object().filter(|object| object.contains_key("properties") && !is_union(object)) {
        Some(object) => format!("export interface {name} {}\n", fields(object)),
        None => format!("export type {name} = {};\n", typescript(schema)),
    }
}

/// A list of a type.
pub(super) fn list(of: &str) -> String {
    // Spaces are in unions and intersections; objects and tuples have brackets of their own.
    let plain = !of.contains(" | ") && !of.contains(" & ");
    if plain || of.starts_with('{') && of.ends_with('}') { format!("{of}[]") } else { format!("({of})[]") }
}

/// A schema as a type. What has no type of its own is a mistake: the page must not guess.
pub(super) fn typescript(schema: &Value) -> String {
    let Some(object) = schema.as_object() else { panic!("this could be anything: {schema}") };
    if let Some(name) = object.get("$ref").and_then(Value::as_str) {
        return name.rsplit('/').next().unwrap_or(name).to_owned();
    }
    if let Some(value) = object.get("const") {
        return value.to_string();
    }
    if let Some(values) = object.get("enum").and_then(Value::as_array) {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    let of = |key: &str| object.get(key).and_then(Value::as_array);
    if let Some(variants) = of("oneOf").or(of("anyOf")) {
        let either = union(variants.iter().map(typescript));
        // Members beside a flattened enum.
        return match object.contains_key("properties") {
            true => format!("{} & ({either})", fields(object)),
            false => either,
        };
    }
    if let Some(all) = of("allOf") {
        return all.iter().map(typescript).collect::<Vec<_>>().join(" & ");
    }
    match object.get("type") {
        Some(Value::Array(kinds)) => union(kinds.iter().map(|kind| {
            let mut one = object.clone();
            one.insert("type".to_owned(), kind.clone());
            typescript(&Value::Object(one))
        })),
        Some(Value::String(kind)) => of_kind(kind, object),
        _ => panic!("this could be anything: {schema}"),
    }
}

/// Either of several types; `null` is read more easily at the end.
fn union(of: impl Iterator<Item = String>) -> String {
    let all: BTreeSet<String> = of.collect();
    let (null, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|kind| kind == "null");
    rest.into_iter().chain(null).collect::<Vec<_>>().join(" | ")
}

fn of_kind(kind: &str, schema: &Map<String, Value>) -> String {
    match kind {
        "integer" | "number" => "number".to_owned(),
        "string" | "boolean" | "null" => kind.to_owned(),
        "array" => array(schema),
        "object" if schema.contains_key("properties") => fields(schema),
        "object" => match schema.get("additionalProperties") {
            Some(of @ Value::Object(_)) => format!("Record<string, {}>", typescript(of)),
            _ => panic!("an object of anything: {schema:?}"),
        },
        _ => panic!("there is no type {kind}"),
    }
}

fn array(schema: &Map<String, Value>) -> String {
    let tuple = |of: &[String]| format!("[{}]", of.join(", "));
    if let Some(items) = schema.get("prefixItems").and_then(Value::as_array) {
        return tuple(&items.iter().map(typescript).collect::<Vec<_>>());
    }
    let Some(item) = schema.get("items") else { panic!("a list of anything: {schema:?}") };
    let one = typescript(item);
    let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
    match (bound("minItems"), bound("maxItems")) {
        (Some(least), Some(most)) if least == most && most <= MAX_TUPLE => tuple(&vec![one; most as usize]),
        _ => list(&one),
    }
}

/// The members of an object, in braces. Those that may be left out are not required.
fn fields(schema: &Map<String, Value>) -> String {
    let mut text = String::from("{\n");
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let kind = typescript(field).replace('\n', "\n  ");
        // What is left out where there is nothing is never `null` where there is something.
        let (optional, kind) = match is_required(name) {
            true => ("", kind.as_str()),
            false => ("?", kind.strip_suffix(" | null").unwrap_or(&kind)),
        };
        text.push_str(&format!("  {}{optional}: {kind};\n", key(name)));
    }
    text.push('}');
    text
}

/// A name as TypeScript takes it for a key.
pub(super) fn key(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { name.to_owned() } else { format!("{name:?}") }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Serialize;

    use super::*;

    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case", tag = "kind")]
    #[expect(dead_code)]
    enum Tagged {
        Plain,
        With { size: u64 },
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code)]
    enum Either {
        Number(f64),
        Text(String),
    }

    #[derive(Serialize, JsonSchema)]
    struct Inner {
        deep: bool,
    }

    /// Everything at once.
    #[derive(Serialize, JsonSchema)]
    struct Whole {
        #[serde(rename = "type")]
        kind: Tagged,
        #[serde(skip)]
        #[expect(dead_code)]
        hidden: u8,
        none: Option<u8>,
        #[serde(skip_serializing_if = "Option::is_none")]
        absent: Option<u8>,
        #[serde(flatten)]
        inner: Inner,
        span: [i64; 2],
        pair: (String, u8),
        many: Vec<Option<Either>>,
    }

    #[test]
    fn types_follow_the_attributes_of_serde() {
        let mut generator = super::super::generator();
        generator.subschema_for::<Whole>();
        let of = |name: &str| declaration(name, &generator.definitions()[name]);
        assert_eq!(
            of("Whole"),
            "export interface Whole {\n  type: Tagged;\n  none: number | null;\n  absent?: number;\n  \
             deep: boolean;\n  span: [number, number];\n  pair: [string, number];\n  \
             many: (Either | null)[];\n}\n"
        );
        assert_eq!(of("Either"), "export type Either = number | string;\n");
        assert_eq!(
            of("Tagged"),
            "export type Tagged = {\n  kind: \"plain\";\n} | {\n  kind: \"with\";\n  size: number;\n};\n"
        );
    }
}
