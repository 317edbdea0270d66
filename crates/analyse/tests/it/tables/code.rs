//! Host time, waiting and device time by the program's functions: a worked example, and recorded traces whose sums close.

use std::path::PathBuf;

use stepscope_analyse::run::Run;
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::tables::code::{CodeBy, CodeRow, NO_PYTHON};
use stepscope_analyse::tables::stacks::{self, Options, Weight};
use stepscope_model::Kind;
use stepscope_testkit::RunBuilder;

use crate::data::read;

/// One step on one thread, in microseconds: `step` calls `forward`, which launches a kernel of 300, and then waits for it.
fn worked() -> Run {
    let mut run = RunBuilder::new();
    run.host(Kind::HostAnnotation, "ProfilerStep#1", 1, (0, 1000));
    run.host(Kind::PythonFunction, "train.py(10): main", 1, (0, 1000));
    run.host(Kind::PythonFunction, "train.py(20): step", 1, (100, 900));
    run.host(Kind::PythonFunction, "torch/nn/modules/module.py(1): _call_impl", 1, (150, 350));
    run.host(Kind::PythonFunction, "model.py(5): forward", 1, (160, 340));
    run.launch(1, (200, 210), Kind::Kernel, "gemm", 7, (250, 550));
    run.host(Kind::PythonFunction, "<built-in method item of Tensor object at 0x7f10>", 1, (400, 600));
    run.launch(1, (410, 420), Kind::Memcpy, "Memcpy DtoH (Device -> Pageable)", 7, (550, 560));
    run.host(Kind::Runtime, "cudaStreamSynchronize", 1, (420, 590));
    // No one knows who launched this.
    run.add(stepscope_testkit::Slice::new(Kind::Kernel, "fill", (700, 740)).stream(7));
    Run::new(run.finish())
}

fn row<'r>(rows: &'r [CodeRow], function: &str, called: Option<&str>) -> &'r CodeRow {
    let found = rows.iter().find(|row| row.function == function && row.called.as_deref() == called);
    found.unwrap_or_else(|| panic!("no {function} {called:?} in {rows:#?}"))
}

#[test]
fn time_is_charged_to_the_innermost_function_of_the_program() {
    let run = worked();
    let code = run.code(CodeBy::Function, &Selection::all());
    let of = |name| {
        let row = row(&code.rows, name, None);
        (row.host_ns / 1000, row.wait_ns / 1000, row.device_ns / 1000, row.device_work)
    };
    // main has 100 before and 100 after; step has 800 less 180 in forward.
    assert_eq!(of("main"), (200, 0, 0, 0));
    assert_eq!((of("step").0, of("step").2, of("step").3), (620, 10, 1));
    assert_eq!(of("forward"), (180, 0, 300, 1));
    assert_eq!(of(NO_PYTHON), (0, 0, 40, 1));
    // From the start of the call at 420 to the end of the copy at 560.
    assert_eq!(of("step").1, 140);
    let step = row(&code.rows, "step", None);
    assert_eq!((step.place().as_str(), step.wait_share), ("train.py:20", 0.14));
    assert_eq!(code.device_ns, 350_000);
}

#[test]
fn a_call_is_named_without_its_address() {
    let code = worked().code(CodeBy::Call, &Selection::all());
    let item = row(&code.rows, "step", Some("<built-in method item of Tensor object>"));
    assert_eq!((item.host_ns, item.wait_ns, item.device_ns), (200_000, 140_000, 10_000));
    let own = row(&code.rows, "step", None);
    // 800 less 200 in the module and 200 in item.
    assert_eq!((own.host_ns, own.wait_ns), (400_000, 0));
    let module = row(&code.rows, "step", Some("torch/nn/modules/module.py(1): _call_impl"));
    assert_eq!(module.host_ns, 20_000);
}

