//! Iterations of serving engines: worked by hand, and in traces of vLLM and SGLang that others recorded.

use stepscope_analyse::names::serving::IterationKind::{Decode, Prefill, Unknown};
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::steps::serving::{FoundBy, Serving, serving};
use stepscope_model::{Kind, Ns, Trace};
use stepscope_testkit::{RunBuilder, Slice};

use crate::data;

fn all(trace: &Trace) -> Serving {
    serving(trace, &Selection::all())
}

fn launch(run: &mut RunBuilder, id: i64, call: (i64, i64), work: (i64, i64)) {
    run.add(Slice::new(Kind::Runtime, "cudaLaunchKernel", call).correlation(id));
    run.add(Slice::new(Kind::Kernel, "gemm", work).correlation(id));
}

/// A prefill and three decodes of an engine that launches ahead of its device.
fn vllm() -> Trace {
    let mut run = RunBuilder::new();
    run.host(Kind::HostAnnotation, "execute_context_2(100)_generation_0(0)", 1, (0, 100));
    // What an engine says inside of an iteration is no other one.
    run.host(Kind::HostAnnotation, "step[EXTEND bs=9 toks=9]", 1, (10, 90));
    launch(&mut run, 1, (20, 30), (40, 240));
    run.host(Kind::HostAnnotation, "execute_context_0(0)_generation_2(2)", 1, (110, 150));
    launch(&mut run, 2, (120, 125), (240, 340));
    run.host(Kind::HostAnnotation, "execute_context_0(0)_generation_2(2)", 1, (360, 400));
    launch(&mut run, 3, (365, 370), (380, 440));
    run.host(Kind::HostAnnotation, "execute_context_0(0)_generation_2(4)", 1, (450, 500));
    launch(&mut run, 4, (455, 460), (460, 480));
    run.finish()
}

#[test]
fn an_iteration_lasts_until_its_device_work_is_done() {
    let found = all(&vllm());
    assert_eq!(found.found_by, FoundBy::Range);
    type Row = (i64, i64, i64, Option<i64>, Option<i64>);
    let rows: Vec<Row> =
        found.iterations.iter().map(|i| (i.start_ns, i.wall_ns, i.busy_ns, i.gap_ns, i.host_ns)).collect();
    let us = |us: i64| us * 1000;
    let want: [Row; 4] = [
        (us(0), us(240), us(200), Some(0), Some(us(100))),
        // Begun on the host at 110, but the device was not free before 240.
        (us(240), us(100), us(100), Some(us(20)), Some(us(40))),
        (us(360), us(80), us(60), Some(us(10)), Some(us(40))),
        // The host ends it.
        (us(450), us(50), us(20), None, Some(us(50))),
    ];
    assert_eq!(rows, want);
    assert_eq!((found.span_ns, found.between_ns), (us(500), us(30)));
    let said: Vec<_> = found.iterations.iter().map(|i| (i.kind, i.requests, i.tokens)).collect();
    let decode = |tokens| (Decode, Some(2), Some(tokens));
    assert_eq!(said, [(Prefill, Some(2), Some(100)), decode(2), decode(2), decode(4)]);
}

#[test]
fn kinds_add_up_to_the_time_in_iterations() {
    let found = all(&vllm());
    let [prefill, decode] = &found.kinds[..] else { panic!("{:?}", found.kinds) };
    assert_eq!((prefill.kind, prefill.iterations, prefill.total_ns), (Prefill, 1, 240_000));
    assert_eq!((prefill.wall_p50_ns, prefill.wall_p99_ns), (240_000, 240_000));
    // 100 tokens in 240 µs.
    assert!((prefill.tokens_per_second.unwrap() - 100.0 / 240e-6).abs() < 1e-3);
    assert!((prefill.busy_share - 200.0 / 240.0).abs() < 1e-12);
    assert_eq!((decode.kind, decode.iterations, decode.total_ns), (Decode, 3, 230_000));
    assert_eq!((decode.wall_p50_ns, decode.wall_p95_ns, decode.wall_p99_ns), (80_000, 100_000, 100_000));
    assert_eq!(decode.tokens, Some(8));
    assert!((decode.tokens_per_second.unwrap() - 8.0 / 230e-6).abs() < 1e-3);
    assert_eq!(prefill.total_ns + decode.total_ns + found.between_ns, found.span_ns);
    assert!((prefill.share + decode.share - 470.0 / 500.0).abs() < 1e-12);
}

#[test]
fn only_iterations_that_begin_in_the_selection_count() {
    let part = Selection { ranges: Some(vec![(Ns(100_000), Ns(400_000))]), device: None };
    let found = serving(&vllm(), &part);
    assert_eq!(found.iterations.iter().map(|i| i.start_ns).collect::<Vec<_>>(), [110_000, 360_000]);
}

