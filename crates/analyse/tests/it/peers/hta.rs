//! HTA's values on its own test traces.
//!
//! On the nanosecond trace HTA reports idle 10113 µs, compute 372150 µs and kernel time 384634 µs. It reads times as floats (at
//! seconds since 1970 a float holds quarter microseconds) and then shrinks every slice to whole microseconds, so
//! each of 4,876 slices loses up to two and the losses end up as idle time. Ours is exact: idle is 6,452,701 ns.
//! The test reproduces HTA's numbers from our slices by doing to them what HTA does, which shows that the
//! rounding is the only difference.

use stepscope_analyse::peers::tracelens::{TimelineOptions, temporal_breakdown};
use stepscope_analyse::scope::intervals::Intervals;
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::steps::Steps;
use stepscope_model::{Kind, Ns};

use crate::data::{peer, read};

#[test]
fn ns_resolution_trace_is_exact_where_hta_rounds() {
    let Some(path) = peer("hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz") else {
        return;
    };
    let trace = read(&path);
    // HTA leaves out the last step and what was launched after it.
    let last = Steps::find(&trace).steps.last().unwrap().host_start_ns;
    let selection = Selection { ranges: Some(vec![(Ns::MIN, Ns(last))]), device: None };
    let rows =
        temporal_breakdown(&trace, &TimelineOptions { selection: selection.clone(), linked_only: false });
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].kernel_time_ns, 384_634_463);
    assert_eq!(rows[0].idle_ns, 6_452_701);
    assert_eq!(rows[0].compute_ns, 374_738_006);
    assert_eq!(rows[0].idle_ns + rows[0].compute_ns + rows[0].non_compute_ns, rows[0].kernel_time_ns);

    let slices = trace.slices();
    let base = trace.meta().base_ns.unwrap_or(0) + trace.origin().0;
    let float_us = |ns: i64| format!("{}.{:03}", ns / 1000, ns % 1000).parse::<f64>().unwrap();
    let counted = slices.ids().filter(|&id| slices.kind(id).is_device_work() && selection.contains(&trace, id));
    let rounded: Vec<_> = counted
        .map(|id| {
            let (start, dur) = (float_us(base + slices.start(id).0), float_us(slices.dur(id).0));
            (slices.kind(id), Ns(start.ceil() as i64), Ns((start + dur).floor() as i64))
        })
        .collect();
    assert_eq!(rounded.len(), 4876);
    let union = |wanted: fn(Kind) -> bool| {
        let parts = rounded.iter().filter(|r| wanted(r.0)).map(|r| (r.1, r.2));
        Intervals::union(parts.collect()).length().0
    };
    let total = rounded.iter().map(|r| r.2).max().unwrap() - rounded.iter().map(|r| r.1).min().unwrap();
    assert_eq!(total.0, 384_634);
    assert_eq!(total.0 - union(|_| true), 10_113);
    assert_eq!(union(|kind| kind == Kind::Kernel), 372_150);
}

#[test]
fn annotations_and_what_they_launch() {
    let Some(path) = peer("hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz") else {
        return;
    };
    let trace = read(&path);
    let slices = trace.slices();
    let names = |kind: Kind| {
        let of_kind = slices.ids().filter(|&id| slices.kind(id) == kind);
        of_kind.map(|id| trace.name(id)).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(names(Kind::DeviceAnnotation).len(), 3);
    // HTA sees 12: it drops the last step.
    assert_eq!(names(Kind::HostAnnotation).len(), 13);
    // 9 kernels a step, which make HTA's 27 in the three steps it keeps whole.
    let optimizer = slices
        .ids()
        .filter(|&id| slices.kind(id) == Kind::HostAnnotation && trace.name(id) == "Optimizer.step#SGD.step");
    for range in optimizer {
        let inside = |call: stepscope_model::SliceId| {
            let own = slices.start(range) <= slices.start(call) && slices.end(call) <= slices.end(range);
            own && slices.lane(call) == slices.lane(range)
        };
        let launched = slices.ids().filter(|&id| slices.kind(id).is_device_work());
        assert_eq!(launched.filter(|&id| trace.links().launch(id).is_some_and(inside)).count(), 9);
    }
}

#[test]
fn base_time_and_microseconds_make_exact_nanoseconds() {
    let Some(path) = peer("hta/triton_example/triton_example.json.gz") else { return };
    let trace = read(&path);
    assert_eq!(trace.meta().base_ns, Some(1_727_743_122_000_000_000));
    assert!(trace.slices().starts().contains(&(Ns(2_413_669_096_090_100) - trace.origin())));
}

#[test]
fn odd_files_are_read_whole() {
    for (file, rank) in [
        ("cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", Some(34)),
        ("rank_non_gpu/rank_non_gpu.json.gz", Some(0)),
        ("call_stack/backward_thread.json", Some(0)),
        ("trace_filter/sampled_rank-0.json.gz", Some(0)),
        ("trace_filter/sampled_rank-1.json.gz", Some(1)),
        ("amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz", None),
        ("critical_path/cuda_event_sync/event_sync_trace.json.gz", Some(0)),
    ] {
        let Some(path) = peer(&format!("hta/{file}")) else { return };
        let trace = read(&path);
        assert_eq!(trace.meta().events_set_aside, 0, "{file}");
        assert_eq!(trace.meta().distributed.as_ref().and_then(|d| d.rank), rank, "{file}");
    }
}
