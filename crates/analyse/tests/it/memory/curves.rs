//! Memory numbers: worked examples, an independent recomputation from the JSON, and the numbers of
//! torch-tb-profiler 0.4.3 and of torch's own memory timeline.

use std::path::{Path, PathBuf};

use stepscope_analyse::memory::{self, DeviceMemory, MemoryReport, NO_OPERATOR, Options, UNKNOWN_ORIGIN};
use stepscope_analyse::scope::selection::Selection;
use stepscope_model::{
    ArgValue, Domain, Kind, LaneId, LaneKey, NewAllocation, NewSlice, Ns, Tag, Trace, TraceBuilder,
};

use crate::data::{fixtures, peer, read};

pub fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch/2.11-h200").join(path)
}

fn thread(b: &mut TraceBuilder, number: i64) -> LaneId {
    b.lane(LaneKey { domain: Domain::Host, process: Tag::Int(1), thread: Tag::Int(number) })
}

fn slice(b: &mut TraceBuilder, lane: LaneId, kind: Kind, name: &str, start: i64, end: i64) {
    let name = b.intern(name);
    b.slice(NewSlice { start: Ns(start), dur: Ns(end - start), name, kind, lane, ..NewSlice::default() });
}

fn mark(b: &mut TraceBuilder, lane: LaneId, at: i64, args: &[(&str, i64)]) {
    for &(key, value) in args {
        let key = b.intern(key);
        b.push_arg(key, ArgValue::Int(value));
    }
    let (name, args) = (b.intern("[memory]"), b.commit_args());
    b.allocation(name, NewAllocation { at: Ns(at), lane, args, ..NewAllocation::default() });
}

fn gpu(b: &mut TraceBuilder, lane: LaneId, at: i64, addr: i64, bytes: i64, total: i64) {
    let args = [
        ("Bytes", bytes),
        ("Addr", addr),
        ("Total Allocated", total),
        ("Total Reserved", 1 << 20),
        ("Device Id", 0),
        ("Device Type", 1),
    ];
    mark(b, lane, at, &args);
}

/// aten::linear [10, 50) holds aten::empty [20, 30); Python around both.
pub fn worked() -> Trace {
    let mut b = crate::data::builder();
    let t = thread(&mut b, 7);
    slice(&mut b, t, Kind::PythonFunction, "train.py(3): step", 0, 100);
    slice(&mut b, t, Kind::PythonFunction, "nn.Module: Linear_0", 5, 60);
    slice(&mut b, t, Kind::HostOp, "aten::linear", 10, 50);
    slice(&mut b, t, Kind::HostOp, "aten::empty", 20, 30);
    gpu(&mut b, t, 2, 99, -100, 900); // from before the recording: the level was 1000
    gpu(&mut b, t, 20, 1, 400, 1300); // at the start of aten::empty: inside
    gpu(&mut b, t, 30, 2, 50, 1350); // at its end: outside, so aten::linear
    gpu(&mut b, t, 40, 1, -400, 950);
    gpu(&mut b, t, 70, 3, 10, 960); // no operator
    gpu(&mut b, t, 80, 3, 20, 980); // the address again: its release was not seen
    b.finish()
}

pub fn only(report: &MemoryReport) -> &DeviceMemory {
    assert_eq!(report.devices.len(), 1);
    &report.devices[0]
}

/// The parts of a peak close to it, those of the operator table to the change of the level.
pub fn assert_closes(report: &MemoryReport) {
    for device in &report.devices {
        let by_operator: i64 = device.peak_by_operator.iter().map(|r| r.bytes).sum();
        let by_stack: i64 = device.peak_by_stack.iter().map(|r| r.bytes).sum();
        assert_eq!(by_operator, device.peak_allocated_bytes);
        assert_eq!(by_stack, device.peak_allocated_bytes);
        assert_eq!(device.peak_known_bytes + device.peak_unknown_bytes, device.peak_allocated_bytes);
        let change: i64 =
            report.operators.iter().filter(|r| r.device == device.device).map(|r| r.self_increase_bytes).sum();
        assert_eq!(change, device.allocated_bytes - device.freed_bytes);
        if device.level_gaps == 0 {
            assert_eq!(device.opening_allocated_bytes + change, device.closing_allocated_bytes);
        }
        assert!(
            device.curve.iter().any(|p| p.allocated_bytes == device.peak_allocated_bytes)
                || device.opening_allocated_bytes == device.peak_allocated_bytes
        );
        assert_eq!(device.curve.iter().filter_map(|p| p.reserved_bytes).max(), device.peak_reserved_bytes);
    }
}

