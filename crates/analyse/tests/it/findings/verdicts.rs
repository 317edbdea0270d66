//! Runs on which a careless reader would be wrong: each gets the right verdict, and findings that agree with it.

use std::path::PathBuf;

use stepscope_analyse::causes::cause::Cause;
use stepscope_analyse::causes::verdict::Verdict;
use stepscope_analyse::causes::waits::WaitKind;
use stepscope_analyse::findings::{Estimate, Finding, Thresholds, findings, unchecked_rules, uncovered};
use stepscope_analyse::run::Run;
use stepscope_analyse::threads::activity::Activity;
use stepscope_model::{Device, Kind, Trace};
use stepscope_testkit::{RunBuilder, Slice};

use crate::data::{peer, read};

pub(crate) const RULES: [&str; 6] =
    ["double_precision", "graph_breaks", "new_shapes", "parameter_loop", "recomputation", "slow_kernels"];

struct Look {
    run: Run,
    verdict: Verdict,
    findings: Vec<Finding>,
}

impl Look {
    fn at(trace: Trace) -> Look {
        let run = Run::new(trace);
        let (verdict, findings) = (run.verdict().unwrap(), findings(&run, &Thresholds::default()));
        Look { run, verdict, findings }
    }

    fn finding(&self, rule: &str) -> Option<&Finding> {
        self.findings.iter().find(|f| f.rule == rule)
    }

    fn cause_ns(&self, cause: Cause) -> i64 {
        self.run.account().devices[0].causes.get(cause)
    }
}

/// A step of so many microseconds on thread 1.
fn step(run: &mut RunBuilder, number: i64, at: (i64, i64)) {
    run.host(Kind::HostAnnotation, &format!("ProfilerStep#{number}"), 1, at);
}

#[test]
fn a_wait_for_work_that_was_not_recorded_is_unknown_and_not_idle() {
    let mut run = RunBuilder::new();
    step(&mut run, 1, (90, 11_930));
    // Nothing runs, yet the host is in a wait for ten milliseconds; then the kernels of one graph.
    run.host(Kind::Runtime, "cudaStreamSynchronize", 1, (100, 10_100));
    for i in 0..10 {
        run.launch(
            1,
            (10_110 + 10 * i, 10_115 + 10 * i),
            Kind::Kernel,
            "gemm",
            7,
            (10_120 + 180 * i, 10_300 + 180 * i),
        );
    }
    let look = Look::at(run.finish());
    assert_eq!(look.cause_ns(Cause::DEVICE_UNRECORDED), 10_000_000);
    assert_eq!(look.verdict.bound_by, "gpu", "{}", look.verdict.text);
    assert!(look.verdict.text.contains("does not show what the GPU did"), "{}", look.verdict.text);
    // Nothing promises time that no one knows anything about.
    assert!(look.findings.iter().all(|f| f.saves_ns.unwrap_or(0) < 2_000_000), "{:?}", look.findings);
}

#[test]
fn launched_work_that_stays_away_is_unknown_too() {
    let mut run = RunBuilder::new();
    step(&mut run, 1, (0, 9_000));
    run.launch(1, (10, 20), Kind::Kernel, "gemm", 7, (30, 100));
    run.launch(1, (110, 120), Kind::Kernel, "gemm", 7, (8_120, 9_000));
    let look = Look::at(run.finish());
    assert_eq!(look.cause_ns(Cause::DEVICE_UNRECORDED), 8_000_000);
    // While another thread pins memory, the driver stops: that is known.
    let mut run = RunBuilder::new();
    step(&mut run, 1, (0, 9_000));
    run.launch(1, (10, 20), Kind::Kernel, "gemm", 7, (30, 100));
    run.launch(1, (110, 120), Kind::Kernel, "gemm", 7, (8_120, 9_000));
    run.host(Kind::Runtime, "cudaHostAlloc", 2, (115, 8_100));
    let look = Look::at(run.finish());
    assert_eq!(look.cause_ns(Cause::DEVICE_UNRECORDED), 0);
    assert_eq!(look.cause_ns(Cause::Host(Activity::Allocation)), 8_000_000);
}

