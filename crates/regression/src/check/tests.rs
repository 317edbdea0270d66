use super::*;
use crate::machine::Machine;
use crate::measurement::Repeat;

fn measured(key: &str, values: &[f64]) -> Measurement {
    let mut measurement = Measurement::new(How::Bare);
    for value in values {
        let mut repeat = Repeat::default();
        repeat.put(key, [*value]);
        measurement.repeats.push(repeat);
    }
    measurement
}

fn outcome(condition: &str, baseline: &Measurement, current: &Measurement) -> (Outcome, String) {
    let condition = Condition::parse(condition).unwrap();
    let checked = check(&[condition], Some(baseline), current, &Options::default());
    (checked.outcome(), checked.findings[0].why.clone())
}

const A: [f64; 6] = [100e6, 101e6, 99e6, 100.5e6, 99.5e6, 100.2e6];

fn scaled(by: f64) -> Vec<f64> {
    A.iter().map(|v| v * by).collect()
}

#[test]
fn a_rise_beyond_the_limit_fails_and_a_fall_does_not() {
    let before = measured("wall_time", &A);
    let verdict = |by: f64, condition: &str| outcome(condition, &before, &measured("wall_time", &scaled(by))).0;
    assert_eq!(verdict(1.10, "wall_time>+5%"), Outcome::Fail);
    assert_eq!(verdict(1.00, "wall_time>+5%"), Outcome::Pass);
    assert_eq!(verdict(0.50, "wall_time>+5%"), Outcome::Pass);
    assert_eq!(verdict(0.50, "wall_time<-5%"), Outcome::Fail);
    assert_eq!(verdict(1.50, "wall_time<-5%"), Outcome::Pass);
    // As large as the limit: six repeats cannot tell on which side.
    assert_eq!(verdict(1.049, "wall_time>+5%"), Outcome::Inconclusive);
    let (_, why) = outcome("wall_time>+5%", &before, &measured("wall_time", &scaled(1.1)));
    assert!(why.starts_with("+10.0% (+") && why.contains("100.1 ms before, 110.1 ms now"), "{why}");
}

#[test]
fn one_timed_run_per_side_is_no_pass() {
    let (found, why) = outcome("wall_time>+5%", &measured("wall_time", &[1e9]), &measured("wall_time", &[1e9]));
    assert_eq!(found, Outcome::Inconclusive);
    assert!(why.contains("--repeats 10"), "{why}");
    let memory = |bytes: f64| measured("peak_gpu_memory", &[bytes]);
    assert_eq!(outcome("peak_gpu_memory>+2%", &memory(1e9), &memory(1.02e9)).0, Outcome::Pass);
    assert_eq!(outcome("peak_gpu_memory>+2%", &memory(1e9), &memory(1.03e9)).0, Outcome::Fail);
}

#[test]
fn noise_that_hides_the_answer_says_how_many_repeats_would_not() {
    let noisy = [80e6, 120e6, 95e6, 110e6, 90e6];
    let (found, why) = outcome("wall_time>+5%", &measured("wall_time", &noisy), &measured("wall_time", &noisy));
    assert_eq!(found, Outcome::Inconclusive);
    assert!(why.contains("repeats per side would"), "{why}");
}

#[test]
fn absolute_limits_need_no_baseline() {
    let hold = |text: &str| {
        let condition = Condition::parse(text).unwrap();
        check(&[condition], None, &measured("wall_time", &A), &Options::default()).outcome()
    };
    assert_eq!(hold("wall_time>102ms"), Outcome::Pass);
    assert_eq!(hold("wall_time>98ms"), Outcome::Fail);
    assert_eq!(hold("wall_time<98ms"), Outcome::Pass);
    assert_eq!(hold("wall_time>100ms"), Outcome::Inconclusive);
    assert_eq!(hold("wall_time>+5%"), Outcome::Inconclusive);
}

#[test]
fn another_machine_decides_nothing_about_time() {
    let on = |cpu: &str| Measurement {
        machine: Some(Machine { cpu: cpu.to_owned(), ..Machine::default() }),
        ..measured("wall_time", &A)
    };
    let (found, why) = outcome("wall_time>+5%", &on("Old"), &on("New"));
    assert_eq!(found, Outcome::Inconclusive);
    assert!(why.contains("processor: New here, Old in the baseline") && why.contains("--any-machine"), "{why}");
    let condition = [Condition::parse("wall_time>+5%").unwrap()];
    let options = Options { any_machine: true, ..Options::default() };
    assert_eq!(check(&condition, Some(&on("Old")), &on("New"), &options).outcome(), Outcome::Pass);
}