#[test]
fn device_time_and_waiting_of_recorded_traces_close() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch");
    for path in [
        "2.11-h200/gpt_stack/gpt_stack.pt.trace.json.gz",
        "2.11-h200/conv_slow_loader/conv_slow_loader.pt.trace.json.gz",
        "mini/mini.pt.trace.json",
    ] {
        let run = Run::new(read(&root.join(path)));
        let options = Options { weight: Weight::DeviceSelf, ..Options::default() };
        let all = stacks::analyze(run.trace(), &options).total_ns;
        for by in [CodeBy::Function, CodeBy::Call] {
            let code = run.code(by, &Selection::all());
            let device: i64 = code.rows.iter().map(|row| row.device_ns).sum();
            let wait: i64 = code.rows.iter().map(|row| row.wait_ns).sum();
            assert_eq!((device, code.device_ns), (all, all), "{path}");
            assert_eq!((wait, code.wait_ns), (run.wait_rows().wait_ns, run.wait_rows().wait_ns), "{path}");
            assert!(code.rows.iter().all(|row| row.host_ns >= 0), "{path}");
        }
    }
    // Most of the work of the trace with stacks is charged to the program: the backward pass to its forward operators.
    let run = Run::new(read(&root.join("2.11-h200/gpt_stack/gpt_stack.pt.trace.json.gz")));
    let code = run.code(CodeBy::Function, &Selection::all());
    assert!(code.has_functions);
    let nobody = code.rows.iter().find(|row| row.function == NO_PYTHON).map_or(0, |row| row.device_ns);
    let backward: i64 = code.rows.iter().map(|row| row.backward_device_ns).sum();
    assert!(
        nobody * 10 < code.device_ns && backward * 4 > code.device_ns,
        "{nobody} {backward} {}",
        code.device_ns
    );
}

/// Operators of a thread, and what a sampler saw of it every 50: `load` until 300, then `step` until 1000, then `log`; `load`
/// was seen in `aten::mul` at 1100. The second product runs between looks at `step` and `log`, the last one at `load` and
/// `step`.
const SAMPLED: &str = r#"{"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 9, "tid": 9, "ts": 0, "dur": 1150},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 500, "dur": 20},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 505, "dur": 5, "args": {"correlation": 3}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 520, "dur": 300, "args": {"correlation": 3, "device": 0, "stream": 7}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 9, "tid": 9, "ts": 1010, "dur": 8},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1012, "dur": 5, "args": {"correlation": 4}},
{"ph": "X", "cat": "kernel", "name": "mul", "pid": 0, "tid": 7, "ts": 1020, "dur": 20, "args": {"correlation": 4, "device": 0, "stream": 7}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 9, "tid": 9, "ts": 1095, "dur": 8},
{"ph": "X", "cat": "cpu_op", "name": "aten::exp", "pid": 9, "tid": 9, "ts": 1110, "dur": 8},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1112, "dur": 5, "args": {"correlation": 5}},
{"ph": "X", "cat": "kernel", "name": "exp", "pid": 0, "tid": 7, "ts": 1120, "dur": 3, "args": {"correlation": 5, "device": 0, "stream": 7}},
{"ph": "X", "cat": "python_function", "name": "train.py(1): main", "pid": 9, "tid": "samples of 9", "ts": 0, "dur": 1150},
{"ph": "X", "cat": "python_function", "name": "train.py(2): load", "pid": 9, "tid": "samples of 9", "ts": 0, "dur": 300},
{"ph": "X", "cat": "python_function", "name": "train.py(8): step", "pid": 9, "tid": "samples of 9", "ts": 300, "dur": 700},
{"ph": "X", "cat": "python_function", "name": "train.py(5): log", "pid": 9, "tid": "samples of 9", "ts": 1000, "dur": 50},
{"ph": "X", "cat": "python_function", "name": "train.py(2): load", "pid": 9, "tid": "samples of 9", "ts": 1050, "dur": 50},
{"ph": "X", "cat": "python_function", "name": "train.py(8): step", "pid": 9, "tid": "samples of 9", "ts": 1100, "dur": 50}
]}"#;

#[test]
fn samples_say_who_launched_what() {
    let options = stepscope_formats::OpenOptions::default();
    let run = Run::new(stepscope_formats::read_trace(SAMPLED.as_bytes(), "sampled", &options).unwrap());
    let code = run.code(CodeBy::Function, &Selection::all());
    assert_eq!(row(&code.rows, "step", None).device_ns, 300_000, "look after look saw it");
    assert_eq!(row(&code.rows, "load", None).device_ns, 20_000, "it was seen to do the same");
    assert_eq!(row(&code.rows, "main", None).device_ns, 3_000, "all that is sure");
    assert!(code.rows.iter().all(|row| row.function != NO_PYTHON), "{:?}", code.rows);
    let lane = run.trace().slices().ids().find(|&id| run.trace().name(id) == "aten::mm").unwrap();
    let lane = run.trace().slices().lane(lane);
    let at = |us: i64| run.sampled_stack(lane, stepscope_model::Ns(us * 1_000));
    assert_eq!(at(100), ["train.py(2): load", "train.py(1): main"]);
    assert_eq!(at(400), ["train.py(8): step", "train.py(1): main"]);
    assert!(at(5_000).is_empty());
}