#[test]
fn first_use_is_a_cause_of_its_own_and_no_promise() {
    let mut run = RunBuilder::new();
    step(&mut run, 1, (0, 60_000));
    run.host(Kind::HostOp, "aten::mm", 1, (100, 50_200));
    run.launch(1, (110, 50_110), Kind::Kernel, "gemm", 7, (50_120, 50_200));
    for i in 0..40 {
        run.launch(
            1,
            (50_300 + 20 * i, 50_305 + 20 * i),
            Kind::Kernel,
            "gemm",
            7,
            (50_310 + 20 * i, 50_315 + 20 * i),
        );
    }
    let look = Look::at(run.finish());
    assert!(look.cause_ns(Cause::Host(Activity::FirstUse)) >= 49_900_000);
    assert_eq!(look.verdict.bound_by, "first_use", "{}", look.verdict.text);
    let bound = look.finding("launch_bound");
    assert!(bound.is_none_or(|f| f.saves_ns.unwrap() < 11_000_000), "{bound:?}");
    // The same call of a kernel that was launched before is something else.
    let mut run = RunBuilder::new();
    step(&mut run, 1, (0, 60_000));
    run.launch(1, (10, 15), Kind::Kernel, "gemm", 7, (20, 30));
    run.launch(1, (110, 50_110), Kind::Kernel, "gemm", 7, (50_120, 50_200));
    assert_eq!(Look::at(run.finish()).cause_ns(Cause::Host(Activity::FirstUse)), 0);
}

#[test]
fn a_full_launch_queue_waits_for_the_device() {
    let mut run = RunBuilder::new();
    let (kernels, kernel_us) = (1_400i64, 100);
    step(&mut run, 1, (0, 60_000));
    let end = |i: i64| 1_000 + kernel_us * (i + 1);
    let mut at = 10;
    for i in 0..kernels {
        // The host is far ahead until 1,024 kernels are queued; then each launch waits for a kernel to end.
        let until = if i < 1_024 { at + 5 } else { end(i - 1_024).max(at + 5) };
        run.launch(1, (at, until), Kind::Kernel, "gemm", 7, (end(i) - kernel_us, end(i)));
        at = until + 1;
    }
    let look = Look::at(run.finish());
    let full = look.run.waits().iter().filter(|w| w.kind == WaitKind::FullQueue).count();
    assert!(full > 300, "{full}");
    // Kernels of half the length make a run of half the length: the launches were waiting, not working.
    let change = stepscope_analyse::replay::what_if::Change::Kernel { name: "gemm".to_owned(), speedup: 2.0 };
    let half =
        stepscope_analyse::replay::what_if::what_if(look.run.trace(), look.run.replay(), &[change]).unwrap();
    assert!(half.replay_error < 0.01, "{}", half.replay_error);
    let kernels_ns = kernels * kernel_us * 1_000;
    let saved = half.steps[0].measured_ns - half.steps[0].replayed_ns;
    assert!(saved > kernels_ns * 45 / 100, "{saved} of {kernels_ns}");
}

#[test]
fn a_step_ends_where_the_recording_does() {
    let mut run = RunBuilder::new();
    run.add(Slice::new(Kind::Span, "PyTorch Profiler (0)", (0, 2_000)).thread(99));
    step(&mut run, 1, (0, 13_000_000));
    run.launch(1, (100, 120), Kind::Kernel, "gemm", 7, (130, 900));
    let look = Look::at(run.finish());
    assert_eq!(look.run.steps().steps[0].end_ns, 2_000_000);
    assert!(look.run.steps().steps[0].partial);
}

#[test]
fn a_thread_of_the_backward_pass_is_known_by_its_nodes() {
    let mut run = RunBuilder::new();
    step(&mut run, 1, (0, 1_000));
    run.host(Kind::HostAnnotation, "backward", 1, (100, 900));
    run.host(Kind::HostOp, "AddmmBackward", 2, (110, 800));
    run.launch(2, (120, 130), Kind::Kernel, "gemm", 7, (140, 790));
    let look = Look::at(run.finish());
    assert_eq!(look.run.host().backward().len(), 1);
}

#[test]
fn a_graph_is_launched_once() {
    let mut run = RunBuilder::new();
    step(&mut run, 1, (0, 5_000));
    run.add(Slice::new(Kind::Runtime, "cudaGraphLaunch", (0, 1_000)).thread(1).correlation(77));
    for i in 0..20 {
        run.add(Slice::new(Kind::Kernel, "gemm", (1_010 + 50 * i, 1_060 + 50 * i)).stream(7).correlation(77));
    }
    let look = Look::at(run.finish());
    assert_eq!(look.run.launches()[0].calls_ns, 1_000_000);
    assert_eq!(look.run.launches()[0].launches, 20);
}

