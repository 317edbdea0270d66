//! What a recorder saw of the program around the recording: a long start-up, and steps that were slower before.

use stepscope_analyse::findings::{Finding, Severity, Thresholds, findings};
use stepscope_analyse::replay::what_if::Change;
use stepscope_analyse::run::Run;
use stepscope_model::{
    BareSteps, Framework, Kind, PackageImport, ProgramPhases, StartUpParts, SteadyIterations, Trace,
};
use stepscope_testkit::RunBuilder;

pub(crate) const RULES: [&str; 3] = ["pauses", "recorded_faster", "start_up"];

const S: i64 = 1_000_000_000;

/// Ten steps of 12 ms on the host, with batches of workers if there is a `loader`.
fn steps(loader: bool) -> RunBuilder {
    let mut run = RunBuilder::new();
    for number in 0..10 {
        let start = 12_000 * number;
        run.host(Kind::HostAnnotation, &format!("ProfilerStep#{}", number + 5), 1, (start, start + 12_000));
        run.host(Kind::HostOp, "aten::mm", 1, (start + 100, start + 11_000));
        if loader {
            let name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
            run.host(Kind::HostAnnotation, name, 1, (start + 10, start + 90));
        }
    }
    run
}

fn found(trace: Trace, rule: &str) -> Option<Finding> {
    findings(&Run::new(trace), &Thresholds::default()).into_iter().find(|finding| finding.rule == rule)
}

fn with_phases(phases: ProgramPhases) -> Option<Finding> {
    let mut run = steps(false);
    run.builder().meta().phases = Some(phases);
    found(run.finish(), "start_up")
}

fn long_start(imports_s: i64, weights_s: i64, compilation_s: i64) -> ProgramPhases {
    ProgramPhases {
        start_up_ns: 14 * S,
        start_up: Some(StartUpParts {
            imports_ns: imports_s * S,
            longest_imports: Vec::new(),
            weights_ns: weights_s * S,
            device_start_ns: 0,
            compilation_ns: compilation_s * S,
        }),
        steady: vec![SteadyIterations { iterations: 100, iteration_ns: Some(12_000_000) }],
        ..ProgramPhases::default()
    }
}

#[test]
fn a_long_start_up_names_its_largest_part_and_saves_no_step() {
    for (phases, part, code) in [
        (long_start(6, 3, 1), "imports", "in the function that needs it"),
        (long_start(3, 6, 1), "weights", "torch.device"),
        (long_start(3, 2, 7), "compilation", "CACHE_DIR"),
    ] {
        let finding = with_phases(phases).unwrap();
        assert!(finding.title.starts_with("Start-up takes 14.0 s, ") && finding.title.ends_with(part));
        assert!(finding.code.unwrap().contains(code), "{part}");
        assert_eq!((finding.severity, finding.saves_ns), (Severity::Info, None));
    }
}

#[test]
fn what_a_framework_needs_for_its_import_cannot_be_changed() {
    let imports = |all: &[(&str, i64)]| {
        let mut phases = long_start(9, 0, 0);
        let of = |&(package, s): &(&str, i64)| PackageImport { package: package.to_owned(), import_ns: s * S };
        phases.start_up.as_mut().unwrap().longest_imports = all.iter().map(of).collect();
        with_phases(phases)
    };
    assert_eq!(imports(&[("torch", 8), ("numpy", 1)]), None);
    let finding = imports(&[("torch", 5), ("pandas", 3)]).unwrap();
    assert!(finding.title.ends_with("4.00 s of it (29%) for imports besides torch"), "{}", finding.title);
    assert!(finding.code.unwrap().starts_with("import pandas  #"));
}

#[test]
fn a_program_of_jax_keeps_what_it_compiled_in_its_own_way() {
    let mut run = steps(false);
    run.builder().meta().phases = Some(long_start(3, 0, 7));
    run.builder().meta().framework = Some(Framework { name: "JAX".to_owned(), version: None });
    let finding = found(run.finish(), "start_up").unwrap();
    assert!(finding.code.unwrap().starts_with("jax.config.update("));
}

#[test]
fn a_start_up_that_is_short_or_has_no_large_part_is_no_finding() {
    assert_eq!(with_phases(ProgramPhases { start_up_ns: 4 * S, ..long_start(3, 1, 0) }), None);
    assert_eq!(with_phases(long_start(2, 2, 2)), None);
    assert_eq!(with_phases(ProgramPhases { start_up: None, ..long_start(9, 0, 0) }), None);
    assert_eq!(found(steps(false).finish(), "start_up"), None);
}

#[test]
fn of_a_program_that_has_ended_the_share_decides() {
    let ended = |iterations| {
        let steady = vec![SteadyIterations { iterations, iteration_ns: Some(12_000_000) }];
        with_phases(ProgramPhases { after_last_ns: Some(S), steady, ..long_start(6, 3, 1) })
    };
    let short = ended(1_000).unwrap();
    assert_eq!(short.severity, Severity::Low);
    assert!(short.evidence.iter().any(|e| e.label == "of the program"));
    // An hour of iterations: fourteen seconds are nothing.
    assert_eq!(ended(300_000), None);
}

fn with_bare(ms: [i64; 2], loader: bool) -> Option<Finding> {
    let mut run = steps(loader);
    let host_ns = (0..30).map(|at| ms[at % 2] * 1_000_000).collect();
    run.builder().meta().bare_steps = Some(BareSteps { host_ns, device_ns: None });
    found(run.finish(), "recorded_faster")
}

