//! Rules about the profile itself, memory, warm-up and communication: each fires where its fault is and stays silent
//! elsewhere.

use std::path::PathBuf;

use proptest::prelude::*;
use stepscope_analyse::findings::{Estimate, Finding, Severity, Thresholds, findings};
use stepscope_analyse::run::Run;
use stepscope_model::{
    ArgValue, Device, Distributed, Domain, Kind, LaneKey, NewAllocation, NewSlice, Ns, Tag, Trace, TraceBuilder,
};

use crate::data::{all_fixtures, read};

pub(crate) const RULES: [&str; 11] = [
    "allocator_churn",
    "communication_exposed",
    "compilation",
    "data_parallel",
    "ddp_without_nccl",
    "memory_fragmentation",
    "memory_leak",
    "memory_near_limit",
    "profiler_overhead",
    "uneven_steps",
    "unrepresentative",
];

fn found(trace: &Trace) -> Vec<Finding> {
    let all = findings(&Run::new(trace.clone()), &Thresholds::default());
    all.into_iter().filter(|f| RULES.contains(&f.rule)).collect()
}

fn one(trace: &Trace, rule: &str) -> Option<Finding> {
    let mut of_rule = found(trace).into_iter().filter(|f| f.rule == rule);
    let first = of_rule.next();
    assert_eq!(of_rule.next(), None, "one at most here");
    first
}

fn recorded(path: &str) -> Trace {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch");
    read(&root.join(path))
}

fn fault(case: &str) -> Trace {
    recorded(&format!("2.11-h200-twins/seen/{case}/fault.shapes.json.zst"))
}

fn fixed(case: &str) -> Trace {
    recorded(&format!("2.11-h200-twins/seen/{case}/fixed.shapes.json.zst"))
}

const MIB: i64 = 1 << 20;
const GIB: i64 = 1 << 30;

/// A made-up run. Times are microseconds.
struct Script {
    b: TraceBuilder,
    next: i64,
}

impl Default for Script {
    fn default() -> Script {
        Script { b: crate::data::builder(), next: 0 }
    }
}

impl Script {
    fn lane(&mut self, domain: Domain, process: i64, thread: i64) -> stepscope_model::LaneId {
        self.b.lane(LaneKey { domain, process: Tag::Int(process), thread: Tag::Int(thread) })
    }

    fn host(&mut self, kind: Kind, name: &str, start: i64, dur: i64) {
        let lane = self.lane(Domain::Host, 1, 1);
        let name = self.b.intern(name);
        let (start, dur) = (Ns(start * 1000), Ns(dur * 1000));
        self.b.slice(NewSlice { start, dur, name, kind, lane, ..NewSlice::default() });
    }

    /// A kernel that starts right after its launch of 5 µs.
    fn kernel(&mut self, name: &str, device: i64, launched: i64, dur: i64) {
        self.next += 1;
        let correlation = Some(self.next);
        let calls = self.lane(Domain::Host, 1, 1);
        let stream = self.lane(Domain::Device, device, 7);
        let (call, name) = (self.b.intern("cudaLaunchKernel"), self.b.intern(name));
        let (start, five) = (Ns(launched * 1000), Ns(5000));
        let kind = Kind::Runtime;
        self.b.slice(NewSlice {
            start,
            dur: five,
            name: call,
            kind,
            lane: calls,
            correlation,
            ..NewSlice::default()
        });
        let (start, dur, kind) = (start + five, Ns(dur * 1000), Kind::Kernel);
        self.b.slice(NewSlice { start, dur, name, kind, lane: stream, correlation, ..NewSlice::default() });
    }

    fn memory(&mut self, at: i64, bytes: i64, allocated: i64, reserved: i64) {
        let lane = self.lane(Domain::Host, 1, 1);
        let figures = [
            ("Bytes", bytes),
            ("Addr", at),
            ("Device Type", 1),
            ("Device Id", 0),
            ("Total Allocated", allocated),
            ("Total Reserved", reserved),
        ];
        for (key, value) in figures {
            let key = self.b.intern(key);
            self.b.push_arg(key, ArgValue::Int(value));
        }
        let (name, args) = (self.b.intern("[memory]"), self.b.commit_args());
        self.b.allocation(name, NewAllocation { at: Ns(at * 1000), lane, args, ..NewAllocation::default() });
    }

