//! Programs of JAX and TensorFlow: their steps, whose time it is, and what their instructions cost.

use std::path::PathBuf;

use stepscope_analyse::causes::cause::Cause;
use stepscope_analyse::findings::{self, Thresholds};
use stepscope_analyse::roofline::{RooflineBy, RooflineQuery, roofline};
use stepscope_analyse::run::Run;
use stepscope_analyse::threads::activity::Activity;
use stepscope_formats::{OpenOptions, open_trace, read_trace};
use stepscope_model::{Kind, Trace};
use stepscope_testkit::xplane::{Event, Plane, space};

fn run_of(planes: Vec<Plane>) -> Run {
    Run::new(read_trace(&space(planes)[..], "t.xplane.pb", &OpenOptions::default()).unwrap())
}

/// Rules that programs made by hand show, firing and silent.
pub const RULES: [&str; 2] = ["donation", "eager_operations"];

const MS: u64 = 1_000_000;

/// Three steps of 10 ms: 2 ms of loading, 5 ms in which one or two workers compute, the rest is Python and waiting.
fn on_the_host(marked: bool) -> Run {
    let (mut python, mut first, mut second) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..3 {
        let at = step * 10 * MS;
        let train = Event::new("train", (at, at + 10 * MS));
        if marked {
            python.push(train.int("_r", 1).int("step_num", step as i64 + 7));
        }
        python.push(Event::new("load_batch", (at, at + 2 * MS)));
        python.push(Event::new("PjitFunction(train_step)", (at + 2 * MS, at + 3 * MS)));
        python.push(Event::new("$api.py:2757 block_until_ready", (at + 3 * MS, at + 10 * MS)));
        let op = |name: &str, from, to| {
            Event::new(name, (at + from, at + to)).text("hlo_op", name).int("program_id", 1)
        };
        first.push(op("dot.1", 3 * MS, 6 * MS));
        first.push(op("add.2", 7 * MS, 9 * MS));
        second.push(op("mul.3", 4 * MS, 5 * MS));
    }
    let host = Plane::new("/host:CPU").line(1, "python", 0, &python).line(2, "tf_XLAEigen/2", 0, &first).line(
        3,
        "tf_XLAEigen/3",
        0,
        &second,
    );
    run_of(vec![host])
}

#[test]
fn operators_on_worker_threads_are_the_steps_work() {
    let run = on_the_host(true);
    let steps: Vec<i64> = run.steps().steps.iter().map(|step| step.step).collect();
    assert_eq!(steps, [7, 8, 9]);
    let row = &run.account().devices[0];
    let ms = |activity| row.causes.get(Cause::Host(activity)) / MS as i64;
    assert_eq!(row.wall_ns, 30 * MS as i64);
    // 3 to 6 and 7 to 9 ms of each step; what two workers do at once counts once.
    assert_eq!(ms(Activity::Operator), 15);
    assert_eq!(ms(Activity::DataLoading), 6);
    assert_eq!(ms(Activity::Runtime), 3);
    assert_eq!(ms(Activity::Synchronization), 6);
    assert_eq!(ms(Activity::Unrecorded), 0);
}

#[test]
fn runs_of_a_compiled_function_stand_for_steps_that_nobody_marked() {
    let run = on_the_host(false);
    assert_eq!(run.steps().found.as_ref().map(|found| found.name.as_str()), Some("train_step"));
    let windows: Vec<(i64, i64)> = run.steps().steps.iter().map(|s| (s.host_start_ns, s.host_end_ns)).collect();
    let ms = MS as i64;
    // From one run to the next; the last as long as the others, but not beyond the recording.
    assert_eq!(windows, [(2 * ms, 12 * ms), (12 * ms, 22 * ms), (22 * ms, 30 * ms)]);
    // PyTorch's traces without marks stay one step.
    assert!(on_the_host(true).steps().found.is_none());
}

#[test]
fn a_pipeline_that_is_too_slow_is_named_with_its_stage() {
    let mut python = Vec::new();
    for step in 0..4 {
        let at = step * 10 * MS;
        python.push(Event::new("train", (at, at + 10 * MS)).int("step_num", step as i64));
        python.push(Event::new("EagerLocalExecute: IteratorGetNext", (at, at + 8 * MS)));
        let stage = Event::new("Iterator::Root::MapAndBatch", (at + MS / 10, at + 8 * MS - MS / 10));
        python.push(stage.int("parallelism", 1).int("buffered_elements", 0).text("autotune", "false"));
        python.push(Event::new("mul:Mul", (at + 8 * MS, at + 10 * MS)));
    }
    let host = Plane::new("/host:CPU").line(1, "python", 0, &python);
    let found = findings::findings(&run_of(vec![host]), &Thresholds::default());
    let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["data_loading"]);
    assert!(
        found[0].why.contains("Iterator::Root::MapAndBatch works on one element at a time"),
        "{}",
        found[0].why
    );
    assert!(
        found[0].title.contains("the program waits") && found[0].title.contains("80%"),
        "{}",
        found[0].title
    );
    assert!(!format!("{:?}", found[0]).contains("torch"), "{:?}", found[0]);
}

