//! Small hand-made runs whose gaps, accounts, replays and paths can be worked out on paper. Times are microseconds.

use stepscope_analyse::causes::account::account;
use stepscope_analyse::causes::cause::Cause;
use stepscope_analyse::causes::data_loading::data_loading;
use stepscope_analyse::causes::gaps::gaps;
use stepscope_analyse::causes::idle::GapKind;
use stepscope_analyse::causes::launches::{launches, queue};
use stepscope_analyse::causes::waits::{WaitKind, waits};
use stepscope_analyse::replay::critical_path::{PathClass, critical_path};
use stepscope_analyse::replay::what_if::{Change, what_if};
use stepscope_analyse::replay::{Replay, Unchanged};
use stepscope_analyse::steps::Steps;
use stepscope_analyse::threads::activity::Activity;
use stepscope_model::{Kind, Trace};
use stepscope_testkit::{RunBuilder, Slice};

pub(crate) const MAIN: i64 = 1;
pub(crate) const BACKWARD: i64 = 2;

pub(crate) fn done(run: RunBuilder) -> (Trace, Steps) {
    let trace = run.finish();
    let steps = Steps::find(&trace);
    (trace, steps)
}

/// Two kernels with the loading of a batch between them.
fn loading() -> (Trace, Steps) {
    let mut run = RunBuilder::new();
    run.host(Kind::HostAnnotation, "ProfilerStep#1", MAIN, (0, 1000))
        .host(Kind::HostOp, "aten::a", MAIN, (100, 200))
        .launch(MAIN, (110, 130), Kind::Kernel, "k1", 7, (140, 300))
        .host(Kind::HostAnnotation, "enumerate(DataLoader)#X.__next__", MAIN, (300, 600))
        .host(Kind::HostOp, "aten::stack", MAIN, (350, 450))
        .host(Kind::HostOp, "aten::b", MAIN, (650, 750))
        .launch(MAIN, (660, 680), Kind::Kernel, "k2", 7, (690, 900));
    done(run)
}

#[test]
fn idle_time_goes_to_what_the_host_did() {
    let (trace, steps) = loading();
    let account = account(&trace, &steps);
    let row = &account.rows().next().unwrap();
    let us = |cause| row.causes.get(cause) / 1000;
    assert_eq!(row.wall_ns, 1_000_000);
    assert_eq!(row.causes.total(), row.wall_ns);
    assert_eq!(us(Cause::Kernel), 160 + 210);
    assert_eq!(us(Cause::Host(Activity::DataLoading)), 300);
    assert_eq!(us(Cause::Host(Activity::Operator)), 10 + 10);
    assert_eq!(us(Cause::Host(Activity::Python)), 100 + 50 + 100);
    assert_eq!(us(Cause::Host(Activity::Launch)), 20 + 20);
    assert_eq!(us(Cause::LaunchLatency), 10 + 10);

    let report = gaps(&trace, &steps, None, 10);
    let kinds: Vec<_> = report.gaps.iter().map(|g| (g.start_ns / 1000, g.idle_ns / 1000, g.kind)).collect();
    assert_eq!(
        kinds,
        [(300, 390, GapKind::HostLate), (0, 140, GapKind::HostLate), (900, 100, GapKind::EndOfStep)]
    );
    assert_eq!(report.gaps[0].culprit.as_deref(), Some("enumerate(DataLoader)#X.__next__"));
    assert_eq!(report.gaps[0].next.as_deref(), Some("k2"));
    let stream = &report.streams[0];
    assert_eq!((stream.host_wait_ns, stream.kernel_wait_ns, stream.other_ns), (390_000, 0, 0));
}

