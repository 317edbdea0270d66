//! How large one sample's number is, against a fixed limit.

use schemars::JsonSchema;
use serde::Serialize;

use super::bootstrap::{self, MIN_STEPS, middle_share};
use super::compare::{Method, Rule};
use super::ranks::median_interval;
use super::sample::Sample;
use super::student::{Interval, mean_interval};

/// A number and the interval in which the truth lies.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Level {
    /// The best estimate: the median over repeats.
    pub value: f64,
    /// The interval, at the rule's confidence; unknown if nothing is known about the noise.
    pub interval: Option<(f64, f64)>,
    /// Where the interval comes from.
    pub method: Method,
}

/// The number of a sample with its interval; `None` without values. The rule's margin plays no part.
pub fn level(sample: &Sample, rule: &Rule) -> Option<Level> {
    let units = sample.units(rule.statistic);
    let (value, ranked) = median_interval(&units, rule.confidence)?;
    if rule.counted && units.iter().all(|u| *u == value) {
        return Some(Level { value, interval: Some((value, value)), method: Method::Counted });
    }
    if ranked.is_some() {
        return Some(Level { value, interval: ranked, method: Method::Ranks });
    }
    if let Some(Interval { mean, low, high }) = mean_interval(&units, rule.confidence) {
        return Some(Level { value: mean, interval: Some((low, high)), method: Method::Student });
    }
    let steps = &sample.groups()[0];
    if steps.len() < MIN_STEPS {
        return Some(Level { value, interval: None, method: Method::Nothing });
    }
    let (drawn, length) = bootstrap::levels(steps, rule.statistic);
    Some(Level { value, interval: middle_share(&drawn, rule.confidence), method: Method::Blocks { length } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_repeats_bound_their_median() {
        let rule = Rule::default();
        let six = [5.0, 1.0, 4.0, 2.0, 6.0, 3.0];
        let found = level(&Sample::of_repeats(six), &rule).unwrap();
        // With six values the smallest and the largest enclose the median in 1 - 2/64 = 96.9% of cases.
        assert_eq!((found.value, found.interval, found.method), (3.5, Some((1.0, 6.0)), Method::Ranks));
    }

    #[test]
    fn three_repeats_go_by_student() {
        // Mean 2, standard deviation 1, t(2 degrees, 95%) = 4.302653: 2 ± 4.302653 / sqrt(3) = 2 ± 2.484138.
        let found = level(&Sample::of_repeats([1.0, 2.0, 3.0]), &Rule::default()).unwrap();
        let (low, high) = found.interval.unwrap();
        assert_eq!(found.method, Method::Student);
        assert!((low + 0.484_138).abs() < 1e-5 && (high - 4.484_138).abs() < 1e-5, "{low} {high}");
    }

    #[test]
    fn one_value_is_known_only_if_it_was_counted() {
        let one = Sample::of_repeats([7.0]);
        assert_eq!(level(&one, &Rule::default()).unwrap().interval, None);
        let counted = level(&one, &Rule { counted: true, ..Rule::default() }).unwrap();
        assert_eq!((counted.interval, counted.method), (Some((7.0, 7.0)), Method::Counted));
        assert_eq!(level(&Sample::default(), &Rule::default()), None);
    }

    #[test]
    fn one_run_goes_by_its_steps() {
        let steps: Vec<f64> = (0..100).map(|i| 10.0 + f64::from(i * 7 % 10)).collect();
        let found = level(&Sample::of_steps(steps), &Rule::default()).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!(low < 14.5 && 14.5 < high && high - low < 2.0, "{low} {high}");
        assert!(matches!(found.method, Method::Blocks { .. }));
    }
}
