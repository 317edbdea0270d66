//! The few of some times that are far longer than the usual one, such as a validation or a checkpoint among iterations.

/// A time of so many times the usual one is a pause, if few are. A heuristic, like the other numbers here.
const PAUSE_RATIO: f64 = 3.0;
const MAX_PAUSES_SHARE: f64 = 0.1;
/// They stand apart: the shortest takes so many times as long as the longest usual one. Requests of all sizes do not.
const APART_RATIO: f64 = 1.5;
/// Of so many times, one may be a pause however few they are.
const MIN_TIMES_FOR_ONE_PAUSE: usize = 5;

/// What is longer than this is a pause; infinite if none is, or if so many times are as long that they are usual.
pub fn pause_above(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (Some(low), Some(high)) =
        (sorted.get(sorted.len().saturating_sub(1) / 2), sorted.get(sorted.len() / 2))
    else {
        return f64::INFINITY;
    };
    let longest = PAUSE_RATIO * (low + high) / 2.0;
    let usual = sorted.partition_point(|&time| time <= longest);
    let pauses = sorted.len() - usual;
    let one: f64 = if sorted.len() >= MIN_TIMES_FOR_ONE_PAUSE { 1.0 } else { 0.0 };
    let few = pauses as f64 <= one.max(MAX_PAUSES_SHARE * sorted.len() as f64);
    let apart = sorted[..usual].last().zip(sorted.get(usual)).is_some_and(|(u, p)| *p >= APART_RATIO * u);
    if few && apart { longest } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_long_times_are_pauses() {
        let mut times = [10.0; 11];
        times[7] = 40.0;
        assert_eq!(pause_above(&times), 30.0);
        assert_eq!(pause_above(&[16.0, 20.0, 143.0, 18.0, 16.0]), 54.0);
        // Too few to tell, too many to be pauses, all sizes, none, and nothing.
        let sizes = [1.0, 1.0, 1.5, 1.2, 2.9, 3.8, 1.0, 0.8, 2.0, 1.0, 0.9];
        for times in [&[16.0, 143.0, 16.0][..], &[1.0, 1.0, 13.0, 1.0, 1.0, 13.0], &sizes, &[10.0; 9], &[]] {
            assert_eq!(pause_above(times), f64::INFINITY, "{times:?}");
        }
    }
}
