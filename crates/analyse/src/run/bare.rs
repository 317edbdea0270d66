//! The mean step without the profiler, where the recording has timed steps that ran before it.

use stepscope_model::BareSteps;

use crate::statistics::{pause_above, warm_up_length};

const MIN_STEPS: usize = 3;
const MIN_STEPS_TO_COMPARE: usize = 6;
/// Half of an interval that holds the mean nineteen times of twenty.
const STANDARD_ERRORS: f64 = 2.0;
/// The replay is asked this often what share of the recording's cost gives the measured step.
const BISECTIONS: usize = 10;
const MAX_COST_SHARE: f64 = 4.0;

/// The mean, and where it may lie by the spread of the steps.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct BareStep {
    pub(super) step_ns: i64,
    pub(super) low_ns: i64,
    pub(super) high_ns: i64,
}

/// The mean of those after the warm-up; the device's, where it takes longer than the host.
pub(super) fn mean_step(bare: &BareSteps) -> Option<BareStep> {
    let mut times = steady(bare);
    if times.len() < MIN_STEPS {
        return None;
    }
    let longest = pause_above(&times);
    times.retain(|&ns| ns <= longest);
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|ns| (ns - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let step = bare.device_ns.map_or(mean, |device| mean.max(device as f64));
    let half = STANDARD_ERRORS * (variance / count).sqrt();
    Some(BareStep {
        step_ns: step as i64,
        low_ns: (step - half).max(0.0) as i64,
        high_ns: (step + half) as i64,
    })
}

/// The host's times without those that warm up.
fn steady(bare: &BareSteps) -> Vec<f64> {
    let mut times: Vec<f64> = bare.host_ns.iter().map(|&ns| ns as f64).collect();
    times.split_off(warm_up_length(&times))
}

/// What slow steps add to the mean of these steps: what it lies above the usual one. None if they are too few, or if a device
/// is behind, so that they say little about it.
pub(super) fn unevenness_ns(bare: &BareSteps) -> Option<i64> {
    let mut times = steady(bare);
    let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
    if times.len() < MIN_STEPS_TO_COMPARE || bare.device_ns.is_some_and(|device| device as f64 > mean) {
        return None;
    }
    times.sort_unstable_by(f64::total_cmp);
    Some((mean - times[(times.len() - 1) / 2]) as i64)
}

/// The share of the estimated cost of recording without which a step takes `step_ns`, which falls as the share grows.
pub(super) fn cost_share(step_ns: i64, replayed_ns: impl Fn(f64) -> i64) -> f64 {
    let (mut low, mut high) = (0.0, MAX_COST_SHARE);
    if replayed_ns(low) <= step_ns {
        return low;
    }
    for _ in 0..BISECTIONS {
        let middle = (low + high) / 2.0;
        if replayed_ns(middle) > step_ns { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(host_ms: &[i64], device_ms: Option<i64>) -> Option<BareStep> {
        let host_ns = host_ms.iter().map(|ms| ms * 1_000_000).collect();
        mean_step(&BareSteps { host_ns, device_ns: device_ms.map(|ms| ms * 1_000_000) })
    }

    #[test]
    fn first_steps_and_pauses_do_not_count() {
        let steps = [500, 90, 30, 20, 10, 10, 11, 9, 10, 10, 10, 400, 10, 10, 10];
        let found = bare(&steps, None).unwrap();
        assert_eq!(found.step_ns, 10_000_000);
        assert!(found.low_ns < 10_000_000 && found.high_ns > 10_000_000 && found.high_ns < 10_600_000);
    }

    #[test]
    fn one_pause_among_a_few_steps_does_not_count() {
        assert_eq!(bare(&[50, 50, 50, 16, 20, 143, 18, 16, 20, 18], None).unwrap().step_ns, 18_000_000);
        assert_eq!(bare(&[50, 16, 143, 16], None).unwrap().step_ns, 58_333_333);
    }

    #[test]
    fn a_device_that_is_behind_decides() {
        assert_eq!(bare(&[2; 12], Some(9)).unwrap().step_ns, 9_000_000);
        assert_eq!(bare(&[2; 12], Some(1)).unwrap().step_ns, 2_000_000);
    }

    #[test]
    fn every_third_step_waits_for_the_device_and_all_of_them_count() {
        assert_eq!(bare(&[1, 1, 13, 1, 1, 13, 1, 1, 13, 1, 1, 13], None).unwrap().step_ns, 5_500_000);
    }

    #[test]
    fn slow_steps_raise_the_mean() {
        let uneven =
            |host_ns: &[i64], device_ns| unevenness_ns(&BareSteps { host_ns: host_ns.to_vec(), device_ns });
        assert_eq!(uneven(&[90, 50, 20, 10, 10, 10, 10, 10, 16], None), Some(1));
        assert_eq!(uneven(&[90, 50, 20, 10, 40, 10, 10, 40, 10], Some(19)), Some(10));
        // The host does not wait for the device.
        assert_eq!(uneven(&[90, 50, 20, 10, 40, 10, 10, 40, 10], Some(90)), None);
        assert_eq!(uneven(&[10; 8], None), Some(0));
        assert_eq!(uneven(&[10; 7], None), None);
    }

    #[test]
    fn few_steps_are_no_measurement() {
        assert_eq!(bare(&[2, 2, 2], None), None);
        assert!(bare(&[2, 2, 2, 2], None).is_some());
    }

    #[test]
    fn the_share_of_the_cost_that_explains_a_step() {
        let replayed = |share: f64| 100 - (20.0 * share) as i64;
        assert!((cost_share(70, replayed) - 1.5).abs() < 0.1);
        assert_eq!(cost_share(120, replayed), 0.0);
    }
}
