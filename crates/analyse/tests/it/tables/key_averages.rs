//! The operator table against PyTorch 2.11's own `key_averages()`, saved while the traces were recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stepscope_analyse::tables::ops::{Attribution, OpGroup, OpRow, OpsQuery, OpsReport, StrayCalls, ops};
use stepscope_model::Trace;

use crate::{csv, data};

/// Name, shapes, "CPU" or "CUDA", whether it is an annotation: what makes a row of PyTorch's.
type Key = (String, String, String, bool);

/// Calls; host total and self, device total and self; host memory total and self, device memory total and self;
/// FLOPs.
#[derive(Clone, Debug, Default)]
struct Figures {
    calls: i64,
    times: [f64; 4],
    memory: [i64; 4],
    flops: i64,
}

/// Rows whose device time PyTorch counts twice. It ties device work to operators by id, but a pause of the
/// profiler or a call without operator has an id of another count there; where the two meet, the pause gets the
/// operator's kernels a second time, and so do all operators around it. Ours stay what the kernels took.
const NONE: &[&str] = &[];
const MULTI_STREAM: &[&str] = &[
    "compute",
    "aten::matmul",
    "aten::mm",
    "Activity Buffer Request",
    "cudaFuncGetAttributes",
    "Lazy Function Loading",
    "aten::div",
    "cudaLaunchKernel",
];
const LARGE: &[&str] = &[
    "ProfilerStep*",
    "cudaStreamIsCapturing",
    "forward",
    "aten::scaled_dot_product_attention",
    "aten::_scaled_dot_product_cudnn_attention",
    "aten::_cudnn_attention_forward",
    "optimizer",
    "Optimizer.step#AdamW.step",
    "Activity Buffer Request",
    "Buffer Flush",
];

/// In these short runs nearly every kernel is used for the first time, so that the profiler pauses everywhere.
const EVERYWHERE: &[&str] = &["*"];

fn fixture(name: &str) -> PathBuf {
    in_folder("2.11-h200", name)
}

fn feature(name: &str) -> PathBuf {
    in_folder("2.11-h200-features", name)
}

fn in_folder(folder: &str, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch").join(folder);
    root.join(name).join(format!("{name}.pt.trace.json.gz"))
}

fn answer(trace: &Trace, by: OpGroup, stray_calls: StrayCalls) -> OpsReport {
    let report = ops(trace, &OpsQuery { by, stray_calls, ..OpsQuery::default() });
    let parts = report.device_time_in_ops_ns
        + report.device_time_in_annotations_ns
        + report.device_time_unlinked_ns
        + report.device_time_elsewhere_ns;
    assert_eq!(parts, report.total_device_self_ns);
    assert_eq!(report.device_time_elsewhere_ns, 0);
    let device: i64 = report.device.iter().map(|r| r.device_self_ns).sum();
    assert_eq!(device, report.total_device_self_ns);
    report
}

/// Our rows under PyTorch's keys; it keeps calls of different kinds in one row.
fn ours(report: &OpsReport) -> BTreeMap<Key, Figures> {
    ours_by(report, |row| row.input_shapes.clone())
}

fn ours_by(report: &OpsReport, group: impl Fn(&OpRow) -> Option<String>) -> BTreeMap<Key, Figures> {
    let mut all = BTreeMap::new();
    let mut put = |row: &OpRow, device: &str, annotation: bool| {
        let shapes = group(row).unwrap_or("[]".to_owned());
        let sum: &mut Figures =
            all.entry((row.name.clone(), shapes, device.to_owned(), annotation)).or_default();
        sum.calls += row.calls as i64;
        let times = [row.host_total_ns, row.host_self_ns, row.device_total_ns, row.device_self_ns];
        let memory = [
            row.host_memory_bytes,
            row.host_self_memory_bytes,
            row.device_memory_bytes,
            row.device_self_memory_bytes,
        ];
        for i in 0..4 {
            sum.times[i] += times[i] as f64;
            sum.memory[i] += memory[i];
        }
        sum.flops += row.flops as i64;
    };
    for row in report.ops.iter().chain(&report.calls).chain(&report.memory_outside) {
        put(row, "CPU", false);
    }
    report.annotations.iter().for_each(|row| put(row, "CPU", true));
    report.device.iter().for_each(|row| put(row, "CUDA", false));
    all
}

