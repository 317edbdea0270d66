//! Steps that no one marked: made programs whose iterations are known, and recorded ones whose marks were taken out.

use std::path::PathBuf;

use serde_json::Value;
use stepscope_analyse::run::Run;
use stepscope_analyse::steps::{FoundBy, Steps};
use stepscope_formats::{OpenOptions, read_trace, write_chrome};
use stepscope_model::{Kind, Trace};
use stepscope_testkit::{RunBuilder, Slice};

use crate::data::{fixtures, peer, read, twins};

/// A program on one thread and one stream; times are microseconds.
struct Program {
    run: RunBuilder,
    host: i64,
    device: i64,
}

impl Program {
    fn new() -> Program {
        Program { run: RunBuilder::new(), host: 0, device: 0 }
    }

    /// An operator that launches a kernel of this name and length.
    fn op(&mut self, op: &str, kernel: &str, length: i64) {
        let at = self.host;
        self.run.host(Kind::HostOp, op, 1, (at, at + 8));
        let start = (at + 5).max(self.device);
        self.run.launch(1, (at + 2, at + 4), Kind::Kernel, kernel, 7, (start, start + length));
        (self.host, self.device) = (at + 10, start + length);
    }

    /// Twelve layers of four kernels each, which take so long.
    fn layers(&mut self, length: i64) {
        for _ in 0..12 {
            for name in ["norm", "gemm", "attention", "gelu"] {
                self.op("aten::op", name, length);
            }
        }
    }

    /// A range around what the program does in it.
    fn range(&mut self, kind: Kind, name: &str, inside: impl FnOnce(&mut Program)) {
        let start = self.host;
        self.host += 1;
        inside(self);
        self.host += 1;
        let end = self.host;
        self.run.host(kind, name, 1, (start, end));
        self.host += 1;
    }

    fn annotated(&mut self, name: &str, inside: impl FnOnce(&mut Program)) {
        self.range(Kind::HostAnnotation, name, inside);
    }

    fn steps(self) -> Steps {
        Steps::find(&self.run.finish())
    }
}

fn found(steps: &Steps) -> Option<(FoundBy, &str, usize)> {
    steps.found.as_ref().map(|found| (found.by, found.name.as_str(), steps.steps.len()))
}

fn sentence(steps: &Steps) -> &str {
    steps.found.as_ref().map_or("", |found| found.sentence.as_str())
}

#[test]
fn an_optimizer_ends_an_iteration() {
    let mut program = Program::new();
    for _ in 0..4 {
        // Three batches are accumulated.
        for _ in 0..3 {
            program.layers(20);
        }
        program.annotated("Optimizer.step#AdamW.step", |p| p.op("aten::_fused_adamw_", "adam", 30));
    }
    // The recording ends in the middle of the next one.
    program.layers(20);
    let steps = program.steps();
    assert_eq!(found(&steps), Some((FoundBy::Optimizer, "AdamW", 4)));
    assert_eq!(sentence(&steps), "4 iterations found by the steps of the optimizer AdamW");
    let work: Vec<u64> = steps.steps.iter().map(|step| step.device_slices).collect();
    assert_eq!(work, [145; 4]);
    assert_eq!(steps.device_slices_outside, 48);
    assert!(!steps.synthetic && steps.steps.iter().all(|step| !step.partial));
}

#[test]
fn two_optimizers_of_a_class_have_one_iteration() {
    let mut program = Program::new();
    for _ in 0..5 {
        program.layers(20);
        program.annotated("Optimizer.step#Adam.step", |p| p.op("aten::adam", "adam", 30));
        // The discriminator is smaller.
        (0..12).for_each(|_| program.op("aten::op", "gemm", 20));
        program.annotated("Optimizer.step#Adam.step", |p| p.op("aten::adam", "adam", 30));
    }
    let steps = program.steps();
    // The recording begins with a whole iteration, which ends where the larger part begins.
    assert_eq!(found(&steps), Some((FoundBy::Optimizer, "Adam", 5)));
    assert!(steps.steps.iter().all(|step| step.device_slices == 62), "{steps:?}");
    // Another class is another optimizer: the first one counts.
    let mut program = Program::new();
    for _ in 0..5 {
        program.layers(20);
        program.annotated("Optimizer.step#Muon.step", |p| p.op("aten::muon", "muon", 30));
        program.annotated("Optimizer.step#AdamW.step", |p| p.op("aten::adam", "adam", 30));
    }
    assert_eq!(found(&program.steps()), Some((FoundBy::Optimizer, "Muon", 5)));
}