#[test]
fn loading_is_seen_and_can_be_thought_away() {
    let (trace, steps) = loading();
    let report = data_loading(&trace, &steps);
    assert_eq!((report.loading_ns, report.exposed_ns), (300_000, 300_000));
    assert_eq!(report.operators, [("aten::stack".to_owned(), 100_000)]);
    let replay = Replay::new(&trace, &steps);
    assert_eq!(replay.run(&Unchanged).replayed_ns, 1_000_000);
    let without = what_if(&trace, &replay, &[Change::NoDataLoading]).unwrap();
    assert_eq!(without.predicted_ns, 700_000);
    // Twice as fast kernels change nothing: the host is what takes long.
    let faster = what_if(&trace, &replay, &[Change::Kernel { name: "k".to_owned(), speedup: 2.0 }]).unwrap();
    assert_eq!((faster.predicted_ns, faster.device_slices_changed), (1_000_000, 2));
    assert!(what_if(&trace, &replay, &[Change::Kernel { name: "zz".to_owned(), speedup: 2.0 }]).is_err());
    let path = critical_path(&trace, &steps, &replay).report(&trace);
    let of = |class| path.classes.iter().find(|c| c.class == class).map_or(0, |c| c.on_path_ns / 1000);
    assert_eq!(of(PathClass::DataLoading), 300);
    assert_eq!(of(PathClass::Kernel), 0);
    assert_eq!(path.wall_ns, 1_000_000);
}

#[test]
fn a_wait_is_found_and_can_be_thought_away() {
    let mut run = RunBuilder::new();
    run.host(Kind::HostAnnotation, "ProfilerStep#1", MAIN, (0, 560))
        .launch(MAIN, (10, 20), Kind::Kernel, "long", 7, (30, 500))
        .host(Kind::HostOp, "aten::item", MAIN, (35, 515))
        .host(Kind::Runtime, "cudaStreamSynchronize", MAIN, (40, 510))
        .launch(MAIN, (520, 530), Kind::Kernel, "short", 7, (540, 600));
    let (trace, steps) = done(run);
    let found = waits(&trace);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].wait_ns), (WaitKind::Stream, 460_000));
    assert_eq!(trace.name(found[0].until.unwrap()), "long");
    let replay = Replay::new(&trace, &steps);
    let path = critical_path(&trace, &steps, &replay).report(&trace);
    let of = |class| path.classes.iter().find(|c| c.class == class).map_or(0, |c| c.on_path_ns / 1000);
    // Launch call 0..10 of the host, 10..30 on its way, the kernel, 10 back from the wait, 5 of item, 5 of Python,
    // 20 on the way again, the second kernel.
    assert_eq!((of(PathClass::Kernel), of(PathClass::Launch)), (470 + 60, 20 + 20));
    assert_eq!((of(PathClass::Synchronization), of(PathClass::Host)), (10, 10 + 5 + 5));
    // Without the wait the second kernel is queued behind the first: a gap of 1 µs is assumed, none was measured.
    let without = what_if(&trace, &replay, &[Change::NoSynchronization]).unwrap();
    assert_eq!((without.measured_ns, without.predicted_ns), (600_000, 561_000));
}

#[test]
fn a_stream_that_waits_for_another_is_a_dependency() {
    let mut run = RunBuilder::new();
    run.host(Kind::HostAnnotation, "ProfilerStep#1", MAIN, (0, 100))
        .launch(MAIN, (0, 5), Kind::Kernel, "a", 7, (10, 400))
        .launch(MAIN, (10, 15), Kind::Kernel, "b", 8, (402, 500))
        .launch(MAIN, (20, 25), Kind::Kernel, "c", 8, (501, 600));
    let (trace, steps) = done(run);
    let row = account(&trace, &steps).rows().next().unwrap();
    assert_eq!(row.causes.get(Cause::Dependency), 2_000);
    assert_eq!(row.causes.get(Cause::QueuedGap), 1_000);
    let replay = Replay::new(&trace, &steps);
    let half = what_if(&trace, &replay, &[Change::Kernel { name: "a".to_owned(), speedup: 2.0 }]).unwrap();
    assert_eq!((half.measured_ns, half.predicted_ns), (600_000, 405_000));
    let row = launches(&trace, &steps).remove(0);
    assert_eq!((row.launches, row.queue_max, row.delay_max_ns), (3, 2, 481_000));
    assert_eq!(queue(&trace, Some(0)).iter().map(|p| p.queued).collect::<Vec<_>>(), [1, 1, 2, 1, 0]);
}