#[test]
fn steps_that_were_slower_before_the_recording_are_said() {
    let finding = with_bare([19, 21], true).unwrap();
    assert!(finding.title.contains("12.0 ms") && finding.title.contains("20.0 ms"), "{}", finding.title);
    assert!(finding.why.contains("queue") && finding.fix.contains("prefetch_factor"), "{finding:?}");
    assert_eq!((finding.severity, finding.saves_ns), (Severity::Low, None));
    assert!(!with_bare([19, 21], false).unwrap().why.contains("queue"));
}

#[test]
fn steps_that_were_as_fast_before_or_vary_as_much_are_not() {
    assert_eq!(with_bare([12, 12], true), None);
    assert_eq!(with_bare([8, 9], true), None);
    // Slower by less than a tenth, and slower by less than they vary.
    assert_eq!(with_bare([13, 13], true), None);
    assert_eq!(with_bare([1, 26], true), None);
}

#[test]
fn a_finding_saves_what_the_change_saves_by_what_if() {
    for bare_ms in [6, 8, 10, 14] {
        let mut run = RunBuilder::new();
        for number in 0..6 {
            let start = 10_000 * number;
            run.host(Kind::HostAnnotation, &format!("ProfilerStep#{number}"), 1, (start, start + 10_000));
            let loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
            run.host(Kind::HostAnnotation, loader, 1, (start + 100, start + 5_100));
            run.host(Kind::HostOp, "aten::mm", 1, (start + 5_200, start + 9_900));
        }
        let host_ns = vec![bare_ms * 1_000_000; 30];
        run.builder().meta().bare_steps = Some(BareSteps { host_ns, device_ns: None });
        let run = Run::new(run.finish());
        let all = findings(&run, &Thresholds::default());
        let finding = all.iter().find(|finding| finding.rule == "data_loading").unwrap();
        let answer = run.what_if(&[Change::NoDataLoading]).unwrap();
        assert_eq!(finding.saves_unprofiled_ns, Some(answer.saves_unprofiled_ns), "{bare_ms}");
        assert_eq!(finding.saves_unprofiled_share, Some(answer.saves_unprofiled_share), "{bare_ms}");
        // Half of a step was loading, however long the step was without the profiler.
        let share = answer.saves_unprofiled_share;
        assert!(
            share <= 0.51 && (share - 0.5).abs() < if bare_ms <= 10 { 0.01 } else { 0.2 },
            "{bare_ms}: {share}"
        );
    }
}

#[test]
fn steps_that_were_even_without_the_profiler_are_not_called_uneven() {
    let uneven = |bare_ms: Option<[i64; 3]>| {
        let mut run = RunBuilder::new();
        for (number, (from, to)) in
            [(0, 30), (30, 40), (40, 50), (50, 60), (60, 90), (90, 100)].into_iter().enumerate()
        {
            let name = format!("ProfilerStep#{number}");
            run.host(Kind::HostAnnotation, &name, 1, (from * 1_000, to * 1_000));
        }
        let host_ns = |ms: [i64; 3]| (0..30).map(|at| ms[at % 3] * 1_000_000).collect();
        let bare = bare_ms.map(|ms| BareSteps { host_ns: host_ns(ms), device_ns: None });
        run.builder().meta().bare_steps = bare;
        found(run.finish(), "uneven_steps")
    };
    assert!(uneven(None).is_some() && uneven(Some([30, 10, 10])).is_some());
    assert_eq!(uneven(Some([10, 10, 10])), None);
}

#[test]
fn pauses_that_take_much_of_the_time_are_said() {
    let found = |pauses: u64, pauses_ns: i64| {
        let mut run = steps(false);
        let steady = vec![SteadyIterations { iterations: 32, iteration_ns: Some(4_000_000) }];
        run.builder().meta().phases =
            Some(ProgramPhases { steady, pauses, pauses_ns, ..ProgramPhases::default() });
        run.builder().meta().extra.push(("stepscope_program".to_owned(), "[\"rl.py\"]".to_owned()));
        found(run.finish(), "pauses")
    };
    // 32 updates of 4 ms, and two rollouts of 64 ms before some of them.
    let finding = found(2, 128_000_000).unwrap();
    assert_eq!(finding.title, "About one iteration in 17 takes 64.0 ms: pauses take 50% of the time");
    assert_eq!(finding.code.as_deref(), Some("stepscope run --iterations 34 rl.py"));
    assert_eq!(finding.severity, Severity::High);
    let one = found(1, 64_000_000).unwrap();
    assert!(one.title.starts_with("One of 33 iterations takes 64.0 ms"));
    assert_eq!(one.severity, Severity::Medium);
    assert!(found(1, 25_000_000).is_none() && found(0, 0).is_none());
}

#[test]
fn larger_inputs_are_not_taken_for_the_cost_of_recording() {
    let overhead = |ops: i64| {
        let mut run = RunBuilder::new();
        for step in 0..10 {
            let start = 12_000 * step;
            run.host(Kind::HostAnnotation, &format!("ProfilerStep#{step}"), 1, (start, start + 12_000));
            for op in 0..ops {
                let at = start + 100 + op * (11_000 / ops);
                run.host(Kind::HostOp, "aten::mm", 1, (at, at + 2));
            }
        }
        let meta = run.builder().meta();
        meta.options.record_shapes = Some(true);
        meta.bare_steps = Some(BareSteps { host_ns: vec![4_000_000; 30], device_ns: None });
        found(run.finish(), "profiler_overhead").is_some()
    };
    // Recording 5,000 operators takes some milliseconds, and recording 50 does not.
    assert!(overhead(5_000));
    assert!(!overhead(50));
}