#[test]
fn python_calls_stand_for_ranges() {
    let mut run = RunBuilder::new();
    let scheduler = "/x/sglang/srt/managers/scheduler.py(2919): run_batch";
    let runner = |function: &str| format!("/x/sglang/srt/model_executor/model_runner.py(7): {function}");
    for (at, function) in [(0, "forward_extend"), (100, "forward_decode"), (200, "forward_idle")] {
        run.host(Kind::PythonFunction, scheduler, 1, (at, at + 50));
        run.host(
            Kind::PythonFunction,
            "/x/sglang/srt/managers/tp_worker.py(5): forward_batch_generation",
            1,
            (at + 5, at + 40),
        );
        run.host(Kind::PythonFunction, &runner(function), 1, (at + 10, at + 30));
    }
    let found = all(&run.finish());
    assert_eq!(found.found_by, FoundBy::PythonCall);
    let rows: Vec<_> = found.iterations.iter().map(|i| (i.kind, i.wall_ns, i.tokens)).collect();
    assert_eq!(rows, [(Prefill, 50_000, None), (Decode, 50_000, None), (Unknown, 50_000, None)]);
    assert!(found.kinds.iter().all(|k| k.tokens_per_second.is_none()));
}

/// Three bursts of kernels of an engine, each followed by a copy; a large copy within the second.
fn kernels_only(attention: &str) -> Trace {
    let mut run = RunBuilder::new();
    for burst in 0..3 {
        let at = burst * 1000;
        for k in 0..10 {
            let name = if k == 5 { attention } else { "gemm" };
            run.add(Slice::new(Kind::Kernel, name, (at + k * 10, at + k * 10 + 8)));
        }
        let copy = |at: i64, bytes: i64| {
            Slice::new(Kind::Memcpy, "Memcpy DtoH (Device -> Pageable)", (at, at + 5)).arg("bytes", bytes)
        };
        run.add(copy(at + 100, 1 << 20));
        run.add(copy(at + 110, 256));
    }
    run.finish()
}

#[test]
fn copies_of_sampled_tokens_end_iterations_where_an_engine_says_nothing() {
    let found = all(&kernels_only("void vllm::reshape_and_cache_flash_kernel<int>(int)"));
    assert_eq!(found.found_by, FoundBy::CopiesToHost);
    assert!(found.found_by.is_heuristic());
    let rows: Vec<_> = found.iterations.iter().map(|i| (i.start_ns, i.wall_ns, i.busy_ns, i.kind)).collect();
    let want = |at: i64| (at, 115_000, 90_000, Unknown);
    assert_eq!(rows, [want(0), want(1_000_000), want(2_000_000)]);
    assert_eq!(found.iterations[0].host_ns, None);
}

#[test]
fn no_engine_means_no_iterations() {
    assert_eq!(all(&kernels_only("flash_fwd_kernel")), Serving::default());
    for fixture in data::all_fixtures() {
        let found = all(&data::read(&fixture));
        assert_eq!(found, Serving::default(), "{}", fixture.display());
    }
}

#[test]
fn ranges_of_the_device_do_without_the_host() {
    let mut run = RunBuilder::new();
    for at in [0, 100] {
        run.add(Slice::new(Kind::DeviceAnnotation, "step[DECODE bs=4]", (at, at + 60)));
        run.add(Slice::new(Kind::Kernel, "gemm", (at + 10, at + 40)));
    }
    let found = all(&run.finish());
    assert_eq!(found.found_by, FoundBy::DeviceRange);
    let rows: Vec<_> = found.iterations.iter().map(|i| (i.wall_ns, i.busy_ns, i.gap_ns, i.tokens)).collect();
    assert_eq!(rows, [(60_000, 30_000, Some(40_000), Some(4)), (60_000, 30_000, None, Some(4))]);
}

#[test]
fn traces_of_engines_that_others_recorded() {
    let Some(folder) = data::peer("tracelens") else { return };
    let sglang = all(&data::read(&folder.join("inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz")));
    let [decode] = &sglang.iterations[..] else { panic!("{sglang:?}") };
    assert_eq!((decode.kind, decode.requests, decode.tokens), (Decode, Some(32), Some(32)));
    // The range is 465,716.634 µs long.
    assert_eq!(decode.host_ns, Some(465_716_634));
    let vllm = all(&data::read(&folder.join("b200/eager_trace.json.gz")));
    let [prefill] = &vllm.iterations[..] else { panic!("{vllm:?}") };
    assert_eq!((prefill.kind, prefill.requests, prefill.tokens), (Prefill, Some(1), Some(888)));
    assert_eq!(prefill.host_ns, Some(87_412_863));
    // No engine: Transformers on an H100.
    let plain = all(&data::read(&folder.join("h100/gaunernst_bert-small-uncased__1016001.json.gz")));
    assert_eq!(plain, Serving::default());
}
