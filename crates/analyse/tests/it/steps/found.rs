//! Steps, breakdown and device numbers on made traces with worked answers, and on the recorded ones.

use stepscope_analyse::devices::utilization::gpu;
use stepscope_analyse::names::comm::CommRule;
use stepscope_analyse::peers::tracelens::{
    TimelineOptions, device_timeline, temporal_breakdown, timeline_of_steps,
};
use stepscope_analyse::steps::breakdown::{Breakdown, breakdown};
use stepscope_analyse::steps::{ITERATIONS, Partial, StepRule, Steps};
use stepscope_model::{Decimal, Domain, Kind, NoteKind, Ns, PointKind, ProgramPhases, Trace};
use stepscope_testkit::{Point, RunBuilder, Slice};

use crate::data::{fixtures, peer, read};

/// A kernel with its blocks per SM in tenths, and its occupancy.
fn described(kernel: Slice, tenths: i64, occupancy: i64) -> Slice {
    let blocks = Decimal { mantissa: tenths, scale: 1 };
    kernel.arg("blocks per SM", blocks).arg("est. achieved occupancy %", occupancy)
}

/// Two steps; the first one's kernel runs into the second.
fn two_steps() -> Trace {
    let mut m = RunBuilder::in_nanoseconds();
    // Something at zero, so that times stay as they are written here.
    m.mark(Point::new(PointKind::Instant, "start", 1, 0));
    m.host(Kind::HostAnnotation, "ProfilerStep#7", 1, (100, 200));
    m.host(Kind::HostAnnotation, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, (100, 120));
    m.add(Slice::new(Kind::HostOp, "aten::mm", (120, 160)).external(1));
    m.add(Slice::new(Kind::Runtime, "cudaLaunchKernel", (130, 140)).correlation(11).external(1));
    m.host(Kind::HostAnnotation, "ProfilerStep#8", 1, (200, 300));
    m.add(Slice::new(Kind::HostOp, "nccl:all_reduce", (210, 220)).external(2));
    m.add(Slice::new(Kind::Runtime, "cudaLaunchKernel", (212, 215)).correlation(12).external(2));
    m.add(Slice::new(Kind::Runtime, "cudaMemcpyAsync", (240, 250)).correlation(13));
    m.add(described(Slice::new(Kind::Kernel, "gemm", (150, 230)).stream(7).correlation(11), 5, 40));
    m.add(described(
        Slice::new(Kind::Kernel, "ncclDevKernel_AllReduce", (225, 260)).stream(8).correlation(12),
        7,
        80,
    ));
    m.add(Slice::new(Kind::Memcpy, "Memcpy DtoH", (255, 320)).correlation(13));
    // Work of before the recording: no call, over before the first kernel of the first step.
    m.add(Slice::new(Kind::Memset, "Memset", (90, 110)).correlation(99));
    m.finish()
}

#[test]
fn steps_last_until_their_device_work_is_done() {
    let steps = Steps::find(&two_steps());
    let bounds: Vec<_> = steps.steps.iter().map(|s| (s.step, s.start_ns, s.end_ns)).collect();
    assert_eq!(bounds, [(7, 110, 230), (8, 230, 320)]);
    let host: Vec<_> = steps.steps.iter().map(|s| (s.host_start_ns, s.host_end_ns)).collect();
    assert_eq!(host, [(100, 200), (200, 300)]);
    assert_eq!(steps.window(), Some((Ns(110), Ns(320))));
    assert_eq!(steps.device_slices_outside, 1);
    assert!(!steps.synthetic);
    assert_eq!(steps.selection(&[8]).ranges, Some(vec![(Ns(200), Ns(300))]));
    assert_eq!(steps.selection(&[7, 8]).ranges, Some(vec![(Ns(100), Ns(300))]));
    assert_eq!(steps.selection(&[9]).ranges, Some(vec![]));
    assert_eq!(steps.unknown(&[7, 9]), [9]);
}

fn parts(b: &Breakdown) -> Vec<[i64; 8]> {
    b.rows.iter().map(|r| r.parts.exclusive()).collect()
}