/// Keras fetches the batch inside of the compiled step, on a thread of tf.data's: 8 ms of each 10.
#[test]
fn a_batch_that_the_step_fetches_itself_is_loading_too() {
    let (mut python, mut fetching, mut worker) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..4 {
        let at = step * 10 * MS;
        python.push(Event::new("train", (at, at + 10 * MS)).int("_r", 1).int("step_num", step as i64));
        python.push(Event::new("EagerLocalExecute: __inference_multi_step_7", (at, at + 10 * MS)));
        fetching.push(Event::new("IteratorGetNextOp::DoCompute", (at + MS, at + 9 * MS)));
        fetching
            .push(Event::new("Iterator::Root::ParallelMapV2", (at + MS, at + 9 * MS)).int("parallelism", 1));
        worker.push(Event::new("mul:Mul", (at + 9 * MS, at + 10 * MS)));
    }
    let host = Plane::new("/host:CPU")
        .line(1, "python", 0, &python)
        .line(2, "tf_data_iterator_get_next/2", 0, &fetching)
        .line(3, "tf_Compute/3", 0, &worker);
    let run = run_of(vec![host]);
    let ms = |activity| run.account().devices[0].causes.get(Cause::Host(activity)) / MS as i64;
    assert_eq!((ms(Activity::DataLoading), ms(Activity::Operator)), (32, 4));
    let all = found(&run);
    let [finding] = &all[..] else { panic!("{all:?}") };
    assert_eq!((finding.rule, finding.saves_share), ("data_loading", Some(0.8)));
    assert!(finding.why.contains("ParallelMapV2"), "{}", finding.why);
}

fn found(run: &Run) -> Vec<findings::Finding> {
    findings::findings(run, &Thresholds::default())
}

/// The share of the step that the finding of a rule saves.
fn saves(run: &Run, rule: &str) -> Option<f64> {
    let all = found(run);
    let finding = all.iter().find(|finding| finding.rule == rule)?;
    assert!(!format!("{finding:?}").to_lowercase().contains("torch"), "{finding:?}");
    finding.saves_share
}

const US: u64 = 1_000;

/// Four steps that hand over a function in 0.1 ms and go on; its runs follow each other on another thread, 3 ms each.
#[test]
fn steps_that_run_ahead_of_the_processor_last_as_long_as_their_work() {
    let (mut python, mut worker) = (Vec::new(), Vec::new());
    for step in 0..4 {
        let at = step * MS / 10;
        python.push(Event::new("train", (at, at + 90 * US)).int("_r", 1).int("step_num", step as i64));
        python.push(Event::new("PjitFunction(<lambda>)", (at + 10 * US, at + 80 * US)));
        python.push(Event::new("PjitFunction(<lambda>)", (at + 11 * US, at + 79 * US)));
        let (begins, run) = (MS / 2 + step * 3 * MS, 40 + step as i64);
        let op = |name: &str, from, to| {
            let event = Event::new(name, (begins + from, begins + to)).text("hlo_op", name);
            event.text("hlo_module", "jit__lambda_").int("program_id", 1).int("run_id", run)
        };
        worker.push(op("dot.1", 0, 2 * MS));
        worker.push(op("add.2", 2 * MS, 3 * MS));
    }
    python.push(Event::new("$api.py:2757 block_until_ready", (MS / 2, 12 * MS + MS / 2)));
    let host =
        Plane::new("/host:CPU").line(1, "python", 0, &python).line(2, "tf_XLAPjRtCpuClient/2", 0, &worker);
    let run = run_of(vec![host]);
    let ends: Vec<i64> = run.steps().steps.iter().map(|s| s.end_ns / (MS as i64 / 10)).collect();
    assert_eq!(ends, [35, 65, 95, 125]);
    let unchanged = run.replay().unchanged();
    assert_eq!(unchanged.replayed_ns, unchanged.measured_ns);
    let operators = run.account().devices[0].causes.get(Cause::Host(Activity::Operator));
    assert_eq!(operators, 12 * MS as i64);
}

