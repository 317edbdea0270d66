//! Energy, from a counter that only rises.

use std::path::Path;

use super::{CounterPoint, counters_by};
use crate::period::Period;

/// Joules that the GPUs used in a period; `None` where they were not counted.
pub(crate) fn gpu_energy_j(folder: &Path, period: Period) -> Option<f64> {
    let found = counters_by(folder, period, 1).ok()?;
    let gpus = found.series.iter().filter(|series| series.name == "gpu.energy_j");
    gpus.map(|series| used(&series.points)).fold(None, |sum, joules| Some(sum.unwrap_or(0.0) + joules))
}

/// What a counter that only rises has risen by. One that falls has begun anew.
fn used(points: &[CounterPoint]) -> f64 {
    let mut before: Option<f64> = None;
    let mut total = 0.0;
    for point in points {
        let from = before.filter(|before| *before <= point.min).unwrap_or(point.min);
        total += point.max - from;
        before = Some(point.max);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_what_the_counter_rose_by() {
        let point = |minute, min, max| CounterPoint { minute, mean: min, min, max, last: max };
        assert_eq!(used(&[]), 0.0);
        assert_eq!(used(&[point(0, 100.0, 160.0), point(1, 161.0, 220.0)]), 120.0);
        // The monitor was started again, and counts from nothing.
        assert_eq!(used(&[point(0, 100.0, 160.0), point(1, 5.0, 25.0)]), 80.0);
    }
}
