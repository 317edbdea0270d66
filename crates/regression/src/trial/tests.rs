use super::*;

fn run(ms: f64, losses: &[f64]) -> RunResult {
    RunResult {
        iteration_ns: Some(ms * 1e6),
        losses: losses.iter().map(|loss| loss.is_finite().then_some(*loss)).collect(),
        ..RunResult::default()
    }
}

fn verdict(rounds: &[[f64; 3]]) -> Verdict {
    let runs: Vec<[RunResult; 3]> = rounds.iter().map(|times| times.map(|ms| run(ms, &[]))).collect();
    let rounds: Vec<Round<'_>> = runs.iter().map(|[a, b, fixed]| Round { baselines: [a, b], fixed }).collect();
    compare_times(&rounds).verdict
}

#[test]
fn a_fix_is_faster_if_it_beats_both_baselines_in_every_round() {
    assert_eq!(verdict(&[[40.0, 40.4, 30.1], [40.2, 40.1, 30.0], [40.6, 40.3, 30.3]]), Verdict::Faster);
    assert_eq!(verdict(&[[40.0, 40.4, 50.1], [40.2, 40.1, 50.0], [40.6, 40.3, 50.3]]), Verdict::Slower);
    assert_eq!(verdict(&[[40.0, 40.4, 40.1], [40.2, 40.1, 40.2], [40.6, 40.3, 40.5]]), Verdict::NoDifference);
    // The means are clear, but in one round a run without the fix was as fast.
    assert_eq!(verdict(&[[44.0, 36.0, 36.5], [43.0, 37.0, 36.5], [44.0, 36.0, 36.4]]), Verdict::Inconclusive);
    // One value says nothing about noise.
    assert_eq!(verdict(&[[40.0, 40.4, 30.1]]), Verdict::Inconclusive);
}

#[test]
fn a_baseline_is_the_mean_of_its_runs_and_as_noisy_as_its_noisiest_round() {
    let baseline =
        Baseline::of(&[[40.0, 40.0], [44.0, 40.0], [60.0, 61.0]].map(|round| round.map(|ms| run(ms, &[]))));
    assert_eq!(baseline.mean_ns, 47.5e6);
    assert!((baseline.noise - 1.1f64.ln()).abs() < 1e-12);
    assert_eq!(Baseline::of(&[]), Baseline { mean_ns: 0.0, noise: 0.0 });
}

fn numbers(first: &[f64], second: &[f64], fixed: &[f64]) -> Numbers {
    let [first, second, fixed] = [first, second, fixed].map(|losses| run(1.0, losses));
    compare_numbers(&[Round { baselines: [&first, &second], fixed: &fixed }])
}

/// Falls from 2 by so much in every step.
fn falling(by: f64) -> Vec<f64> {
    (0..60).map(|step| 2.0 - by * f64::from(step)).collect()
}

#[test]
fn results_are_the_same_within_noise_or_differ() {
    let usual = falling(0.01);
    assert_eq!(numbers(&usual, &usual, &usual), Numbers::Same);
    let rounded: Vec<f64> = usual.iter().map(|loss| loss * 1.0003).collect();
    assert!(matches!(numbers(&usual, &usual, &rounded), Numbers::WithinNoise { .. }));
    // Nothing is learned any more: after 60 steps that shows, though a step is only half a percent.
    assert!(matches!(numbers(&usual, &usual, &falling(0.0)), Numbers::Differs { .. }));
    let slowly = falling(0.0005);
    assert!(matches!(numbers(&slowly, &slowly, &falling(0.0)), Numbers::Differs { .. }));
    // Two equal runs that differ as much prove nothing against it.
    assert!(matches!(numbers(&usual, &falling(0.012), &falling(0.011)), Numbers::WithinNoise { .. }));
    let mut broken = usual.clone();
    broken[50] = f64::NAN;
    assert_eq!(numbers(&usual, &usual, &broken), Numbers::NotANumber);
    assert_eq!(numbers(&broken, &broken, &broken), Numbers::Same);
    assert_eq!(numbers(&[], &[], &[]), Numbers::Unknown);
}

#[test]
fn outputs_are_compared_call_by_call() {
    let run = |from: u64| {
        let outputs = (from..from + 5).map(|call| (call, Some(call as f64))).collect();
        RunResult { outputs, ..RunResult::default() }
    };
    let (usual, compiled, apart) = (run(3), run(1), run(20));
    let compare = |fixed| compare_numbers(&[Round { baselines: [&usual, &usual], fixed }]);
    assert_eq!(compare(&compiled), Numbers::Same);
    assert_eq!(compare(&apart), Numbers::Unknown);
}

#[test]
fn the_worst_round_counts() {
    let (usual, flat) = (run(1.0, &falling(0.01)), run(1.0, &falling(0.0)));
    let round = |fixed| Round { baselines: [&usual, &usual], fixed };
    assert!(matches!(compare_numbers(&[round(&usual), round(&flat)]), Numbers::Differs { .. }));
}

#[test]
fn a_plan_adds_the_next_best_and_takes_one_of_a_group() {
    let fix = |name: &str, group: Option<&str>| Fix {
        name: name.to_owned(),
        title: name.to_owned(),
        numbers: "close".to_owned(),
        group: group.map(str::to_owned),
        code: String::new(),
        own: false,
    };
    let (tf32, compile) = (fix("tf32", None), fix("compile", Some("compile")));
    let graphs = fix("compile-graphs", Some("compile"));
    let plan = order(&[(&tf32, 0.8), (&compile, 0.7), (&graphs, 0.5)]);
    let names: Vec<Vec<&str>> =
        plan.iter().map(|step| step.fixes.iter().map(String::as_str).collect()).collect();
    assert_eq!(names, [vec!["compile-graphs"], vec!["compile-graphs", "tf32"]]);
    assert!(order(&[]).is_empty());
}

#[test]
fn a_short_program_keeps_a_third_for_its_beginning() {
    let counted = |counted| RunResult { counted, ..RunResult::default() }.shorter();
    assert_eq!(counted(30), Some((10, 19)));
    assert_eq!(counted(6), Some((2, 3)));
    assert_eq!(counted(5), None);
}
