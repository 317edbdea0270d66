//! Whatever a file holds, the analyses of causes, waits and changes, and all rules, answer twice the same and do not
//! panic; where times are sane, their parts add up.

use proptest::prelude::*;
use stepscope_analyse::causes::account::account;
use stepscope_analyse::causes::data_loading::data_loading;
use stepscope_analyse::causes::gaps::gaps;
use stepscope_analyse::causes::launches::{launches, queue};
use stepscope_analyse::causes::transfers::transfers;
use stepscope_analyse::causes::verdict::{Circumstances, verdict};
use stepscope_analyse::causes::waits;
use stepscope_analyse::findings::{RULES, Thresholds, findings};
use stepscope_analyse::peers::hta::critical_path as hta_path;
use stepscope_analyse::peers::hta::idle::{IdleOptions, idle_breakdown};
use stepscope_analyse::peers::hta::launches::{LaunchOptions, launch_stats};
use stepscope_analyse::peers::hta::loading::Loading;
use stepscope_analyse::peers::hta::queue::{QueueOptions, queue_length};
use stepscope_analyse::replay::critical_path::critical_path;
use stepscope_analyse::replay::what_if::{Change, what_if};
use stepscope_analyse::replay::{Replay, Replayed, Unchanged};
use stepscope_analyse::roofline::efficiency::{self, Efficiency};
use stepscope_analyse::roofline::{RooflineBy, RooflineQuery, roofline};
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::steps::Steps;
use stepscope_model::{
    ArgValue, Device, Domain, Kind, LaneKey, NewAllocation, NewSlice, Ns, SliceId, Tag, Trace, TraceBuilder,
};