    /// Steps of these lengths one after the other, with a kernel that fills most of the first millisecond of each.
    fn steps(first: i64, lengths: &[i64]) -> Script {
        let mut script = Script::default();
        let mut at = 0;
        for (i, &length) in lengths.iter().enumerate() {
            script.host(Kind::HostAnnotation, &format!("ProfilerStep#{}", first + i as i64), at, length);
            script.host(Kind::HostOp, "aten::mm", at + 5, 20);
            script.kernel("gemm", 0, at + 10, 900);
            at += length;
        }
        let device = Device { name: "GPU".into(), total_memory_bytes: Some(80 * GIB), ..Device::default() };
        script.b.meta().devices = vec![Device { compute_major: Some(9), compute_minor: Some(0), ..device }];
        script
    }

    fn finish(self) -> Trace {
        self.b.finish()
    }
}

#[test]
fn allocator_churn() {
    let finding = one(&fault("alloc_churn"), "allocator_churn").unwrap();
    // Without the calls the program really took 43% less.
    let share = finding.saves_share.unwrap();
    assert!((0.30..0.50).contains(&share), "{share}");
    assert_eq!(one(&fixed("alloc_churn"), "allocator_churn"), None);
    // Memory is asked for in the first step only.
    assert_eq!(one(&fault("first_step_compile"), "allocator_churn"), None);
}

#[test]
fn memory_near_limit() {
    let with = |allocated: i64, reserved: i64| {
        let mut script = Script::steps(3, &[1000; 3]);
        script.memory(100, MIB, allocated, reserved);
        one(&script.finish(), "memory_near_limit")
    };
    let full = with(75 * GIB, 76 * GIB).unwrap();
    assert_eq!(full.severity, Severity::Medium);
    assert!(full.title.contains("75.0 GiB of 80.0 GiB"), "{}", full.title);
    assert_eq!(with(40 * GIB, 76 * GIB).unwrap().severity, Severity::Info);
    assert_eq!(with(40 * GIB, 50 * GIB), None);
    assert_eq!(one(&recorded("2.11-h200/gpt_bf16/gpt_bf16.pt.trace.json.gz"), "memory_near_limit"), None);
}

#[test]
fn memory_fragmentation() {
    let with = |first: (i64, i64), second: (i64, i64)| {
        let mut script = Script::steps(3, &[1000; 3]);
        script.memory(100, MIB, first.0, first.1);
        script.memory(200, MIB, second.0, second.1);
        one(&script.finish(), "memory_fragmentation")
    };
    // More is asked of the device although 4 GiB are free.
    let grown = with((5 * GIB, 9 * GIB), (6 * GIB, 11 * GIB)).unwrap();
    assert!(grown.evidence.iter().any(|e| e.label.contains("when more was asked")));
    assert_eq!(grown.severity, Severity::Info);
    let left_over = with((5 * GIB, 70 * GIB), (6 * GIB, 70 * GIB)).unwrap();
    assert!(!left_over.evidence.iter().any(|e| e.label.contains("when more was asked")));
    assert_eq!(left_over.severity, Severity::Medium);
    assert_eq!(with((5 * GIB, 7 * GIB), (6 * GIB, 7 * GIB)), None);
    assert_eq!(with((MIB, 500 * MIB), (MIB, 500 * MIB)), None);
}

#[test]
fn memory_leak() {
    let with = |levels: &[i64]| {
        let mut script = Script::steps(3, &vec![1000; levels.len()]);
        let mut before = 100 * MIB;
        for (i, &level) in levels.iter().enumerate() {
            script.memory(i as i64 * 1000 + 500, level * MIB - before, level * MIB, GIB);
            before = level * MIB;
        }
        one(&script.finish(), "memory_leak")
    };
    let leak = with(&[108, 116, 125, 132, 140]).unwrap();
    assert!(leak.title.contains("8.0 MiB in each step"), "{}", leak.title);
    assert!(leak.evidence.iter().any(|e| e.label.contains("never released")), "{leak:?}");
    assert_eq!(with(&[100, 100, 101, 100, 100]), None);
    // One jump is not a leak, nor is it one that too few steps show.
    assert_eq!(with(&[100, 101, 102, 103, 900]), None);
    assert_eq!(with(&[108, 116, 124, 132]), None);
    // A step that frees a little more does not hide a leak; a cache that is full after some steps is none.
    assert!(with(&[108, 116, 124, 123, 140, 148, 156, 164, 172, 180]).is_some());
    assert_eq!(with(&[108, 116, 124, 132, 140, 148, 148, 148, 148, 148, 148, 148]), None);
}