#[test]
fn a_batch_begins_an_iteration() {
    let mut program = Program::new();
    for _ in 0..4 {
        program.annotated("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", |p| p.host += 50);
        program.layers(20);
    }
    // The loader says that there are no more.
    program.annotated("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", |p| p.host += 5);
    let steps = program.steps();
    assert_eq!(found(&steps).map(|f| (f.0, f.2)), Some((FoundBy::DataLoader, 4)));
    assert_eq!(steps.steps.iter().map(|step| step.device_slices).collect::<Vec<_>>(), [48; 4]);
}

#[test]
fn a_range_that_repeats_begins_an_iteration() {
    let mut program = Program::new();
    program.annotated("main loop", |p| {
        for i in 0..6 {
            p.annotated("prepare", |p| p.op("aten::to", "copy", 5));
            p.annotated("forward", |p| p.layers(20));
            p.annotated("forward", |p| p.layers(10));
            if i == 3 {
                p.annotated("log", |p| p.host += 100);
            }
        }
    });
    let steps = program.steps();
    assert_eq!(found(&steps), Some((FoundBy::Range, "prepare", 6)));
    assert_eq!(sentence(&steps), "6 iterations found by the repeating range prepare");
    assert_eq!(steps.steps.iter().map(|step| step.device_slices).collect::<Vec<_>>(), [97; 6]);
}

#[test]
fn prefills_are_no_steps() {
    // Two requests: each has a prompt and then ten tokens; the engine has one range for both.
    let mut program = Program::new();
    for _ in 0..2 {
        program.annotated("generate", |p| {
            for token in 0..10 {
                p.annotated("decode_step", |p| p.layers(if token == 0 { 100 } else { 20 }));
            }
        });
    }
    let steps = program.steps();
    assert_eq!(found(&steps), Some((FoundBy::Range, "decode_step", 18)));
    assert_eq!(
        sentence(&steps),
        "18 iterations found by the repeating range decode_step; 2 of another kind, such as prefills, do not count"
    );
    assert_eq!(steps.device_slices_outside, 2 * 48);
    let numbers: Vec<i64> = steps.steps.iter().map(|step| step.step).collect();
    assert_eq!(numbers, (0..18).collect::<Vec<_>>());
    let longest = steps.steps.iter().map(|step| step.end_ns - step.start_ns).max();
    assert!(longest < Some(2_000_000), "no step holds a prompt: {longest:?}");
    // A range of its own tells the same.
    let mut program = Program::new();
    for _ in 0..2 {
        program.annotated("prefill", |p| p.layers(100));
        (0..10).for_each(|_| program.annotated("decode", |p| p.layers(20)));
    }
    let steps = program.steps();
    assert_eq!(found(&steps), Some((FoundBy::Range, "decode", 20)));
    assert_eq!(steps.device_slices_outside, 2 * 48);
}

#[test]
fn layers_are_no_steps() {
    // One forward pass, with ranges around its layers and without.
    for range in ["layer", "transformer_block", "self_attn"] {
        let mut program = Program::new();
        (0..8).for_each(|_| program.annotated(range, |p| (0..9).for_each(|_| p.op("aten::op", "gemm", 20))));
        assert_eq!(found(&program.steps()), None, "{range}");
    }
    // Ranges of unknown meaning that come in groups.
    let mut program = Program::new();
    for _ in 0..4 {
        for _ in 0..6 {
            program.annotated("stage", |p| (0..9).for_each(|_| p.op("aten::op", "gemm", 20)));
        }
        (0..9).for_each(|_| program.op("aten::op", "head", 20));
    }
    assert_eq!(found(&program.steps()), None);
    // A module that its layers share, in one call of the model.
    let mut program = Program::new();
    program.range(Kind::PythonFunction, "nn.Module: GPT_0", |p| {
        for _ in 0..8 {
            p.layers(20);
            p.range(Kind::PythonFunction, "nn.Module: Rotary_0", |p| p.op("aten::mul", "mul", 5));
        }
    });
    assert_eq!(found(&program.steps()), None);
    let mut program = Program::new();
    program.op("aten::embedding", "indexSelectLargeIndex", 5);
    (0..8).for_each(|_| program.layers(20));
    program.op("aten::argmax", "argmax", 5);
    assert_eq!(found(&program.steps()), None);
}