fn theirs(path: &Path) -> BTreeMap<Key, Figures> {
    theirs_by(path, "input_shapes")
}

fn theirs_by(path: &Path, column: &str) -> BTreeMap<Key, Figures> {
    let table = csv::read(path);
    let mut all = BTreeMap::new();
    for row in table.rows() {
        let int = |column: &str| row.get(column).parse::<i64>().unwrap();
        // Times are microseconds written as floats.
        let ns = |column: &str| row.get(column).parse::<f64>().unwrap() * 1000.0;
        let shapes = if row.get(column).is_empty() { "[]" } else { row.get(column) };
        let device = row.get("device_type").strip_prefix("DeviceType.").unwrap();
        let annotation = row.get("is_user_annotation") == "True";
        let key = (row.get("key").to_owned(), shapes.to_owned(), device.to_owned(), annotation);
        let figures = Figures {
            calls: int("count"),
            times: [
                ns("cpu_time_total"),
                ns("self_cpu_time_total"),
                ns("device_time_total"),
                ns("self_device_time_total"),
            ],
            memory: [
                int("cpu_memory_usage"),
                int("self_cpu_memory_usage"),
                int("device_memory_usage"),
                int("self_device_memory_usage"),
            ],
            flops: int("flops"),
        };
        // The shadows of named ranges on the device: PyTorch lists them as if they were work.
        if !(device == "CUDA" && annotation) {
            assert!(all.insert(key, figures).is_none());
        }
    }
    all
}

