//! torch.compile: worked by hand, and in recorded traces with faults planted in them.

use std::path::Path;

use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::steps::Steps;
use stepscope_analyse::tables::compiled::{Compiled, compiled};
use stepscope_model::{Kind, Trace};
use stepscope_testkit::{RunBuilder, Slice};

use crate::data;

fn all(trace: &Trace) -> Compiled {
    compiled(trace, &Steps::find(trace), &Selection::all())
}

fn op(run: &mut RunBuilder, name: &str, at: (i64, i64)) {
    run.host(Kind::HostOp, name, 1, at);
}

/// Two steps: a region that breaks at an operator and goes on in another, then a third one beside them; in the second step
/// the second region is compiled again.
fn broken() -> Trace {
    let mut run = RunBuilder::new();
    for (step, at) in [(1, 0), (2, 1000)] {
        run.host(Kind::HostAnnotation, &format!("ProfilerStep#{step}"), 1, (at, at + 900));
        op(&mut run, "TorchDynamo Cache Lookup", (at + 5, at + 10));
        op(&mut run, "Torch-Compiled Region: 0/0", (at + 10, at + 500));
        run.host(Kind::PythonFunction, "model.py(7): forward", 1, (at + 11, at + 499));
        run.host(Kind::HostAnnotation, "## Call CompiledFxGraph fabc ##", 1, (at + 20, at + 100));
        let triton = Slice::new(Kind::HostOp, "triton_poi_fused_add_0", (at + 30, at + 50)).external(step * 10);
        run.add(
            triton
                .arg("kernel_file", "inductor/cabc.py")
                .arg("kernel_backend", "triton")
                .arg("kernel_kwargs", "XBLOCK=64"),
        );
        run.add(
            Slice::new(Kind::Driver, "cuLaunchKernel", (at + 35, at + 40))
                .correlation(step * 10)
                .external(step * 10),
        );
        let kernel = Slice::new(Kind::Kernel, "triton_poi_fused_add_0", (at + 45, at + 75));
        run.add(kernel.correlation(step * 10).external(step * 10));
        // The break.
        op(&mut run, "aten::item", (at + 110, at + 140));
        op(&mut run, "aten::_local_scalar_dense", (at + 115, at + 135));
        run.add(Slice::new(Kind::Runtime, "cudaMemcpyAsync", (at + 120, at + 130)).correlation(step * 10 + 1));
        run.add(Slice::new(Kind::Memcpy, "Memcpy DtoH", (at + 125, at + 127)).correlation(step * 10 + 1));
        op(&mut run, "TorchDynamo Cache Lookup", (at + 150, at + 153));
        if step == 2 {
            op(&mut run, "dynamo", (at + 160, at + 300));
            run.host(Kind::HostAnnotation, "dynamo_data: compile_id=1/1", 1, (at + 161, at + 162));
            op(&mut run, "_compile.compile_inner (dynamo_timed)", (at + 170, at + 290));
            op(&mut run, "aten::add", (at + 180, at + 190));
            op(&mut run, "inductor (dynamo_timed)", (at + 200, at + 280));
        }
        op(&mut run, &format!("Torch-Compiled Region: 1/{}", step - 1), (at + 310, at + 490));
        run.host(Kind::HostAnnotation, "## Call CompiledFxGraph fdef ##", 1, (at + 320, at + 480));
        op(&mut run, "aten::mm", (at + 330, at + 400));
        // Between two regions, and after the last.
        op(&mut run, "aten::relu", (at + 510, at + 520));
        op(&mut run, "Torch-Compiled Region: 5/0", (at + 600, at + 700));
        op(&mut run, "aten::sum", (at + 710, at + 720));
    }
    run.finish()
}