#[test]
fn the_backward_thread_takes_over_from_the_main_one() {
    let mut run = RunBuilder::new();
    run.host(Kind::HostAnnotation, "ProfilerStep#1", MAIN, (0, 1000))
        .host(Kind::HostOp, "aten::mm", MAIN, (100, 200))
        .launch(MAIN, (150, 160), Kind::Kernel, "forward", 7, (170, 220))
        .host(Kind::HostOp, "autograd::engine::evaluate_function: MmBackward0", BACKWARD, (300, 700))
        .launch(BACKWARD, (600, 610), Kind::Kernel, "backward", 7, (620, 690))
        .host(Kind::HostOp, "aten::add", MAIN, (800, 900));
    let (trace, steps) = done(run);
    let row = account(&trace, &steps).rows().next().unwrap();
    // Idle from 220: Python until 300, then the backward operator until the launch at 600.
    let us = |cause| row.causes.get(cause) / 1000;
    assert_eq!(us(Cause::Host(Activity::Operator)), 50 + 300 + 10 + 100);
    assert_eq!(us(Cause::Host(Activity::Unrecorded)), 0);
    assert_eq!(row.causes.total(), row.wall_ns);
    // A backward pass that takes no time on the host shortens the step by its 400 µs.
    let replay = Replay::new(&trace, &steps);
    let name = "autograd::engine::evaluate_function: MmBackward0".to_owned();
    let faster = what_if(&trace, &replay, &[Change::Operator { name, speedup: 2.0 }]).unwrap();
    // It has device work, so that is what gets faster: no one waits for it.
    assert_eq!(faster.predicted_ns, 1_000_000);
    let free = what_if(&trace, &replay, &[Change::FreeLaunches]).unwrap();
    // All host work gone: both kernels one after the other, 1 µs between them.
    assert_eq!(free.predicted_ns, 50_000 + 1_000 + 70_000);
}

/// Two streams, the second waiting for an event of the first, recorded with synchronization events.
#[test]
fn recorded_synchronization_is_used() {
    let mut run = RunBuilder::new();
    run.host(Kind::HostAnnotation, "ProfilerStep#1", MAIN, (0, 700))
        .launch(MAIN, (0, 5), Kind::Kernel, "a", 7, (10, 100))
        .add(sync("cudaEventRecord", (6, 8), 1001))
        .launch(MAIN, (10, 15), Kind::Kernel, "long", 7, (101, 600))
        .add(sync("cudaStreamWaitEvent", (16, 18), 1002))
        .add(synced("Stream Wait Event", (16, 18), 1002, (8, 7, 1001)))
        .launch(MAIN, (20, 25), Kind::Kernel, "b", 8, (150, 300))
        .add(sync("cudaStreamSynchronize", (30, 310), 1003))
        .add(synced("Stream Sync", (30, 310), 1003, (8, -1, -1)));
    let (trace, steps) = done(run);
    // Of both streams' work the long kernel ends later, but the call waited for the other stream.
    let found = waits(&trace);
    assert_eq!((trace.name(found[0].until.unwrap()), found[0].wait_ns), ("b", 270_000));
    let replay = Replay::new(&trace, &steps);
    assert_eq!(replay.run(&Unchanged).replayed_ns, 700_000);
    // b began 50 µs after what it waited for; it keeps that distance when a gets shorter.
    let path = what_if(&trace, &replay, &[Change::Kernel { name: "a".to_owned(), speedup: 2.0 }]).unwrap();
    assert_eq!(path.predicted_ns, 700_000 - 45_000);
}

fn sync(call: &str, at: (i64, i64), id: i64) -> Slice {
    Slice::new(Kind::Runtime, call, at).correlation(id).arg("correlation", id)
}

/// What the profiler recorded of such a call: the stream that waited, the stream waited for, and the recording call.
fn synced(name: &str, at: (i64, i64), id: i64, (stream, on, record): (i64, i64, i64)) -> Slice {
    let event = Slice::new(Kind::DeviceSync, name, at).stream(stream).correlation(id);
    event.arg("stream", stream).arg("wait_on_stream", on).arg("wait_on_cuda_event_record_corr_id", record)
}
