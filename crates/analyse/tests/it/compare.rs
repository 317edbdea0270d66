//! Two runs compared: on recorded pairs, everything adds up, and what is known to have changed is named.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stepscope_analyse::causes::cause::Cause;
use stepscope_analyse::compare::{Change, Diff, DiffQuery, MatchLevel, diff};
use stepscope_analyse::findings::Thresholds;
use stepscope_analyse::run::Run;
use stepscope_analyse::statistics::Verdict;
use stepscope_analyse::threads::activity::Activity;
use stepscope_model::Kind;
use stepscope_testkit::{RunBuilder, Slice};

use crate::data::{all_fixtures, read, twins};

fn run(path: &Path) -> Arc<Run> {
    Arc::new(Run::new(read(path)))
}

fn compared(before: &Arc<Run>, after: &Arc<Run>) -> Diff {
    let (before, after) = (std::slice::from_ref(before), std::slice::from_ref(after));
    diff(before, after, &DiffQuery::default(), &Thresholds::default())
}

/// Rows and causes close to the step, and causes are the account's.
fn assert_adds_up(found: &Diff, before: &Run, what: &Path) {
    let what = what.display();
    let steps = (found.before.mean_ns, found.after.mean_ns, found.delta_ns);
    let add = |a: (i64, i64, i64), b: (i64, i64, i64)| (a.0 + b.0, a.1 + b.1, a.2 + b.2);
    let rows = found.rows.iter().map(|row| (row.before_ns, row.after_ns, row.delta_ns)).fold((0, 0, 0), add);
    let causes =
        found.causes.iter().map(|row| (row.before_ns, row.after_ns, row.delta_ns)).fold((0, 0, 0), add);
    assert_eq!(rows, steps, "{what}");
    assert_eq!(causes, steps, "{what}");
    let account = before.account();
    let of_device = account.devices.first().unwrap();
    let counted = account.counted_steps().max(1) as i64;
    for cause in Cause::all() {
        let per_step = of_device.causes.get(cause) / counted;
        let found_ns = found.causes.iter().find(|row| row.cause == cause).map_or(0, |row| row.before_ns);
        let rounding = found.rows.iter().filter(|row| row.cause == cause).count() as i64 + 1;
        assert!((per_step - found_ns).abs() <= rounding, "{what}: {cause:?} {per_step} {found_ns}");
    }
}

#[test]
fn changes_add_up_to_that_of_the_step() {
    for pair in twins().chunks(2) {
        let (before, after) = (run(&pair[0]), run(&pair[1]));
        let found = compared(&before, &after);
        assert_adds_up(&found, &before, &pair[0]);
        let back = compared(&after, &before);
        assert_eq!(back.delta_ns, -found.delta_ns);
    }
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let paths: Vec<PathBuf> = all_fixtures();
    for path in paths {
        let (one, other) = (run(&path), run(&path));
        let found = compared(&one, &other);
        assert_adds_up(&found, &one, &path);
        assert_eq!((found.delta_ns, found.comparison.verdict), (0, Verdict::NoDifference));
        for row in &found.rows {
            let is_same = row.change == Change::Same && row.matched == MatchLevel::Place && !row.is_noise;
            assert!(is_same && row.delta_ns == 0 && row.before_name.is_none(), "{path:?} {row:?}");
            assert_eq!(row.before_count, row.after_count);
        }
        assert!(found.metrics.iter().all(|metric| metric.delta == Some(0.0)), "{:?}", found.metrics);
        assert!(found.findings.iter().all(|finding| finding.before_saves_ns == finding.after_saves_ns));
    }
}

