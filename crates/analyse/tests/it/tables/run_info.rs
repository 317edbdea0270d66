//! What the info report says about recorded files.

use stepscope_analyse::tables::run_info;
use stepscope_model::TraceBuilder;

use crate::data::{fixtures, peer, read};
use crate::memory::curves::fixture;

#[test]
fn gpt_stack_is_described() {
    let report = run_info::analyze(&read(&fixture("gpt_stack/gpt_stack.pt.trace.json.gz")));
    assert_eq!(report.framework.as_deref(), Some("PyTorch"));
    assert_eq!(report.framework_version, None);
    let versions: Vec<_> = report.versions.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(
        versions,
        [("cuda_driver_version", "13000"), ("cuda_runtime_version", "13000"), ("cupti_version", "130001")]
    );
    assert_eq!(report.base_ns, Some(1_790_857_026_000_000_000));
    assert_eq!(report.steps, ["ProfilerStep#2", "ProfilerStep#3"]);
    assert_eq!((report.options.with_stack, report.options.with_modules), (Some(true), None));
    assert_eq!(report.devices[0].compute_capability.as_deref(), Some("9.0"));
    assert_eq!((report.processes, report.threads, report.streams), (1, 2, 1));
    let recording = &report.recordings[0];
    assert_eq!((recording.name.as_str(), recording.dur_ns), ("PyTorch Profiler (0)", 29_383_485));
    // Counted in the JSON.
    let count = |category: &str, kind: &str| {
        report.categories.iter().find(|c| c.category == category && c.kind == kind).map(|c| c.count)
    };
    assert_eq!(count("python_function", "python-function"), Some(2639));
    assert_eq!(count("cpu_op", "host-op"), Some(2366));
    assert_eq!(count("kernel", "kernel"), Some(372));
    assert_eq!(count("cpu_instant_event", "point"), Some(874));
    let ledger = &report.ledger;
    assert_eq!((ledger.events_in_file, ledger.flows, ledger.set_aside), (8228, 1307, 0));
    assert!(ledger.closes);
    assert!(report.bytes_per_event.unwrap() > 10.0);
}

#[test]
fn every_fixture_closes() {
    for path in fixtures() {
        let report = run_info::analyze(&read(&path));
        assert!(report.ledger.closes, "{}: {:?}", path.display(), report.ledger);
        assert_eq!(report.framework.as_deref(), Some("PyTorch"), "{}", path.display());
        let counted: u64 = report.categories.iter().map(|c| c.count).sum();
        assert_eq!(counted, report.ledger.slices + report.ledger.points);
        let on_lanes: u64 = report.lanes.iter().map(|l| l.slices + l.other_slices + l.points).sum();
        assert_eq!(on_lanes, counted);
    }
}

#[test]
fn peers_files_close() {
    for path in [
        "tb_plugin/resnet50_num_workers_0.pt.trace.json.gz",
        "tracelens/b200/eager_trace.json.gz",
        "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
        "hta/call_stack/backward_thread.json",
    ] {
        let Some(path) = peer(path) else { return };
        let report = run_info::analyze(&read(&path));
        assert!(report.ledger.closes, "{}: {:?}", path.display(), report.ledger);
    }
}

#[test]
fn skipped_bytes_are_told_and_the_ledger_is_about_counts() {
    let mut builder = TraceBuilder::new();
    builder.meta().skipped_bytes = 17;
    let ledger = run_info::analyze(&builder.finish()).ledger;
    assert_eq!((ledger.skipped_bytes, ledger.closes), (17, true));
    assert!(run_info::DEFINITIONS.iter().any(|d| d.field == "skipped_bytes"));
}

#[test]
fn an_empty_trace_has_an_answer() {
    let report = run_info::analyze(&TraceBuilder::new().finish());
    assert!(report.ledger.closes && report.framework.is_none() && report.bytes_per_event.is_none());
    assert_eq!((report.extent_ns, report.lanes.len()), (0, 0));
}
