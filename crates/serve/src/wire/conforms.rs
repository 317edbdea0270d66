//! Whether a value is what a schema says: as much of JSON Schema as our types come to, and nothing beyond it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

type Definitions = Map<String, Value>;

/// What of the value is not as the schema says, and where; none if all of it is.
pub(super) fn misfit(value: &Value, schema: &Value, definitions: &Definitions) -> Option<String> {
    let object = schema.as_object()?;
    if let Some(target) = target(object, definitions) {
        return misfit(value, target, definitions);
    }
    if let Some(only) = object.get("const").filter(|only| *only != value) {
        return Some(format!("{value} is not {only}"));
    }
    let of = |key: &str| object.get(key).and_then(Value::as_array);
    if of("enum").is_some_and(|values| !values.contains(value)) {
        return Some(format!("{value} is not one of {:?}", of("enum")));
    }
    for key in ["anyOf", "oneOf"] {
        let Some(variants) = of(key) else { continue };
        let wrong: Vec<String> =
            variants.iter().filter_map(|one| variant_misfit(value, one, definitions)).collect();
        if wrong.len() == variants.len() {
            return Some(wrong.join("; nor: "));
        }
    }
    if let Some(wrong) =
        of("allOf").and_then(|all| all.iter().find_map(|one| variant_misfit(value, one, definitions)))
    {
        return Some(wrong);
    }
    let kinds = match object.get("type") {
        Some(Value::Array(kinds)) => kinds.as_slice(),
        Some(kind) => std::slice::from_ref(kind),
        None => &[],
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(value, kind)) {
        return Some(format!("{value} is not {kinds:?}"));
    }
    match value {
        Value::Array(items) => list_misfit(items, object, definitions),
        Value::Object(fields) => fields_misfit(fields, object, definitions).or_else(|| {
            unknown(fields, schema, definitions).map(|name| format!("'{name}' is not in the type"))
        }),
        _ => None,
    }
}

/// The same of one of several schemas for a value: members may be those of another one.
fn variant_misfit(value: &Value, schema: &Value, definitions: &Definitions) -> Option<String> {
    let wrong = misfit(value, schema, definitions)?;
    match (value, resolved(schema, definitions).as_object()) {
        (Value::Object(fields), Some(object)) if object.contains_key("properties") => {
            fields_misfit(fields, object, definitions)
        }
        _ => Some(wrong),
    }
}

fn target<'a>(schema: &Map<String, Value>, definitions: &'a Definitions) -> Option<&'a Value> {
    let name = schema.get("$ref")?.as_str()?.rsplit('/').next()?;
    definitions.get(name)
}

fn resolved<'a>(schema: &'a Value, definitions: &'a Definitions) -> &'a Value {
    schema.as_object().and_then(|object| target(object, definitions)).unwrap_or(schema)
}

fn is(value: &Value, kind: &Value) -> bool {
    match kind.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    }
}

fn list_misfit(items: &[Value], schema: &Map<String, Value>, definitions: &Definitions) -> Option<String> {
    let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
    let length = items.len() as u64;
    if bound("minItems").is_some_and(|least| length < least)
        || bound("maxItems").is_some_and(|most| length > most)
    {
        return Some(format!("{length} are not as many as there must be"));
    }
    let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    items.iter().enumerate().find_map(|(at, item)| {
        let schema = first.get(at).or(schema.get("items"))?;
        misfit(item, schema, definitions).map(|wrong| format!("[{at}] {wrong}"))
    })
}

/// Members that are missing or are not what they should be.
fn fields_misfit(
    fields: &Map<String, Value>,
    schema: &Map<String, Value>,
    definitions: &Definitions,
) -> Option<String> {
    let required = schema.get("required").and_then(Value::as_array);
    let missing =
        required.into_iter().flatten().filter_map(Value::as_str).find(|name| !fields.contains_key(*name));
    if let Some(name) = missing {
        return Some(format!("'{name}' is missing"));
    }
    // The page's types say `x?: T`: what is left out where there is nothing is never null.
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties").filter(|others| others.is_object());
    fields.iter().find_map(|(name, value)| {
        let own = properties.and_then(|known| known.get(name));
        if own.is_some() && value.is_null() && !is_required(name) {
            return Some(format!("'{name}' is null instead of left out"));
        }
        let schema = own.or(others)?;
        misfit(value, schema, definitions).map(|wrong| format!(".{name} {wrong}"))
    })
}

/// A member that no part of the schema names.
fn unknown<'a>(
    fields: &'a Map<String, Value>,
    schema: &Value,
    definitions: &Definitions,
) -> Option<&'a String> {
    let mut known = BTreeSet::new();
    let open = collect_names(schema, definitions, &mut known);
    fields.keys().find(|name| !open && !known.contains(name.as_str()))
}

/// Adds the names of all members; whether any other name may be there too.
fn collect_names<'a>(schema: &'a Value, definitions: &'a Definitions, known: &mut BTreeSet<&'a str>) -> bool {
    let Some(object) = resolved(schema, definitions).as_object() else { return true };
    let mut open = object.get("additionalProperties").is_some_and(Value::is_object);
    known.extend(
        object
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str()),
    );
    for key in ["anyOf", "oneOf", "allOf"] {
        for one in object.get(key).and_then(Value::as_array).into_iter().flatten() {
            open |= collect_names(one, definitions, known);
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_in_the_type_is_found() {
        let definitions = json!({ "Unit": { "enum": ["ns", null] } });
        let schema = json!({
            "type": "object",
            "properties": {
                "unit": { "$ref": "#/$defs/Unit" },
                "sizes": { "type": "array", "items": { "type": "integer" } },
                "name": { "type": ["string", "null"] },
                "note": { "type": ["string", "null"] },
            },
            "required": ["unit", "sizes", "name"],
            "oneOf": [
                { "type": "object", "properties": { "kind": { "const": "a" }, "more": { "type": "number" } },
                  "required": ["kind", "more"] },
                { "type": "object", "properties": { "kind": { "const": "b" } }, "required": ["kind"] },
            ],
        });
        let wrong = |value: Value| misfit(&value, &schema, definitions.as_object().unwrap());
        assert_eq!(wrong(json!({ "unit": null, "sizes": [1], "name": "n", "kind": "a", "more": 0.5 })), None);
        assert_eq!(wrong(json!({ "unit": "ns", "sizes": [], "name": null, "kind": "b", "note": "n" })), None);
        for (value, named) in [
            (json!({ "unit": "ns", "name": null, "kind": "b" }), "sizes"),
            (json!({ "unit": "s", "sizes": [], "name": null, "kind": "b" }), "unit"),
            (json!({ "unit": "ns", "sizes": [1, 1.5], "name": null, "kind": "b" }), "[1]"),
            (json!({ "unit": "ns", "sizes": [], "name": null, "kind": "b", "new": 1 }), "new"),
            (json!({ "unit": "ns", "sizes": [], "name": null, "kind": "a" }), "more"),
            (json!({ "unit": "ns", "sizes": [], "name": null }), "kind"),
            (json!({ "unit": "ns", "sizes": [], "name": 3, "kind": "b" }), "name"),
            (json!({ "unit": "ns", "sizes": [], "name": null, "kind": "b", "note": null }), "left out"),
        ] {
            let found = wrong(value.clone()).unwrap_or_default();
            assert!(found.contains(named), "{value}: {found}");
        }
    }
}