#[test]
fn calls_of_the_outermost_module_are_iterations() {
    let mut program = Program::new();
    for _ in 0..5 {
        program.range(Kind::PythonFunction, "nn.Module: GPT_0", |p| {
            for layer in 0..3 {
                p.range(Kind::PythonFunction, &format!("nn.Module: Block_{layer}"), |p| p.layers(20));
            }
        });
        program.range(Kind::PythonFunction, "nn.Module: Sampler_0", |p| p.op("aten::argmax", "argmax", 5));
    }
    let steps = program.steps();
    assert_eq!(found(&steps), Some((FoundBy::Module, "GPT_0", 5)));
    assert_eq!(sentence(&steps), "5 iterations found by the calls of the module GPT_0");
}

#[test]
fn a_graph_that_is_launched_again_is_an_iteration() {
    let mut run = RunBuilder::new();
    for i in 0..6 {
        let at = i * 1_000;
        // Two graphs for each iteration, in turns.
        for (graph, offset) in [(3, 0), (4, 400)] {
            let (call, id) = (at + offset, 2 * i + graph);
            run.add(Slice::new(Kind::Runtime, "cudaGraphLaunch", (call, call + 20)).correlation(id));
            for node in 0..12 {
                let start = call + 30 + node * 25;
                let kernel = Slice::new(Kind::Kernel, "gemm", (start, start + 20)).correlation(id);
                run.add(kernel.arg("graph id", graph).arg("graph node id", node + 1));
            }
        }
    }
    let steps = Steps::find(&run.finish());
    assert_eq!(found(&steps).map(|f| (f.0, f.2)), Some((FoundBy::Graph, 6)));
    assert_eq!(steps.steps.iter().map(|step| step.device_slices).collect::<Vec<_>>(), [24; 6]);
}

/// Kernels alone: an embedding, twelve layers, and now and then something else.
fn kernels_alone(iterations: i64, with_launches: bool) -> Trace {
    let mut run = RunBuilder::new();
    let mut at = 0;
    for i in 0..iterations {
        let mut names = vec!["embedding_kernel"];
        (0..12).for_each(|_| names.extend(["norm", "gemm", "attention", "gelu"]));
        names.push("lm_head");
        if i % 4 == 3 {
            names.push("log");
        }
        for name in names {
            if with_launches {
                run.launch(1, (at / 2, at / 2 + 2), Kind::Kernel, name, 7, (at + 10, at + 18));
            } else {
                run.add(Slice::new(Kind::Kernel, name, (at + 10, at + 18)));
            }
            at += 10;
        }
    }
    run.finish()
}

#[test]
fn kernels_of_a_models_beginning_are_told_from_layers() {
    let steps = Steps::find(&kernels_alone(9, true));
    assert_eq!(found(&steps), Some((FoundBy::Kernel, "embedding_kernel", 9)));
    let work: Vec<u64> = steps.steps.iter().map(|step| step.device_slices).collect();
    assert_eq!(work, [50, 50, 50, 51, 50, 50, 50, 51, 50]);
    // Nothing is known of the host: the device's own times bound the steps.
    let trace = kernels_alone(9, false);
    let steps = Steps::find(&trace);
    assert_eq!(steps.steps.iter().map(|step| step.device_slices).collect::<Vec<_>>(), work);
    assert_eq!(steps.device_slices_outside, 0);
    let run = Run::new(trace);
    assert!(run.account().devices.iter().all(|row| row.wall_ns > 0) && run.verdict().is_some());
    assert_eq!(found(&Steps::find(&kernels_alone(2, true))), None, "two are no loop");
}