/// A matrix product of 4096 x 4096 x 4096 in bfloat16, so many microseconds long, on an H200.
fn product(us: i64, shapes: bool) -> Trace {
    let mut run = RunBuilder::new();
    let device = Device { index: 0, name: "NVIDIA H200".to_owned(), ..Device::default() };
    run.builder().meta().devices.push(device);
    step(&mut run, 1, (0, 500));
    for i in 0..20 {
        let mut op = Slice::new(Kind::HostOp, "aten::mm", (10 + 20 * i, 25 + 20 * i)).thread(1);
        if shapes {
            op = op
                .arg("Input Dims", stepscope_testkit::Value::Json("[[4096, 4096], [4096, 4096]]".into()))
                .arg(
                    "Input type",
                    stepscope_testkit::Value::Json("[\"c10::BFloat16\", \"c10::BFloat16\"]".into()),
                );
        }
        run.add(op);
        run.launch(
            1,
            (12 + 20 * i, 15 + 20 * i),
            Kind::Kernel,
            "nvjet_tst_bf16",
            7,
            (40 + us * i, 40 + us * (i + 1)),
        );
    }
    run.finish()
}

#[test]
fn slow_kernels_on_a_busy_device_are_named_with_what_is_recoverable() {
    // 2 * 4096^3 operations at 989 TFLOP/s take 139 µs; at 65% of that, 214 µs.
    let look = Look::at(product(600, true));
    let slow = look.finding("slow_kernels").unwrap_or_else(|| panic!("{:?}", look.run.costs()));
    let saved = slow.saves_unprofiled_share.unwrap();
    assert!((0.60..0.68).contains(&saved), "{saved}");
    assert_eq!(slow.estimate, Estimate::UpperBound);
    assert_eq!(uncovered(&look.run, &look.verdict, &look.findings), None);
    // A kernel that is as fast as they get, and one whose sizes no one recorded.
    let fine = Look::at(product(200, true));
    assert!(fine.finding("slow_kernels").is_none());
    assert!(uncovered(&fine.run, &fine.verdict, &fine.findings).unwrap().contains("stepscope roofline"));
    let blind = Look::at(product(600, false));
    assert!(blind.finding("slow_kernels").is_none());
    let words: Vec<String> = unchecked_rules(&blind.run).into_iter().map(|blind| blind.sentence).collect();
    assert!(
        words
            .iter()
            .any(|text| text == "3 rules need record_shapes=True: double_precision, new_shapes, slow_kernels"),
        "{words:?}"
    );
}

/// An operator on tensors of one type in a step of 1 ms: 400 µs of its own on the host, or a kernel of 850 µs that the
/// host waits for from 510 µs on.
fn typed(dtype: &str, device: Option<&str>) -> Look {
    let mut run = RunBuilder::new();
    step(&mut run, 1, (0, 1_000));
    let json = |text: &str| stepscope_testkit::Value::Json(text.to_owned());
    let types = format!("[\"{dtype}\", \"{dtype}\"]");
    run.add(
        Slice::new(Kind::HostOp, "aten::mm", (100, 500))
            .thread(1)
            .arg("Input Dims", json("[[2048, 2048], [2048, 2048]]"))
            .arg("Input type", json(&types)),
    );
    if let Some(name) = device {
        run.builder().meta().devices.push(Device { index: 0, name: name.to_owned(), ..Device::default() });
        run.launch(1, (110, 120), Kind::Kernel, "volta_sgemm_128x64_nn", 7, (130, 980));
        run.host(Kind::Runtime, "cudaDeviceSynchronize", 1, (510, 980));
    }
    Look::at(run.finish())
}

#[test]
fn sixty_four_bits_are_named_on_the_host_and_on_the_device() {
    // Half of 400 of 1,000 µs.
    let host = typed("double", None);
    assert_eq!(host.finding("double_precision").unwrap().saves_ns, Some(200_000));
    assert!(typed("float", None).finding("double_precision").is_none());
    // Half of 850 of 1,000 µs: the kernel ends 425 µs earlier, and so does the wait for it.
    let device = typed("double", Some("NVIDIA H200"));
    assert_eq!(device.finding("double_precision").unwrap().saves_ns, Some(425_000));
    assert!(typed("float", Some("NVIDIA H200")).finding("double_precision").is_none());
}

