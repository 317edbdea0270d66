//! HTA's analyses on small made traces with answers worked by hand.

use stepscope_analyse::peers::hta::critical_path::{
    CriticalPath, EdgeKind, HtaBound, NoPath, PathOptions, critical_path,
};
use stepscope_analyse::peers::hta::idle::{IdleOptions, idle_breakdown};
use stepscope_analyse::peers::hta::launches::{LaunchOptions, launch_stats};
use stepscope_analyse::peers::hta::loading::Loading;
use stepscope_analyse::peers::hta::queue::{QueueOptions, queue_length};
use stepscope_model::{Kind, Ns, Trace};
use stepscope_testkit::{RunBuilder, Slice};

/// A slice with the id that ties work to its call, as an argument too.
fn tied(slice: Slice, correlation: i64) -> Slice {
    slice.correlation(correlation).arg("correlation", correlation)
}

fn call(name: &str, times: (i64, i64), correlation: i64) -> Slice {
    tied(Slice::new(Kind::Runtime, name, times), correlation)
}

fn kernel(stream: i64, times: (i64, i64), correlation: i64) -> Slice {
    tied(Slice::new(Kind::Kernel, "gemm", times).stream(stream), correlation)
}

fn sync(stream: i64, name: &str, times: (i64, i64), correlation: i64) -> Slice {
    tied(Slice::new(Kind::DeviceSync, name, times).stream(stream), correlation).arg("stream", stream)
}

/// Six kernels on a stream: one follows late because of the host, one at once, one after an unknown wait, one begins
/// before its predecessor ends, and the last has no recorded call.
fn gaps() -> Trace {
    let mut m = RunBuilder::new();
    for (times, correlation) in [((0, 5), 1), ((30, 34), 2), ((36, 38), 3), ((40, 100), 4), ((44, 46), 5)] {
        m.add(call("cudaLaunchKernel", times, correlation));
    }
    for (times, correlation) in
        [((10, 20), 1), ((35, 50), 2), ((52, 60), 3), ((110, 120), 4), ((118, 130), 5), ((131, 132), 99)]
    {
        m.add(kernel(7, times, correlation));
    }
    m.finish()
}

#[test]
fn gaps_by_who_was_late() {
    let trace = gaps();
    let rows = idle_breakdown(&trace, &IdleOptions::default());
    assert_eq!(rows.len(), 1);
    let row = rows[0];
    assert_eq!((row.device, row.stream, row.slices), (Some(0), Some(7), 6));
    // 20 to 35: launched at 30. 50 to 52, 120 to 118 and 130 to 131: launched before. 60 to 110: too long.
    assert_eq!((row.host_wait.idle_ns, row.host_wait.gaps.count), (15_000, 1));
    assert_eq!((row.kernel_wait.idle_ns, row.kernel_wait.gaps.count), (1_000, 3));
    assert_eq!((row.other.idle_ns, row.other.gaps.count), (50_000, 1));
    assert_eq!((row.overlap_ns, row.idle_ns()), (2_000, 66_000));
    assert_eq!(row.kernel_wait.gaps.min, Some(-2_000.0));

    let wide = IdleOptions { kernel_delay: Ns(50_001), ..IdleOptions::default() };
    assert_eq!(idle_breakdown(&trace, &wide)[0].other.idle_ns, 0);
    let loading = Loading { drop_unlinked: true, ..Loading::default() };
    let linked = idle_breakdown(&trace, &IdleOptions { loading, ..IdleOptions::default() });
    assert_eq!((linked[0].slices, linked[0].kernel_wait.gaps.count), (5, 2));
    assert_eq!(idle_breakdown(&RunBuilder::new().finish(), &IdleOptions::default()), []);
}

#[test]
fn queues_grow_with_calls_and_shrink_with_starts() {
    let queue = queue_length(&gaps(), &QueueOptions { full: 2, ..QueueOptions::default() });
    assert_eq!((queue.streams.len(), queue.uncounted), (1, 1));
    let stream = &queue.streams[0];
    let points: Vec<_> = stream.points.iter().map(|p| (p.at_ns / 1000, p.length)).collect();
    assert_eq!(
        points,
        [(0, 1), (10, 0), (30, 1), (35, 0), (36, 1), (40, 2), (44, 3), (52, 2), (110, 1), (118, 0)]
    );
    assert_eq!((stream.summary.count, stream.summary.mean, stream.summary.max), (10, Some(1.1), Some(3.0)));
    // From 40 to 110, of 0 to 131.
    assert_eq!((stream.full_ns, queue.trace_ns), (70_000, 131_000));
    assert_eq!(stream.full_share, Some(70.0 / 131.0));
}