/// A GPU with work (from, to, correlation), and what the threads of the host did. Odd work brings a value back.
fn on_a_gpu(python: &[Event], worker: &[Event], work: &[(u64, u64, i64)]) -> Run {
    let event = |&(from, to, id): &(u64, u64, i64)| match id % 2 {
        0 => Event::new("loop_fusion", (from, to)).int("correlation_id", id),
        _ => Event::new("MemcpyD2H", (from, to))
            .int("correlation_id", id)
            .text("memcpy_details", "kind_src:device kind_dst:pinned size:4 dest:0 async:1"),
    };
    let events: Vec<Event> = work.iter().map(event).collect();
    let device = Plane::new("/device:GPU:0").line(14, "Stream #14(Compute)", 0, &events);
    let mut host = Plane::new("/host:CPU").line(1, "python", 0, python);
    if !worker.is_empty() {
        host = host.line(2, "pjrt_worker/2", 0, worker);
    }
    run_of(vec![device, host])
}

fn launch(at: u64, id: i64) -> Event {
    Event::new("cuLaunchKernel", (at, at + 10 * US)).int("correlation_id", id).int("device_id", 0)
}

/// Six steps of 1 ms: 0.2 ms to hand over, 0.5 ms of device work, 0.3 ms until the loss is here. Without reading it, the
/// device would work all the time: 0.5 ms per step.
#[test]
fn reading_a_value_every_step_costs_what_the_device_could_have_done() {
    let steps_of = |reads: bool| {
        let (mut python, mut worker, mut work) = (Vec::new(), Vec::new(), Vec::new());
        for step in 0..6u64 {
            let id = step as i64 * 2 + 2;
            let (period, length) = if reads { (1_000, 999) } else { (220, 210) };
            let at = step * period * US;
            let begins = if reads { at } else { step * 500 * US } + 200 * US;
            python.push(Event::new("train", (at, at + length * US)).int("_r", 1).int("step_num", step as i64));
            python.push(Event::new("PjitFunction(update)", (at, at + 200 * US)));
            python.push(launch(at + 185 * US, id));
            work.push((begins, begins + 500 * US, id));
            if reads {
                python.push(Event::new("$array.py:629 _value", (at + 205 * US, at + 990 * US)));
                worker.push(Event::new("D2H Dispatch", (at + 800 * US, at + 850 * US)));
                worker.push(launch(at + 810 * US, id + 1));
                work.push((at + 830 * US, at + 831 * US, id + 1));
            }
        }
        on_a_gpu(&python, &worker, &work)
    };
    let run = steps_of(true);
    let unchanged = run.replay().unchanged();
    assert_eq!(unchanged.replayed_ns, unchanged.measured_ns);
    let unknown = run.account().devices[0].causes.get(Cause::Host(Activity::DeviceUnrecorded));
    assert_eq!(unknown, 0, "threads that wake each other up are no unrecorded work");
    let saved = saves(&run, "synchronization").unwrap();
    assert!((0.4..0.5).contains(&saved), "{saved}");
    assert_eq!(saves(&steps_of(false), "synchronization"), None);
}

/// The main thread compiles while threads of the compiler try kernels: without compiling, both are gone.
#[test]
fn what_a_compiler_tries_is_gone_without_compiling() {
    let (mut python, mut worker, mut work) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..4u64 {
        let (at, id) = (step * 100 * MS, step as i64 * 100 + 2);
        python.push(Event::new("train", (at, at + 100 * MS - 1)).int("_r", 1).int("step_num", step as i64));
        python.push(Event::new("backend_compile_and_load", (at, at + 98 * MS)));
        for trial in 0..9u64 {
            let (from, id) = (at + (5 + trial * 10) * MS, id + 2 * trial as i64 + 2);
            worker.push(Event::new("Autotune", (from, from + 8 * MS)));
            worker.push(launch(from + MS, id));
            work.push((from + 2 * MS, from + 7 * MS, id));
        }
        python.push(Event::new("PjitFunction(update)", (at + 98 * MS, at + 98 * MS + 15 * US)));
        python.push(launch(at + 98 * MS, id));
        work.push((at + 98 * MS + 20 * US, at + 99 * MS, id));
    }
    let run = on_a_gpu(&python, &worker, &work);
    let saved = saves(&run, "compilation").unwrap();
    assert!((0.96..0.99).contains(&saved), "{saved}");
}

#[test]
fn operations_one_by_one_are_told_from_a_compiled_step() {
    let steps_of = |calls: u64| {
        let (mut python, mut work) = (Vec::new(), Vec::new());
        for step in 0..4u64 {
            let at = step * 20 * MS;
            python
                .push(Event::new("train", (at, at + calls * MS / 2)).int("_r", 1).int("step_num", step as i64));
            for call in 0..calls {
                let (from, id) = (at + call * MS / 2, (step * 100 + call) as i64 * 2 + 2);
                python.push(Event::new("PjitFunction(mul)", (from, from + 100 * US)));
                python.push(launch(from + 50 * US, id));
                work.push((from + 70 * US, from + 75 * US, id));
            }
        }
        on_a_gpu(&python, &[], &work)
    };
    let saved = saves(&steps_of(30), "eager_operations").unwrap();
    assert!(saved > 0.9, "{saved}");
    assert_eq!(saves(&steps_of(2), "eager_operations"), None);
}

