//! TraceLens' gpu_timeline on its own test traces.
//!
//! TraceLens adds times as floats, and at the size of these timestamps a float holds steps of 0.24 to 0.49 ns:
//! over the 1,198 slices of the Qwen trace its numbers drift by 10 ns. Ours are exact. So each number is checked
//! twice: ours in whole nanoseconds, and TraceLens' own to a nanosecond from the same slices added as floats.

use std::collections::HashMap;

use stepscope_analyse::peers::tracelens::{TimelineOptions, TimelineRow, device_timeline};
use stepscope_model::{Kind, Ns, Trace};

use crate::data::{peer, read};

fn linked(trace: &Trace) -> TimelineRow {
    let options = TimelineOptions { linked_only: true, ..TimelineOptions::default() };
    device_timeline(trace, &options).all.unwrap()
}

/// A time as a program reads it that parses the file's decimal microseconds as a float.
fn float_us(time: Ns) -> f64 {
    format!("{}.{:03}", time.0 / 1000, time.0 % 1000).parse().unwrap()
}

/// The union of the linked slices of some kinds, in float milliseconds.
fn float_ms(trace: &Trace, wanted: fn(Kind) -> bool) -> f64 {
    let slices = trace.slices();
    let counted = slices.ids().filter(|&id| slices.kind(id).is_device_work() && wanted(slices.kind(id)));
    let linked = counted.filter(|&id| trace.links().launch(id).is_some());
    let mut parts: Vec<(f64, f64)> = linked
        .map(|id| (slices.start(id) + trace.origin(), slices.dur(id)))
        .map(|(start, dur)| (float_us(start), float_us(start) + float_us(dur)))
        .collect();
    parts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut until, mut sum) = (f64::MIN, 0.0);
    for (start, end) in parts {
        sum += (end - start.max(until)).max(0.0);
        until = until.max(end);
    }
    sum / 1000.0
}

fn assert_ms(ours: f64, theirs: f64, what: &str) {
    assert!((ours - theirs).abs() <= 1e-6, "{what}: {ours} ms, expected {theirs} ms");
}

fn csv(path: &str) -> Option<HashMap<String, f64>> {
    let text = std::fs::read_to_string(peer(path)?).unwrap();
    let cells = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    Some(cells.map(|cells| (cells[0].to_owned(), cells[1].parse().unwrap())).collect())
}

#[test]
fn h100_reports_match() {
    let cases = [
        // computation, exposed memcpy, busy, idle, total
        ("Qwen_Qwen1.5-0.5B-Chat__1016005", [31_903_105, 2_368, 31_905_473, 2_986_946, 34_892_419]),
        ("gaunernst_bert-small-uncased__1016001", [307_197, 2_240, 309_437, 3_598_388, 3_907_825]),
    ];
    for (name, exact) in cases {
        let Some(path) = peer(&format!("tracelens/h100/{name}.json.gz")) else { return };
        let Some(theirs) = csv(&format!("tracelens/h100/{name}_perf_report_csvs/gpu_timeline.csv")) else {
            return;
        };
        let trace = read(&path);
        let row = linked(&trace);
        assert_eq!(
            [row.computation_ns, row.exposed_memcpy_ns, row.busy_ns, row.idle_ns, row.total_ns],
            exact,
            "{name}"
        );
        assert_eq!((row.exposed_comm_ns, row.total_comm_ns, row.total_memcpy_ns), (0, 0, exact[1]), "{name}");

        let computation = float_ms(&trace, |kind| kind != Kind::Memcpy);
        let busy = float_ms(&trace, |_| true);
        let total = row.total_ns as f64 / 1e6;
        let memcpy = row.exposed_memcpy_ns as f64 / 1e6;
        let floats = [
            ("computation_time", computation),
            ("exposed_comm_time", 0.0),
            ("exposed_memcpy_time", memcpy),
            ("busy_time", busy),
            ("idle_time", total - busy),
            ("total_time", total),
            ("total_comm_time", 0.0),
            ("total_memcpy_time", memcpy),
        ];
        assert_eq!(theirs.len(), floats.len());
        for (field, ms) in floats {
            assert_ms(ms, theirs[field], &format!("{name} {field}"));
        }
    }
}

#[test]
fn what_tracelens_leaves_out_is_counted() {
    let Some(path) = peer("tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz") else { return };
    let all = device_timeline(&read(&path), &TimelineOptions::default()).all.unwrap();
    assert_eq!((all.slices, all.unlinked), (1707, 509));
    assert!(all.busy_ns > 31_905_473);
}

#[test]
fn other_totals_match() {
    let Some(mi300) = peer("tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz") else { return };
    let row = linked(&read(&mi300));
    assert_eq!((row.computation_ns, row.total_ns), (388_344, 3_495_976));
    let Some(compiled) = peer("tracelens/torch_compile_triton/trace.json.gz") else { return };
    let row = linked(&read(&compiled));
    // 12.549021 ms is the computation; the kernels span 11 ns more.
    assert_eq!((row.computation_ns, row.busy_ns, row.total_ns), (12_549_021, 12_549_021, 12_549_032));
}
