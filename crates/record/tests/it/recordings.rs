//! What is recorded, as a trace.

use std::sync::Arc;
use std::time::Duration;

use stepscope_model::{Attr, Kind};
use stepscope_record::{
    CounterValue, MachineOptions, MachineSampler, NO_STACK, NO_TASK, Recording, begin, clock, end, intern,
};

use crate::until;

#[test]
fn regions_steps_samples_and_counters_become_a_trace() {
    let options =
        MachineOptions { interval: Duration::from_millis(20), gpu: false, ..MachineOptions::default() };
    let monitor = Arc::new(MachineSampler::new(&options));
    let mut recording = Recording::new(Some(monitor.clone()));
    recording.start();
    let outer = begin(NO_TASK);
    let before = clock::now_ns();
    let inner = begin(NO_TASK);
    let (begun, ending) = (clock::now_ns(), clock::now_ns());
    end(inner, intern("train.py(9): step;train.py(1): <module>"), || intern("inner"));
    let after = clock::now_ns();
    end(outer, NO_STACK, || intern("outer"));
    let now = clock::now_ns();
    recording.add_slice("ProfilerStep#4".into(), "user_annotation".into(), now - 1000, now, Vec::new());
    for at in 0..3 {
        recording.sample(77, "worker", now + at * 1_000_000, None, &["a.py(1): main", "a.py(2): work"]);
    }
    recording.count(CounterValue { name: "loss".into(), at_ns: now, value: 0.125 });
    let start = recording.start_ns().unwrap();
    // The first sample comes before the recording begins; one within it is shown.
    until("a sample of the monitor", || {
        let (at_ns, _) = monitor.series("process.rss_bytes", start, i64::MAX)?;
        (!at_ns.is_empty()).then_some(())
    });
    recording.stop();
    let trace = recording.trace(start, &[]);
    let named = |name: &str| {
        trace.slices().ids().find(|&id| trace.name(id) == name).unwrap_or_else(|| panic!("{name}"))
    };
    let (outer, inner) = (named("outer"), named("inner"));
    let slices = trace.slices();
    assert!(slices.start(outer) <= slices.start(inner) && slices.end(inner) <= slices.end(outer));
    assert!((ending - begun..=after - before).contains(&slices.dur(inner).0));
    assert_eq!(slices.kind(inner), Kind::HostAnnotation);
    let stack = |slice| trace.args(slice).text(Attr::CallStack);
    assert_eq!((stack(inner), stack(outer)), (Some("train.py(9): step;train.py(1): <module>"), None));
    assert_eq!(slices.kind(named("a.py(2): work")), Kind::PythonFunction);
    // Each sample covers the time since the one before it; the first for the time since the start.
    assert_eq!(slices.dur(named("a.py(2): work")).0, now + 2_000_000 - start);
    let points = trace.points().ids().map(|id| trace.text(trace.points().name(id)));
    let names: Vec<&str> = points.chain(trace.counters().series().iter().map(|s| trace.text(s.name))).collect();
    assert!(
        names.contains(&"loss") && names.contains(&"process memory (RSS)") && names.contains(&"thread_name")
    );
}

#[test]
fn a_recording_starts_anew() {
    let mut recording = Recording::new(None);
    recording.start();
    recording.stop();
    let first = recording.start_ns();
    recording.stop();
    while Some(clock::now_ns()) <= first {}
    recording.start();
    assert!(recording.start_ns() > first && recording.stop_ns().is_none() && recording.is_running());
    recording.stop();
}
