use super::super::random::Random;
use super::*;

fn rule(margin: f64) -> Rule {
    Rule { margin, ..Rule::default() }
}

/// Ten repeats around 100 with 2% noise of a shape, slowed down by a factor.
fn repeats(random: &mut Random, shape: &str, factor: f64) -> Sample {
    Sample::of_repeats((0..10).map(|_| {
        let noise = match shape {
            "normal" => random.normal(),
            // One repeat in ten is disturbed, by up to ten times the noise.
            "heavy tail" => random.normal() + if random.unit() < 0.1 { 10.0 * random.unit() } else { 0.0 },
            // Two humps: the buffers lie well, or they do not.
            _ => 0.4 * random.normal() + if random.unit() < 0.5 { -1.0 } else { 1.0 },
        };
        factor * 100.0 * (0.02 * noise).exp()
    }))
}

#[test]
fn nothing_changed_and_nobody_is_alarmed() {
    // 240 pairs per shape; at a margin of 0 the test itself may be wrong in 2.5% of cases per side, and a margin makes it rarer.
    let mut random = Random::new(11);
    for shape in ["normal", "heavy tail", "two humps"] {
        let mut count = |margin: f64| {
            let wrong = (0..120).filter(|_| {
                let (a, b) = (repeats(&mut random, shape, 1.0), repeats(&mut random, shape, 1.0));
                compare(&a, &b, &rule(margin)).verdict == Verdict::Slower
            });
            wrong.count()
        };
        let (strict, usual) = (count(0.0), count(0.02));
        assert!(strict <= 7, "{shape}: {strict} of 120");
        assert!(usual <= 4, "{shape}: {usual} of 120");
    }
}

#[test]
fn five_percent_are_found_in_two_percent_of_noise() {
    let mut random = Random::new(12);
    for shape in ["normal", "heavy tail", "two humps"] {
        let found = (0..80).filter(|_| {
            let (a, b) = (repeats(&mut random, shape, 1.0), repeats(&mut random, shape, 1.05));
            compare(&a, &b, &rule(0.02)).verdict == Verdict::Slower
        });
        let found = found.count();
        assert!(found >= 72, "{shape}: {found} of 80");
    }
}

#[test]
fn a_slowdown_as_large_as_the_margin_hardly_ever_passes() {
    let mut random = Random::new(13);
    for shape in ["normal", "heavy tail", "two humps"] {
        let passed = (0..120).filter(|_| {
            let (a, b) = (repeats(&mut random, shape, 1.0), repeats(&mut random, shape, 1.05));
            compare(&a, &b, &rule(0.05)).verdict == Verdict::NoDifference
        });
        let passed = passed.count();
        assert!(passed <= 7, "{shape}: {passed} of 120");
    }
}

#[test]
fn exchanging_the_sides_turns_the_verdict_around() {
    let a = Sample::of_repeats([10.0, 10.1, 9.9, 10.2, 9.8]);
    let b = Sample::of_repeats([12.0, 12.2, 11.9, 12.1, 12.3]);
    let (there, back) = (compare(&a, &b, &rule(0.05)), compare(&b, &a, &rule(0.05)));
    assert_eq!((there.verdict, back.verdict), (Verdict::Slower, Verdict::Faster));
    assert!((there.ratio.unwrap() * back.ratio.unwrap() - 1.0).abs() < 1e-12);
    assert!((there.low.unwrap() * back.high.unwrap() - 1.0).abs() < 1e-12);
    assert_eq!(there.method, Method::Ranks);
    // 2 of 252 ways to choose five of ten keep all five below or above the others.
    assert!((there.p.unwrap() - 2.0 / 252.0).abs() < 1e-12);
    assert_eq!(compare(&a, &a, &rule(0.05)).verdict, Verdict::NoDifference);
}

#[test]
fn three_repeats_go_by_student() {
    // scipy.stats.ttest_ind of the logarithms and its confidence_interval(0.95), as ratios.
    let a = Sample::of_repeats([10.0, 11.0, 10.5]);
    let b = Sample::of_repeats([12.0, 12.5, 11.8]);
    let found = compare(&a, &b, &rule(0.05));
    assert_eq!((found.method, found.verdict), (Method::Student, Verdict::Slower));
    for (ours, scipy) in [(found.ratio, 1.15291448), (found.low, 1.05372254), (found.high, 1.26144383)] {
        assert!((ours.unwrap() - scipy).abs() < 1e-7, "{ours:?}");
    }
    assert!((found.p.unwrap() - 0.01176961542815119).abs() < 1e-10);
    // One baseline run is enough if the other side shows the noise.
    let one = compare(&Sample::of_repeats([10.0]), &Sample::of_repeats([12.0, 12.1, 11.9]), &rule(0.05));
    assert_eq!((one.method, one.verdict), (Method::Student, Verdict::Slower));
}