fn assert_closes(b: &Breakdown) {
    for p in b.rows.iter().map(|r| &r.parts).chain(&b.average) {
        assert_eq!(p.exclusive().iter().sum::<i64>(), p.wall_ns, "{p:?}");
        assert!(p.exclusive().iter().all(|&part| part >= 0), "{p:?}");
        assert!(p.gpu_busy_ns <= p.wall_ns, "{p:?}");
        assert!(p.gpu_busy_ns >= p.kernel_ns + p.memcpy_ns + p.memset_ns, "{p:?}");
    }
}

#[test]
fn every_moment_of_a_step_has_one_cause() {
    let trace = two_steps();
    let steps = Steps::find(&trace);
    let b = breakdown(&trace, &steps, CommRule::ByName);
    assert_closes(&b);
    // kernel, memcpy, memset, communication, runtime, data loading, host, other
    assert_eq!(parts(&b), [[80, 0, 0, 0, 10, 10, 20, 0], [0, 65, 0, 25, 0, 0, 0, 0]]);
    assert_eq!(b.rows.iter().map(|r| r.parts.gpu_busy_ns).collect::<Vec<_>>(), [80, 90]);
    let average = b.average.unwrap();
    assert_eq!((average.wall_ns, average.kernel_ns, average.memcpy_ns), (105, 40, 32));
    assert_eq!(b.averaged_steps, 2);
    // The kernel has no External id: the plugin takes it for computation.
    let tb = breakdown(&trace, &steps, CommRule::TensorBoard);
    assert_closes(&tb);
    assert_eq!(parts(&tb)[1], [30, 60, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn the_breakdown_keeps_its_json_names() {
    let trace = two_steps();
    let json = serde_json::to_value(breakdown(&trace, &Steps::find(&trace), CommRule::ByName)).unwrap();
    let row = json["rows"][0].as_object().unwrap();
    let names: Vec<&str> = row.keys().map(String::as_str).collect();
    let expected = "step name start_ns wall_ns kernel_ns memcpy_ns memset_ns communication_ns runtime_ns \
                    data_loading_ns host_ns other_ns gpu_busy_ns partial partial_reason";
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!(row["step"], 7);
    assert_eq!(row["wall_ns"], 120);
}

#[test]
fn a_trace_without_steps_is_one() {
    let mut m = RunBuilder::in_nanoseconds();
    m.add(Slice::new(Kind::HostOp, "aten::mm", (10, 20)).external(1));
    m.add(Slice::new(Kind::Runtime, "cudaLaunchKernel", (12, 14)).correlation(1).external(1));
    m.host(Kind::Overhead, "Buffer Flush", 1, (0, 1_000));
    m.add(Slice::new(Kind::Kernel, "k", (15, 40)).correlation(1));
    let trace = m.finish();
    let steps = Steps::find(&trace);
    assert!(steps.synthetic);
    assert_eq!((steps.steps[0].step, steps.steps[0].window()), (-1, (Ns(10), Ns(40))));
    assert_eq!(steps.selection(&[-1]).ranges, None);
    let tb = Steps::find_by(&trace, StepRule::TensorBoard);
    assert_eq!(tb.steps[0].window(), (Ns(10), Ns(40)));

    let empty = RunBuilder::in_nanoseconds().finish();
    let steps = Steps::find(&empty);
    assert!(steps.steps.is_empty() && steps.synthetic);
    assert_eq!(breakdown(&empty, &steps, CommRule::ByName).average, None);
    assert!(gpu(&empty, &steps).devices.is_empty());
    assert_eq!(device_timeline(&empty, &TimelineOptions::default()).all, None);
}

#[test]
fn steps_that_the_recording_cut_are_flagged_not_lost() {
    let mut m = RunBuilder::in_nanoseconds();
    for (i, kernels) in [(1, 10), (2, 10), (3, 7), (4, 0)] {
        m.host(Kind::HostAnnotation, &format!("ProfilerStep#{i}"), 1, (i * 1000, i * 1000 + 900));
        for k in 0..kernels {
            let at = i * 1000 + k * 20;
            m.add(Slice::new(Kind::Runtime, "cudaLaunchKernel", (at, at + 5)).correlation(i * 100 + k));
            m.add(Slice::new(Kind::Kernel, "k", (at + 5, at + 15)).correlation(i * 100 + k));
        }
    }
    let trace = m.finish();
    let all = Steps::find(&trace);
    let reasons: Vec<_> = all.steps.iter().map(|s| s.partial_reason).collect();
    assert_eq!(reasons, [None, None, Some(Partial::LittleDeviceWork), Some(Partial::NoDeviceWork)]);
    let b = breakdown(&trace, &all, CommRule::ByName);
    assert_eq!((b.rows.len(), b.averaged_steps), (4, 2));
    let tb = Steps::find_by(&trace, StepRule::TensorBoard);
    assert_eq!((tb.steps.len(), tb.dropped), (2, 2));
}

#[test]
fn a_step_in_which_the_program_ended_is_not_averaged() {
    let steps = |last_step_is_cut| {
        let mut run = RunBuilder::new();
        for (number, end) in [(3, 100), (4, 200), (5, 230)] {
            let start = 100 * (number - 3);
            run.host(Kind::HostAnnotation, &format!("ProfilerStep#{number}"), 1, (start, end));
        }
        let phases = ProgramPhases { last_step_is_cut, ..ProgramPhases::default() };
        run.builder().meta().phases = Some(phases);
        Steps::find(&run.finish())
    };
    let reasons: Vec<_> = steps(true).steps.iter().map(|step| step.partial_reason).collect();
    assert_eq!(reasons, [None, None, Some(Partial::Cut)]);
    assert_eq!(steps(true).counted().map(|step| step.step).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(steps(false).counted().count(), 3);
}

#[test]
fn a_pause_among_iterations_that_were_chosen_is_not_averaged() {
    let steps = |chosen: bool| {
        let mut run = RunBuilder::new();
        let mut start = 0;
        for number in 0..10 {
            let end = start + if number == 6 { 400 } else { 40 };
            run.host(Kind::HostAnnotation, &format!("ProfilerStep#{number}"), 1, (start, end));
            start = end;
        }
        if chosen {
            run.builder().meta().extra.push((ITERATIONS.to_owned(), "{}".to_owned()));
        }
        Steps::find(&run.finish())
    };
    let paused = steps(true);
    assert_eq!(paused.steps[6].partial_reason, Some(Partial::Pause));
    assert_eq!(paused.counted().count(), 9);
    assert_eq!(steps(false).counted().count(), 10);
}

#[test]
fn device_figures_have_worked_answers() {
    let trace = two_steps();
    let report = gpu(&trace, &Steps::find(&trace));
    let d = &report.devices[0];
    // Window [110, 320): kernels [150, 230) at 0.5 and [225, 260) at 0.7 blocks per SM; the sum tops out at 1.
    assert_eq!((d.window_ns, d.busy_ns, d.kernel_busy_ns, d.kernel_ns), (210, 170, 110, 115));
    let close = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-12, "{a:?} {b}");
    close(d.utilization, 110.0 / 210.0);
    close(d.sm_efficiency, (75.0 * 0.5 + 5.0 + 30.0 * 0.7) / 210.0);
    close(d.occupancy, (80.0 * 0.4 + 35.0 * 0.8) / 115.0);
    // The launch of `gemm` lies in aten::mm, which is eligible.
    assert_eq!((d.tensor_core_ns, d.eligible_ns), (0, 80));
    // Counts are of the whole trace: the fill was over when the window began.
    let streams: Vec<_> =
        d.streams.iter().map(|s| (s.stream, s.busy_ns, s.kernels, s.memcpy, s.memset)).collect();
    assert_eq!(streams, [(Some(7), 145, 1, 1, 1), (Some(8), 35, 1, 0, 0)]);

    let all = device_timeline(&trace, &TimelineOptions::default()).all.unwrap();
    assert_eq!((all.computation_ns, all.exposed_comm_ns, all.exposed_memcpy_ns), (100, 30, 60));
    assert_eq!((all.busy_ns, all.idle_ns, all.total_ns), (190, 40, 230));
    assert_eq!((all.total_comm_ns, all.total_memcpy_ns, all.slices, all.unlinked), (35, 65, 4, 1));
    let linked =
        device_timeline(&trace, &TimelineOptions { linked_only: true, ..Default::default() }).all.unwrap();
    assert_eq!((linked.busy_ns, linked.total_ns, linked.slices), (170, 170, 3));
    let hta = temporal_breakdown(&trace, &TimelineOptions::default())[0];
    assert_eq!((hta.idle_ns, hta.compute_ns, hta.non_compute_ns, hta.kernel_time_ns), (40, 80, 110, 230));
}

#[test]
fn recorded_traces_close_to_the_nanosecond() {
    for path in fixtures() {
        let trace = read(&path);
        let steps = Steps::find(&trace);
        assert!(!steps.synthetic, "{path:?}");
        assert_eq!(steps.found.is_some(), path.to_string_lossy().contains("multi_stream"), "{path:?}");
        for rule in [CommRule::ByName, CommRule::TensorBoard] {
            let b = breakdown(&trace, &steps, rule);
            assert!(!b.rows.is_empty(), "{path:?}");
            assert_closes(&b);
        }
        let b = breakdown(&trace, &steps, CommRule::ByName);
        let slow_loader = path.to_string_lossy().contains("conv_slow_loader");
        let average = b.average.unwrap();
        assert_eq!(average.data_loading_ns * 2 > average.wall_ns, slow_loader, "{path:?} {average:?}");
        let gloo = path.to_string_lossy().contains("gloo_ddp");
        assert_eq!(average.communication_ns > 0, gloo, "{path:?} {average:?}");

        let per_step = timeline_of_steps(&trace, &steps, &TimelineOptions::default());
        for (row, step) in b.rows.iter().zip(&per_step) {
            let busy: Vec<i64> = step.rows.iter().map(|r| r.busy_ns).collect();
            assert_eq!(busy, [row.parts.gpu_busy_ns], "{path:?}");
            assert_eq!(step.rows[0].busy_ns + step.rows[0].idle_ns, row.parts.wall_ns, "{path:?}");
        }
        for device in gpu(&trace, &steps).devices {
            assert_eq!(device.name.as_deref(), Some("NVIDIA H200"), "{path:?}");
            for share in [device.utilization, device.sm_efficiency, device.occupancy, device.tensor_core_share]
            {
                assert!(share.is_some_and(|s| (0.0..=1.0).contains(&s)), "{path:?} {device:?}");
            }
            assert_eq!(device.sm_known_ns, device.kernel_ns, "{path:?}");
            assert!(device.sm_efficiency <= device.utilization, "{path:?}");
        }
    }
}

#[test]
fn overlapping_kernels_of_a_b200_count_once() {
    let Some(path) = peer("tracelens/b200/eager_trace.json.gz") else { return };
    let trace = read(&path);
    assert_eq!(trace.notes().count(NoteKind::STREAM_OVERLAP), 74);
    let slices = trace.slices();
    let work: Vec<_> = slices.ids().filter(|&id| slices.kind(id).is_device_work()).collect();
    let report = gpu(&trace, &Steps::find(&trace));
    // Per stream: what the overlaps hold twice is exactly what the sum of durations has too much.
    let mut twice = 0;
    for (lane, _) in trace.lanes().iter().filter(|(_, l)| l.key.domain == Domain::Device) {
        let mut until = Ns::MIN;
        for id in slices.of_lane(lane).filter(|&id| slices.kind(id).is_device_work()) {
            twice += (until.min(slices.end(id)) - slices.start(id)).0.max(0);
            until = until.max(slices.end(id));
        }
    }
    let sum: i64 = work.iter().map(|&id| slices.dur(id).0).sum();
    let busy: i64 = report.devices.iter().flat_map(|d| &d.streams).map(|s| s.busy_ns).sum();
    assert!(twice > 0);
    assert_eq!(sum - busy, twice);
    assert_closes(&breakdown(&trace, &Steps::find(&trace), CommRule::ByName));
}