#[test]
fn traces_are_not_compared_with_bare_runs() {
    let traces = Measurement { how: How::Traces, ..measured("wall_time", &A) };
    let (found, why) = outcome("wall_time>+5%", &traces, &measured("wall_time", &A));
    assert_eq!(found, Outcome::Inconclusive);
    assert!(why.contains("from traces, this is from bare runs"), "{why}");
    let condition = [Condition::parse("wall_time>+5%").unwrap()];
    let checked = check(&condition, Some(&traces), &traces, &Options::default());
    assert_eq!(checked.outcome(), Outcome::Pass);
    assert!(checked.remarks[0].contains("from traces alone"));
}

#[test]
fn a_metric_that_is_not_there_says_what_is() {
    let (found, why) = outcome("op:aten::mm>+5%", &measured("op:aten::add", &A), &measured("op:aten::mm", &A));
    assert_eq!(found, Outcome::Inconclusive);
    assert_eq!(why, "the baseline has no op:aten::mm; it has op:aten::add");
    let (_, why) = outcome("step_time>+5%", &measured("wall_time", &A), &measured("wall_time", &A));
    assert_eq!(why, "the current run has no step_time; it has wall_time");
}

#[test]
fn of_many_conditions_one_may_fail_by_chance() {
    // Four repeats, wholly apart: p = 2/70. Alone that is enough; as one of three it is not.
    let mut before = Measurement::new(How::Bare);
    let mut now = Measurement::new(How::Bare);
    for at in 0..4 {
        let value = 100.0 + f64::from(at);
        let (mut a, mut b) = (Repeat::default(), Repeat::default());
        for key in ["op:a", "op:b", "op:c"] {
            a.put(key, [value]);
            b.put(key, [if key == "op:a" { value * 1.5 } else { value }]);
        }
        before.repeats.push(a);
        now.repeats.push(b);
    }
    let outcome = |conditions: &[&str]| {
        let conditions: Vec<_> = conditions.iter().map(|text| Condition::parse(text).unwrap()).collect();
        check(&conditions, Some(&before), &now, &Options::default()).findings[0].outcome
    };
    assert_eq!(outcome(&["op:a>+5%"]), Outcome::Fail);
    assert_eq!(outcome(&["op:a>+5%", "op:b>+5%", "op:c>+5%"]), Outcome::Inconclusive);
}

#[test]
fn runs_in_turns_are_compared_in_pairs_unless_one_lacks_the_metric() {
    let drift = [1.0, 1.3, 1.7, 2.0, 1.5, 1.1];
    let before = measured("wall_time", &drift.map(|d| d * 100e6));
    let mut now = measured("wall_time", &[1.11, 1.43, 1.88, 2.21, 1.64, 1.21].map(|d| d * 100e6));
    let condition = [Condition::parse("wall_time>+5%").unwrap()];
    let verdict = |now: &Measurement, in_turns| {
        check(&condition, Some(&before), now, &Options { in_turns, ..Options::default() }).outcome()
    };
    assert_eq!((verdict(&now, true), verdict(&now, false)), (Outcome::Fail, Outcome::Inconclusive));
    now.repeats[2].values.clear();
    assert_eq!(verdict(&now, true), Outcome::Inconclusive);
}

#[test]
fn a_slower_machine_is_not_a_slower_program() {
    let with = |values: Vec<f64>, task: f64| {
        let mut measurement = measured("wall_time", &values);
        measurement.repeats.iter_mut().for_each(|repeat| repeat.yardstick = Some(task * 20e6));
        measurement
    };
    // Everything takes 10% more.
    let (found, why) = outcome("wall_time>+5%", &with(scaled(1.0), 1.0), &with(scaled(1.1), 1.1));
    assert_eq!(found, Outcome::Inconclusive);
    assert!(
        why.ends_with(
            "changed by +10.0%, and beside it this is not clear: run both versions in turns (--baseline-dir)"
        ),
        "{why}"
    );
    // The program takes 10% more, the task does not, or not as much.
    assert_eq!(outcome("wall_time>+5%", &with(scaled(1.0), 1.0), &with(scaled(1.1), 1.0)).0, Outcome::Fail);
    assert_eq!(outcome("wall_time>+5%", &with(scaled(1.0), 1.0), &with(scaled(1.2), 1.1)).0, Outcome::Fail);
    // A baseline of an older version has no task.
    assert_eq!(outcome("wall_time>+5%", &measured("wall_time", &A), &with(scaled(1.1), 1.1)).0, Outcome::Fail);
}