#[test]
fn a_device_without_bfloat16_is_told_to_use_float16() {
    let volta = typed("float", Some("Tesla V100-SXM2-16GB"));
    let finding = volta.finding("mixed_precision");
    assert!(finding.is_none_or(|f| f.code.as_deref().unwrap_or("").contains("float16)")), "{finding:?}");
    let hopper = typed("float", Some("NVIDIA H200"));
    assert!(
        hopper.finding("mixed_precision").is_none_or(|f| f.code.as_deref().unwrap_or("").contains("bfloat16"))
    );
}

#[test]
fn breaks_of_a_compiled_graph_are_named() {
    let with = |inner: bool| {
        let mut run = RunBuilder::new();
        for number in 1..4 {
            let at = 1_000 * number;
            step(&mut run, number, (at, at + 1_000));
            run.host(Kind::HostOp, "Torch-Compiled Region: 0/0", 1, (at + 10, at + 900));
            run.launch(1, (at + 20, at + 30), Kind::Kernel, "triton_poi_fused", 7, (at + 40, at + 400));
            if inner {
                run.host(Kind::HostOp, "Torch-Compiled Region: 1/0", 1, (at + 500, at + 890));
            }
            run.launch(1, (at + 510, at + 520), Kind::Kernel, "triton_poi_fused_1", 7, (at + 530, at + 880));
        }
        Look::at(run.finish())
    };
    let finding = with(true);
    let finding = finding.finding("graph_breaks").unwrap();
    assert_eq!(finding.title, "Graph breaks: compiled code is left and entered again once per step");
    assert_eq!(finding.saves_ns, None);
    assert!(with(false).finding("graph_breaks").is_none());
}

fn twin(case: &str, trace: &str) -> Look {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch/2.11-h200-twins/seen");
    Look::at(read(&root.join(case).join(format!("{trace}.json.zst"))))
}

#[test]
fn loops_over_tensors_and_recomputation_are_named() {
    let looped = twin("parameter_loop", "fault.plain");
    assert!(looped.finding("parameter_loop").unwrap().title.contains("aten::mul_, aten::add_"));
    assert!(twin("parameter_loop", "fixed.shapes").finding("parameter_loop").is_none());
    let again = twin("checkpointing", "fault.plain");
    assert!(again.finding("recomputation").is_some());
    assert!(twin("checkpointing", "fixed.shapes").finding("recomputation").is_none());
}