#[test]
fn uneven_steps() {
    let pause = one(&fault("gc_pause"), "uneven_steps").unwrap();
    assert!(
        pause.title.starts_with("Every 4th step") && pause.title.contains("garbage collection"),
        "{}",
        pause.title
    );
    // Without the pauses the program really took 51% less, and 45.5% to 60.4% from round to round.
    let share = pause.saves_unprofiled_share.unwrap();
    assert!((0.455..0.604).contains(&share), "{share}");
    assert_eq!(one(&fixed("gc_pause"), "uneven_steps"), None);
    // Compilation explains the slow step.
    assert_eq!(one(&fault("first_step_compile"), "uneven_steps"), None);

    let of = |lengths: &[i64]| one(&Script::steps(3, lengths).finish(), "uneven_steps");
    let first = of(&[5000, 1000, 1000, 1000]).unwrap();
    assert!(first.title.starts_with("The first recorded step takes 5.0 times"), "{}", first.title);
    assert_eq!((first.severity, first.saves_ns), (Severity::Low, Some(1_000_000)));
    let single = of(&[1000, 1000, 1000, 3000, 1000, 1000]).unwrap();
    assert!(single.title.starts_with("Step 6 takes 3.0 times"), "{}", single.title);
    assert_eq!(of(&[1000, 1100, 1000, 1050]), None);
    assert_eq!(of(&[1000, 3000]), None);
    let scattered = of(&[1000, 1400, 1000, 1450, 1000, 1480]);
    assert_eq!(scattered, None);
    let mut limits = Thresholds::default();
    limits.set("uneven_steps.variation", 0.1).unwrap();
    let trace = Script::steps(3, &[1000, 1400, 1000, 1450, 1000, 1480]).finish();
    let all = findings(&Run::new(trace.clone()), &limits);
    assert!(
        all.iter().any(|f| f.title.starts_with("Step times vary widely: from 1.00 ms to 1.48 ms")),
        "{all:?}"
    );
}

#[test]
fn compilation() {
    let first = one(&fault("first_step_compile"), "compilation").unwrap();
    assert!(first.title.starts_with("Warm-up inside the profile: step 1"), "{}", first.title);
    // Warmed up, the same five steps really took 97% less.
    let share = first.saves_share.unwrap();
    assert!((0.85..1.0).contains(&share), "{share}");
    let again = one(&fault("recompile"), "compilation").unwrap();
    assert!(again.title.starts_with("Recompilation: code is compiled in 3 of 3 steps"), "{}", again.title);
    assert!(again.saves_share.unwrap() > 0.9);
    assert_eq!(one(&fixed("gc_pause"), "compilation"), None);
    assert_eq!(one(&recorded("2.11-h200-features/compiled/compiled.pt.trace.json.gz"), "compilation"), None);
}

#[test]
fn what_happens_once_is_no_saving_where_the_step_was_timed_without_it() {
    let of = |timed: bool| {
        let mut script = Script::steps(3, &[1000, 1000, 3000, 1000]);
        script.host(Kind::Runtime, "cuLibraryLoadData", 2000, 1800);
        let bare = stepscope_model::BareSteps { host_ns: vec![1_000_000; 30], device_ns: None };
        script.b.meta().bare_steps = timed.then_some(bare);
        one(&script.finish(), "compilation").unwrap()
    };
    assert!(of(false).saves_ns.is_some());
    let timed = of(true);
    assert_eq!((timed.severity, timed.saves_ns), (Severity::Info, None));
    assert!(
        timed.title.starts_with("Something runs for the first time: step 5 spends 1.80 ms"),
        "{}",
        timed.title
    );
}

#[test]
fn loading_and_trials_are_warm_up_too() {
    let mut script = Script::steps(3, &[3000, 1000, 1000, 1000]);
    script.host(Kind::Runtime, "cuLibraryLoadData", 1000, 1800);
    let finding = one(&script.finish(), "compilation").unwrap();
    assert!(finding.title.contains("loading code onto the device"), "{}", finding.title);

    let mut script = Script::steps(3, &[3000, 1000, 1000, 1000]);
    for step in [0, 3000, 4000, 5000] {
        script.host(Kind::HostOp, "aten::cudnn_convolution", step + 100, 60);
        script.kernel("conv", 0, step + 110, 30);
    }
    script.host(Kind::HostOp, "aten::cudnn_convolution", 1000, 1900);
    for trial in 0..10 {
        script.kernel("conv", 0, 1010 + 180 * trial, 100);
    }
    let trace = script.finish();
    let finding = one(&trace, "compilation").unwrap();
    assert!(finding.title.contains("tries convolution algorithms"), "{}", finding.title);
    assert_eq!(finding.estimate, Estimate::UpperBound);
    assert_eq!(one(&trace, "uneven_steps"), None);
}

