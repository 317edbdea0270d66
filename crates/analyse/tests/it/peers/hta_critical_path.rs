//! HTA's critical path on its own test traces: the values of its unit tests, and beyond them what HTA 0.6.1 gives.

use std::path::PathBuf;

use stepscope_analyse::peers::hta::critical_path::{
    CriticalPath, EdgeKind, HtaBound, NoPath, PathOptions, critical_path,
};
use stepscope_analyse::peers::hta::loading::Loading;
use stepscope_model::{SliceId, Trace};

use crate::data::{peer, read};

const FORWARD: &str = "[param|pytorch.model.alex_net|0|0|0|measure|forward]";
const SIMPLE_ADD: &str = "hta/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz";

fn path(trace: &Trace, annotation: &str, instance: u32) -> CriticalPath {
    let options = PathOptions {
        loading: Loading::hta(trace),
        annotation: annotation.to_owned(),
        instances: (instance, instance),
        ..PathOptions::default()
    };
    critical_path(trace, &options).unwrap()
}

/// Edges of the graph by kind, in the order of [`EdgeKind::ALL`].
fn kinds(path: &CriticalPath) -> [usize; 5] {
    EdgeKind::ALL.map(|kind| path.graph.edges.iter().filter(|e| e.kind == kind).count())
}

fn critical_kinds(path: &CriticalPath) -> [usize; 5] {
    let edge = |&&e: &&u32| path.graph.edges[e as usize].kind;
    EdgeKind::ALL.map(|kind| path.edges.iter().filter(|e| edge(e) == kind).count())
}

/// Edges and microseconds of the path by bound: host, compute, kernel to kernel, launch.
fn bounds(path: &CriticalPath) -> [(u64, i64); 4] {
    let row = |bound: HtaBound| path.summary.iter().find(|r| r.bound == bound).unwrap();
    [HtaBound::Cpu, HtaBound::GpuCompute, HtaBound::KernelKernel, HtaBound::KernelLaunch]
        .map(|bound| (row(bound).edges, row(bound).time_ns / 1000))
}

/// A peer's file that is not among those handed out everywhere.
fn rare_peer(file: &str) -> Option<PathBuf> {
    let path = peer(file)?;
    if !path.exists() {
        println!("skipped: {file} is not there");
        return None;
    }
    Some(path)
}

#[test]
fn simple_add_as_in_htas_unit_tests() {
    let Some(file) = peer(SIMPLE_ADD) else { return };
    let trace = read(&file);
    let p = path(&trace, FORWARD, 1);
    assert_eq!(p.nodes().count(), 315);
    assert_eq!(p.edges.len(), 314);
    assert_eq!(p.slices().len(), 159);
    let shown = |e: &&u32| {
        let kind = p.graph.edges[**e as usize].kind;
        matches!(kind, EdgeKind::Dependency | EdgeKind::LaunchDelay | EdgeKind::SyncDependency)
    };
    assert_eq!(p.edges.iter().filter(shown).count(), 21);
    assert_eq!(p.graph.touched(), 414);
    assert_eq!(kinds(&p), [350, 23, 15, 25, 2]);
    assert_eq!(critical_kinds(&p), [288, 20, 1, 5, 0]);
    assert_eq!(bounds(&p), [(282, 241_190), (6, 508), (5, 9), (1, 17)]);
    assert_eq!(p.total_ns, 241_724_000);
    assert!(p.has_sync_events);
    assert_eq!(p.unconnected, 0);

    // The first relu of the window with its stack, whose times HTA's test spells out.
    let slices = trace.slices();
    let edges_of = |id: SliceId| {
        let own = p.graph.edges.iter().filter(|e| e.slice == Some(id));
        own.map(|e| (e.kind, e.weight.0 / 1000)).collect::<Vec<_>>()
    };
    let in_window = |name: &str| {
        let named = slices.ids().filter(|&id| trace.name(id) == name && p.graph.nodes_of(id).is_some());
        named.collect::<Vec<_>>()
    };
    let op = EdgeKind::OperatorKernel;
    let relu = in_window("aten::relu_").into_iter().find(|&id| edges_of(id) == [(op, 15), (op, 32)]).unwrap();
    let inside = |name: &str| {
        let held =
            |id: &SliceId| slices.start(*id) >= slices.start(relu) && slices.end(*id) <= slices.end(relu);
        in_window(name).into_iter().find(held).unwrap()
    };
    assert_eq!(edges_of(inside("aten::clamp_min_")), [(op, 14), (op, 15)]);
    assert_eq!(edges_of(inside("cudaLaunchKernel")), [(op, 17)]);

    // A launch that took 27 µs and the kernel that followed its kernel after 7 µs.
    let all = p.graph.edges.iter();
    let launched: Vec<_> = all.filter(|e| e.kind == EdgeKind::LaunchDelay && e.weight.0 == 27_000).collect();
    let gap_after = |kernel: SliceId| {
        let end = p.graph.nodes_of(kernel).unwrap().1;
        let next = p.graph.edges.iter().find(|e| e.from == end && e.kind == EdgeKind::KernelKernelDelay);
        next.map(|e| e.weight.0)
    };
    let after: Vec<_> = launched.iter().map(|e| gap_after(p.graph.nodes[e.to as usize].slice)).collect();
    assert!(after.contains(&Some(7_000)), "{after:?}");
    let sync = in_window("cudaDeviceSynchronize");
    let waits = sync.iter().filter(|&&id| {
        let end = p.graph.nodes_of(id).unwrap().1;
        p.graph.edges.iter().any(|e| e.to == end && e.kind == EdgeKind::SyncDependency && e.weight.0 == 0)
    });
    assert!(waits.count() > 0);
}