/// A recorded trace without its marks, and without what else is not wanted.
fn without(trace: &Trace, unwanted: impl Fn(&str, &str) -> bool) -> Trace {
    let mut text = Vec::new();
    write_chrome(trace, &mut text).unwrap();
    let mut document: Value = serde_json::from_slice(&text).unwrap();
    let events = document["traceEvents"].as_array_mut().unwrap();
    events.retain(|event| {
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        let (name, cat) = (text("name"), text("cat"));
        !name.starts_with("ProfilerStep#") && !unwanted(&name, &cat)
    });
    let text = serde_json::to_vec(&document).unwrap();
    read_trace(text.as_slice(), "without.json", &OpenOptions::default()).unwrap()
}

/// How many found steps hold as much device work as a marked one, of how many.
fn right(marked: &Steps, found: &Steps) -> (usize, usize) {
    let usual =
        |step: u64| marked.steps.iter().any(|of| step.abs_diff(of.device_slices) * 10 <= of.device_slices);
    (found.steps.iter().filter(|step| usual(step.device_slices)).count(), found.steps.len())
}

#[test]
fn recorded_programs_without_their_marks_have_the_same_iterations() {
    let (large, others): (Vec<_>, Vec<_>) = fixtures().into_iter().partition(is_large);
    assert!(same_without_marks(others) >= 5 && large.len() == 1);
}

#[test]
#[ignore = "nightly: ten seconds"]
fn a_large_program_without_its_marks_has_the_same_iterations() {
    same_without_marks(fixtures().into_iter().filter(is_large).collect());
}

/// Such a file takes as long as all others.
fn is_large(path: &PathBuf) -> bool {
    std::fs::metadata(path).unwrap().len() > 1 << 20
}

#[test]
#[ignore = "nightly: half a minute"]
fn programs_with_faults_have_the_same_iterations_without_their_marks() {
    assert!(same_without_marks(twins()) >= 15);
}

/// Compares iterations that are found in recorded programs with those that are marked; how often optimizers marked them.
fn same_without_marks(paths: Vec<PathBuf>) -> usize {
    let mut by_optimizer = 0;
    for path in paths {
        let trace = read(&path);
        let marked = Steps::find(&trace);
        if marked.synthetic || marked.found.is_some() {
            continue;
        }
        let all = Steps::find(&without(&trace, |_, _| false));
        // Work of the device alone, and with its operators but without ranges.
        let kernels =
            Steps::find(&without(&trace, |_, cat| !matches!(cat, "kernel" | "gpu_memcpy" | "gpu_memset")));
        let operators =
            Steps::find(&without(&trace, |_, cat| cat == "user_annotation" || cat == "python_function"));
        for found in [all, kernels, operators].iter().filter(|found| !found.synthetic) {
            let (right, of) = right(&marked, found);
            // The first begins where the recording does, and may lack what comes after the step before.
            assert!(of > 1 && right + 1 >= of, "{}: {:?}, {right} of {of}", path.display(), found.found);
            let count = found.steps.len();
            assert!(count.abs_diff(marked.steps.len()) <= 1, "{}: {count} {:?}", path.display(), found.found);
            by_optimizer += usize::from(found.found.as_ref().is_some_and(|f| f.by == FoundBy::Optimizer));
        }
    }
    by_optimizer
}

#[test]
fn recordings_of_one_iteration_stay_whole() {
    let peers = [
        "tracelens/b200/eager_trace.json.gz",
        "tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz",
        "tracelens/torch_compile_triton/trace.json.gz",
        "hta/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz",
    ];
    for path in peers.into_iter().filter_map(peer) {
        assert!(Steps::find(&read(&path)).synthetic, "{}", path.display());
    }
    // One marked step, taken out: thirty and more layers are left.
    let of_one = [
        "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
        "tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz",
    ];
    for path in of_one.into_iter().filter_map(peer) {
        let found = Steps::find(&without(&read(&path), |_, _| false));
        assert!(found.synthetic, "{}: {:?}", path.display(), found.found);
    }
}

#[test]
fn marked_steps_are_not_found() {
    let path = fixtures().into_iter().find(|path| path.ends_with("gpt_bf16.pt.trace.json.gz")).unwrap();
    let marked = Run::new(read(&path));
    assert_eq!(marked.steps().found, None);
    let run = Run::new(without(&read(&path), |_, _| false));
    assert_eq!(sentence(run.steps()), "3 iterations found by the steps of the optimizer AdamW");
    assert_eq!(run.steps().steps.len(), marked.steps().steps.len());
}
