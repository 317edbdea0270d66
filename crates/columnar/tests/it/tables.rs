//! Every table of every question: typed before there are rows, and equal to the answer's JSON.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use serde_json::Value;
use stepscope_analyse::run::Run;
use stepscope_ask::{Answer, Ask, QUESTIONS, answer};
use stepscope_columnar::{part_schema, part_table};

use crate::{cuda_graph, gpt, rows, run, stack};

/// Whether a value of a column says what the JSON of the answer says. Lists of several things are structs there, and what no
/// type holds is JSON text.
fn same(column: &Value, json: &Value) -> bool {
    match (column, json) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            // Reading a float back from text may be off by its last bit.
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-15 * a.abs().max(b.abs())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Array(b)) => {
            a.len() == b.len() && b.iter().enumerate().all(|(at, b)| same(&a[&at.to_string()], b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let missing = |key: &String| !b.contains_key(key);
            b.iter().all(|(key, b)| a.get(key).is_some_and(|a| same(a, b)))
                && a.iter().filter(|(key, _)| missing(key)).all(|(_, a)| a.is_null())
        }
        (Value::String(text), json) if !json.is_string() => {
            serde_json::from_str::<Value>(text).is_ok_and(|value| same(&value, json))
        }
        // A text among other things is quoted.
        (Value::String(a), Value::String(b)) => a == b || a.as_str() == json.to_string().as_str(),
        (a, b) => a == b,
    }
}

fn asked(question: &str, options: &[(&str, &str)], run: &Arc<Run>) -> Option<Answer> {
    let ask = Ask::with(question, options.iter().copied()).unwrap();
    answer(&ask, std::slice::from_ref(run)).ok()
}

#[test]
fn every_table_of_every_question_has_one_schema_and_the_same_values() {
    let nccl = run("2.11-h200-features/nccl/nccl.pt.trace.json.gz");
    let runs = [gpt(), stack(), cuda_graph(), nccl];
    let mut schemas: BTreeMap<(&str, &str, &str), SchemaRef> = BTreeMap::new();
    let (mut tables, mut values) = (0, 0);
    for run in runs {
        for question in QUESTIONS {
            for by in question.variants() {
                let options: Vec<(&str, &str)> = by.map(|by| ("by", by)).into_iter().collect();
                let Some(answer) = asked(question.name, &options, &run) else { continue };
                for part in &answer.parts {
                    let place = (question.name, by.unwrap_or_default(), part.key);
                    let table = part_table(&answer, part).unwrap_or_else(|error| panic!("{place:?}: {error}"));
                    let mut json = part.values(0..usize::MAX);
                    if json.iter().any(|row| !row.is_object()) {
                        json = json.into_iter().map(|value| serde_json::json!({ "value": value })).collect();
                    }
                    assert_eq!(table.schema, part_schema(&answer, part), "{place:?}");
                    assert_eq!(table.rows(), json.len(), "{place:?}");
                    for (column, json) in rows(&table).iter().zip(&json) {
                        assert!(same(column, json), "{place:?}: {column} is not {json}");
                    }
                    let without = |schema: &SchemaRef| {
                        Arc::new(schema.as_ref().clone().with_metadata(HashMap::<String, String>::new()))
                    };
                    let schema = schemas.entry(place).or_insert_with(|| without(&table.schema));
                    assert_eq!(*schema, without(&table.schema), "{place:?}");
                    tables += 1;
                    values += json.len();
                }
            }
        }
    }
    assert!(tables > 100 && values > 2000, "{tables} tables with {values} rows");
}

#[test]
fn a_table_without_rows_keeps_its_types() {
    let run = gpt();
    let some = asked("ops", &[], &run).unwrap();
    let none = asked("ops", &[("filter", "no_such_operator")], &run).unwrap();
    let [some, none] = [&some, &none].map(|answer| part_table(answer, answer.part("ops").unwrap()).unwrap());
    assert_eq!(none.rows(), 0);
    assert!(some.rows() > 0);
    assert_eq!(some.schema, none.schema);
}

#[test]
fn types_and_definitions_of_operators() {
    let answer = asked("ops", &[], &gpt()).unwrap();
    let schema = part_schema(&answer, answer.part("ops").unwrap());
    let kind = |name: &str| schema.field_with_name(name).unwrap().data_type().clone();
    assert_eq!(kind("name"), DataType::Utf8);
    assert_eq!(kind("calls"), DataType::UInt64);
    assert_eq!(kind("device_self_ns"), DataType::Int64);
    assert!(matches!(kind("stack"), DataType::List(_)));
    assert!(schema.field_with_name("calls").unwrap().metadata()["definition"].contains("PyTorch"));
    assert_eq!(schema.metadata()["question"], "ops");
}

#[test]
fn no_column_is_left_without_a_type() {
    fn check(kind: &DataType, place: &str) {
        assert_ne!(*kind, DataType::Null, "{place}");
        match kind {
            DataType::List(item) | DataType::Map(item, _) => check(item.data_type(), place),
            DataType::Struct(fields) => fields.iter().for_each(|field| {
                check(field.data_type(), &format!("{place}.{}", field.name()));
            }),
            _ => {}
        }
    }
    let run = gpt();
    for question in QUESTIONS {
        let Some(answer) = asked(question.name, &[], &run) else { continue };
        for part in &answer.parts {
            for field in part_schema(&answer, part).fields() {
                check(field.data_type(), &format!("{} {} {}", question.name, part.key, field.name()));
            }
        }
    }
}