#[test]
fn launches_with_their_delays() {
    let stats = launch_stats(&gaps(), &LaunchOptions::default());
    let rows: Vec<_> = stats
        .launches
        .iter()
        .map(|l| (l.correlation.unwrap(), l.cpu_ns / 1000, l.gpu_ns / 1000, l.delay_ns / 1000))
        .collect();
    // The second kernel starts 1 µs after its call ends, the fifth 72 µs after.
    assert_eq!(rows, [(1, 5, 10, 5), (2, 4, 15, 1), (3, 2, 8, 14), (4, 60, 10, 10), (5, 2, 12, 72)]);
    assert_eq!((stats.short, stats.short_in_chart), (1, 0));
    assert_eq!((stats.cpu_outliers, stats.delay_outliers, stats.uncounted), (1, 0, 1));
    let options = LaunchOptions { delay_limit: Ns(13_000), cpu_limit: Ns(60_000), ..LaunchOptions::default() };
    let stats = launch_stats(&gaps(), &options);
    assert_eq!((stats.cpu_outliers, stats.delay_outliers, stats.short_in_chart), (0, 2, 1));
}

#[test]
fn loading_rounds_and_drops_as_hta() {
    let mut m = RunBuilder::in_nanoseconds();
    m.host(Kind::HostAnnotation, "ProfilerStep#1", 1, (0, 9_000));
    m.host(Kind::HostAnnotation, "ProfilerStep#2", 1, (10_000, 19_000));
    m.add(call("cudaLaunchKernel", (1_100, 1_900), 1));
    m.add(call("cudaLaunchKernel", (3_000, 4_000), 2));
    m.add(call("cudaLaunchKernel", (11_000, 12_000), 3));
    m.add(kernel(7, (5_100, 6_900), 1));
    m.add(kernel(7, (7_050, 8_000), 2));
    m.add(kernel(7, (13_000, 14_000), 3));
    m.add(kernel(7, (15_000, 16_000), 9));
    let trace = m.finish();
    let hta = Loading::hta(&trace);
    assert_eq!(hta, Loading { whole_us: true, drop_last_step: true, drop_unlinked: true });
    let ask = |loading| idle_breakdown(&trace, &IdleOptions { loading, ..IdleOptions::default() })[0];
    // Rounded, the first kernel is nothing but 6 to 6, the second 8 to 8.
    let row = ask(hta);
    assert_eq!((row.slices, row.kernel_wait.idle_ns), (2, 2_000));
    let row = ask(Loading { whole_us: false, ..hta });
    assert_eq!((row.slices, row.kernel_wait.idle_ns), (2, 150));
    assert_eq!(ask(Loading { drop_last_step: true, ..Loading::default() }).slices, 3);
    assert_eq!(ask(Loading { drop_unlinked: true, ..Loading::default() }).slices, 3);
    assert_eq!(ask(Loading::exact()).slices, 4);
    // The first call, 1.1 to 1.9, becomes 2 to 1.
    let options = LaunchOptions { loading: hta, ..LaunchOptions::default() };
    let cpu: Vec<_> = launch_stats(&trace, &options).launches.iter().map(|l| l.cpu_ns).collect();
    assert_eq!(cpu, [-1_000, 1_000]);
}

/// An operator launches two kernels, the host waits for the device, and another operator follows.
fn two_kernels(first: (i64, i64)) -> RunBuilder {
    let mut m = RunBuilder::new();
    m.host(Kind::HostAnnotation, "step", 1, (0, 200));
    m.host(Kind::HostOp, "aten::a", 1, (0, 40));
    m.add(call("cudaLaunchKernel", (10, 15), 1));
    m.add(call("cudaLaunchKernel", (20, 25), 2));
    m.add(call("cudaDeviceSynchronize", (50, 130), 3));
    m.host(Kind::HostOp, "aten::b", 1, (140, 150));
    m.add(kernel(7, first, 1));
    m.add(kernel(7, (71, 121), 2));
    m
}

fn sums(path: &CriticalPath) -> Vec<(HtaBound, u64, i64)> {
    let rows = path.summary.iter().filter(|row| row.edges > 0);
    rows.map(|row| (row.bound, row.edges, row.time_ns / 1000)).collect()
}

