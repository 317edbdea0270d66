//! A profile of JAX or TensorFlow inside a Chrome trace: nothing of it is lost, and it is on the clock of the others.

use std::path::PathBuf;

use stepscope_formats::{Beside, OpenOptions, XlaEvents, read_trace, splice, write_chrome_with};
use stepscope_model::{Attr, LaneKey, Ns, Tag, Trace, TraceBuilder, Value};
use stepscope_testkit::xplane::{Event, Plane, Stat, space};

use crate::xplane::{gpu, kinds, named, opened};

const BASE_NS: i64 = 1_794_702_725_230_000_000;

fn events(name: &str, file: &[u8], marks_steps: bool) -> XlaEvents {
    let path: PathBuf = std::env::temp_dir().join(format!("stepscope-beside-{name}-{}", std::process::id()));
    std::fs::write(&path, file).unwrap();
    let events = XlaEvents::open(&path, Beside { process: 42, marks_steps }, BASE_NS + 7_000);
    std::fs::remove_file(&path).unwrap();
    events.unwrap()
}

fn entries(profiles: &[&XlaEvents]) -> Vec<(String, String)> {
    let mut entries = vec![("baseTimeNanoseconds".to_owned(), BASE_NS.to_string())];
    entries.extend(XlaEvents::entries(profiles).unwrap());
    entries
}

