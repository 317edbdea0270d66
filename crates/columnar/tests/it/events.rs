//! Events against the trace they come from.

use std::collections::{BTreeMap, HashMap};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use serde_json::Value;
use stepscope_analyse::run::Run;
use stepscope_ask::{Ask, answer};
use stepscope_columnar::{EVENT_COLUMNS, events};
use stepscope_model::{Attr, Kind, SliceId, TraceBuilder};

use crate::{gpt, rows, stack};

#[test]
fn rows_say_what_the_trace_says() {
    let run = stack();
    let trace = run.trace();
    let (slices, links) = (trace.slices(), trace.links());
    let table = events(&run).unwrap();
    let rows = rows(&table);
    assert_eq!(rows.len(), slices.len());
    let mut with: BTreeMap<&str, usize> = BTreeMap::new();
    for (id, row) in slices.ids().zip(&rows) {
        assert_eq!(row["id"], id.index());
        assert_eq!(row["name"], trace.name(id));
        assert_eq!(row["category"], trace.category(slices.cat(id)));
        assert_eq!(row["start_ns"], slices.start(id).0);
        assert_eq!(row["dur_ns"], slices.dur(id).0);
        let number = |id: Option<SliceId>| id.map_or(Value::Null, |id| id.index().into());
        assert_eq!(row["launch"], number(links.launch(id)));
        assert_eq!(row["op"], number(links.op(id)));
        assert_eq!(row["parent"], number(run.tree().parent(id)));
        let args = trace.args(id);
        let integer = |attr| args.int(attr).map_or(Value::Null, Value::from);
        assert_eq!(row["correlation"], integer(Attr::Correlation));
        assert_eq!(row["external_id"], integer(Attr::ExternalId));
        assert_eq!(row["input_shapes"], args.text(Attr::InputShapes).map_or(Value::Null, Value::from));
        let key = trace.lanes().get(slices.lane(id)).key;
        let device = key.process.as_int().filter(|_| slices.kind(id).is_device());
        if let Some(device) = device {
            assert_eq!((&row["device"], &row["process"]), (&device.into(), &Value::Null));
        }
        match row["args"].as_str() {
            Some(text) => {
                assert_eq!(serde_json::from_str::<HashMap<String, Value>>(text).unwrap().len(), args.len())
            }
            None => assert!(args.is_empty()),
        }
        for column in EVENT_COLUMNS {
            *with.entry(column.name).or_default() += usize::from(!row[column.name].is_null());
        }
    }
    for column in EVENT_COLUMNS {
        assert!(column.nullable || with[column.name] == rows.len(), "{}", column.name);
    }
    // What the recording is known to have.
    for column in
        ["parent", "launch", "op", "grid", "block", "correlation", "device", "stream", "thread", "args"]
    {
        assert!(with[column] > 0, "{column} is empty");
    }
}

#[test]
fn sums_are_those_of_the_kernel_table() {
    let run = gpt();
    let mut by_name: BTreeMap<String, (u64, i64)> = BTreeMap::new();
    for row in rows(&events(&run).unwrap()) {
        if row["kind"] == "kernel" {
            let sum = by_name.entry(row["name"].as_str().unwrap().to_owned()).or_default();
            *sum = (sum.0 + 1, sum.1 + row["dur_ns"].as_i64().unwrap());
        }
    }
    let ask = Ask::new("kernels").unwrap().all_rows();
    let answer = answer(&ask, std::slice::from_ref(&run)).unwrap();
    let kernels = answer.part("kernels").unwrap().values(0..usize::MAX);
    assert_eq!(kernels.len(), by_name.len());
    for kernel in kernels {
        let (calls, total_ns) = by_name[kernel["name"].as_str().unwrap()];
        assert_eq!((kernel["calls"].as_u64(), kernel["total_ns"].as_i64()), (Some(calls), Some(total_ns)));
    }
}

#[test]
fn times_are_not_copied() {
    let run = gpt();
    let table = events(&run).unwrap();
    let slices = run.trace().slices();
    for (column, memory) in [("start_ns", slices.starts()), ("dur_ns", slices.durs())] {
        let values =
            table.batches[0].column_by_name(column).unwrap().as_primitive::<Int64Type>().values().clone();
        assert_eq!(values.as_ptr().cast(), memory.as_ptr(), "{column}");
    }
    // The columns outlive the run.
    let (first, len) = (slices.durs()[0].0, slices.len());
    drop(run);
    let durs = table.batches[0].column_by_name("dur_ns").unwrap().as_primitive::<Int64Type>();
    assert_eq!((durs.value(0), durs.len()), (first, len));
}

#[test]
fn dictionaries_hold_only_what_occurs() {
    let run = gpt();
    let table = events(&run).unwrap();
    let column = |batch: &RecordBatch, name: &str| batch.column_by_name(name).unwrap().clone();
    for name in ["name", "category", "kind", "input_shapes", "lane_name"] {
        let array = column(&table.batches[0], name);
        let dictionary = array.as_dictionary::<Int32Type>();
        let mut used: Vec<i32> = dictionary.keys().iter().flatten().collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), dictionary.values().len(), "{name}");
        let texts = dictionary.values().as_string::<i32>();
        let mut distinct: Vec<&str> = texts.iter().flatten().collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), texts.len(), "{name}");
    }
}

#[test]
fn the_schema_is_the_same_for_every_trace() {
    let [some, other] = [gpt(), stack()].map(|run| events(&run).unwrap());
    let none = events(&Run::new(TraceBuilder::new().finish())).unwrap();
    assert_eq!(none.rows(), 0);
    assert_eq!(some.schema.fields(), other.schema.fields());
    assert_eq!(some.schema.fields(), none.schema.fields());
    let names: Vec<&str> = some.schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, EVENT_COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>());
    assert!(some.schema.fields().iter().all(|field| !field.metadata()["definition"].is_empty()));
    assert_eq!(*some.schema.field_with_name("start_ns").unwrap().data_type(), DataType::Int64);
    let origin_ns = gpt().trace().origin().0.to_string();
    assert_eq!(some.schema.metadata()["origin_ns"], origin_ns);
    assert_eq!(some.schema.metadata()["base_ns"], gpt().trace().meta().base_ns.unwrap().to_string());
}

#[test]
fn every_kind_has_a_word_of_its_own() {
    let mut b = TraceBuilder::new();
    let lane = b.lane(Default::default());
    let all = [
        Kind::HostOp,
        Kind::HostAnnotation,
        Kind::PythonFunction,
        Kind::Runtime,
        Kind::Driver,
        Kind::Overhead,
        Kind::Kernel,
        Kind::Memcpy,
        Kind::Memset,
        Kind::DeviceAnnotation,
        Kind::DeviceSync,
        Kind::Collective,
        Kind::Span,
        Kind::Other,
    ];
    for kind in all {
        b.slice(stepscope_model::NewSlice { lane, kind, ..Default::default() });
    }
    let rows = rows(&events(&Run::new(b.finish())).unwrap());
    let definition = EVENT_COLUMNS.iter().find(|column| column.name == "kind").unwrap().text;
    let mut words: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert!(words.iter().all(|word| definition.contains(word)));
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), all.len());
}
