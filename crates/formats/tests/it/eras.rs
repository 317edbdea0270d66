//! The dialects of five years of profilers.

use stepscope_formats::kineto_notes as notes;
use stepscope_model::{Attr, Domain, FlowKind, FlowSide, Kind, NoteKind, Ns, Tag, Value};

use crate::{assert_ledger_closes, fixture, note, read, with_events};

#[test]
fn capitalised_categories_of_2021() {
    let trace = read(with_events(
        r#"{"ph": "X", "cat": "Operator", "name": "ProfilerStep#5", "pid": 25, "tid": "25", "ts": 100, "dur": 90, "args": {"Device": 25}},
           {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 25, "tid": "25", "ts": 110, "dur": 20, "args": {"external id": 7}},
           {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 25, "tid": "25", "ts": 112, "dur": 5, "args": {"correlation": 3, "external id": 7}},
           {"ph": "X", "cat": "Kernel", "name": "gemm", "pid": 0, "tid": "stream 7", "ts": 130, "dur": 10, "args": {"correlation": 3, "external id": 7}},
           {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": "stream 7", "ts": 150, "dur": 1, "args": {}}"#,
    ));
    let kinds: Vec<Kind> = trace.slices().ids().map(|id| trace.slices().kind(id)).collect();
    assert_eq!(kinds, [Kind::HostAnnotation, Kind::HostOp, Kind::Runtime, Kind::Kernel, Kind::Memcpy]);
    let kernel = trace.slices().ids().nth(3).unwrap();
    assert_eq!((trace.origin(), trace.slices().start(kernel)), (Ns(100_000), Ns(30_000)));
    assert_eq!(trace.links().launch(kernel).map(|id| trace.name(id)), Some("cudaLaunchKernel"));
    assert_eq!(trace.links().op(kernel).map(|id| trace.name(id)), Some("aten::mm"));
    let lane = trace.lanes().get(trace.slices().lane(kernel)).key;
    assert_eq!((lane.domain, lane.process, lane.thread), (Domain::Device, Tag::Int(0), Tag::Int(7)));
    assert_eq!(note(&trace, NoteKind::UNLINKED).unwrap().count, 1);
}

#[test]
fn a_bare_array_of_events() {
    let trace = read(r#" [ {"ph":"X","name":"a","pid":1,"tid":1,"ts":1.5,"dur":2} ] "#);
    assert_eq!(trace.slices().len(), 1);
    assert!(trace.notes().is_empty());
}

#[test]
fn keys_before_and_after_the_events() {
    let trace = read(
        r#"{"traceEvents": [], "baseTimeNanoseconds": 1790857026000000000, "with_stack": 1, "record_shapes": 0,
            "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "nccl_version": "2.27"},
            "deviceProperties": [{"id": 2, "name": "NVIDIA H200", "numSms": 132, "totalGlobalMem": 150109880320}],
            "traceName": "x]y"}"#,
    );
    let meta = trace.meta();
    assert_eq!(meta.base_ns, Some(1_790_857_026_000_000_000));
    assert_eq!((meta.options.with_stack, meta.options.record_shapes), (Some(true), Some(false)));
    assert_eq!(meta.options.with_flops, None);
    assert_eq!(meta.distributed.as_ref().and_then(|d| d.rank), Some(3));
    assert_eq!(meta.device(2).and_then(|d| d.sms), Some(132));
    assert_eq!(meta.extra("traceName"), Some("\"x]y\""));
}

#[test]
fn accelerators_other_than_cuda() {
    let event = |cat: &str| format!(r#"{{"ph":"X","cat":"{cat}","name":"n","pid":0,"tid":1,"ts":1,"dur":1}}"#);
    let kind = |cat: &str| {
        let trace = read(with_events(&event(cat)));
        trace.slices().ids().map(|id| trace.slices().kind(id)).next().unwrap()
    };
    assert_eq!(kind("xpu_runtime"), Kind::Runtime);
    assert_eq!(kind("mtia_runtime"), Kind::Runtime);
    assert_eq!(kind("mtia_ccp_events"), Kind::Kernel);
    assert_eq!(kind("hip_runtime"), Kind::Runtime);
    assert_eq!(kind("brand_new_thing"), Kind::Other);
    let trace = read(with_events(&event("brand_new_thing")));
    let id = trace.slices().ids().next().unwrap();
    assert_eq!(trace.category(trace.slices().cat(id)), "brand_new_thing");
}

#[test]
fn all_arguments_stay_reachable() {
    let trace = read(with_events(
        r#"{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":20,"ts":1,"dur":1,"cname":"red",
            "args":{"Collective name":"allreduce","In msg nelems":1024,"dtype":"BFloat16","Process Group Ranks":"[0, 1]",
                    "grid":[24,1,1],"est. achieved occupancy %":0,"memory bandwidth (GB/s)":45.750,"flag":true,"none":null,
                    "big":123456789012345678901234567890}}"#,
    ));
    let args = trace.args(trace.slices().ids().next().unwrap());
    assert_eq!(args.value(Attr::Collective), Some(Value::Str("allreduce")));
    assert_eq!(args.text(Attr::Grid), Some("[24,1,1]"));
    assert_eq!(args.float(Attr::BandwidthGbps), Some(45.75));
    assert_eq!(args.get("big"), Some(Value::Json("123456789012345678901234567890")));
    assert_eq!(args.get("flag"), Some(Value::Bool(true)));
    assert_eq!(args.get("event.cname"), Some(Value::Str("red")));
    assert_eq!(args.len(), 11);
}

#[test]
fn begin_and_end_events_join() {
    let trace = read(with_events(
        r#"{"ph":"B","name":"outer","pid":1,"tid":1,"ts":1},{"ph":"B","name":"inner","pid":1,"tid":1,"ts":2},
           {"ph":"E","pid":1,"tid":1,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":9},{"ph":"E","pid":1,"tid":1,"ts":10},
           {"ph":"B","name":"open","pid":1,"tid":1,"ts":11},{"ph":"i","name":"now","pid":1,"tid":1,"ts":12,"s":"t"},
           {"ph":"X","name":"last","pid":1,"tid":1,"ts":12,"dur":8}"#,
    ));
    let slices = trace.slices();
    let of = |name: &str| slices.ids().find(|&id| trace.name(id) == name).unwrap();
    assert_eq!(slices.dur(of("outer")), Ns(8000));
    assert_eq!(slices.dur(of("inner")), Ns(1000));
    assert_eq!(slices.end(of("open")) + trace.origin(), Ns(20_000));
    assert_eq!(note(&trace, notes::UNMATCHED_END).unwrap().count, 1);
    assert_eq!(note(&trace, notes::UNMATCHED_BEGIN).unwrap().count, 1);
    assert_ledger_closes(&trace);
}

#[test]
fn a_device_number_equal_to_the_process_id_is_another_lane() {
    let trace = read(with_events(
        r#"{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":7,"ts":1,"dur":9},
           {"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":2,"dur":1}"#,
    ));
    let lanes: Vec<_> = trace.slices().ids().map(|id| trace.slices().lane(id)).collect();
    assert_ne!(lanes[0], lanes[1]);
}

#[test]
fn every_fixture_is_read_whole() {
    let mut cases = 0;
    for case in std::fs::read_dir(fixture("2.11-h200")).unwrap() {
        for file in std::fs::read_dir(case.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if !path.to_string_lossy().ends_with(".pt.trace.json.gz") {
                continue;
            }
            let trace = stepscope_formats::open_trace(&path, &Default::default()).unwrap();
            assert_ledger_closes(&trace);
            assert_eq!(trace.meta().events_set_aside, 0, "{}", path.display());
            assert!(trace.meta().source.worker.is_some());
            assert!(
                trace.links().backward_links() > 0
                    || trace
                        .flows()
                        .iter()
                        .all(|f| (f.side, f.kind) != (FlowSide::Start, FlowKind::ForwardBackward))
            );
            cases += 1;
        }
    }
    assert_eq!(cases, 10);
}

#[test]
fn ends_without_category_close_their_begins() {
    let trace = read(with_events(
        r#"{"ph":"B","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1},{"ph":"E","pid":0,"tid":7,"ts":5},
           {"ph":"B","name":"open","pid":1,"tid":1,"ts":2},{"ph":"X","name":"x","pid":1,"tid":1,"ts":3,"dur":2},
           {"ph":"X","name":"later","pid":2,"tid":2,"ts":900,"dur":100}"#,
    ));
    let slices = trace.slices();
    let of = |name: &str| slices.ids().find(|&id| trace.name(id) == name).unwrap();
    assert_eq!(slices.dur(of("k")), Ns(4000));
    assert_eq!(
        slices.end(of("open")) + trace.origin(),
        Ns(5000),
        "an open begin ends with its lane, not with the file"
    );
    assert_ledger_closes(&trace);
}

#[test]
fn quoted_ids_link_too() {
    let trace = read(with_events(
        r#"{"ph":"X","cat":"cpu_op","name":"op","pid":9,"tid":9,"ts":1,"dur":9,"args":{"External id":"5"}},
           {"ph":"X","cat":"cuda_runtime","name":"launch","pid":9,"tid":9,"ts":2,"dur":1,"args":{"correlation":"3","External id":"5"}},
           {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":4,"dur":1,"args":{"correlation":"3","External id":"5"}}"#,
    ));
    let kernel = trace.slices().ids().find(|&id| trace.name(id) == "k").unwrap();
    assert_eq!(trace.links().op(kernel).map(|id| trace.name(id)), Some("op"));
    assert_eq!(trace.links().launch(kernel).map(|id| trace.name(id)), Some("launch"));
}
