//! Files made to be slow: nested without end, with a stream for each kernel, with nothing but waits. Every analysis
//! takes time in proportion to the file: four times as large, about four times as long.
//!
//! The large ones are asked with `--ignored`: what is no more than slow shows there.

use stepscope_analyse::causes::account::account;
use stepscope_analyse::causes::data_loading::data_loading;
use stepscope_analyse::causes::gaps::gaps;
use stepscope_analyse::causes::launches::launches;
use stepscope_analyse::causes::transfers::transfers;
use stepscope_analyse::causes::waits;
use stepscope_analyse::compare::{DiffQuery, diff};
use stepscope_analyse::devices::graphs::graphs;
use stepscope_analyse::findings::{Context, RULES, Thresholds};
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
use stepscope_analyse::steps::serving::serving;
use stepscope_analyse::tables::compiled::compiled;
use stepscope_analyse::views::flame::{FlameQuery, FlameWeight, flame};
use stepscope_model::{Kind, Trace};
use stepscope_testkit::hostile::SHAPES;
use stepscope_testkit::{RunBuilder, Slice, damage};

use crate::growth::{assert_linear, timed, took};

/// Events of the smaller file, and of the large one.
const SMALL: i64 = 4_000;
const LARGE: i64 = 50_000;

/// What a hostile slice carries, so that no analysis ends early for want of it.
fn add(
    run: &mut RunBuilder,
    kind: Kind,
    name: &str,
    (process, thread): (i64, i64),
    times: (i64, i64),
    id: i64,
) {
    let slice = Slice::new(kind, name, times).process(process).thread(thread).correlation(id);
    let slice = slice.arg("bytes", 1 << 20).arg("stream", thread);
    run.add(slice.arg("Input Dims", "[[512, 512], [512, 512]]"));
}

/// Asks a file of this many events, and one four times as large.
fn grows(make: impl Fn(i64) -> RunBuilder + Send + Sync) {
    assert_linear(|times| ask_all(make(SMALL * times)));
}

