//! Whether levels keep growing: the one definition of a leak, whatever was measured.
//!
//! "It grew by 100 MB" is not a leak: caches fill, allocators keep. A leak goes on. So levels grow if their slope (Theil and Sen's,
//! which outliers do not move) is surely above zero, over all of them and over their second half, the second half is not
//! much flatter than the whole, and they rise by enough to matter.

use super::student::mean_interval;
use super::theil_sen::{Slope, theil_sen};

/// When levels count as growing. The numbers are heuristics; each is in `stepscope.toml` under its name there.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct GrowthRule {
    /// How sure it must be that the slope is above zero.
    pub confidence: f64,
    /// Levels needed, without those of the warm-up.
    pub min_levels: usize,
    /// How steep the second half must be, as a share of the whole: growth that stops is not a leak.
    pub steadiness: f64,
    /// How well a straight line must fit the levels (R²).
    pub fit: f64,
}

impl GrowthRule {
    /// For levels that are counted, like bytes that an allocator has handed out, always at the same place of an iteration. Five that rise
    /// each time do so by chance once in 120 times, four once in 24.
    pub const COUNTED: GrowthRule = GrowthRule { confidence: 0.95, min_levels: 5, steadiness: 0.5, fit: 0.0 };
    /// For all that a device holds when a step ends: the tensors of its last batch are among that, and batches differ.
    pub const OF_STEPS: GrowthRule = GrowthRule { fit: 0.9, ..GrowthRule::COUNTED };
    /// For levels that the system tells, always at the same place of an iteration: it also counts what others need.
    pub const READ: GrowthRule = GrowthRule { min_levels: 8, ..GrowthRule::COUNTED };
    /// For levels that a clock samples, anywhere in an iteration. Neighbors depend on each other there, so that the slope is less sure
    /// than its interval says: memory that wanders often has one. A wandering line is rarely a straight one.
    pub const SAMPLED: GrowthRule = GrowthRule { fit: GrowthRule::OF_STEPS.fit, ..GrowthRule::READ };
}

#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Growth {
    /// How much they grow per unit of `x`.
    pub slope: Slope,
    /// How much they grew in total, by the slope.
    pub rise: f64,
    /// How well a straight line fits them (R²).
    pub fit: f64,
    pub grows: bool,
}

/// Judges levels over a rising `x`, warm-up left out; none if they are too few. Less than `min_rise` in total is not growth.
pub fn growth(points: &[(f64, f64)], min_rise: f64, rule: &GrowthRule) -> Option<Growth> {
    let (first, last) = (points.first()?, points.last()?);
    if points.len() < rule.min_levels {
        return None;
    }
    let slope = theil_sen(points, rule.confidence)?;
    // Of five levels the later four: three say too little.
    let half = points.len() / 2 - usize::from(points.len() < 6);
    let later = theil_sen(&points[half..], rule.confidence)?;
    let (rise, fit) = (slope.slope * (last.0 - first.0), fit(points));
    let goes_on = slope.low > 0.0 && later.low > 0.0 && later.slope >= rule.steadiness * slope.slope;
    Some(Growth { slope, rise, fit, grows: goes_on && fit >= rule.fit && rise >= min_rise })
}

/// The same of what was added each time: whether it goes on, on average, over all times and over their second half.
pub fn keeps_adding(added: &[f64], min_rise: f64, rule: &GrowthRule) -> bool {
    let surely = |added: &[f64]| mean_interval(added, rule.confidence).is_some_and(|mean| mean.low > 0.0);
    added.len() >= rule.min_levels
        && added.iter().sum::<f64>() >= min_rise
        && surely(added)
        && surely(&added[added.len() / 2..])
}

