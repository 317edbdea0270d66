//! The run without the profiler.

use stepscope_analyse::findings::{Thresholds, findings};
use stepscope_analyse::run::Run as Analyses;
use stepscope_model::Kind;
use stepscope_testkit::RunBuilder;

use crate::causes::worked::{MAIN, done};
use crate::data::{all_fixtures, read};

/// Operators in microseconds, one after the other, each with a launch and a kernel that no one waits for.
fn host_bound(operators: i64, length: i64) -> Analyses {
    let mut run = RunBuilder::new();
    run.host(Kind::HostAnnotation, "ProfilerStep#1", MAIN, (0, operators * length));
    for at in (0..operators).map(|i| i * length) {
        run.host(Kind::HostOp, "aten::add", MAIN, (at, at + length - 1)).launch(
            MAIN,
            (at + 1, at + 5),
            Kind::Kernel,
            "kernel",
            7,
            (at + 6, at + 7),
        );
    }
    Analyses::new(done(run).0)
}

#[test]
fn recording_costs_the_host_per_event() {
    // Two events per operator: 2.2 µs for itself and 1.5 µs for its call, on a host whose speed is not known.
    let run = host_bound(100, 20);
    let spent = run.step_ns() - run.unprofiled().step_ns;
    assert!((360_000..=375_000).contains(&spent), "{spent}");
    // A host that does nothing but record is not free without it: a tenth of its time stays.
    let run = host_bound(100, 8);
    let short = run.unprofiled().step_ns as f64 / run.step_ns() as f64;
    assert!((0.1..0.6).contains(&short), "{short}");
}

#[test]
fn a_device_that_is_always_busy_hides_what_recording_costs() {
    let mut run = RunBuilder::new();
    run.host(Kind::HostAnnotation, "ProfilerStep#1", MAIN, (0, 100));
    run.launch(MAIN, (10, 20), Kind::Kernel, "long", 7, (25, 10_000));
    let run = Analyses::new(done(run).0);
    let spent = run.step_ns() - run.unprofiled().step_ns;
    assert!(spent < 10_000, "{spent}");
}

#[test]
fn no_recorded_run_is_longer_without_the_profiler_and_no_promise_exceeds_it() {
    for path in all_fixtures() {
        let run = Analyses::new(read(&path));
        let unprofiled = *run.unprofiled();
        // A step may begin later than it did, so that one gains what another loses: a little.
        let most = run.step_ns() + run.step_ns() / 20;
        assert!(unprofiled.step_ns <= most, "{}: {unprofiled:?} of {}", path.display(), run.step_ns());
        for finding in findings(&run, &Thresholds::default()) {
            for share in [finding.saves_share, finding.saves_unprofiled_share].into_iter().flatten() {
                assert!((0.0..=1.0).contains(&share), "{}: {} {share}", path.display(), finding.rule);
            }
        }
    }
}
