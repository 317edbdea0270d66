//! HTA's own analyses against what HTA 0.6.1 itself gives on its test traces (in microseconds), and against its
//! unit tests.

use stepscope_analyse::peers::hta::describe::Describe;
use stepscope_analyse::peers::hta::idle::{IdleOptions, IdleRow, idle_breakdown};
use stepscope_analyse::peers::hta::launches::{LaunchOptions, launch_stats};
use stepscope_analyse::peers::hta::loading::Loading;
use stepscope_analyse::peers::hta::queue::{QueueOptions, queue_length};
use stepscope_model::Trace;

use crate::data::{peer, read};

const NS_TRACE: &str = "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz";
const SIMPLE_ADD: &str = "hta/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz";

fn idle_us(trace: &Trace, loading: Loading) -> Vec<(Option<i64>, [i64; 3])> {
    let us = |row: &IdleRow| [row.host_wait, row.kernel_wait, row.other].map(|part| part.idle_ns / 1000);
    let rows = idle_breakdown(trace, &IdleOptions { loading, ..IdleOptions::default() });
    rows.iter().map(|row| (row.stream, us(row))).collect()
}

fn near(d: Describe, expected: [f64; 7]) {
    let found = [d.mean, d.std, d.min, d.p25, d.p50, d.p75, d.max].map(Option::unwrap);
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() < 1e-6, "{found:?}");
    }
}

#[test]
fn idle_breakdown_is_htas() {
    let Some(path) = peer(NS_TRACE) else { return };
    let trace = read(&path);
    let hta = Loading::hta(&trace);
    assert_eq!(hta, Loading { whole_us: true, drop_last_step: true, drop_unlinked: true });
    let rows = idle_breakdown(&trace, &IdleOptions { loading: hta, ..IdleOptions::default() });
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].device, rows[0].stream, rows[0].slices), (Some(0), Some(7), 4876));
    assert_eq!((rows[0].host_wait.idle_ns, rows[0].kernel_wait.idle_ns), (1_709_000, 8_404_000));
    assert_eq!((rows[0].other.idle_ns, rows[0].other.gaps.count), (0, 0));
    assert_eq!((rows[0].host_wait.gaps.count, rows[0].kernel_wait.gaps.count), (90, 4785));
    // The same without rounding: what remains is HTA's rule on exact times.
    let exact = Loading { whole_us: false, ..hta };
    let rows = idle_breakdown(&trace, &IdleOptions { loading: exact, ..IdleOptions::default() });
    assert_eq!(rows[0].idle_ns(), 6_452_701);

    let simple_add = read(&peer(SIMPLE_ADD).unwrap());
    assert_eq!(Loading::hta(&simple_add), Loading { whole_us: true, ..Loading::default() });
    let expected = [(Some(7), [15_976_739, 91, 0]), (Some(20), [13_582_776, 8, 0])];
    // Times of this file are whole microseconds: rounding changes nothing.
    assert_eq!(idle_us(&simple_add, Loading::hta(&simple_add)), expected);
    assert_eq!(idle_us(&simple_add, Loading::exact()), expected);
    let amd = read(&peer("hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz").unwrap());
    assert_eq!(idle_us(&amd, Loading::hta(&amd)), [(Some(0), [8780, 0, 0])]);
    let sync = read(&peer("hta/critical_path/cuda_event_sync/event_sync_trace.json.gz").unwrap());
    assert_eq!(idle_us(&sync, Loading::hta(&sync)), [(Some(7), [212, 0, 0])]);
}

#[test]
fn queue_length_is_htas() {
    let Some(path) = peer(NS_TRACE) else { return };
    let trace = read(&path);
    let options = QueueOptions { loading: Loading::hta(&trace), full: 1000 };
    let queue = queue_length(&trace, &options);
    assert_eq!((queue.streams.len(), queue.uncounted), (1, 0));
    let stream = &queue.streams[0];
    assert_eq!((stream.points.len(), stream.summary.count), (9752, 9752));
    // HTA gives a mean of 812.413454 and a deviation of 306.062726. In 131 places a launch and a start share a
    // microsecond, and it sorts them by chance: launches first it would be 812.426374, starts first 812.399508.
    // Ours is their order before rounding.
    near(stream.summary, [812.411403, 306.069805, 0.0, 764.75, 973.0, 1020.0, 1022.0]);
    assert_eq!((stream.full_ns, queue.trace_ns), (238_716_000, 387_870_000));
    // It never comes to what the runtime takes as full.
    let queue = queue_length(&trace, &QueueOptions { full: 1024, ..options });
    assert_eq!((queue.streams[0].full_ns, queue.streams[0].full_share), (0, Some(0.0)));

    let simple_add = read(&peer(SIMPLE_ADD).unwrap());
    let queue = queue_length(&simple_add, &QueueOptions::default());
    assert_eq!(
        queue.streams.iter().map(|s| (s.stream, s.summary.count)).collect::<Vec<_>>(),
        [(Some(7), 182), (Some(20), 14)]
    );
    // HTA's chance gives 167 / 182: it puts one start before the launch of its microsecond.
    near(queue.streams[0].summary, [169.0 / 182.0, 1.035480, 0.0, 0.0, 1.0, 1.0, 5.0]);
    near(queue.streams[1].summary, [0.5, 0.518875, 0.0, 0.0, 0.5, 1.0, 1.0]);
    let amd = read(&peer("hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz").unwrap());
    let queue = queue_length(&amd, &QueueOptions { loading: Loading::hta(&amd), ..options });
    assert_eq!(queue.streams[0].summary.count, 32);
}

#[test]
fn launch_stats_are_htas() {
    let Some(path) = peer(NS_TRACE) else { return };
    let sums = |trace: &Trace, options: LaunchOptions| {
        let stats = launch_stats(trace, &options);
        let sum = |of: fn(&stepscope_analyse::peers::hta::launches::Launch) -> i64| {
            stats.launches.iter().map(of).sum::<i64>() / 1000
        };
        let times = [sum(|l| l.cpu_ns), sum(|l| l.gpu_ns), sum(|l| l.delay_ns)];
        (stats.launches.len(), times, [stats.short, stats.cpu_outliers, stats.delay_outliers])
    };
    let trace = read(&path);
    let options = LaunchOptions { loading: Loading::hta(&trace), ..LaunchOptions::default() };
    let found = sums(&trace, options);
    assert_eq!(found, (4876, [192_088, 374_521, 322_052_817], [2752, 663, 4713]));
    assert_eq!(sums(&trace, LaunchOptions { with_memory: false, ..options }).0, 3480);

    let simple_add = read(&peer(SIMPLE_ADD).unwrap());
    let found = sums(&simple_add, LaunchOptions::default());
    assert_eq!(found, (98, [4_260_778, 49_816, 10_264], [37, 10, 22]));
    // HTA does not know HIP's launches; here they are at least counted.
    let amd = read(&peer("hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz").unwrap());
    let stats = launch_stats(&amd, &LaunchOptions::default());
    assert_eq!((stats.launches.len(), stats.uncounted), (0, 16));
}