#[test]
fn a_worked_example() {
    let report = memory::analyze(&worked(), &Options { events: true, ..Options::default() });
    assert_closes(&report);
    let device = only(&report);
    assert_eq!((device.device.as_str(), device.records), ("CUDA 0", 6));
    assert!(device.totals_from_file && device.lifetimes_from_file);
    assert_eq!((device.opening_allocated_bytes, device.closing_allocated_bytes), (1000, 980));
    assert_eq!((device.peak_allocated_bytes, device.peak_at_ns), (1350, 30));
    assert_eq!((device.unmatched_frees, device.unmatched_free_bytes), (1, 100));
    // Addresses 2 and 3 (the second time) stay; the first 3 was released unseen.
    assert_eq!((device.still_live, device.still_live_bytes, device.unseen_releases), (2, 70, 1));
    let live: Vec<_> =
        device.peak_by_operator.iter().map(|r| (r.operator.as_str(), r.bytes, r.count)).collect();
    assert_eq!(
        live,
        [("aten::empty", 400, Some(1)), ("aten::linear", 50, Some(1)), (UNKNOWN_ORIGIN, 900, None)]
    );
    assert_eq!(device.peak_by_stack[0].frames, ["nn.Module: Linear_0", "train.py(3): step"]);

    let rows: Vec<_> = report
        .operators
        .iter()
        .map(|r| {
            (
                r.name.as_str(),
                r.calls,
                r.allocation_count,
                r.allocated_bytes,
                r.freed_bytes,
                r.self_increase_bytes,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("aten::linear", 1, 2, 450, 400, -350),
            ("aten::empty", 1, 1, 400, 0, 400),
            (NO_OPERATOR, 0, 2, 30, 100, -70),
        ]
    );
    let events: Vec<_> = report
        .events
        .iter()
        .map(|e| (e.operator.as_deref(), e.bytes, e.allocated_at_ns, e.released_at_ns, e.duration_ns))
        .collect();
    assert_eq!(
        events,
        [
            (None, 100, None, Some(2), None),
            (Some("aten::empty"), 400, Some(20), Some(40), Some(20)),
            (Some("aten::linear"), 50, Some(30), None, None),
            (None, 10, Some(70), None, None),
            (None, 20, Some(80), None, None),
        ]
    );
}

#[test]
fn a_selection_narrows_the_marks_but_not_the_lifetimes() {
    let selection = Selection { ranges: Some(vec![(Ns(25), Ns(60))]), device: None };
    let report = memory::analyze(&worked(), &Options { selection, ..Options::default() });
    assert_closes(&report);
    let device = only(&report);
    assert_eq!((device.records, device.peak_allocated_bytes, device.peak_known_bytes), (2, 1350, 450));
    let wrong_device = Selection { ranges: None, device: Some(3) };
    let report = memory::analyze(&worked(), &Options { selection: wrong_device, ..Options::default() });
    assert!(report.devices.is_empty() && report.operators.is_empty());
}

#[test]
fn a_level_that_only_falls_peaked_before_the_recording() {
    let mut b = crate::data::builder();
    let t = thread(&mut b, 1);
    gpu(&mut b, t, 5, 1, -300, 700);
    gpu(&mut b, t, 6, 2, 100, 800);
    let report = memory::analyze(&b.finish(), &Options::default());
    let device = only(&report);
    assert_eq!((device.peak_allocated_bytes, device.peak_unknown_bytes, device.peak_at_ns), (1000, 1000, 0));
}

#[test]
fn marks_without_totals_or_addresses_give_running_sums() {
    let mut b = crate::data::builder();
    let t = thread(&mut b, 1);
    for (at, bytes) in [(1, 100), (2, 50), (3, -100)] {
        mark(&mut b, t, at, &[("Bytes", bytes), ("Device Id", -1), ("Device Type", 0)]);
    }
    mark(&mut b, t, 4, &[("Device Type", 0)]);
    let report = memory::analyze(&b.finish(), &Options::default());
    assert_closes(&report);
    assert_eq!((report.records, report.unreadable_records), (4, 1));
    let device = only(&report);
    assert!(!device.totals_from_file && !device.lifetimes_from_file);
    assert_eq!((device.peak_allocated_bytes, device.closing_allocated_bytes), (150, 50));
    assert_eq!((device.peak_unknown_bytes, device.still_live, device.unmatched_frees), (150, 0, 0));
}

#[test]
fn hostile_marks_do_no_harm() {
    let mut b = crate::data::builder();
    let t = thread(&mut b, 1);
    for i in 0..300 {
        let big = if i % 2 == 0 { i64::MAX } else { i64::MIN };
        let args =
            [("Bytes", big), ("Addr", i % 3), ("Total Allocated", big), ("Device Id", i), ("Device Type", i)];
        mark(&mut b, t, if i % 5 == 0 { i64::MAX } else { i64::MIN }, &args);
    }
    let report = memory::analyze(&b.finish(), &Options { curve_points: 3, events: true, ..Options::default() });
    assert_eq!(report.devices.len(), 65);
    assert_eq!(report.merged_device_records, 300 - 64);
    assert!(memory::analyze(&crate::data::builder().finish(), &Options::default()).devices.is_empty());
}

#[test]
fn a_small_curve_keeps_every_peak() {
    let trace = read(&fixture("conv_fast_loader/conv_fast_loader.pt.trace.json.gz"));
    for curve_points in [1, 3, 10, 100, 500] {
        let report = memory::analyze(&trace, &Options { curve_points, ..Options::default() });
        assert_closes(&report);
        for device in &report.devices {
            assert!(device.curve.len() <= curve_points.max(3) + 2);
            assert!(device.curve.is_sorted_by_key(|p| p.at_ns));
            assert_eq!(device.curve_sampled, device.curve.len() < device.records as usize);
        }
    }
}

#[test]
fn every_fixture_closes() {
    for path in fixtures() {
        let report = memory::analyze(&read(&path), &Options { events: true, ..Options::default() });
        assert_closes(&report);
        for device in &report.devices {
            assert_eq!(device.level_gaps, 0, "{}", path.display());
            assert_eq!(device.unseen_releases, 0, "{}", path.display());
        }
    }
}

/// The numbers of a throw-away Python script that read the JSON with exact decimals and looked for the
/// operators around each mark by brute force.
#[test]
fn gpt_stack_matches_a_recomputation() {
    let trace = read(&fixture("gpt_stack/gpt_stack.pt.trace.json.gz"));
    let report = memory::analyze(&trace, &Options::default());
    let at = |since: i64| trace.origin().0 + since;
    assert_eq!(report.records, 874);
    let [cpu, cuda] = &report.devices[..] else { panic!("two devices") };
    assert_eq!((cpu.device.as_str(), cpu.records, cpu.peak_allocated_bytes), ("CPU", 10, 262_144));
    assert_eq!((at(cpu.peak_at_ns), cpu.peak_unknown_bytes), (3_845_615_892_595_165, 131_072));
    assert_eq!((cuda.device.as_str(), cuda.records), ("CUDA 0", 864));
    assert_eq!((cuda.opening_allocated_bytes, cuda.closing_allocated_bytes), (1_354_121_728, 1_354_121_728));
    assert_eq!((cuda.peak_allocated_bytes, at(cuda.peak_at_ns)), (2_732_293_632, 3_845_615_884_058_450));
    assert_eq!(cuda.peak_reserved_bytes, Some(3_294_625_792));
    assert_eq!((cuda.allocation_count, cuda.allocated_bytes), (432, 8_028_904_448));
    assert_eq!((cuda.free_count, cuda.freed_bytes), (432, 8_028_904_448));
    assert_eq!((cuda.unmatched_frees, cuda.unmatched_free_bytes), (33, 519_328_256));
    assert_eq!((cuda.still_live, cuda.still_live_bytes), (33, 519_328_256));
    assert_eq!((cuda.peak_known_bytes, cuda.peak_unknown_bytes), (1_897_500_160, 834_793_472));
    let live: Vec<_> =
        cuda.peak_by_operator.iter().map(|r| (r.operator.as_str(), r.bytes, r.count)).take(6).collect();
    assert_eq!(
        live,
        [
            ("aten::empty_strided", 647_037_440, Some(20)),
            ("aten::nll_loss_backward", 524_288_000, Some(1)),
            ("aten::_log_softmax", 262_144_000, Some(1)),
            ("aten::mm", 262_144_000, Some(1)),
            ("aten::addmm", 88_080_384, Some(4)),
            ("aten::add", 62_914_560, Some(5)),
        ]
    );
    // The forward's allocations carry the line that asked for them.
    let softmax = cuda.peak_by_stack.iter().find(|r| r.operator == "aten::_log_softmax").unwrap();
    assert!(softmax.frames.iter().any(|f| f.contains("cross_entropy")), "{softmax:?}");
}

/// Six numbers of a row in the order of torch-tb-profiler's table.
type Row = (&'static str, &'static str, [i64; 7]);

fn assert_operators(report: &MemoryReport, expected: &[Row]) {
    for &(device, name, figures) in expected {
        let row = report.operators.iter().find(|r| r.device == device && r.name == name);
        let row = row.unwrap_or_else(|| panic!("{name} on {device}"));
        let ours = [
            row.self_increase_bytes,
            row.self_allocated_bytes,
            row.self_allocation_count as i64,
            row.increase_bytes,
            row.allocated_bytes,
            row.allocation_count as i64,
            row.calls as i64,
        ];
        assert_eq!(ours, figures, "{name} on {device}");
    }
}

/// What torch-tb-profiler 0.4.3 prints for this file. It has no row for marks outside of operators, which we
/// show as `(no operator)`, and counts the rows of each device: 4 and 65.
#[test]
fn gpt_stack_operators_match_the_tensorboard_plugin() {
    let report = memory::analyze(&read(&fixture("gpt_stack/gpt_stack.pt.trace.json.gz")), &Options::default());
    assert_operators(
        &report,
        &[
            ("CPU", "aten::empty", [65_544, 65_544, 4, 65_544, 65_544, 4, 104]),
            ("CPU", "aten::randint", [0, 0, 0, 65_536, 65_536, 2, 2]),
            ("CPU", "aten::cat", [65_536, 65_536, 2, 65_536, 65_536, 2, 6]),
            (
                "CUDA 0",
                "aten::empty_strided",
                [2_894_277_632, 2_894_277_632, 180, 2_894_277_632, 2_894_277_632, 180, 180],
            ),
            ("CUDA 0", "aten::to", [0, 0, 0, 2_283_833_344, 2_283_833_344, 104, 108]),
            ("CUDA 0", "aten::linear", [0, 0, 0, 1_721_817_088, 1_721_817_088, 80, 36]),
            (
                "CUDA 0",
                "autograd::engine::evaluate_function: AddmmBackward0",
                [-436_469_760, 0, 0, -202_057_728, 1_140_389_888, 80, 16],
            ),
            (
                "CUDA 0",
                "autograd::engine::evaluate_function: NllLossBackward0",
                [-1_048_577_024, 0, 0, -1_024, 1_048_576_000, 2, 2],
            ),
        ],
    );
    let rows =
        |device: &str| report.operators.iter().filter(|r| r.device == device && r.name != NO_OPERATOR).count();
    assert_eq!((rows("CPU"), rows("CUDA 0")), (4, 65));
}

/// torch's `export_memory_timeline` follows tensors, not the allocator, and misses workspaces: its level is
/// lower by the same 70,123,520 bytes at the start, at the peak and at the end. The peak falls on the same
/// allocation.
#[test]
fn gpt_stack_peaks_where_torchs_memory_timeline_does() {
    let trace = read(&fixture("gpt_stack/gpt_stack.pt.trace.json.gz"));
    let report = memory::analyze(&trace, &Options::default());
    let cuda = &report.devices[1];
    let (timeline_open, timeline_peak, timeline_close) = (1_283_998_208, 2_662_170_112, 1_283_998_208);
    let timeline_peak_us = 1_794_702_641_884_058;
    assert_eq!(cuda.opening_allocated_bytes - timeline_open, 70_123_520);
    assert_eq!(cuda.peak_allocated_bytes - timeline_peak, 70_123_520);
    assert_eq!(cuda.closing_allocated_bytes - timeline_close, 70_123_520);
    assert_eq!((trace.meta().base_ns.unwrap() + trace.origin().0 + cuda.peak_at_ns) / 1_000, timeline_peak_us);
}

#[test]
fn qwen_matches_the_tensorboard_plugin() {
    let Some(path) = peer("tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz") else { return };
    let trace = read(&path);
    let report = memory::analyze(&trace, &Options::default());
    assert_closes(&report);
    let [cpu, cuda] = &report.devices[..] else { panic!("two devices") };
    assert_eq!((cpu.peak_allocated_bytes, cuda.peak_allocated_bytes), (16, 2_088_508_416));
    assert_eq!(
        (trace.origin().0 + cuda.peak_at_ns, cuda.peak_unknown_bytes),
        (1_428_625_778_044_036, 984_742_400)
    );
    assert_operators(
        &report,
        &[
            ("CUDA 0", "aten::linear", [0, 0, 0, 4_615_962_624, 4_691_460_096, 240, 168]),
            ("CUDA 0", "aten::matmul", [0, 0, 0, 3_297_187_840, 3_297_187_840, 97, 97]),
            ("CUDA 0", "aten::pow", [1_795_096_576, 1_795_096_576, 49, 1_795_096_576, 1_795_096_576, 49, 49]),
            ("CPU", "aten::scaled_dot_product_attention", [-384, 0, 0, 0, 384, 48, 24]),
        ],
    );
}

/// A file of 2021: no addresses, no totals, whole microseconds. The plugin counts 198 calls of `aten::div`, as it
/// passes over operators whose parent has no memory mark; the file holds 204.
#[test]
fn resnet50_of_2021_matches_the_tensorboard_plugin() {
    let Some(path) = peer("tb_plugin/resnet50_num_workers_0.pt.trace.json.gz") else { return };
    let report = memory::analyze(&read(&path), &Options::default());
    assert_closes(&report);
    assert_eq!(report.records, 12_838);
    let [cpu, cuda] = &report.devices[..] else { panic!("two devices") };
    assert!(!cuda.totals_from_file && !cuda.lifetimes_from_file && cuda.peak_reserved_bytes.is_none());
    assert_eq!((cpu.peak_allocated_bytes, cuda.peak_allocated_bytes), (57_803_264, 2_791_636_480));
    assert_operators(
        &report,
        &[
            ("CPU", "aten::div", [115_604_736, 115_605_552, 198, 115_605_504, 115_606_320, 390, 204]),
            (
                "CUDA 0",
                "aten::empty",
                [34_000_779_264, 34_000_779_264, 2694, 34_000_779_264, 34_000_779_264, 2694, 4404],
            ),
            ("CUDA 0", "aten::conv2d", [0, 0, 0, 8_563_458_048, 12_165_765_120, 468, 318]),
            (
                "CUDA 0",
                "aten::cudnn_convolution",
                [4_961_150_976, 8_563_458_048, 318, 8_563_458_048, 12_165_765_120, 468, 318],
            ),
        ],
    );
}

#[test]
fn mi300_is_a_hip_device() {
    let Some(path) = peer("tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz") else { return };
    let report = memory::analyze(&read(&path), &Options::default());
    assert_closes(&report);
    let names: Vec<_> = report.devices.iter().map(|d| d.device.as_str()).collect();
    assert_eq!(names, ["CPU", "HIP 0"]);
}