/// R², the share of the levels' variance that a straight line explains; 0 for what is level.
fn fit(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / n;
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for point in points {
        let (x, y) = (point.0 - mean_x, point.1 - mean_y);
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    if xx == 0.0 || yy == 0.0 { 0.0 } else { xy * xy / (xx * yy) }
}

/// Of so many levels that the system tells, how many are left out as warm-up: a tenth, at least 2, at most 20.
pub fn warm_up(levels: usize) -> usize {
    (levels / 10).clamp(2, 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Random;

    fn judged(levels: &[f64], rule: GrowthRule) -> Option<Growth> {
        let points: Vec<(f64, f64)> =
            levels.iter().enumerate().map(|(at, level)| (at as f64, *level)).collect();
        growth(&points, 1.0, &rule)
    }

    fn grows(levels: &[f64], rule: GrowthRule) -> bool {
        judged(levels, rule).is_some_and(|found| found.grows)
    }

    #[test]
    fn what_goes_on_is_a_leak_and_what_stops_is_none() {
        let filling: Vec<f64> = (0..60).map(|at| f64::from(at.min(20)) * 5.0).collect();
        assert!(!grows(&filling, GrowthRule::READ));
        assert!(grows(&filling[..20], GrowthRule::READ));
        assert!(!grows(&[500.0; 60], GrowthRule::READ));
        // Too little to matter.
        let little: Vec<f64> = (0..60).map(|at| 0.01 * f64::from(at)).collect();
        assert!(!grows(&little, GrowthRule::READ));
        assert!((judged(&little, GrowthRule::READ).unwrap().rise - 0.59).abs() < 1e-9);
        // A jump.
        assert!(!grows(&[0.0, 0.0, 0.0, 0.0, 0.0, 900.0, 900.0, 900.0, 900.0, 900.0], GrowthRule::COUNTED));
    }

    #[test]
    fn too_few_are_not_judged() {
        let levels: Vec<f64> = (0..7).map(|at| 10.0 * f64::from(at)).collect();
        assert_eq!(judged(&levels, GrowthRule::READ), None);
        assert!(grows(&levels[..5], GrowthRule::COUNTED));
        assert_eq!(judged(&levels[..4], GrowthRule::COUNTED), None);
        assert_eq!(judged(&[], GrowthRule { min_levels: 0, ..GrowthRule::COUNTED }), None);
    }

    #[test]
    fn noise_is_told_from_growth_under_noise() {
        let mut random = Random::new(2);
        let mut series = |slope: f64, noise: f64, count: i32| -> Vec<f64> {
            (0..count).map(|at| 500.0 + slope * f64::from(at) + noise * random.normal()).collect()
        };
        let alarms = (0..200).filter(|_| grows(&series(0.0, 20.0, 60), GrowthRule::READ)).count();
        assert!(alarms <= 4, "{alarms}");
        let found = judged(&series(0.5, 3.0, 100), GrowthRule::READ).unwrap();
        assert!(found.grows && (found.slope.slope - 0.5).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn memory_that_wanders_is_rarely_taken_for_a_leak() {
        let mut random = Random::new(7);
        let mut alarms = |rule: GrowthRule| {
            let wandering = |random: &mut Random| {
                let mut level = 500.0;
                let levels: Vec<f64> = (0..100)
                    .map(|_| {
                        level += 10.0 * random.normal();
                        level
                    })
                    .collect();
                levels
            };
            (0..200).filter(|_| grows(&wandering(&mut random), rule)).count()
        };
        let (sampled, read) = (alarms(GrowthRule::SAMPLED), alarms(GrowthRule::READ));
        assert!(sampled <= 10 && sampled * 3 < read, "{sampled} of 200, without a fit {read}");
    }

    #[test]
    fn what_is_added_goes_on_or_stops() {
        let added = |each: &dyn Fn(usize) -> f64| {
            keeps_adding(&(0..40).map(each).collect::<Vec<f64>>(), 1.0, &GrowthRule::READ)
        };
        assert!(added(&|_| 2.0));
        // An allocator takes memory in large pieces, once in a while.
        assert!(added(&|at| if at % 4 == 0 { 4.0 } else { 0.0 }));
        assert!(!added(&|at| if at < 10 { 5.0 } else { 0.0 }), "a cache that is full");
        assert!(!added(&|at| if at == 30 { 50.0 } else { 0.0 }), "one large array");
        assert!(!added(&|_| 0.01), "too little");
        assert!(!keeps_adding(&[2.0; 7], 1.0, &GrowthRule::READ), "too few");
    }

    #[test]
    fn a_straight_line_fits_itself() {
        let points = [(0.0, 10.0), (1.0, 20.0), (2.0, 30.0), (3.0, 40.0)];
        assert_eq!(fit(&points), 1.0);
        assert_eq!(fit(&[(0.0, 5.0), (1.0, 5.0), (2.0, 5.0)]), 0.0);
        assert!(fit(&[(0.0, 0.0), (1.0, 10.0), (2.0, 0.0), (3.0, 10.0)]) < 0.5);
    }
}
