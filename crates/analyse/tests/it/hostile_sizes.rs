//! Files made to be slow: nested without end, with a stream for each kernel, with nothing but waits. Every analysis
//! takes time in proportion to the file.

use std::time::{Duration, Instant};

use stepscope_analyse::causes::account::account;
use stepscope_analyse::causes::data_loading::data_loading;
use stepscope_analyse::causes::gaps::gaps;
use stepscope_analyse::causes::launches::launches;
use stepscope_analyse::causes::transfers::transfers;
use stepscope_analyse::causes::waits;
use stepscope_analyse::findings::{Context, RULES, Thresholds};
use stepscope_analyse::peers::hta::call_depth::call_depths;
use stepscope_analyse::peers::hta::critical_path as hta_path;
use stepscope_analyse::peers::hta::idle::{IdleOptions, idle_breakdown};
use stepscope_analyse::peers::hta::launches::{LaunchOptions, launch_stats};
use stepscope_analyse::peers::hta::loading::Loading;
use stepscope_analyse::peers::hta::queue::{QueueOptions, queue_length};
use stepscope_analyse::replay::Replay;
use stepscope_analyse::replay::critical_path::critical_path;
use stepscope_analyse::replay::what_if::{Change, what_if};
use stepscope_analyse::roofline::{RooflineQuery, roofline};
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::steps::Steps;
use stepscope_analyse::views::flame::{FlameQuery, Weight, flame};
use stepscope_model::{ArgValue, Domain, Kind, LaneKey, NewSlice, Ns, Tag, Trace, TraceBuilder};

/// Far more than any takes in a build for tests, far less than what is quadratic takes.
const LIMIT: Duration = Duration::from_secs(4);

struct Make(TraceBuilder);

impl Default for Make {
    fn default() -> Make {
        Make(crate::data::builder())
    }
}

impl Make {
    /// A slice on a thread of a process or a stream of a device, with the id that ties work to its call.
    fn add(&mut self, kind: Kind, name: &str, (process, thread): (i64, i64), times: (i64, i64), id: i64) {
        let domain = if kind.is_device() { Domain::Device } else { Domain::Host };
        let lane = self.0.lane(LaneKey { domain, process: Tag::Int(process), thread: Tag::Int(thread) });
        for (key, value) in [("bytes", 1 << 20), ("stream", thread)] {
            let key = self.0.intern(key);
            self.0.push_arg(key, ArgValue::Int(value));
        }
        let (key, value) = (self.0.intern("Input Dims"), self.0.intern("[[512, 512], [512, 512]]"));
        self.0.push_arg(key, ArgValue::Str(value));
        let (name, args) = (self.0.intern(name), self.0.commit_args());
        let (start, dur, correlation) = (Ns(times.0), Ns(times.1 - times.0), (id > 0).then_some(id));
        self.0.slice(NewSlice { start, dur, name, kind, lane, args, correlation, ..NewSlice::default() });
    }
}

/// Runs one analysis within the limit.
fn timed<T>(what: &str, analysis: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let answer = analysis();
    let took = begun.elapsed();
    if took > Duration::from_millis(500) {
        println!("{what}: {took:?}");
    }
    assert!(took < LIMIT, "{what} took {took:?}");
    answer
}

fn ask_all(make: Make) {
    let trace = ask_without_replay(make);
    let steps = Steps::find(&trace);
    let replay = timed("replay", || Replay::new(&trace, &steps));
    let path = timed("critical path", || critical_path(&trace, &steps, &replay));
    timed("pieces of the path", || path.rows(&trace));
    let change = Change::Operator { name: "aten::mul".into(), speedup: 2.0 };
    let _ = timed("what if", || what_if(&trace, &replay, &[change]));
    let limits = eager();
    let context = timed("context", || Context::new(&trace, &steps, &limits));
    for rule in RULES {
        timed(rule.name, || (rule.check)(&context));
    }
}

/// Limits under which the rules go on to the end.
fn eager() -> Thresholds {
    let mut limits = Thresholds::default();
    for threshold in RULES.iter().flat_map(|rule| rule.thresholds) {
        if ["min_", "share", "per_step"].iter().any(|word| threshold.name.contains(word)) {
            limits.set(threshold.name, 0.0).unwrap();
        }
    }
    limits.set("severity.low", 0.0).unwrap();
    limits
}

/// The replay and the rules that ask it look at all streams, and at all threads of the backward pass, again and again:
/// files that have tens of thousands of them are asked the rest.
fn ask_without_replay(make: Make) -> Trace {
    let trace: Trace = timed("linking", || make.0.finish());
    let steps = timed("steps", || Steps::find(&trace));
    timed("account", || account(&trace, &steps));
    timed("gaps", || gaps(&trace, &steps, None, 5));
    timed("launches", || launches(&trace, &steps));
    let found = timed("waits", || waits::waits(&trace));
    timed("waits report", || waits::report(&trace, &steps, &found));
    timed("transfers", || transfers(&trace, &Selection::all()));
    timed("data loading", || data_loading(&trace, &steps));
    timed("roofline", || roofline(&trace, &RooflineQuery::default()));
    for weight in [Weight::Host, Weight::Device, Weight::Module] {
        timed("flame", || flame(&trace, &FlameQuery { weight, ..FlameQuery::default() }));
    }
    ask_hta(&trace);
    trace
}

fn ask_hta(trace: &Trace) {
    let loading = timed("hta loading", || Loading::hta(trace));
    timed("hta idle", || idle_breakdown(trace, &IdleOptions { loading, ..IdleOptions::default() }));
    timed("hta launches", || launch_stats(trace, &LaunchOptions { loading, ..LaunchOptions::default() }));
    timed("hta queue", || queue_length(trace, &QueueOptions { loading, full: 2 }));
    timed("hta call depths", || call_depths(trace, loading));
    let options = hta_path::PathOptions { loading, ..hta_path::PathOptions::default() };
    let _ = timed("hta critical path", || hta_path::critical_path(trace, &options));
}