#[test]
fn what_an_expert_says_about_other_tools_traces() {
    if peer("").is_none() {
        return;
    }
    let at = |path: &str| Look::at(read(&peer(path).unwrap()));
    let says = |look: &Look, words: &str| assert!(look.verdict.text.contains(words), "{}", look.verdict.text);

    let serving = at("tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz");
    assert_eq!(serving.verdict.bound_by, "gpu");
    says(&serving, "does not show what the GPU did for 98% of the time");
    assert!(serving.finding("launch_bound").is_none());
    // One graph launch of 1.6 ms, not once for each of its 500 kernels; one copy of 463 ms; and a few calls more.
    assert!(serving.run.launches()[0].calls_ns < 466_000_000);

    let cold = at("hta/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz");
    assert_eq!(cold.verdict.bound_by, "first_use");
    assert!(cold.finding("launch_bound").is_none());

    let cut = at("hta/triton_example/triton_example.json.gz");
    assert!(cut.run.step_ns() < 2_000_000, "{}", cut.run.step_ns());
    assert!(cut.findings.iter().all(|f| f.saves_ns.unwrap_or(0) < 2_000_000));

    let loading = at("tb_plugin/resnet50_num_workers_0.pt.trace.json.gz");
    assert_eq!(loading.verdict.bound_by, "data_loading", "{}", loading.verdict.text);
    assert!(loading.finding("data_loading").unwrap().saves_unprofiled_share.unwrap() > 0.2);
    assert_eq!(loading.run.host().backward().len(), 1);

    let compiled = at("tracelens/torch_compile_triton/trace.json.gz");
    assert_eq!(compiled.verdict.bound_by, "gpu");
    assert!(compiled.finding("slow_kernels").unwrap().evidence.iter().any(|e| e.label.contains("aten::mm")));

    let chat = at("tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz");
    let unfused = chat.finding("unfused_pointwise").unwrap();
    assert!(unfused.title.contains("normalization written by hand"), "{}", unfused.title);
    assert!(unfused.saves_share.unwrap() > 0.15);

    // No saving exceeds the step, and no replay that fails to reproduce its run promises more than a bound.
    for look in [&serving, &cold, &cut, &loading, &compiled, &chat] {
        for f in &look.findings {
            assert!(f.saves_unprofiled_share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{f:?}");
            let off = look.run.replay_error() > 0.05;
            assert!(!off || !matches!(f.estimate, Estimate::Replay | Estimate::Model), "{f:?}");
        }
    }
}

#[test]
fn a_main_thread_with_only_its_step_waits_for_those_that_communicate() {
    // 210 µs of a step in which nothing is recorded; other threads communicate for 173 and for 170 of them, together 181.
    let made = |python: bool| {
        let mut run = RunBuilder::new();
        step(&mut run, 1, (0, 210));
        run.host(Kind::HostAnnotation, "gloo:all_reduce", 2, (18, 191));
        run.host(Kind::HostAnnotation, "gloo:all_reduce", 3, (27, 199));
        if python {
            run.host(Kind::PythonFunction, "train.py(3): step", 1, (0, 210));
        }
        Look::at(run.finish()).verdict.text
    };
    assert_eq!(made(false), "The main thread spent 86% of the time in communication");
    // Where Python was recorded it was Python.
    assert_eq!(made(true), "step (train.py:3) takes 100% of the time in its own code");
}

/// Steps of 10 ms in which attention runs twice over `length(step)` keys: 8 ms of the host, of which `again` says whether the
/// second call takes them, too, or 20 µs.
fn attention(length: impl Fn(i64) -> i64, again: bool) -> Look {
    let mut run = RunBuilder::new();
    run.builder().meta().devices.push(Device { index: 0, name: "NVIDIA H200".to_owned(), ..Device::default() });
    for number in 0..6 {
        let at = 20_000 * number;
        let dims = format!("[[8, 1, 64], [8, {}, 64]]", length(number));
        let mut call = |from: i64, us: i64| {
            run.add(
                Slice::new(Kind::HostOp, "aten::_cudnn_attention_forward", (from, from + us + 10))
                    .thread(1)
                    .arg("Input Dims", stepscope_testkit::Value::Json(dims.clone())),
            );
            let launched = from + us;
            run.launch(
                1,
                (launched, launched + 5),
                Kind::Kernel,
                "attention",
                7,
                (launched + 10, launched + 30),
            );
        };
        call(at + 100, if number == 0 || length(number) != length(number - 1) { 8_000 } else { 20 });
        call(at + 9_000, if again { 8_000 } else { 20 });
        step(&mut run, number, (at, at + 20_000));
    }
    Look::at(run.finish())
}

#[test]
fn shapes_that_go_on_changing_are_named_with_what_they_cost() {
    let look = attention(|number| 100 + number, false);
    let found = look.finding("new_shapes").unwrap();
    assert_eq!(found.estimate, Estimate::Replay);
    // Of a step's 20 ms, 8 ms but for what a known shape takes.
    assert!((7_900_000..8_000_000).contains(&found.saves_ns.unwrap()), "{found:?}");
    assert!(found.title.contains("in 6 of 6 steps") && found.title.contains("8.01 ms"), "{}", found.title);
    assert!(found.code.as_ref().unwrap().contains("enable_cudnn_sdp(False)"));
    assert!(look.finding("compilation").is_none(), "its first call is no warm-up: it takes as long later");
    // The first step alone is warm-up; and what always takes long prepares nothing.
    assert!(attention(|_| 100, false).finding("new_shapes").is_none());
    assert!(attention(|number| 100 + number, true).finding("new_shapes").is_none());
}

#[test]
fn a_loop_over_cells_is_told_of_the_module_for_sequences() {
    let of = |cell: &str| {
        let mut run = RunBuilder::new();
        for number in 0..3 {
            step(&mut run, number, (10_000 * number, 10_000 * (number + 1)));
            for at in (0..40).map(|call| 10_000 * number + 200 * call + 50) {
                run.host(Kind::HostOp, cell, 1, (at, at + 150));
                run.launch(1, (at + 140, at + 145), Kind::Kernel, "gates", 7, (at + 150, at + 160));
            }
        }
        Look::at(run.finish()).finding("launch_bound").unwrap().code.clone().unwrap()
    };
    assert!(of("aten::gru_cell").starts_with("output, state = torch.nn.GRU("), "{}", of("aten::gru_cell"));
    assert!(of("aten::addmm").contains("torch.compile"), "{}", of("aten::addmm"));
}