/// What the analyses look for by name, with the kind it usually has.
const SLICES: [(Kind, &str); 56] = [
    (Kind::HostAnnotation, "ProfilerStep#1"),
    (Kind::HostAnnotation, "ProfilerStep#2"),
    (Kind::HostAnnotation, "ProfilerStep#3"),
    (Kind::HostAnnotation, "ProfilerStep#9223372036854775807"),
    (Kind::HostAnnotation, "Optimizer.step#AdamW.step"),
    (Kind::HostAnnotation, "Optimizer.step#SGD.step"),
    (Kind::HostAnnotation, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"),
    (Kind::HostAnnotation, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
    (Kind::HostAnnotation, "DistributedDataParallel.forward"),
    (Kind::HostAnnotation, "gloo:all_reduce"),
    (Kind::HostAnnotation, "entire_frame_compile (dynamo_timed), compile_id=0/1"),
    (Kind::PythonFunction, "train.py(12): step"),
    (Kind::PythonFunction, "torch/utils/data/dataloader.py(7): __next__"),
    (Kind::PythonFunction, "torch/nn/parallel/data_parallel.py(1): forward"),
    (Kind::PythonFunction, "<built-in function collect>"),
    (Kind::HostOp, "autograd::engine::evaluate_function: MmBackward0"),
    (Kind::HostOp, "aten::mm"),
    (Kind::HostOp, "aten::bmm"),
    (Kind::HostOp, "aten::addmm"),
    (Kind::HostOp, "aten::_softmax"),
    (Kind::HostOp, "aten::mul"),
    (Kind::HostOp, "aten::tanh"),
    (Kind::HostOp, "aten::pow"),
    (Kind::HostOp, "aten::copy_"),
    (Kind::HostOp, "aten::to"),
    (Kind::HostOp, "aten::item"),
    (Kind::HostOp, "aten::convolution"),
    (Kind::HostOp, "aten::native_batch_norm"),
    (Kind::HostOp, "aten::_scaled_dot_product_flash_attention"),
    (Kind::HostOp, "nccl:all_reduce"),
    (Kind::HostOp, "Scatter"),
    (Kind::HostOp, "Gather"),
    (Kind::Runtime, "cudaLaunchKernel"),
    (Kind::Runtime, "cudaGraphLaunch"),
    (Kind::Runtime, "cudaMemcpyAsync"),
    (Kind::Runtime, "cudaMemcpy"),
    (Kind::Runtime, "cudaStreamSynchronize"),
    (Kind::Runtime, "cudaDeviceSynchronize"),
    (Kind::Runtime, "cudaEventRecord"),
    (Kind::Runtime, "cudaMalloc"),
    (Kind::Runtime, "cudaFree"),
    (Kind::Driver, "cuLaunchKernel"),
    (Kind::Driver, "cuModuleLoadData"),
    (Kind::Overhead, "Lazy Function Loading"),
    (Kind::Overhead, "Activity Buffer Request"),
    (Kind::Kernel, "ampere_sgemm_128x64_tn"),
    (Kind::Kernel, "sm80_xmma_gemm_f16f16_tensor16x8x16"),
    (Kind::Kernel, "void cudnn::ops::nchwToNhwcKernel<float>"),
    (Kind::Kernel, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
    (Kind::Memcpy, "Memcpy HtoD (Pageable -> Device)"),
    (Kind::Memcpy, "Memcpy HtoD (Pinned -> Device)"),
    (Kind::Memcpy, "Memcpy DtoH (Device -> Pageable)"),
    (Kind::Memset, "Memset (Device)"),
    (Kind::DeviceAnnotation, "gloo:all_reduce"),
    (Kind::DeviceSync, "Stream Wait Event"),
    (Kind::DeviceSync, "Stream Sync"),
];

/// Shapes as files have them: good, huge, under zero, broken.
const SHAPES: [&str; 9] = [
    "[[512, 512], [512, 513]]",
    "[[16, 512, 512], [16, 512, 64]]",
    "[[8, 256, 256], [], [1]]",
    "[[9223372036854775807, 2], [2, 9223372036854775807]]",
    "[[-9223372036854775808, 3], [3, -1]]",
    "[[4294967296, 4294967296], [4294967296, 4294967295]]",
    "[[64, 3, 7, 7], [64, 3, 7, 7], [], [], [], [], [], [], []]",
    "[[3, [[[",
    "",
];

const TYPES: [&str; 4] =
    ["[\"float\", \"float\"]", "[\"c10::BFloat16\", \"c10::BFloat16\"]", "[\"c10::Half\", 3]", "["];

const BYTES: [i64; 6] = [0, 4, 1 << 20, i64::MAX, i64::MIN, 1 << 62];

/// What a slice is, its times, its thread or stream, its id, and a number that its details are drawn by.
type Row = (usize, (i64, i64), i64, i64, usize);

fn rows(times: impl Strategy<Value = (i64, i64)>) -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((0..SLICES.len(), times, 0..4i64, 0..9i64, any::<usize>()), 0..60)
}

fn build(rows: &[Row]) -> Trace {
    let mut b = crate::data::builder();
    b.meta().devices = vec![
        Device { index: 0, name: "NVIDIA A100-SXM4-80GB".into(), compute_major: Some(8), ..Device::default() },
        Device {
            index: 1,
            name: "NVIDIA H100 80GB HBM3".into(),
            total_memory_bytes: Some(i64::MAX),
            ..Device::default()
        },
    ];
    b.meta().options.record_shapes = Some(true);
    for &(of, (start, dur), thread, id, pick) in rows {
        let (mut kind, name) = SLICES[of];
        if pick % 11 == 0 {
            // A kind that does not fit the name.
            kind = SLICES[pick / 11 % SLICES.len()].0;
        }
        let domain = if kind.is_device() { Domain::Device } else { Domain::Host };
        let process = Tag::Int(if domain == Domain::Device { id % 2 } else { 100 });
        let lane = b.lane(LaneKey { domain, process, thread: Tag::Int(thread) });
        let bytes = BYTES[pick / 3 % BYTES.len()];
        for (key, value) in [
            ("Input Dims", SHAPES[pick / 5 % SHAPES.len()]),
            ("Input type", TYPES[pick / 7 % TYPES.len()]),
            ("Concrete Inputs", "[\"\", \"\", \"\", \"[1, 1]\", \"[0, 0]\"]"),
        ] {
            let (key, value) = (b.intern(key), b.intern(value));
            b.push_arg(key, ArgValue::Str(value));
        }
        for (key, value) in [
            ("bytes", bytes),
            ("stream", thread),
            ("correlation", id),
            ("wait_on_stream", (thread + 1) % 4),
            ("wait_on_cuda_event_record_corr_id", (id + 1) % 9),
        ] {
            let key = b.intern(key);
            b.push_arg(key, ArgValue::Int(value));
        }
        let (name, args) = (b.intern(name), b.commit_args());
        let (start, dur) = (Ns(start), Ns(dur));
        let correlation = (pick % 5 != 0).then_some(id);
        let external = (pick % 3 != 0).then_some(id);
        b.slice(NewSlice { start, dur, name, kind, lane, args, correlation, external, ..NewSlice::default() });
        if pick % 4 == 0 {
            memory_mark(&mut b, start, lane, bytes, pick);
        }
    }
    b.finish()
}

fn memory_mark(b: &mut TraceBuilder, at: Ns, lane: stepscope_model::LaneId, bytes: i64, pick: usize) {
    for (key, value) in [
        ("Bytes", bytes),
        ("Addr", (pick / 8 % 5) as i64),
        ("Total Allocated", BYTES[pick / 13 % BYTES.len()]),
        ("Total Reserved", BYTES[pick / 17 % BYTES.len()]),
        ("Device Id", (pick / 4 % 2) as i64),
        ("Device Type", 1),
    ] {
        let key = b.intern(key);
        b.push_arg(key, ArgValue::Int(value));
    }
    let (name, args) = (b.intern("[memory]"), b.commit_args());
    b.allocation(name, NewAllocation { at, lane, args, ..NewAllocation::default() });
}

/// Every limit at zero, so that all that a rule can say is said.
fn eager() -> Thresholds {
    let mut limits = Thresholds::default();
    for threshold in RULES.iter().flat_map(|rule| rule.thresholds) {
        if ["min_", "share", "per_step"].iter().any(|word| threshold.name.contains(word)) {
            limits.set(threshold.name, 0.0).unwrap();
        }
    }
    for name in ["severity.low", "severity.medium"] {
        limits.set(name, 0.0).unwrap();
    }
    limits
}

/// Asks everything, in words; checks what must add up where times are sane.
fn ask_all(trace: &Trace, sane: bool) -> String {
    let steps = Steps::find(trace);
    let mut said: Vec<String> = Vec::new();
    let mut say = |words: String| {
        for odd in ["NaN", "inf,", "inf)", "inf "] {
            assert!(!words.contains(odd), "{odd} in {words}");
        }
        said.push(words);
    };
    let account = account(trace, &steps);
    if sane {
        for row in account.rows().chain(account.devices.iter().cloned()) {
            assert_eq!(row.causes.total(), row.wall_ns, "{row:?}");
            assert!(row.causes.0.iter().all(|&ns| ns >= 0), "{row:?}");
        }
    }
    say(format!("{account:?} {:?}", verdict(&account, &Circumstances::default())));
    let report = gaps(trace, &steps, None, 5);
    if sane {
        let on_devices = account.rows().filter(|r| r.device.is_some());
        let idle: i64 = on_devices.map(|r| r.causes.idle() + r.causes.unknown()).sum();
        assert_eq!(report.idle_ns, idle);
        assert_eq!(report.kinds.iter().map(|k| k.idle_ns).sum::<i64>(), idle);
        assert_eq!(report.culprits.iter().map(|c| c.idle_ns).sum::<i64>(), idle);
    }
    say(format!("{report:?} {:?}", gaps(trace, &steps, Some(1), 5)));
    say(format!("{:?} {:?}", launches(trace, &steps), queue(trace, None)));
    let found = waits::waits(trace);
    assert!(found.iter().all(|w| w.wait_ns >= 0));
    say(format!("{:?}", waits::report(trace, &steps, &found)));
    say(format!("{:?}", transfers(trace, &Selection::all())));
    let loading = data_loading(trace, &steps);
    assert!(loading.rows.iter().all(|r| 0 <= r.exposed_ns && r.exposed_ns <= r.loading_ns));
    say(format!("{loading:?}"));
    for by in [RooflineBy::Name, RooflineBy::NameAndShape] {
        let query = RooflineQuery { by, ..RooflineQuery::default() };
        say(format!("{:?}", roofline(trace, &query)));
    }
    ask_hta(trace, &mut say);
    ask_replay(trace, &steps, sane, &mut say);
    for limits in [Thresholds::default(), eager()] {
        let found = findings(&Run::new(trace.clone()), &limits);
        assert!(found.iter().all(|f| f.saves_ns.is_none_or(|ns| ns >= 0)));
        if sane {
            let whole = |share: Option<f64>| share.is_none_or(|share| (0.0..=1.0).contains(&share));
            for f in &found {
                assert!(
                    whole(f.saves_share) && whole(f.saves_unprofiled_share),
                    "{}: {:?}",
                    f.rule,
                    f.saves_ns
                );
            }
        }
        say(format!("{found:?}"));
    }
    said.join("\n")
}

fn ask_hta(trace: &Trace, say: &mut impl FnMut(String)) {
    for loading in [Loading::exact(), Loading::hta(trace)] {
        say(format!("{:?}", idle_breakdown(trace, &IdleOptions { loading, ..IdleOptions::default() })));
        say(format!("{:?}", launch_stats(trace, &LaunchOptions { loading, ..LaunchOptions::default() })));
        say(format!("{:?}", queue_length(trace, &QueueOptions { loading, full: 2 })));
        let options = hta_path::PathOptions { loading, ..hta_path::PathOptions::default() };
        say(format!("{:?}", hta_path::critical_path(trace, &options).map(|path| path.summary)));
    }
}

fn ask_replay(trace: &Trace, steps: &Steps, sane: bool, say: &mut impl FnMut(String)) {
    let replay = Replay::new(trace, steps);
    let unchanged = replay.run(&Unchanged);
    say(format!("{unchanged:?}"));
    let operator = |speedup| Change::Operator { name: "aten::mm".into(), speedup };
    let kernel = |speedup| Change::Kernel { name: "gemm".into(), speedup };
    let mut changes = vec![
        operator(2.0),
        operator(1e-300),
        kernel(f64::INFINITY),
        kernel(3.0),
        Change::NoDataLoading,
        Change::NoSynchronization,
        Change::OverlapTransfers,
        Change::FreeLaunches,
    ];
    changes.extend(efficiency::change(trace, Efficiency::default()));
    for change in changes {
        if let Ok(answer) = what_if(trace, &replay, std::slice::from_ref(&change)) {
            assert!(answer.speedup.is_finite() && answer.replay_error.is_finite(), "{answer:?}");
            assert!(answer.predicted_ns >= 0, "{answer:?}");
            say(format!("{:?} {:?} {}", answer.steps, answer.predicted_ns, answer.device_slices_changed));
        }
    }
    if sane {
        no_more_than_is_touched(trace, &replay, &unchanged);
    }
    let path = critical_path(trace, steps, &replay);
    assert!(path.pieces.windows(2).all(|w| w[0].end == w[1].start), "{path:?}");
    if let (true, Some((from, to))) = (sane, steps.window()) {
        let sum: Ns = path.pieces.iter().map(|p| p.end - p.start).sum();
        assert_eq!(sum, to - from, "{path:?}");
    }
    say(format!("{path:?} {:?}", path.report(trace)));
}

/// No path through the graph loses more than what was taken from the work on it.
fn no_more_than_is_touched(trace: &Trace, replay: &Replay, unchanged: &Replayed) {
    let slices = trace.slices();
    let is_gemm = |&id: &SliceId| slices.kind(id).is_device() && trace.name(id).contains("gemm");
    let lengths: Vec<i64> = slices.ids().filter(is_gemm).map(|id| slices.dur(id).0).collect();
    // Work of no length is not launched at all, which saves the launch too.
    if lengths.iter().any(|&ns| ns < 2) {
        return;
    }
    let taken: i64 = lengths.iter().map(|ns| ns - ns / 2 + 1).sum();
    let change = Change::Kernel { name: "gemm".into(), speedup: 2.0 };
    let Ok(faster) = what_if(trace, replay, &[change]) else { return };
    for (before, after) in unchanged.steps.iter().zip(&faster.steps) {
        let saved = before.replayed_ns - after.replayed_ns;
        assert!(saved <= taken, "{saved} saved of {taken}");
    }
}

proptest! {
    #[test]
    fn near_times(rows in rows((-40..200i64, 0..90i64))) {
        let trace = build(&rows);
        prop_assert_eq!(ask_all(&trace, true), ask_all(&build(&rows), true));
    }

    #[test]
    fn usual_times(rows in rows((0..3_000_000i64, 0..300_000i64))) {
        ask_all(&build(&rows), true);
    }

    #[test]
    fn wild_times(rows in rows((any::<i64>(), any::<i64>()))) {
        let trace = build(&rows);
        prop_assert_eq!(ask_all(&trace, false), ask_all(&build(&rows), false));
    }

    #[test]
    fn times_at_the_ends(rows in rows((
        prop::sample::select(vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX / 2, i64::MAX - 1, i64::MAX]),
        prop::sample::select(vec![0, 1, 1_000, i64::MAX / 2, i64::MAX]),
    ))) {
        ask_all(&build(&rows), false);
    }
}
