//! Folded stacks: worked examples, closing sums, and torch's own self times.

use std::collections::BTreeMap;

use stepscope_analyse::tables::stacks::{self, Frame, Options, Stacks, StacksReport, Weight};
use stepscope_model::{Domain, Kind, LaneKey, NewSlice, Ns, Tag, Trace, TraceBuilder};

use crate::data::{fixtures, read};
use crate::memory::curves::fixture;

fn slice(b: &mut TraceBuilder, thread: i64, kind: Kind, name: &str, at: (i64, i64), join: Option<i64>) {
    let domain = if kind.is_device() { Domain::Device } else { Domain::Host };
    let lane = b.lane(LaneKey { domain, process: Tag::Int(0), thread: Tag::Int(thread) });
    let name = b.intern(name);
    b.slice(NewSlice {
        start: Ns(at.0),
        dur: Ns(at.1 - at.0),
        name,
        kind,
        lane,
        correlation: join,
        ..NewSlice::default()
    });
}

fn worked() -> Trace {
    let mut b = TraceBuilder::new();
    slice(&mut b, 1, Kind::PythonFunction, "a.py(1): main", (0, 100), None);
    slice(&mut b, 1, Kind::HostAnnotation, "forward", (10, 60), None);
    slice(&mut b, 1, Kind::HostOp, "aten::mm", (20, 40), None);
    slice(&mut b, 1, Kind::Runtime, "cudaLaunchKernel", (25, 30), Some(1));
    slice(&mut b, 1, Kind::HostOp, "aten::mm", (45, 50), None);
    slice(&mut b, 2, Kind::HostOp, "MmBackward0", (70, 90), None);
    slice(&mut b, 7, Kind::Kernel, "gemm; odd", (200, 230), Some(1));
    slice(&mut b, 7, Kind::Kernel, "lost", (300, 304), None);
    b.finish()
}

fn rows(report: &StacksReport) -> Vec<(&str, i64, u64)> {
    let sum: i64 = report.rows.iter().map(|r| r.value_ns).sum();
    assert_eq!(sum, report.total_ns);
    assert!(report.rows.is_sorted_by(|a, b| a.stack < b.stack));
    report.rows.iter().map(|r| (r.stack.as_str(), r.value_ns, r.count)).collect()
}

#[test]
fn host_time_goes_to_the_innermost_slice() {
    let report = stacks::analyze(&worked(), &Options::default());
    assert_eq!(
        rows(&report),
        [
            ("thread 1;a.py(1): main", 50, 1),
            ("thread 1;a.py(1): main;forward", 25, 1),
            ("thread 1;a.py(1): main;forward;aten::mm", 20, 2),
            ("thread 1;a.py(1): main;forward;aten::mm;cudaLaunchKernel", 5, 1),
            ("thread 2;MmBackward0", 20, 1),
        ]
    );
    let bare =
        Options { python: false, annotations: false, runtime: false, threads: false, ..Options::default() };
    let report = stacks::analyze(&worked(), &bare);
    assert_eq!(rows(&report), [("MmBackward0", 20, 1), ("aten::mm", 25, 2)]);
}

#[test]
fn device_time_hangs_under_its_launch() {
    let device = Options { weight: Weight::DeviceSelf, ..Options::default() };
    let report = stacks::analyze(&worked(), &device);
    assert_eq!(
        rows(&report),
        [
            ("(no launch in this file);lost", 4, 1),
            ("thread 1;a.py(1): main;forward;aten::mm;cudaLaunchKernel;gemm_ odd", 30, 1),
        ]
    );
    assert_eq!(report.unlinked_ns, 4);
    // Hiding the launch moves the kernel under its operator.
    let report = stacks::analyze(&worked(), &Options { runtime: false, python: false, ..device });
    assert_eq!(rows(&report)[1].0, "thread 1;forward;aten::mm;gemm_ odd");
}

#[test]
fn slices_that_overlap_without_nesting_are_not_counted_twice() {
    let mut b = TraceBuilder::new();
    slice(&mut b, 1, Kind::HostOp, "p", (0, 20), None);
    slice(&mut b, 1, Kind::HostOp, "a", (0, 10), None);
    slice(&mut b, 1, Kind::HostOp, "b", (5, 15), None);
    slice(&mut b, 1, Kind::HostOp, "c", (18, 30), None);
    let report = stacks::analyze(&b.finish(), &Options { threads: false, ..Options::default() });
    assert_eq!(rows(&report), [("c", 12, 1), ("p", 3, 1), ("p;a", 5, 1), ("p;b", 10, 1)]);
}

