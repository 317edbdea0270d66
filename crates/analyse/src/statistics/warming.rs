//! Where times stop falling because something warms up.

/// A heuristic, like the other numbers here: the first third always counts as warm-up.
const ALWAYS_WARM_UP: usize = 3;
/// What follows still falls if its earlier half is so many times as long as its later half, by their medians.
const FALLING_RATIO: f64 = 1.05;
/// So many are kept to judge by.
const MIN_STEADY: usize = 10;

/// How many of some times in a row count as warm-up.
pub fn warm_up_length(times: &[f64]) -> usize {
    let mut first = times.len() / ALWAYS_WARM_UP;
    loop {
        let middle = first + (times.len() - first) / 2;
        if times.len() - middle < MIN_STEADY {
            return first;
        }
        if median(&times[first..middle]) <= FALLING_RATIO * median(&times[middle..]) {
            return first;
        }
        first = middle;
    }
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_go_on_falling_are_warm_up() {
        let falling: Vec<f64> =
            (0..60).map(|at| if at < 40 { 20.0 - 0.25 * f64::from(at) } else { 10.0 }).collect();
        assert_eq!(warm_up_length(&falling), 40);
        // Steady ones, rounds of several, those that rise, too few to judge, and nothing.
        assert_eq!(warm_up_length(&[10.0; 60]), 20);
        assert_eq!(warm_up_length(&[1.0, 1.0, 13.0].repeat(20)), 20);
        assert_eq!(warm_up_length(&(0..60).map(f64::from).collect::<Vec<_>>()), 20);
        assert_eq!(warm_up_length(&[9.0, 9.0, 9.0, 9.0, 9.0, 1.0, 1.0, 1.0, 1.0]), 3);
        assert_eq!(warm_up_length(&[]), 0);
    }
}