#[test]
fn a_region_inside_of_a_region_is_a_break() {
    let found = all(&broken());
    let health = found.health.unwrap();
    assert_eq!((health.steps, health.regions), (2, 4));
    assert_eq!((health.calls_per_step, health.breaks_per_step), (3.0, 1.0));
    // aten::item and aten::relu in each step; not what runs compiled, compiles, or comes after the last region.
    assert_eq!(health.eager_per_step, 2.0);
    let eager: Vec<_> =
        found.eager.iter().map(|e| (e.name.as_str(), e.calls, e.in_regions, e.host_ns, e.device_ns)).collect();
    assert_eq!(eager, [("aten::item", 2, 2, 60_000, 4_000), ("aten::relu", 2, 0, 20_000, 0)]);
    let regions: Vec<_> =
        found.regions.iter().map(|r| (r.region.as_str(), r.calls, r.breaks, r.host_ns)).collect();
    // 0/0: 490 less 180 inside, and in the second step less 140 of compiling.
    assert_eq!(
        regions,
        [("0/0", 2, 0, 480_000), ("5/0", 2, 0, 200_000), ("1/1", 1, 1, 180_000), ("1/0", 1, 1, 180_000)]
    );
    assert_eq!(found.regions[0].function.as_deref(), Some("model.py(7): forward"));
    assert_eq!((health.lookups, health.lookup_ns), (4, 16_000));
}

#[test]
fn compiling_again_is_counted_and_timed() {
    let found = all(&broken());
    let health = found.health.unwrap();
    assert_eq!((health.compiles, health.recompiles, health.compile_ns), (1, 1, 140_000));
    let compile = |region: &str| found.regions.iter().find(|r| r.region == region).unwrap().compile_ns;
    assert_eq!((compile("1/1"), compile("1/0")), (Some(140_000), None));
    let phases: Vec<_> =
        found.phases.iter().map(|p| (p.phase.as_str(), p.calls, p.total_ns, p.self_ns)).collect();
    assert_eq!(phases, [("inductor", 1, 80_000, 80_000), ("_compile.compile_inner", 1, 120_000, 40_000)]);
}

#[test]
fn generated_kernels_lead_to_their_source() {
    let found = all(&broken());
    let [kernel] = &found.generated[..] else { panic!("{:?}", found.generated) };
    assert_eq!(kernel.file.as_deref(), Some("inductor/cabc.py"));
    assert_eq!((kernel.region.as_deref(), kernel.config.as_deref()), (Some("0/0"), Some("XBLOCK=64")));
    assert_eq!((kernel.calls, kernel.total_ns, kernel.backend.as_deref()), (2, 60_000, Some("triton")));
    // 64 µs on the device, 4 of them in copies of the eager operator.
    assert!((kernel.share - 60.0 / 64.0).abs() < 1e-12);
    let health = found.health.unwrap();
    assert_eq!(health.device_ns, 60_000);
    assert!((health.device_share.unwrap() - 60.0 / 64.0).abs() < 1e-12);
}

#[test]
fn without_torch_compile_there_is_nothing() {
    let mut run = RunBuilder::new();
    op(&mut run, "aten::mm", (0, 10));
    op(&mut run, "TorchDynamo Cache Lookup", (20, 30));
    assert_eq!(all(&run.finish()), Compiled::default());
}