/// The profile in a trace that has nothing else.
fn written(profile: &XlaEvents) -> String {
    let mut builder = TraceBuilder::new();
    builder.meta().extra = entries(&[profile]);
    let mut out = Vec::new();
    write_chrome_with(&builder.finish(), |first, out| profile.write(BASE_NS, first, out), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn reread(text: &str) -> Trace {
    read_trace(text.as_bytes(), "t.pt.trace.json", &OpenOptions::default()).unwrap()
}

#[test]
fn what_is_read_again_is_what_the_profile_says() {
    let plain = opened(&gpu());
    let again = reread(&written(&events("same", &gpu(), false)));
    assert_eq!(kinds(&again), kinds(&plain));
    assert_eq!(again.meta().framework, plain.meta().framework);
    assert_eq!(again.meta().devices, plain.meta().devices);
    assert_eq!(again.meta().extra("jax_version"), plain.meta().extra("jax_version"));
    assert!(again.notes().is_empty(), "{:?}", again.notes());
    for trace in [&plain, &again] {
        // By name: the launch carries that of its kernel.
        let op = named(trace, "gemm_fusion_dot.9");
        let kernel = named(trace, "gemm_fusion_dot_9");
        assert_eq!(trace.links().op(kernel), Some(op));
        assert_eq!(trace.links().launch(kernel).map(|id| trace.name(id)), Some("LaunchKernel"));
        assert_eq!(trace.args(kernel).value(Attr::Program).and_then(Value::as_int), Some(3));
        let programs: Vec<(i64, &str, usize)> =
            trace.programs().iter().map(|p| (p.id, p.name.as_str(), p.scheduled().len())).collect();
        assert_eq!(programs.len(), 1);
        assert_eq!((programs[0].0, programs[0].2), (3, 1));
    }
    // The same moments, on the clock of the trace.
    let at = |trace: &Trace, base_ns: i64| {
        (trace.slices().start(named(trace, "load_batch")) + trace.origin() + Ns(base_ns)).0
    };
    assert_eq!(at(&again, BASE_NS), at(&plain, plain.meta().base_ns.unwrap()));
}

/// A thread that we marked, with a step and a region of ours, one that the program marked, and calls.
fn marked() -> Vec<u8> {
    let events = [
        Event::new("stepscope thread", (0, 10)).int("stepscope", 1).int("stepscope_thread", 77),
        Event::new("train", (1_000, 90_000)).int("_r", 1).int("step_num", 4).int("stepscope", 1),
        Event::new("epoch", (1_500, 80_000)).int("_r", 1).int("step_num", 5),
        Event::new("ours", (2_000, 70_000)).int("stepscope", 1),
        Event::new("theirs", (3_000, 60_000)),
        Event::new("PjitFunction(f)", (10_000, 20_000)),
        Event::new("PjitFunction(f)", (10_500, 19_000)),
        Event::new("PjitFunction(f)", (30_000, 40_000)),
    ];
    let other = [Event::new("PjitFunction(g)", (0, 90_000))];
    let host = Plane::new("/host:CPU").line(-8_296_961_697_711_624_755, "python", 0, &events).line(
        7_382_629_600_224_572_945,
        "python",
        0,
        &other,
    );
    space([host])
}

#[test]
fn what_the_other_recording_has_is_left_out_and_its_steps_are_the_steps() {
    let again = reread(&written(&events("marked", &marked(), true)));
    let mut names: Vec<&str> = again.slices().ids().map(|id| again.name(id)).collect();
    names.sort_unstable();
    let calls = ["PjitFunction(f)"; 3].into_iter().chain(["PjitFunction(g)"]);
    assert_eq!(names, calls.chain(["epoch", "theirs"]).collect::<Vec<_>>());
    let lane = again.slices().lane(named(&again, "theirs"));
    let key = again.lanes().get(lane).key;
    assert_eq!((key.process, key.thread), (Tag::Int(42), Tag::Int(77)));
    // No one marked the other thread; its number fits into what viewers can read.
    let other = again.lanes().get(again.slices().lane(named(&again, "PjitFunction(g)"))).key;
    assert!(matches!(other, LaneKey { thread: Tag::Int(number), .. } if (1 << 30..1 << 31).contains(&number)));
    // Without other steps, those that the program marked are the steps.
    let alone = reread(&written(&events("alone", &marked(), false)));
    named(&alone, "epoch (step 5)");
}

#[test]
fn the_call_around_a_moment_is_known() {
    // This file does not say when it began.
    let profile = events("calls", &marked(), true);
    let began = BASE_NS + 7_000;
    for (at, call) in [(9_999, None), (10_000, Some(10_000)), (19_500, Some(10_000)), (25_000, None)] {
        assert_eq!(profile.call_began(77, began + at), call.map(|call: i64| began + call), "{at}");
    }
    assert_eq!(profile.call_began(78, began + 15_000), None);
}

#[test]
fn beside_pytorch_the_run_is_of_whoever_trains() {
    let profile = events("torch", &gpu(), true);
    let pytorch = |name: &str| {
        let op = format!(
            r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 42, "tid": 42, "ts": 1, "dur": 2}}"#
        );
        let text =
            format!(r#"{{"baseTimeNanoseconds": {BASE_NS}, "deviceProperties": [], "traceEvents": [{op}]}}"#);
        let (mut out, entries) = (Vec::new(), XlaEvents::entries(&[&profile]).unwrap().into_iter().collect());
        splice(&mut text.as_bytes(), &mut out, &entries, |base, first, out| profile.write(base, first, out))
            .unwrap();
        reread(&String::from_utf8(out).unwrap())
    };
    let framework = |trace: &Trace| trace.meta().framework.as_ref().map(|of| of.name.clone());
    let loads = pytorch("aten::stack");
    assert_eq!(framework(&loads).as_deref(), Some("JAX"));
    assert_eq!(loads.slices().len(), opened(&gpu()).slices().len() + 1);
    assert_eq!(loads.meta().devices.len(), 1);
    assert_eq!(framework(&pytorch("autograd::engine::evaluate_function: MmBackward0")), None);
}

#[test]
fn damaged_entries_are_noted_and_the_events_stay() {
    let text = written(&events("damaged", &gpu(), false));
    let whole = reread(&text).slices().len();
    for (from, to) in
        [("\"H4sI", "\"@@@@"), ("\"H4sI", "\"H4sJ"), ("\"framework\":\"JAX\"", "\"framework\":JAX")]
    {
        let broken = text.replacen(from, to, 1);
        assert_ne!(broken, text, "{from}");
        let again = reread(&broken);
        assert!(!again.notes().is_empty(), "{to}");
        assert_eq!(again.slices().len(), whole);
    }
    // Far more than it is stored in is not unpacked.
    let profile = space([Plane::new("/host:CPU")
        .line(1, "python", 0, &[Event::new("x", (0, 1))])
        .described("jit_f(3)", &[("Hlo Proto", Stat::Bytes(vec![0; 1]))])]);
    assert!(reread(&written(&events("empty", &profile, false))).programs().is_empty());
}
