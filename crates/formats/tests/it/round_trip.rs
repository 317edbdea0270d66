//! What is written is what was read.

use stepscope_formats::write_chrome;
use stepscope_model::{Attr, Ns, Trace, Value};

use crate::{fixture, read};

fn written(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    write_chrome(trace, &mut out).unwrap();
    out
}

fn rows(trace: &Trace) -> Vec<String> {
    let slices = trace.slices();
    let value = |v: Value<'_>| format!("{v:?}");
    let mut rows: Vec<String> = slices
        .ids()
        .map(|id| {
            let args: Vec<String> = trace.args(id).iter().map(|(k, v)| format!("{k}={}", value(v))).collect();
            let (start, dur) = (slices.start(id).0, slices.dur(id).0);
            format!("{} {start} {dur} {:?} {args:?}", trace.name(id), slices.kind(id))
        })
        .collect();
    let points = trace.points();
    rows.extend(points.ids().map(|id| {
        let args: Vec<String> = trace.point_args(id).iter().map(|(k, v)| format!("{k}={}", value(v))).collect();
        format!("{:?} {} {} {args:?}", points.kind(id), trace.text(points.name(id)), points.at(id).0)
    }));
    rows.extend(trace.counters().rows().map(|row| {
        let series = trace.counters().series()[row.series.index()];
        let (name, part) = (trace.text(series.name), trace.text(series.part));
        format!("{name} {part} {:?} {} {:?} {}", series.unit, row.at.0, row.value, row.joined)
    }));
    rows.extend(trace.allocations().ids().map(|id| {
        let args: Vec<String> =
            trace.allocation_args(id).iter().map(|(k, v)| format!("{k}={}", value(v))).collect();
        format!("{:?} {} {args:?}", trace.allocation(id), trace.text(trace.allocations().name()))
    }));
    rows.extend(trace.flows().iter().map(|f| format!("{:?} {:?} {} {}", f.kind, f.side, f.id, f.at.0)));
    rows.sort();
    rows
}

#[test]
fn an_export_reads_back_the_same() {
    for case in ["gpt_stack/gpt_stack", "multi_stream/multi_stream", "gloo_ddp/rank2"] {
        let path = fixture("2.11-h200").join(format!("{case}.pt.trace.json.gz"));
        let trace = stepscope_formats::open_trace(&path, &Default::default()).unwrap();
        let text = written(&trace);
        serde_json::from_slice::<serde_json::Value>(&text).expect("valid JSON");
        let again = read(&text);
        assert_eq!(rows(&trace), rows(&again), "{case}");
        assert_eq!(trace.meta().devices, again.meta().devices);
        assert_eq!(trace.meta().distributed, again.meta().distributed);
        assert_eq!((trace.origin(), trace.meta().base_ns), (again.origin(), again.meta().base_ns));
        assert!(trace.origin() > Ns::ZERO, "{case}");
    }
}

#[test]
fn a_salvaged_file_exports_as_valid_json() {
    let broken = r#"{"path": "C:\x", "traceEvents": [{"ph":"X","name":"a"b\q","pid":"p","tid":1,"ts":1,"dur":1,
        "args":{"v": NaN, "list": [1, N/A], "odd": -0, "d": -0.050}}, {"ph":"X","#;
    let text = written(&read(broken));
    let json: serde_json::Value = serde_json::from_slice(&text).expect("valid JSON");
    let event = &json["traceEvents"][0];
    assert_eq!(event["name"], "a\"b\\q");
    assert_eq!(event["args"]["list"], "[1, N/A]");
    assert_eq!(event["args"]["d"].to_string(), "-0.05");
}

#[test]
fn names_made_to_be_misread_come_back_as_they_were() {
    let text = r#"{"a\"b\u00e9": 1, "traceEv\u0065nts": [
        {"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"cname":"good","t\u0073":5,
         "args":{"event.ph":"M","event.args":{"b":1},"c":2}},
        {"ph":"i","name":"b","pid":1,"tid":1,"ts":2,"args":7}]}"#;
    let trace = read(text);
    assert_eq!((trace.slices().len(), trace.points().len()), (1, 1));
    assert_eq!(trace.meta().extra("a\"bé"), Some("1"));
    let again = read(written(&trace));
    assert_eq!(rows(&trace), rows(&again));
    assert_eq!(trace.meta().extra, again.meta().extra);
}

#[test]
fn overloads_leave_the_name_and_come_back() {
    let text = r#"{"traceEvents": [{"ph":"X","cat":"cpu_op","name":"aten::add_.Tensor","pid":1,"tid":1,"ts":1,"dur":1,"args":{"Ev Idx":3}}]}"#;
    let trace = read(text);
    let id = trace.slices().ids().next().unwrap();
    assert_eq!(trace.name(id), "aten::add_");
    assert_eq!(trace.args(id).value(Attr::Overload), Some(Value::Str("Tensor")));
    let json: serde_json::Value = serde_json::from_slice(&written(&trace)).unwrap();
    assert_eq!(json["traceEvents"][0]["name"], "aten::add_.Tensor");
    assert_eq!(json["traceEvents"][0].as_object().unwrap().len(), 8);
}