fn compare(what: &str, ours: &BTreeMap<Key, Figures>, theirs: &BTreeMap<Key, Figures>, twice: &[&str]) {
    let mut wrong: Vec<String> = Vec::new();
    let mut doubled = 0;
    for key in ours.keys().filter(|key| !theirs.contains_key(*key)) {
        wrong.push(format!("not in PyTorch's: {key:?}"));
    }
    for (key, want) in theirs {
        let Some(have) = ours.get(key) else {
            wrong.push(format!("not in ours: {key:?}"));
            continue;
        };
        // To the nanosecond; theirs are sums of floats.
        let near = |i: usize| (have.times[i] - want.times[i]).abs() < 0.5;
        let mut right = have.calls == want.calls && have.memory == want.memory && have.flops == want.flops;
        right &= near(0) && near(1);
        if !(near(2) && near(3)) {
            doubled += 1;
            right &= twice == EVERYWHERE || twice.contains(&key.0.as_str());
            right &= (2..4).all(|i| near(i) || have.times[i] < want.times[i]);
        }
        if !right {
            wrong.push(format!("{key:?}\n  ours   {have:?}\n  theirs {want:?}"));
        }
    }
    println!(
        "{what}: {} rows compared, {} wrong, {doubled} whose device time PyTorch counts twice",
        theirs.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{what}\n{}", wrong.join("\n"));
}

/// Files in which every call names its operator, or runs on the main thread: PyTorch's answer without its rule.
fn check_both(path: &Path, twice: &[&str]) {
    check(path, twice);
    let report = answer(&data::read(path), OpGroup::Name, StrayCalls::OwnThread);
    compare("the same by own thread", &ours(&report), &theirs(&path.with_file_name("key_averages.csv")), twice);
}

fn check(path: &Path, twice: &[&str]) {
    let what = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let trace = data::read(path);
    let report = answer(&trace, OpGroup::Name, StrayCalls::default());
    compare(&what, &ours(&report), &theirs(&path.with_file_name("key_averages.csv")), twice);
    let by_shape = path.with_file_name("key_averages_by_shape.csv");
    if by_shape.exists() {
        let report = answer(&trace, OpGroup::Shapes, StrayCalls::default());
        compare(&format!("{what} by shape"), &ours(&report), &theirs(&by_shape), twice);
    }
}

#[test]
fn gpt_bf16() {
    check_both(&fixture("gpt_bf16"), NONE);
}

#[test]
fn conv_slow_loader() {
    check_both(&fixture("conv_slow_loader"), NONE);
}

#[test]
fn infer_eager_small() {
    check_both(&fixture("infer_eager_small"), NONE);
}

#[test]
fn multi_stream() {
    check_both(&fixture("multi_stream"), MULTI_STREAM);
    // The first product's kernel took 2,684,441 ns; PyTorch adds it to two pauses and a call as well.
    let report = answer(&data::read(&fixture("multi_stream")), OpGroup::Name, StrayCalls::OwnThread);
    let mm = report.ops.iter().find(|r| r.name == "aten::mm").unwrap();
    assert_eq!((mm.device_self_ns, mm.device_total_ns), (53_539_073, 53_539_073));
    assert!(report.calls.iter().all(|r| r.device_total_ns == 0));
    assert!(report.device_time_overlap_ns > 0);
}

#[test]
fn conv_fast_loader() {
    let path = fixture("conv_fast_loader");
    check(&path, NONE);
    // PyTorch puts the calls of the thread that pins memory on the main thread: its table has an optimizer step
    // that took less than no time.
    let theirs = theirs(&path.with_file_name("key_averages.csv"));
    let key = ("Optimizer.step#AdamW.step".to_owned(), "[]".to_owned(), "CPU".to_owned(), true);
    assert!(theirs[&key].times[1] < -68_000_000.0);
    let report = answer(&data::read(&path), OpGroup::Name, StrayCalls::OwnThread);
    let step = report.annotations.iter().find(|r| r.name == "Optimizer.step#AdamW.step").unwrap();
    assert_eq!(step.host_self_ns, 13_544_840);
    for row in report.ops.iter().chain(&report.annotations).chain(&report.calls) {
        assert!(row.host_self_ns >= 0, "{row:?}");
    }
}

#[test]
fn gpt_stack() {
    let path = fixture("gpt_stack");
    check_both(&path, NONE);
    // PyTorch 2.11 recorded the Python calls, yet its table by stack has no stacks: it is the table by name.
    let csv_path = path.with_file_name("key_averages_by_stack5.csv");
    assert!(csv::read(&csv_path).rows().all(|row| row.get("stack").is_empty()));
    let report = answer(&data::read(&path), OpGroup::Stack(5), StrayCalls::default());
    compare("gpt_stack by stack", &ours(&report), &theirs(&csv_path), NONE);
    let layer_norms: Vec<&OpRow> = report.ops.iter().filter(|r| r.name == "aten::layer_norm").collect();
    assert!(layer_norms.len() > 1);
    for row in layer_norms {
        let stack = row.stack.as_ref().unwrap();
        assert_eq!(stack.len(), 5);
        assert!(stack.iter().any(|frame| frame.contains("LayerNorm")), "{stack:?}");
    }
    // Backward operators run where no Python does; they have the frames of their forward operators.
    let backward = report.ops.iter().find(|r| r.name == "aten::native_layer_norm_backward").unwrap();
    assert!(!backward.stack.as_ref().unwrap().is_empty());
}

#[test]
fn flops_of_every_counted_operator() {
    check_both(&feature("flops_cpu"), NONE);
}

#[test]
fn compiled_code() {
    check_both(&feature("compiled"), NONE);
}

#[test]
fn cuda_graphs() {
    let path = feature("cuda_graph");
    check_both(&path, NONE);
    // PyTorch gives the kernels of a replayed graph to no one; the call that launched the graph tells more.
    let trace = data::read(&path);
    let report = answer(&trace, OpGroup::Name, StrayCalls::default());
    let replay = report.annotations.iter().find(|r| r.name == "replay").unwrap();
    assert_eq!((replay.calls, replay.device_total_ns), (4, 0));
    assert!(report.device_time_unlinked_ns > 0);
    let query = OpsQuery { attribution: Attribution::Launch, ..OpsQuery::default() };
    let by_launch = ops(&trace, &query);
    let replay = by_launch.annotations.iter().find(|r| r.name == "replay").unwrap();
    assert_eq!(replay.device_total_ns, report.device_time_unlinked_ns);
    assert_eq!(by_launch.device_time_unlinked_ns, 0);
}

/// Compares a run that did not ask PyTorch for FLOPs; the shapes are in the file, so we count them all the same.
fn check_without_flops(path: &Path, twice: &[&str]) -> OpsReport {
    let report = answer(&data::read(path), OpGroup::Name, StrayCalls::default());
    let ours = ours(&report);
    let mut theirs = theirs(&path.with_file_name("key_averages.csv"));
    for (key, figures) in &mut theirs {
        assert_eq!(figures.flops, 0);
        figures.flops = ours.get(key).map_or(0, |f| f.flops);
    }
    compare(&path.file_name().unwrap().to_string_lossy(), &ours, &theirs, twice);
    report
}

#[test]
fn many_threads_at_once() {
    check_without_flops(&feature("threads"), EVERYWHERE);
}

#[test]
fn collectives_end_on_another_thread() {
    let report = check_without_flops(&feature("nccl"), NONE);
    let all_reduce = report.annotations.iter().find(|r| r.name == "nccl:all_reduce").unwrap();
    assert_eq!((all_reduce.calls, all_reduce.host_self_ns), (6, 0));
}

#[test]
fn overloads_and_stacks_in_the_arguments() {
    let path = feature("overloads");
    check(&path, EVERYWHERE);
    let trace = data::read(&path);
    let report = answer(&trace, OpGroup::Overload, StrayCalls::default());
    let theirs = theirs_by(&path.with_file_name("key_averages_by_overload.csv"), "overload_name");
    compare("overloads by overload", &ours_by(&report, |row| row.overload.clone()), &theirs, EVERYWHERE);
    let add = report.ops.iter().find(|r| r.name == "aten::add_").unwrap();
    assert_eq!((add.overload.as_deref(), add.calls), (Some("Tensor"), 18));
    // Frames are those of the call stacks in the arguments, and of the forward operator for a backward one.
    let report = answer(&trace, OpGroup::Stack(5), StrayCalls::default());
    let calls = |name: &str, frame: &str| {
        let here = |row: &&OpRow| row.name == name && row.stack.iter().flatten().any(|f| f == frame);
        report.ops.iter().filter(here).map(|row| row.calls).collect::<Vec<_>>()
    };
    assert_eq!(calls("aten::add_", "nn.Module: Conv2d_0"), [3]);
    assert_eq!(calls("aten::add_", "nn.Module: BatchNorm2d_0"), [3]);
    assert_eq!(calls("ReluBackward0", "nn.Module: ReLU_0"), [3]);
    assert_eq!(calls("aten::threshold_backward", "nn.Module: ReLU_0"), [3]);
}

#[test]
fn every_recorded_trace_closes() {
    for path in data::fixtures() {
        let trace = data::read(&path);
        for by in
            [OpGroup::Name, OpGroup::Shapes, OpGroup::ShapesWithLists, OpGroup::Stack(3), OpGroup::Overload]
        {
            let report = answer(&trace, by, StrayCalls::OwnThread);
            assert!(!report.ops.is_empty(), "{}", path.display());
        }
    }
}

#[test]
fn large() {
    match std::env::var_os("STEPSCOPE_LARGE_TRACE") {
        Some(path) => check(Path::new(&path), LARGE),
        None => println!("skipped: STEPSCOPE_LARGE_TRACE is not set"),
    }
}
