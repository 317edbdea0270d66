//! Whatever a file holds, HTA's analyses answer and do not panic.

use proptest::prelude::*;
use stepscope_analyse::peers::hta::critical_path::{NoPath, PathOptions, critical_path};
use stepscope_analyse::peers::hta::idle::{IdleOptions, idle_breakdown};
use stepscope_analyse::peers::hta::launches::{LaunchOptions, launch_stats};
use stepscope_analyse::peers::hta::loading::Loading;
use stepscope_analyse::peers::hta::queue::{QueueOptions, queue_length};
use stepscope_model::{ArgValue, Domain, Kind, LaneKey, NewSlice, Ns, Tag, Trace};

const SLICES: [(Kind, &str); 16] = [
    (Kind::HostAnnotation, "ProfilerStep#1"),
    (Kind::HostAnnotation, "ProfilerStep#2"),
    (Kind::HostAnnotation, "## backward ##"),
    (Kind::HostOp, "autograd::engine"),
    (Kind::HostOp, "forward"),
    (Kind::Runtime, "cudaLaunchKernel"),
    (Kind::Runtime, "cudaMemcpyAsync"),
    (Kind::Runtime, "cudaEventRecord"),
    (Kind::Runtime, "cudaStreamWaitEvent"),
    (Kind::Runtime, "cudaDeviceSynchronize"),
    (Kind::Kernel, "gemm"),
    (Kind::Memcpy, "Memcpy DtoH"),
    (Kind::DeviceSync, "Stream Wait Event"),
    (Kind::DeviceSync, "Event Sync"),
    (Kind::DeviceSync, "Context Sync"),
    (Kind::DeviceSync, "Stream Sync"),
];

fn build(rows: &[(usize, (i64, i64), i64, i64)]) -> Trace {
    let mut b = crate::data::builder();
    for &(of, (start, dur), thread, id) in rows {
        let (kind, name) = SLICES[of];
        let domain = if kind.is_device() { Domain::Device } else { Domain::Host };
        let lane = b.lane(LaneKey { domain, process: Tag::Int(0), thread: Tag::Int(thread) });
        for (key, value) in [
            ("correlation", id),
            ("stream", thread - 1),
            ("wait_on_stream", (id + 1) % 3),
            ("wait_on_cuda_event_record_corr_id", (id + 3) % 6),
        ] {
            let key = b.intern(key);
            b.push_arg(key, ArgValue::Int(value));
        }
        let (name, args) = (b.intern(name), b.commit_args());
        let (start, dur, correlation) = (Ns(start), Ns(dur), Some(id));
        b.slice(NewSlice { start, dur, name, kind, lane, args, correlation, ..NewSlice::default() });
    }
    b.finish()
}

fn ask_all(trace: &Trace) {
    for loading in [Loading::exact(), Loading::hta(trace)] {
        for row in idle_breakdown(trace, &IdleOptions { loading, ..IdleOptions::default() }) {
            let gaps = row.host_wait.gaps.count + row.kernel_wait.gaps.count + row.other.gaps.count;
            assert_eq!(gaps + 1, row.slices);
        }
        let queue = queue_length(trace, &QueueOptions { loading, full: 2 });
        assert!(queue.streams.iter().all(|s| s.points.last().is_some_and(|p| p.length == 0)));
        let stats = launch_stats(trace, &LaunchOptions { loading, ..LaunchOptions::default() });
        assert!(stats.launches.iter().all(|l| l.delay_ns >= 0));
        for annotation in ["", "ProfilerStep", "forward"] {
            let options = PathOptions { loading, annotation: annotation.to_owned(), ..PathOptions::default() };
            match critical_path(trace, &options) {
                Err(no_path) => assert_ne!(no_path, NoPath::NoInstance { instances: 0 }),
                Ok(path) => {
                    let edges: Vec<_> = path.edges.iter().map(|&e| path.graph.edges[e as usize]).collect();
                    assert!(edges.windows(2).all(|pair| pair[0].to == pair[1].from));
                    assert_eq!(path.summary.iter().map(|row| row.edges).sum::<u64>(), edges.len() as u64);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn near_times(rows in prop::collection::vec((0..SLICES.len(), (0..60i64, 0..20i64), 0..3i64, 0..6i64), 0..60)) {
        ask_all(&build(&rows));
    }

    #[test]
    fn wild_times(rows in prop::collection::vec(
        (0..SLICES.len(), (any::<i64>(), any::<i64>()), 0..3i64, 0..6i64), 0..40,
    )) {
        ask_all(&build(&rows));
    }
}