/// Tens of thousands of calls inside each other, each with work of its own.
fn nested(kind: Kind, name: &str, launch: &str, work: (Kind, &str)) {
    const DEPTH: i64 = 60_000;
    let mut make = Make::default();
    make.add(Kind::HostAnnotation, "ProfilerStep#1", (1, 1), (0, 20 * DEPTH), 0);
    make.add(Kind::HostAnnotation, "Optimizer.step#AdamW.step", (1, 1), (1, 20 * DEPTH - 1), 0);
    for i in 1..DEPTH {
        make.add(kind, name, (1, 1), (4 * i, 20 * DEPTH - 4 * i), 0);
        make.add(Kind::Runtime, launch, (1, 1), (4 * i + 1, 4 * i + 3), i);
        make.add(work.0, work.1, (0, 7), (4 * DEPTH + 4 * i, 4 * DEPTH + 4 * i + 3), i);
    }
    ask_all(make);
}

#[test]
fn python_without_end() {
    nested(Kind::PythonFunction, "train.py(1): f", "cudaLaunchKernel", (Kind::Kernel, "gemm"));
}

#[test]
fn operators_without_end() {
    nested(Kind::HostOp, "aten::mul", "cudaLaunchKernel", (Kind::Kernel, "elementwise"));
}

#[test]
fn copies_without_end() {
    let upload = (Kind::Memcpy, "Memcpy HtoD (Pageable -> Device)");
    nested(Kind::HostOp, "aten::copy_", "cudaMemcpyAsync", upload);
}

#[test]
fn frees_inside_of_frees() {
    nested(Kind::Runtime, "cudaFree", "cudaFree", (Kind::Kernel, "gemm"));
}

#[test]
fn a_stream_for_each_kernel_and_a_wait_after_each() {
    const COUNT: i64 = 50_000;
    let mut make = Make::default();
    for i in 0..COUNT {
        let at = 100 * i;
        make.add(Kind::HostOp, "aten::item", (1, 1), (at, at + 90), 0);
        make.add(Kind::Runtime, "cudaLaunchKernel", (1, 1), (at + 1, at + 5), i + 1);
        make.add(Kind::Runtime, "cudaStreamSynchronize", (1, 1), (at + 10, at + 80), COUNT + i + 1);
        make.add(Kind::Kernel, "gemm", (0, i), (at + 6, at + 60), i + 1);
        make.add(Kind::DeviceSync, "Stream Sync", (0, i), (at + 10, at + 80), COUNT + i + 1);
    }
    ask_all(make);
}

#[test]
fn a_thread_of_the_backward_pass_for_each_call() {
    const COUNT: i64 = 40_000;
    let mut make = Make::default();
    make.add(Kind::HostAnnotation, "ProfilerStep#1", (1, 0), (0, 100 * COUNT), 0);
    for i in 0..COUNT {
        let (at, lane) = (100 * i, (1, i + 1));
        make.add(Kind::PythonFunction, "train.py(1): f", (1, 0), (at + 2, at + 60), 0);
        make.add(Kind::HostOp, "autograd::engine::evaluate_function: Mul", lane, (at, at + 90), 0);
        make.add(Kind::Runtime, "cudaLaunchKernel", lane, (at + 1, at + 5_000_000), i + 1);
        make.add(Kind::Kernel, "gemm", (0, 7), (at + 20, at + 60), i + 1);
        make.add(Kind::Overhead, "Lazy Function Loading", (1, -1), (at, 100 * COUNT), 0);
        make.add(Kind::Runtime, "cudaMalloc", (1, -2), (at, at + 50), 0);
        make.add(Kind::HostOp, "nccl:all_reduce", (1, -3), (at, at + 50), 0);
    }
    ask_all(make);
}

#[test]
fn a_device_and_a_name_for_each_kernel() {
    const COUNT: i64 = 50_000;
    let mut make = Make::default();
    for i in 0..COUNT {
        let at = 100 * i;
        make.add(Kind::Kernel, &format!("gemm_{i}"), (i, 7), (at + 6, at + 60), i + 1);
    }
    for i in 0..COUNT {
        make.add(Kind::HostOp, &format!("aten::mm_{i}"), (1, i), (i, i + 90), 0);
    }
    ask_all(make);
}

#[test]
fn all_down_and_then_all_up() {
    const COUNT: i64 = 50_000;
    let mut make = Make::default();
    for i in 0..2 * COUNT {
        let at = 100 * i;
        let name =
            if i < COUNT { "Memcpy DtoH (Device -> Pageable)" } else { "Memcpy HtoD (Pageable -> Device)" };
        make.add(Kind::Runtime, "cudaMemcpyAsync", (1, 1), (at + 1, at + 80), i + 1);
        make.add(Kind::Memcpy, name, (0, 7), (at + 6, at + 60), i + 1);
    }
    ask_all(make);
}

#[test]
fn steps_of_no_length_and_steps_of_great_length() {
    const COUNT: i64 = 50_000;
    let mut make = Make::default();
    for i in 0..COUNT {
        let at = 1_000 * i;
        make.add(Kind::HostAnnotation, &format!("ProfilerStep#{i}"), (1, 1), (at, at + 100 + 400 * (i % 3)), 0);
        make.add(Kind::Runtime, "cudaLaunchKernel", (1, 1), (at + 1, at + 5), i + 1);
        make.add(Kind::Kernel, "gemm", (i % 3, 7), (at + 20, at + 60), i + 1);
    }
    ask_all(make);
}