/// The same model, its batches made in the loop before and by workers after.
#[test]
fn the_slow_loader_is_named() {
    let path = |case: &str| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch/2.11-h200");
        root.join(format!("{case}/{case}.pt.trace.json.gz"))
    };
    let (slow, fast) = (run(&path("conv_slow_loader")), run(&path("conv_fast_loader")));
    let found = compared(&slow, &fast);
    assert_eq!(found.comparison.verdict, Verdict::Faster);
    let first = &found.causes[0];
    assert_eq!(first.cause, Cause::Host(Activity::DataLoading));
    assert!(first.delta_ns < -200_000_000 && first.after_ns < 1_000_000, "{first:?}");
    // The copies became pinned ones: the same copy under another name.
    let copy = found.rows.iter().find(|row| row.cause == Cause::Copy).unwrap();
    assert!(
        copy.name.contains("Pinned") && copy.before_name.as_deref().is_some_and(|was| was.contains("Pageable"))
    );
    let gone = found.findings.iter().find(|one| one.rule == "data_loading").unwrap();
    assert_eq!(gone.after_saves_ns, None);
    assert_eq!(compared(&fast, &slow).comparison.verdict, Verdict::Slower);
}

/// Ten steps of 1 ms: a kernel of 400 µs, which another run has as two of 150 µs; what is left is idle.
fn made(kernels: &[(&str, i64)], op: &str) -> Arc<Run> {
    let mut run = RunBuilder::new();
    for step in 0..10i64 {
        let at = step * 1_000;
        let name = format!("ProfilerStep#{step}");
        run.add(Slice::new(Kind::HostAnnotation, &name, (at, at + 1_000)));
        run.add(Slice::new(Kind::HostOp, op, (at + 10, at + 500)));
        let mut begins = at + 100;
        for (number, (name, length)) in (0i64..).zip(kernels) {
            let (id, call) = (step * 10 + number + 1, at + 20 + number * 10);
            run.add(Slice::new(Kind::Runtime, "cudaLaunchKernel", (call, call + 5)).correlation(id));
            run.add(Slice::new(Kind::Kernel, name, (begins, begins + length)).correlation(id));
            begins += length;
        }
    }
    Arc::new(Run::new(run.finish()))
}

#[test]
fn a_kernel_that_became_two_is_a_change_of_its_operator() {
    let one = made(&[("one_kernel", 400)], "aten::softmax");
    let two = made(&[("first_half", 150), ("second_half", 150)], "aten::softmax");
    let found = compared(&one, &two);
    let row = found.rows.iter().find(|row| row.cause == Cause::Kernel).unwrap();
    assert_eq!((row.before_ns, row.after_ns, row.delta_ns), (400_000, 300_000, -100_000));
    assert_eq!((row.before_count, row.after_count), (1.0, 2.0));
    assert_eq!(row.matched, MatchLevel::Operator);
    assert_eq!(row.before_name.as_deref(), Some("one_kernel"));
    assert_eq!(row.name, "first_half + second_half");
    assert_eq!(row.noise_ns, Some(0));
    assert_eq!(found.delta_ns, 0, "the host decides how long the step takes");
    // Idle time takes what the kernels leave.
    let idle: i64 = found.causes.iter().filter(|row| !row.cause.is_busy()).map(|row| row.delta_ns).sum();
    assert_eq!(idle, 100_000);
}

#[test]
fn several_recordings_of_a_side_count_once_each() {
    let one = made(&[("kernel", 400)], "aten::mm");
    let other = made(&[("kernel", 500)], "aten::mm");
    let sides = [[one.clone(), other.clone(), one.clone()], [other.clone(), other.clone(), one.clone()]];
    let found = diff(&sides[0], &sides[1], &DiffQuery::default(), &Thresholds::default());
    assert_eq!((found.before.recordings, found.before.steps), (3, 30));
    let row = found.rows.iter().find(|row| row.cause == Cause::Kernel).unwrap();
    // Of 400, 500, 400 µs: 433,333.3; of 500, 500, 400 µs: 466,666.7.
    assert!((row.before_ns - 433_333).abs() <= 1 && (row.after_ns - 466_666).abs() <= 1, "{row:?}");
    // Both have a standard deviation of 57.735 µs over 3 recordings: 8.610 · √(2 · 57.735² / 3) = 405.9 µs.
    assert!((row.noise_ns.unwrap() - 405_890).abs() < 100, "{row:?}");
    assert!(row.is_noise);
}