#[test]
fn one_run_per_side_goes_by_its_steps() {
    let mut random = Random::new(3);
    let mut steps = |level: f64| Sample::of_steps((0..60).map(|_| level * (1.0 + 0.02 * random.normal())));
    let (a, b) = (steps(10.0), steps(11.0));
    let found = compare(&a, &b, &rule(0.02));
    assert_eq!(found.verdict, Verdict::Slower);
    assert!(matches!(found.method, Method::Blocks { length: 4.. }), "{:?}", found.method);
    assert!(found.low.unwrap() < 1.1 && 1.1 < found.high.unwrap() + 0.01);
    assert_eq!(
        found.n,
        Counts { baseline_repeats: 1, current_repeats: 1, baseline_values: 60, current_values: 60 }
    );
}

#[test]
fn one_value_decides_only_if_it_was_counted() {
    let (a, b) = (Sample::of_repeats([100.0]), Sample::of_repeats([105.0]));
    let timed = compare(&a, &b, &rule(0.02));
    assert_eq!((timed.verdict, timed.low, timed.method), (Verdict::Inconclusive, None, Method::Nothing));
    assert!((timed.ratio.unwrap() - 1.05).abs() < 1e-12);
    let counted = |margin| compare(&a, &b, &Rule { counted: true, ..rule(margin) }).verdict;
    assert_eq!(counted(0.02), Verdict::Slower);
    // 105 is within 5% of 100, not above it.
    assert_eq!(counted(0.05), Verdict::NoDifference);
}

#[test]
fn zeros_are_compared_as_differences() {
    let counted = Rule { counted: true, ..rule(0.0) };
    let zero = Sample::of_repeats([0.0, 0.0]);
    assert_eq!(compare(&zero, &zero, &counted).verdict, Verdict::NoDifference);
    let found = compare(&zero, &Sample::of_repeats([3.0, 3.0]), &counted);
    assert_eq!((found.verdict, found.ratio), (Verdict::Slower, None));
    let half = compare(&Sample::of_repeats([4.0, 4.0]), &Sample::of_repeats([0.0, 0.0]), &counted);
    assert_eq!((half.verdict, half.ratio), (Verdict::Faster, Some(0.0)));
    assert_eq!(compare(&zero, &Sample::default(), &counted).verdict, Verdict::Inconclusive);
}

#[test]
fn advice_is_about_right() {
    // Noise of 2.7%, and the estimate 1% from the margin: 2 * (2 * 0.027 / 0.01)^2, some 58 repeats per side.
    let a = Sample::of_repeats([100.0, 103.0, 97.0, 101.0, 99.0, 104.0]);
    let b = Sample::of_repeats([100.0, 96.0, 104.0, 98.0, 102.0, 100.0]);
    let found = compare(&a, &b, &rule(0.02));
    assert_eq!(found.verdict, Verdict::Inconclusive);
    assert!((45..70).contains(&found.repeats_to_decide.unwrap()), "{found:?}");
    // Next to the threshold, no number of repeats would.
    let close = compare(&a, &Sample::of_repeats([102.0, 105.0, 99.0, 103.0, 101.0, 106.0]), &rule(0.02));
    assert_eq!((close.verdict, close.repeats_to_decide), (Verdict::Inconclusive, None));
}

#[test]
fn runs_in_turns_are_compared_in_pairs() {
    // The machine slows down to a half and recovers; the second of each pair takes 4.4% to 5.6% more.
    let load = [1.0, 1.1, 1.3, 1.7, 2.0, 1.9, 1.5, 1.2, 1.05, 1.0];
    let noise = [0.3, -0.2, 0.5, -0.6, 0.1, 0.4, -0.4, 0.6, -0.1, 0.2];
    let before = Sample::of_repeats(load.map(|l| 100.0 * l));
    let now = Sample::of_repeats(load.iter().zip(noise).map(|(l, n)| 100.0 * l * (1.05 + n / 100.0)));
    let apart = compare(&before, &now, &Rule::default());
    assert_eq!((apart.method, apart.verdict), (Method::Ranks, Verdict::Inconclusive));
    let turns = Rule { in_turns: true, ..Rule::default() };
    let found = compare(&before, &now, &turns);
    assert_eq!((found.method, found.verdict), (Method::Pairs, Verdict::Slower));
    let (ratio, low, high) = (found.ratio.unwrap(), found.low.unwrap(), found.high.unwrap());
    assert!((ratio - 1.05).abs() < 0.002 && 1.045 < low && high < 1.055, "{found:?}");
    // All of ten differences have one sign: p = 2 / 1,024.
    assert!((found.p.unwrap() - 2.0 / 1024.0).abs() < 1e-12);
    // Nothing follows for pairs from sides of different length.
    let fewer = Sample::new(before.groups()[1..].iter().cloned());
    assert_eq!(compare(&fewer, &now, &turns).method, Method::Ranks);
}

#[test]
fn few_pairs_go_by_student() {
    // Differences of the logarithms 1, 2 and 3: mean 2, standard deviation 1, t(2 degrees, 95%) = 4.302653.
    let side = |at: [f64; 3]| Sample::of_repeats(at.map(f64::exp));
    let found =
        compare(&side([5.0, 1.0, 3.0]), &side([6.0, 3.0, 6.0]), &Rule { in_turns: true, ..Rule::default() });
    assert_eq!(found.method, Method::FewPairs);
    assert!(
        (found.low.unwrap().ln() + 0.484_138).abs() < 1e-5
            && (found.high.unwrap().ln() - 4.484_138).abs() < 1e-5
    );
}