#[test]
fn launches_may_always_hold_their_kernels() {
    let Some(file) = peer(SIMPLE_ADD) else { return };
    let trace = read(&file);
    let options = PathOptions {
        annotation: FORWARD.to_owned(),
        instances: (1, 1),
        launch_always: true,
        ..PathOptions::default()
    };
    let p = critical_path(&trace, &options).unwrap();
    assert_eq!(kinds(&p), [350, 23, 40, 25, 2]);
    assert_eq!((p.edges.len(), p.slices().len(), p.total_ns), (314, 159, 241_724_000));
    let ask = |annotation: &str, instance: u32| {
        let options = PathOptions {
            annotation: annotation.to_owned(),
            instances: (instance, instance),
            ..PathOptions::default()
        };
        critical_path(&trace, &options).err()
    };
    assert_eq!(ask("no such range", 0), Some(NoPath::NoAnnotation));
    assert!(matches!(ask(FORWARD, 99), Some(NoPath::NoInstance { instances: 2.. })));
}

#[test]
fn events_make_the_host_wait() {
    let Some(file) = peer("hta/critical_path/cuda_event_sync/event_sync_trace.json.gz") else { return };
    let trace = read(&file);
    let p = path(&trace, "ProfilerStep", 0);
    assert_eq!(kinds(&p), [38, 10, 5, 0, 4]);
    assert_eq!(p.graph.touched(), 54);
    assert_eq!((p.nodes().count(), p.edges.len(), p.slices().len()), (40, 39, 21));
    assert_eq!(critical_kinds(&p), [30, 7, 1, 0, 1]);
    assert_eq!(bounds(&p), [(29, 2365), (1, 36), (0, 0), (1, 10)]);
    assert!(p.graph.edges.iter().all(|e| e.kind != EdgeKind::SyncDependency || e.weight.0 == 0));
}

#[test]
fn nanoseconds_and_another_maker() {
    let Some(file) = peer("hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz") else {
        return;
    };
    let trace = read(&file);
    let p = path(&trace, "ProfilerStep", 1);
    assert_eq!(p.graph.touched(), 11_228);
    assert_eq!(kinds(&p), [9091, 916, 0, 1218, 0]);
    assert_eq!((p.nodes().count(), p.slices().len()), (2438, 1219));
    assert_eq!(bounds(&p), [(0, 0), (1219, 93_692), (1218, 2043), (0, 0)]);
    assert!(!p.has_sync_events);

    let trace = read(&peer("hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz").unwrap());
    let p = path(&trace, "ProfilerStep", 1);
    assert_eq!((p.graph.touched(), p.graph.edges.len()), (80, 79));
    assert_eq!(kinds(&p), [66, 6, 7, 0, 0]);
    assert_eq!((p.nodes().count(), p.slices().len()), (66, 33));
    assert_eq!(bounds(&p), [(59, 741), (0, 0), (0, 0), (0, 0)]);
}

#[test]
fn streams_wait_for_each_other() {
    let alexnet = rare_peer("hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz");
    let Some(file) = alexnet else { return };
    let p = path(&read(&file), FORWARD, 1);
    assert_eq!(kinds(&p), [354, 23, 5, 34, 5]);
    assert_eq!((p.nodes().count(), p.slices().len()), (149, 77));
    assert_eq!(critical_kinds(&p), [110, 4, 1, 32, 1]);
    assert_eq!(bounds(&p), [(76, 32_042), (34, 3712), (32, 50), (1, 30)]);
}

#[test]
fn streams_wait_for_events_of_each_other() {
    let events = rare_peer("hta/critical_path/cuda_event_sync_multi_stream/event_sync_trace.json.gz");
    let Some(file) = events else { return };
    let p = path(&read(&file), "", 0);
    assert_eq!(kinds(&p), [66, 5, 3, 2, 6]);
    assert_eq!((p.nodes().count(), p.slices().len()), (59, 31));
    assert_eq!(bounds(&p), [(50, 1025), (2, 124), (1, 15), (1, 14)]);
}

#[test]
fn a_whole_program_waits_for_its_host() {
    let Some(file) = rare_peer("hta/critical_path/end_to_end/simple_add/input/trace.json.gz") else { return };
    let p = path(&read(&file), "", 0);
    assert_eq!(kinds(&p), [1167, 162, 56, 41, 25]);
    assert_eq!((p.nodes().count(), p.slices().len()), (1212, 624));
    assert_eq!(bounds(&p), [(992, 41_393_843), (22, 39_588), (5, 9), (17, 1572)]);
}