#[test]
fn a_path_through_host_and_device() {
    let mut m = two_kernels((18, 68));
    m.add(sync(-1, "Context Sync", (51, 129), 3).arg("device", 0));
    let trace = m.finish();
    let options = PathOptions { annotation: "step".to_owned(), ..PathOptions::default() };
    let path = critical_path(&trace, &options).unwrap();
    assert_eq!(path.window, (Ns(0), Ns(200_000)));
    // a to its first call 10, launch 8, kernel 50, gap 3, kernel 50, then the wait's end and b: 10.
    let names: Vec<_> = path.nodes().map(|n| (trace.name(n.slice), n.is_start)).collect();
    assert_eq!(
        names,
        [
            ("aten::a", true),
            ("cudaLaunchKernel", true),
            ("gemm", true),
            ("gemm", false),
            ("gemm", true),
            ("gemm", false),
            ("cudaDeviceSynchronize", false),
            ("aten::b", true),
            ("aten::b", false),
        ]
    );
    assert_eq!(path.total_ns, 131_000);
    assert_eq!(
        sums(&path),
        [
            (HtaBound::Cpu, 2, 20),
            (HtaBound::GpuCompute, 2, 100),
            (HtaBound::KernelKernel, 1, 3),
            (HtaBound::KernelLaunch, 1, 8),
            (HtaBound::Dependency, 2, 0),
        ]
    );
    assert_eq!(path.summary[2].share, Some(100.0 / 131.0));
    assert_eq!((path.slices().len(), path.unconnected, path.negative_edges), (6, 0, 0));
    assert!(path.has_sync_events);

    // Without the recorded wait nothing joins device and host again: the kernels are the end of the path.
    let path = critical_path(&two_kernels((18, 68)).finish(), &options).unwrap();
    assert_eq!((path.total_ns, path.edges.len(), path.has_sync_events), (121_000, 5, false));

    // A kernel that starts when the next is queued already has no launch edge by HTA's rule: nothing leads to it.
    let path = critical_path(&two_kernels((22, 68)).finish(), &options).unwrap();
    assert_eq!((path.total_ns, path.edges.len(), path.unconnected), (99_000, 3, 1));
}

#[test]
fn a_stream_waits_for_an_event_of_another() {
    let mut m = RunBuilder::new();
    m.host(Kind::HostOp, "aten::a", 1, (0, 30));
    m.add(call("cudaLaunchKernel", (1, 2), 1));
    m.add(call("cudaEventRecord", (3, 4), 2));
    m.add(call("cudaStreamWaitEvent", (5, 6), 3));
    m.add(call("cudaLaunchKernel", (7, 8), 4));
    m.add(kernel(7, (5, 105), 1));
    m.add(kernel(8, (106, 116), 4));
    let event = sync(8, "Stream Wait Event", (5, 6), 3);
    m.add(event.arg("wait_on_stream", 7).arg("wait_on_cuda_event_record_corr_id", 2));
    let trace = m.finish();
    let path = critical_path(&trace, &PathOptions::default()).unwrap();
    let kinds: Vec<_> = path.edges.iter().map(|&e| path.graph.edges[e as usize].kind).collect();
    use EdgeKind::{LaunchDelay, OperatorKernel, SyncDependency};
    assert_eq!(kinds, [OperatorKernel, LaunchDelay, OperatorKernel, SyncDependency, OperatorKernel]);
    // 1 into the operator, 4 to the launch, 100 and 10 of kernels; the 1 between them is no one's.
    assert_eq!(path.total_ns, 115_000);
    assert_eq!(path.unconnected, 0);
}

#[test]
fn launches_of_two_threads_share_a_lock() {
    let mut m = RunBuilder::new();
    m.add(tied(Slice::new(Kind::Runtime, "cudaLaunchKernel", (0, 30)).thread(1), 1));
    m.add(tied(Slice::new(Kind::Runtime, "cudaHostAlloc", (10, 50)).thread(2), 2));
    m.add(Slice::new(Kind::HostOp, "aten::after", (60, 70)).thread(2));
    let trace = m.finish();
    let path = critical_path(&trace, &PathOptions::default()).unwrap();
    let edges: Vec<_> = path.graph.edges.iter().map(|e| (e.kind, e.weight.0 / 1000)).collect();
    use EdgeKind::{Dependency, OperatorKernel};
    // The allocation waits for the launch to end; only the launch, which ended first, has a time of its own.
    assert_eq!(
        edges,
        [(Dependency, 0), (OperatorKernel, 30), (Dependency, 0), (Dependency, 0), (OperatorKernel, 10)]
    );
    assert_eq!(path.total_ns, 40_000);
}

#[test]
fn data_loading_and_nothing_at_all() {
    let mut m = RunBuilder::new();
    m.host(Kind::HostAnnotation, "enumerate(DataLoader)", 1, (0, 60));
    m.host(Kind::HostOp, "aten::a", 1, (70, 80));
    let trace = m.finish();
    let options = PathOptions { data_loading: vec!["DataLoader".to_owned()], ..PathOptions::default() };
    let path = critical_path(&trace, &options).unwrap();
    assert_eq!(
        sums(&path),
        [(HtaBound::Cpu, 1, 10), (HtaBound::DataLoading, 1, 60), (HtaBound::Dependency, 1, 0)]
    );
    let empty = RunBuilder::new().finish();
    assert_eq!(critical_path(&empty, &PathOptions::default()).err(), Some(NoPath::NothingInWindow));
    let window = PathOptions { annotation: "aten".to_owned(), instances: (1, 1), ..PathOptions::default() };
    assert_eq!(critical_path(&trace, &window).err(), Some(NoPath::NoInstance { instances: 1 }));
    let window = PathOptions { annotation: "conv".to_owned(), ..PathOptions::default() };
    assert_eq!(critical_path(&trace, &window).err(), Some(NoPath::NoAnnotation));
}