/// Each call builds the graph of the function again, 8 ms of 10; then the function runs.
#[test]
fn functions_that_tensorflow_traces_again_are_compilation() {
    let calls = |how: &str| {
        let mut python = Vec::new();
        for step in 0..4 {
            let at = step * 10 * MS;
            python.push(Event::new("train", (at, at + 10 * MS)).int("_r", 1).int("step_num", step as i64));
            let call = Event::new("update", (at, at + 10 * MS)).text("tf_function_call", how);
            python.push(call.int("tracing_count", step as i64));
            python.push(Event::new("EagerLocalExecute: __inference_update_7", (at + 5 * MS, at + 10 * MS)));
            python.push(Event::new("EagerKernelExecute", (at + 8 * MS, at + 10 * MS)));
            python.push(Event::new("mul:Mul", (at + 8 * MS, at + 10 * MS)));
        }
        run_of(vec![Plane::new("/host:CPU").line(1, "python", 0, &python)])
    };
    assert_eq!(saves(&calls("traced-nonXla"), "compilation"), Some(0.8));
    assert_eq!(saves(&calls("notTraced-nonXla"), "compilation"), None);
}

/// One result of 2 MiB has the shape of an argument that is not donated; 16 MiB are live at the peak.
#[test]
fn arguments_that_results_could_take_over_are_told() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/xla/layers.xplane.pb");
    let run = Run::new(open_trace(&path, &OpenOptions::default()).unwrap());
    let mut thresholds = Thresholds::default();
    assert!(findings::findings(&run, &thresholds).iter().all(|finding| finding.rule != "donation"));
    thresholds.set("donation.min_mib", 1.0).unwrap();
    let all = findings::findings(&run, &thresholds);
    let found = all.iter().find(|finding| finding.rule == "donation").unwrap();
    assert_eq!(
        found.title,
        "Donation: jit_train_step keeps 2 MiB of old arrays while it makes new ones of the same shapes"
    );
    let share = found.evidence.iter().find(|evidence| evidence.label == "share of its memory").unwrap();
    assert_eq!(share.value, findings::Amount::Share(0.125));
}

/// Other projects' profiles and our own; see `shared/data` of whoever has them.
fn profile(path: &str) -> Option<Trace> {
    let Some(root) = std::env::var_os("STEPSCOPE_XPLANE_DATA") else {
        println!("skipped: STEPSCOPE_XPLANE_DATA is not set");
        return None;
    };
    Some(open_trace(&PathBuf::from(root).join(path), &OpenOptions::default()).unwrap())
}

/// Sums that a decoder of forty lines in Python gets from the same files.
#[test]
fn real_profiles_add_up_to_what_another_decoder_finds() {
    let jax = "jax-cpu/plugins/profile/2026_11_15_00_46_32/vm.xplane.pb";
    let Some(trace) = profile(jax) else { return };
    let slices = trace.slices();
    let ops = slices.ids().filter(|&id| slices.kind(id) == Kind::HostOp);
    assert_eq!(ops.map(|id| slices.dur(id).0).sum::<i64>(), 146_178_837);
    let run = Run::new(trace);
    let row = &run.account().devices[0];
    // Steps of 188.80 ms; workers compute in 145.31 ms of them, batches take 13.85 ms.
    assert_eq!(row.wall_ns / 10_000, 18_880);
    assert_eq!(row.causes.get(Cause::Host(Activity::Operator)) / 100_000, 1_453);
    assert_eq!(row.causes.get(Cause::Host(Activity::DataLoading)) / 100_000, 138);
    let Some(trace) = profile("jax-rocm-gpu/gfx950_te_fused_attn.xplane.pb") else { return };
    let slices = trace.slices();
    let kernels: Vec<_> = slices.ids().filter(|&id| slices.kind(id) == Kind::Kernel).collect();
    assert_eq!((kernels.len(), kernels.iter().map(|&id| slices.dur(id).0).sum::<i64>()), (150, 12_133_585));
    assert!(kernels.iter().all(|&id| trace.links().launch(id).is_some() && trace.links().op(id).is_some()));
    let report = roofline(&trace, &RooflineQuery { by: RooflineBy::Name, ..RooflineQuery::default() });
    assert!(report.rows.iter().all(|row| row.of_roofline.is_none_or(|share| share <= 1.0)));
    assert!(report.modeled_share > Some(0.4), "{:?}", report.modeled_share);
}