#[test]
fn nesting_without_end_is_cut() {
    let mut b = TraceBuilder::new();
    for i in 0..3_000 {
        slice(&mut b, 1, Kind::PythonFunction, "f", (i, 10_000 - i), None);
    }
    let report = stacks::analyze(&b.finish(), &Options { max_depth: 50, ..Options::default() });
    assert_eq!((report.rows.len(), report.total_ns), (49, 10_000));
    rows(&report);
}

#[test]
fn every_fixture_closes() {
    for path in fixtures() {
        let trace = read(&path);
        let slices = trace.slices();
        let device: i64 =
            slices.ids().filter(|&id| slices.kind(id).is_device_work()).map(|id| slices.dur(id).0).sum();
        let report = stacks::analyze(&trace, &Options { weight: Weight::DeviceSelf, ..Options::default() });
        rows(&report);
        assert_eq!(report.total_ns, device, "{}", path.display());
        // Time covered by at least one slice, thread by thread.
        let mut covered = 0;
        for (lane, info) in trace.lanes().iter() {
            let mut until = Ns::MIN;
            if info.key.domain == Domain::Device {
                continue;
            }
            for id in slices.of_lane(lane) {
                let kind = slices.kind(id);
                if kind.is_host() && kind != Kind::Overhead && slices.end(id) > until {
                    covered += (slices.end(id) - slices.start(id).max(until)).0;
                    until = slices.end(id);
                }
            }
        }
        let report = stacks::analyze(&trace, &Options::default());
        rows(&report);
        assert_eq!(report.total_ns, covered, "{}", path.display());
    }
}

#[test]
fn stacks_come_as_frames_for_other_formats() {
    let trace = worked();
    let stacks = Stacks::build(&trace, &Options::default());
    let all: Vec<(Vec<Frame>, Ns)> = stacks.iter().collect();
    assert_eq!(all.iter().map(|s| s.1).sum::<Ns>(), stacks.total());
    let texts: Vec<_> = all[0].0.iter().map(|f| f.text(&trace)).collect();
    assert_eq!(texts, ["thread 1", "a.py(1): main"]);
}

/// Sums by leaf equal torch's `self_cpu_time_total` by name, for every name in the tables of these files.
///
/// Two files are left out. In conv_fast_loader torch counts the runtime calls of the pin-memory thread, which
/// the file shows on a thread of its own, inside the main thread's operators (its self time of
/// `Optimizer.step#AdamW.step` is −69 ms). In multi_stream it takes an `Activity Buffer Request` out of the
/// operator it interrupted, which the file shows in a process of its own.
#[test]
fn self_times_match_key_averages() {
    let mut compared = 0;
    for case in ["gpt_stack", "gpt_bf16", "conv_slow_loader", "infer_eager_small"] {
        let trace = read(&fixture(&format!("{case}/{case}.pt.trace.json.gz")));
        let report = stacks::analyze(&trace, &Options { python: false, ..Options::default() });
        let mut ours: BTreeMap<String, i64> = BTreeMap::new();
        for row in &report.rows {
            let leaf = row.stack.rsplit(';').next().unwrap();
            let leaf = if leaf.starts_with("ProfilerStep#") { "ProfilerStep*" } else { leaf };
            *ours.entry(leaf.to_owned()).or_default() += row.value_ns;
        }
        let table = std::fs::read_to_string(fixture(&format!("{case}/key_averages.csv"))).unwrap();
        for line in table.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            // Names with commas would shift the cells; they are device rows, without host time.
            let Ok(theirs) = cells[3].parse::<f64>() else { continue };
            if theirs == 0.0 || line.starts_with('"') {
                continue;
            }
            let Some(&ns) = ours.get(cells[0]) else { panic!("{case}: {} is missing", cells[0]) };
            let theirs = (theirs * 1000.0).round() as i64;
            assert!((ns - theirs).abs() <= 20, "{case} {}: {ns} ns, torch {theirs} ns", cells[0]);
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared}");
}