#[test]
fn profiler_overhead() {
    let finding = one(&fault("with_stack_overhead"), "profiler_overhead").unwrap();
    assert!(finding.severity <= Severity::Low && finding.saves_ns.is_none());
    assert_eq!(one(&fixed("with_stack_overhead"), "profiler_overhead"), None);
    // Stacks were recorded, but the device had work all the time.
    assert_eq!(one(&fixed("gc_pause"), "profiler_overhead"), None);
}

#[test]
fn unrepresentative() {
    let title = |trace: Trace| one(&trace, "unrepresentative").map(|f| f.title).unwrap_or_default();
    assert!(
        title(recorded("2.11-h200/gpt_stack/gpt_stack.pt.trace.json.gz"))
            .contains("only 2 steps recorded whole")
    );
    assert!(
        title(recorded("2.11-h200-features/overloads/overloads.pt.trace.json.gz"))
            .contains("no steps are marked")
    );
    assert!(title(fault("first_step_compile")).contains("the first step compiles"));
    assert!(title(Script::steps(0, &[1000; 4]).finish()).contains("very first step"));
    assert_eq!(title(Script::steps(1, &[1000; 4]).finish()), "");
    // What is compiled in every step is no lack of warm-up.
    assert_eq!(title(fault("recompile")), "");
    // Steps that are found count as those that are marked.
    assert!(
        title(recorded("2.11-h200/multi_stream/multi_stream.pt.trace.json.gz"))
            .contains("the first step compiles or loads code")
    );
}

#[test]
fn communication() {
    let gloo = recorded("2.11-h200/gloo_ddp/rank0.pt.trace.json.gz");
    let exposed = one(&gloo, "communication_exposed").unwrap();
    assert_eq!((exposed.severity, exposed.estimate), (Severity::High, Estimate::UpperBound));
    let backend = one(&gloo, "ddp_without_nccl").unwrap();
    // Its cost is said once, above.
    assert_eq!((backend.severity, backend.saves_ns), (Severity::High, None));
    let nccl = recorded("2.11-h200-features/nccl/nccl.pt.trace.json.gz");
    assert_eq!(one(&nccl, "communication_exposed"), None);
    assert_eq!(one(&nccl, "ddp_without_nccl"), None);

    // Gloo beside device work, but for tensors on the host.
    let mut script = Script::steps(3, &[1000; 4]);
    script.b.meta().distributed = Some(Distributed { backend: Some("gloo".into()), ..Distributed::default() });
    script.host(Kind::HostAnnotation, "gloo:barrier", 920, 70);
    assert_eq!(one(&script.finish(), "ddp_without_nccl"), None);
}

#[test]
fn exposed_communication_kernels_count() {
    let with = |name: &str| {
        let mut script = Script::steps(3, &[2000; 4]);
        (0..4).for_each(|i| script.kernel(name, 0, i * 2000 + 1000, 800));
        one(&script.finish(), "communication_exposed")
    };
    let finding = with("ncclDevKernel_AllReduce_Sum_f32_RING_LL").unwrap();
    assert_eq!(finding.saves_ns, Some(800_000));
    assert_eq!(with("gemm"), None);
}

#[test]
fn data_parallel() {
    let with = |names: &[&str], devices: i64| {
        let mut script = Script::steps(3, &[1000; 4]);
        (1..devices).for_each(|device| script.kernel("gemm", device, 50, 100));
        let names = names.iter().enumerate();
        names.for_each(|(i, name)| script.host(Kind::HostOp, name, 100 + 50 * i as i64, 40));
        one(&script.finish(), "data_parallel")
    };
    let finding = with(&["DataParallel.forward"], 4).unwrap();
    assert_eq!(finding.title, "torch.nn.DataParallel drives 4 devices from one process");
    assert_eq!(finding.severity, Severity::Medium);
    assert_eq!(with(&["DataParallel.forward"], 1).unwrap().severity, Severity::Info);
    assert!(with(&["Scatter", "Broadcast", "Gather"], 2).is_some());
    assert_eq!(with(&["Scatter", "Broadcast", "Gather"], 1), None);
    assert_eq!(with(&["Scatter", "DistributedDataParallel.forward"], 2), None);
}