fn fixture(path: &str) -> Compiled {
    all(&data::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch").join(path)))
}

#[test]
fn a_recorded_training_step_is_one_region() {
    let found = fixture("2.11-h200-features/compiled/compiled.pt.trace.json.gz");
    let health = found.health.unwrap();
    assert_eq!((health.steps, health.regions, health.calls_per_step), (3, 1, 1.0));
    assert_eq!((health.breaks_per_step, health.eager_per_step, health.compiles), (0.0, 0.0, 0));
    // The file's three lookups: 45.018, 37.281 and 35.686 µs.
    assert_eq!((health.lookups, health.lookup_ns), (3, 45_018 + 37_281 + 35_686));
    let [region] = &found.regions[..] else { panic!("{:?}", found.regions) };
    // Its regions: 1,436.525, 1,025.82 and 977.626 µs; its CompiledFunctionBackward: 1,341.464, 1,123.447, 1,101.239.
    assert_eq!(region.host_ns, 1_436_525 + 1_025_820 + 977_626);
    assert_eq!(region.backward_host_ns, 1_341_464 + 1_123_447 + 1_101_239);
    assert_eq!(region.function.as_deref(), Some("rec_cases.py(53): forward"));
    assert!(found.generated.iter().all(|k| k.file.as_deref().is_some_and(|f| f.ends_with(".py"))));
    assert!(found.generated.iter().any(|k| k.region.as_deref() == Some("0/0 backward")));
    let calls: u64 = found.generated.iter().map(|k| k.calls).sum();
    assert_eq!(calls, 18);
}

#[test]
fn a_recorded_model_breaks_twice_per_step() {
    let found = fixture("2.15-cpu-compile/graph_break/graph_break.pt.trace.json.zst");
    let health = found.health.unwrap();
    // print() and item() in forward(); the file has nine regions in three steps, each in the one before.
    assert_eq!((health.steps, health.calls_per_step, health.breaks_per_step), (3, 3.0, 2.0));
    // Frame 2 holds the value of item() as a constant: versions 3, 4 and 5, one per step.
    assert_eq!((health.compiles, health.recompiles, health.regions), (3, 3, 5));
    let region = |name: &str| found.regions.iter().find(|r| r.region == name).unwrap();
    // The file's `dynamo` of this id is 1,601,528.895 µs long, and its region 1,159.416.
    assert_eq!((region("2/3").compile_ns, region("2/3").host_ns), (Some(1_601_528_895), 1_159_416));
    // 1,603,938.834 µs with both inside, in the first step.
    assert!(region("1/0").host_ns < 100_000_000, "{:?}", region("1/0"));
    let eager: Vec<_> = found.eager.iter().map(|e| (e.name.as_str(), e.calls, e.in_regions)).collect();
    assert_eq!(eager, [("aten::item", 3, 3)]);
    assert_eq!((health.device_share, health.lookups), (None, 9));
    assert!(found.phases.iter().any(|p| p.phase == "bytecode_tracing" && p.calls == 3), "{:?}", found.phases);
}

#[test]
fn a_program_that_compiles_in_every_step() {
    let fault = fixture("2.11-h200-twins/seen/recompile/fault.shapes.json.zst").health.unwrap();
    assert_eq!((fault.compiles, fault.recompiles), (3, 3));
    let fixed = fixture("2.11-h200-twins/seen/recompile/fixed.shapes.json.zst").health.unwrap();
    assert_eq!((fixed.compiles, fixed.recompiles, fixed.compile_ns), (0, 0, 0));
    assert!(fault.compile_ns > 500_000_000, "{fault:?}");
    let first = fixture("2.11-h200-twins/seen/first_step_compile/fault.shapes.json.zst").health.unwrap();
    assert_eq!((first.compiles, first.recompiles), (1, 0));
}

#[test]
fn traces_of_torch_compile_that_others_recorded() {
    let Some(folder) = data::peer("tracelens") else { return };
    let found = all(&data::read(&folder.join("torch_compile_triton/trace.json.gz")));
    let [region] = &found.regions[..] else { panic!("{:?}", found.regions) };
    assert_eq!((region.region.as_str(), region.calls, region.host_ns), ("0/0", 1, 856_311));
    let files: Vec<_> =
        found.generated.iter().filter(|k| k.file.is_some()).map(|k| k.kernel.as_str()).collect();
    assert_eq!(found.generated.iter().map(|k| k.calls).sum::<u64>(), 4, "{files:?}");
    let first =
        found.generated.iter().find(|k| k.kernel == "triton_red_fused_add_mean_mul_pow_rsqrt_0").unwrap();
    assert_eq!(first.config.as_deref(), Some("XBLOCK=2,R0_BLOCK=2048"));
    assert_eq!(first.total_ns, 77_074);
    // vLLM in eager mode still compiles one function, in its second version.
    let vllm = all(&data::read(&folder.join("b200/eager_trace.json.gz")));
    assert_eq!(vllm.regions.iter().map(|r| r.region.as_str()).collect::<Vec<_>>(), ["0/1"]);
}