fn ask_all(run: RunBuilder) {
    let trace = ask_without_replay(run);
    let steps = Steps::find(&trace);
    let replay = timed("replay", || Replay::new(&trace, &steps));
    let path = timed("critical path", || critical_path(&trace, &steps, &replay));
    timed("pieces of the path", || path.rows(&trace));
    let change = Change::Operator { name: "aten::mul".into(), speedup: 2.0 };
    let _ = timed("what if", || what_if(&trace, &replay, &[change]));
    let limits = eager();
    let run = timed("run", || stepscope_analyse::run::Run::new(trace));
    let side = [std::sync::Arc::new(stepscope_analyse::run::Run::new(run.shared_trace()))];
    timed("compare", || diff(&side, &side, &DiffQuery::default(), &limits));
    let context = Context::new(&run, &limits);
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
fn ask_without_replay(run: RunBuilder) -> Trace {
    let trace: Trace = timed("linking", || run.finish());
    let steps = timed("steps", || Steps::find(&trace));
    timed("account", || account(&trace, &steps));
    timed("gaps", || gaps(&trace, &steps, None, 5));
    timed("launches", || launches(&trace, &steps));
    let found = timed("waits", || waits::waits(&trace));
    timed("waits report", || waits::report(&trace, &steps, &found));
    timed("serving", || serving(&trace, &Selection::all()));
    timed("graphs", || graphs(&trace, &steps, &Selection::all()));
    timed("compiled", || compiled(&trace, &steps, &Selection::all()));
    timed("transfers", || transfers(&trace, &Selection::all()));
    timed("data loading", || data_loading(&trace, &steps));
    timed("roofline", || roofline(&trace, &RooflineQuery::default()));
    for weight in [FlameWeight::Host, FlameWeight::Device, FlameWeight::Module] {
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
    let options = hta_path::PathOptions { loading, ..hta_path::PathOptions::default() };
    let _ = timed("hta critical path", || hta_path::critical_path(trace, &options));
}

/// Calls inside each other, each with work of its own.
fn nested(depth: i64, kind: Kind, name: &str, launch: &str, work: (Kind, &str)) -> RunBuilder {
    let mut run = RunBuilder::in_nanoseconds();
    add(&mut run, Kind::HostAnnotation, "ProfilerStep#1", (1, 1), (0, 20 * depth), 0);
    add(&mut run, Kind::HostAnnotation, "Optimizer.step#AdamW.step", (1, 1), (1, 20 * depth - 1), 0);
    for i in 1..depth {
        add(&mut run, kind, name, (1, 1), (4 * i, 20 * depth - 4 * i), 0);
        add(&mut run, Kind::Runtime, launch, (1, 1), (4 * i + 1, 4 * i + 3), i);
        add(&mut run, work.0, work.1, (0, 7), (4 * depth + 4 * i, 4 * depth + 4 * i + 3), i);
    }
    run
}

fn python_without_end(n: i64) -> RunBuilder {
    nested(n, Kind::PythonFunction, "train.py(1): f", "cudaLaunchKernel", (Kind::Kernel, "gemm"))
}

fn operators_without_end(n: i64) -> RunBuilder {
    nested(n, Kind::HostOp, "aten::mul", "cudaLaunchKernel", (Kind::Kernel, "elementwise"))
}

fn copies_without_end(n: i64) -> RunBuilder {
    let upload = (Kind::Memcpy, "Memcpy HtoD (Pageable -> Device)");
    nested(n, Kind::HostOp, "aten::copy_", "cudaMemcpyAsync", upload)
}

fn frees_inside_of_frees(n: i64) -> RunBuilder {
    nested(n, Kind::Runtime, "cudaFree", "cudaFree", (Kind::Kernel, "gemm"))
}

fn a_stream_for_each_kernel_and_a_wait_after_each(n: i64) -> RunBuilder {
    let mut run = RunBuilder::in_nanoseconds();
    for i in 0..n {
        let at = 100 * i;
        add(&mut run, Kind::HostOp, "aten::item", (1, 1), (at, at + 90), 0);
        add(&mut run, Kind::Runtime, "cudaLaunchKernel", (1, 1), (at + 1, at + 5), i + 1);
        add(&mut run, Kind::Runtime, "cudaStreamSynchronize", (1, 1), (at + 10, at + 80), n + i + 1);
        add(&mut run, Kind::Kernel, "gemm", (0, i), (at + 6, at + 60), i + 1);
        add(&mut run, Kind::DeviceSync, "Stream Sync", (0, i), (at + 10, at + 80), n + i + 1);
    }
    run
}

fn a_thread_of_the_backward_pass_for_each_call(n: i64) -> RunBuilder {
    let mut run = RunBuilder::in_nanoseconds();
    add(&mut run, Kind::HostAnnotation, "ProfilerStep#1", (1, 0), (0, 100 * n), 0);
    for i in 0..n {
        let (at, lane) = (100 * i, (1, i + 1));
        add(&mut run, Kind::PythonFunction, "train.py(1): f", (1, 0), (at + 2, at + 60), 0);
        add(&mut run, Kind::HostOp, "autograd::engine::evaluate_function: Mul", lane, (at, at + 90), 0);
        add(&mut run, Kind::Runtime, "cudaLaunchKernel", lane, (at + 1, at + 5_000_000), i + 1);
        add(&mut run, Kind::Kernel, "gemm", (0, 7), (at + 20, at + 60), i + 1);
        add(&mut run, Kind::Overhead, "Lazy Function Loading", (1, -1), (at, 100 * n), 0);
        add(&mut run, Kind::Runtime, "cudaMalloc", (1, -2), (at, at + 50), 0);
        add(&mut run, Kind::HostOp, "nccl:all_reduce", (1, -3), (at, at + 50), 0);
    }
    run
}

fn a_device_and_a_name_for_each_kernel(n: i64) -> RunBuilder {
    let mut run = RunBuilder::in_nanoseconds();
    for i in 0..n {
        let at = 100 * i;
        add(&mut run, Kind::Kernel, &format!("gemm_{i}"), (i, 7), (at + 6, at + 60), i + 1);
    }
    for i in 0..n {
        add(&mut run, Kind::HostOp, &format!("aten::mm_{i}"), (1, i), (i, i + 90), 0);
    }
    run
}

fn all_down_and_then_all_up(n: i64) -> RunBuilder {
    let mut run = RunBuilder::in_nanoseconds();
    for i in 0..2 * n {
        let at = 100 * i;
        let name = if i < n { "Memcpy DtoH (Device -> Pageable)" } else { "Memcpy HtoD (Pageable -> Device)" };
        add(&mut run, Kind::Runtime, "cudaMemcpyAsync", (1, 1), (at + 1, at + 80), i + 1);
        add(&mut run, Kind::Memcpy, name, (0, 7), (at + 6, at + 60), i + 1);
    }
    run
}

fn steps_of_no_length_and_steps_of_great_length(n: i64) -> RunBuilder {
    let mut run = RunBuilder::in_nanoseconds();
    for i in 0..n {
        let at = 1_000 * i;
        let times = (at, at + 100 + 400 * (i % 3));
        add(&mut run, Kind::HostAnnotation, &format!("ProfilerStep#{i}"), (1, 1), times, 0);
        add(&mut run, Kind::Runtime, "cudaLaunchKernel", (1, 1), (at + 1, at + 5), i + 1);
        add(&mut run, Kind::Kernel, "gemm", (i % 3, 7), (at + 20, at + 60), i + 1);
    }
    run
}

/// No marks, and as many names as repeats of each: on ranges, on module calls and on kernels that may begin an iteration.
fn as_many_names_as_repeats(n: i64) -> RunBuilder {
    let mut run = RunBuilder::in_nanoseconds();
    let names = n.isqrt().max(1);
    for i in 0..n {
        let (at, name) = (100 * i, i % names);
        add(&mut run, Kind::HostAnnotation, &format!("range {name}"), (1, 1), (at, at + 90), 0);
        add(&mut run, Kind::PythonFunction, &format!("nn.Module: M_{name}"), (1, 1), (at + 1, at + 80), 0);
        add(&mut run, Kind::Runtime, "cudaGraphLaunch", (1, 1), (at + 2, at + 5), i + 1);
        for k in 0..4 {
            let times = (at + 10 + 10 * k, at + 18 + 10 * k);
            add(&mut run, Kind::Kernel, &format!("embedding_{k}_{name}"), (0, 7), times, i + 1);
        }
    }
    run
}

fn updates_inside_of_updates(n: i64) -> RunBuilder {
    let mut run = RunBuilder::in_nanoseconds();
    for i in 0..n {
        let (at, end) = (4 * i, 20 * n - 4 * i);
        add(&mut run, Kind::HostAnnotation, "Optimizer.step#AdamW.step", (1, 1 + i % 7), (at, end), 0);
        add(
            &mut run,
            Kind::HostAnnotation,
            "enumerate(DataLoader)#Iter.__next__",
            (1, 1),
            (at + 1, end - 1),
            0,
        );
        add(&mut run, Kind::Kernel, "argmax", (0, 7), (at, at + 3), 0);
    }
    run
}

/// Each file at two sizes, and by itself at a size that shows what is no more than slow.
macro_rules! files {
    ($($name:ident),* $(,)?) => {
        mod grows_like_the_file {
            $(#[test] fn $name() { super::grows(super::$name); })*
        }
        mod large {
            $(
                #[test]
                #[ignore = "takes long; shows what is no more than slow"]
                fn $name() {
                    super::ask_all(super::$name(super::LARGE));
                    let slow = super::took().into_iter().filter(|took| took.1 > 4.0);
                    assert_eq!(slow.collect::<Vec<_>>(), []);
                }
            )*
        }
    };
}

files![
    python_without_end,
    operators_without_end,
    copies_without_end,
    frees_inside_of_frees,
    a_stream_for_each_kernel_and_a_wait_after_each,
    a_thread_of_the_backward_pass_for_each_call,
    a_device_and_a_name_for_each_kernel,
    all_down_and_then_all_up,
    steps_of_no_length_and_steps_of_great_length,
    as_many_names_as_repeats,
    updates_inside_of_updates,
];

/// The shapes that the whole program is asked about, here each analysis by itself.
#[test]
fn every_hostile_shape() {
    for shape in damage::cases(SHAPES) {
        println!("{}", shape.name);
        grows(|n| shape.run(n as usize));
    }
}