/// What each recorded trace gives, every one of them looked at: the fault where one was planted, else what is true of
/// the recording.
#[test]
fn recorded_traces_give_these_findings_and_no_others() {
    let mut lines = Vec::new();
    for path in all_fixtures() {
        let parts: Vec<_> = path.iter().rev().take(2).map(|p| p.to_string_lossy()).collect();
        let name = format!("{}/{}", parts[1], parts[0].trim_end_matches(".pt.trace.json.gz"));
        let mut rules: Vec<&str> = found(&read(&path)).iter().map(|f| f.rule).collect();
        rules.sort_unstable();
        if !rules.is_empty() {
            lines.push(format!("{name}: {}", rules.join(" ")));
        }
    }
    let expected = [
        "gloo_ddp/rank0: communication_exposed ddp_without_nccl",
        "gloo_ddp/rank1: communication_exposed ddp_without_nccl",
        "gloo_ddp/rank2: communication_exposed ddp_without_nccl",
        "gloo_ddp/rank3: communication_exposed ddp_without_nccl",
        "gpt_stack/gpt_stack: profiler_overhead unrepresentative",
        "multi_stream/multi_stream: compilation uneven_steps unrepresentative",
        "compiled/compiled: profiler_overhead",
        "cuda_graph/cuda_graph: uneven_steps",
        "overloads/overloads: compilation unrepresentative",
        "threads/threads: compilation uneven_steps unrepresentative",
    ];
    assert_eq!(lines, expected, "\n{}", lines.join("\n"));
}

#[test]
fn every_finding_says_all_it_should() {
    for path in all_fixtures() {
        for f in found(&read(&path)) {
            let words = [&f.title, &f.why, &f.fix, &f.verify];
            assert!(words.iter().all(|text| !text.is_empty() && !text.contains("  ")), "{f:?}");
            // What STYLE.md tells us not to write.
            let labels = f.evidence.iter().flat_map(|e| [e.label.as_str(), e.definition]);
            for text in words.into_iter().map(String::as_str).chain(labels) {
                let wrong =
                    [" %", " times a step", "kernels a step", " in all)", " figure", "isation", " stands"];
                assert!(!wrong.iter().any(|word| text.contains(word)) && !text.ends_with(" a step"), "{text}");
            }
            // The first line of a snippet is the one that a short list shows.
            let first = f.code.as_deref().and_then(|code| code.lines().next()).unwrap_or("x");
            assert!(!first.starts_with('#') && first.len() <= 86, "{first}");
            assert!(!f.evidence.is_empty() && f.evidence.iter().all(|e| e.definition.ends_with('.')), "{f:?}");
            assert!(f.saves_share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{f:?}");
        }
    }
}

const NAMES: [&str; 12] = [
    "ProfilerStep#0",
    "ProfilerStep#1",
    "ProfilerStep#2",
    "cudaFree",
    "cudaDeviceSynchronize",
    "Lazy Function Loading",
    "_compile.compile_inner (dynamo_timed)",
    "gloo:all_reduce",
    "ncclDevKernel",
    "DataParallel.forward",
    "aten::cudnn_convolution",
    "Python GC",
];

const KINDS: [Kind; 8] = [
    Kind::HostOp,
    Kind::HostAnnotation,
    Kind::PythonFunction,
    Kind::Runtime,
    Kind::Overhead,
    Kind::Kernel,
    Kind::Memcpy,
    Kind::DeviceAnnotation,
];

proptest! {
    #[test]
    fn no_trace_makes_a_rule_panic(
        rows in prop::collection::vec((0..KINDS.len(), 0..NAMES.len(), -40..400i64, 0..150i64, 0..3i64, 0..6i64), 0..60),
        marks in prop::collection::vec((0..400i64, any::<i64>(), any::<i64>(), any::<i64>()), 0..12),
    ) {
        let mut script = Script::steps(0, &[100, 50, 100]);
        for (at, bytes, allocated, reserved) in marks {
            script.memory(at, bytes, allocated, reserved);
        }
        for (kind, name, start, dur, thread, id) in rows {
            let kind = KINDS[kind];
            let domain = if kind.is_device() { Domain::Device } else { Domain::Host };
            let (lane, name) = (script.lane(domain, 1 + id % 2, thread), script.b.intern(NAMES[name]));
            let (start, dur, correlation) = (Ns(start * 1000), Ns(dur * 1000), Some(100 + id));
            script.b.slice(NewSlice { start, dur, name, kind, lane, correlation, external: correlation, ..NewSlice::default() });
        }
        found(&script.finish());
    }
}
