//! The largest batch that fits: a straight line through the peaks of runs with different batches.
//!
//! Parameters, gradients and the state of the optimizer take the same whatever the batch; activations and inputs grow with
//! it. So a peak is a fixed part and a part per sample, as soon as the batch is large enough for the peak to be where activations are.
//! Least squares, with the 95% prediction interval of a new run; two runs lie on a line whatever they are, so they have no interval.

use schemars::JsonSchema;
use serde::Serialize;

use crate::scope::definition::{Definition, definitions};
use crate::statistics::student_quantile;

pub const DEFINITIONS: &[Definition] = definitions! {
    "batch", "Batch" => "Samples per step of a run: recorded with the snapshot, or given with --batch.";
    "off_bytes", "Off the line" => "What was reserved at the peak, less what the line says for this batch.";
    "fixed_bytes", "Fixed" =>
        "The part of the peak that does not depend on the batch: where the line crosses a batch of 0 (least squares).";
    "bytes_per_sample", "Per sample" =>
        "How much the peak grows with each sample of the batch: the line's slope (least squares).";
    "residual_bytes", "Residual" =>
        "How far runs are off the line: the square root of the squared distances divided by the number of runs minus 2. \
         Unknown for two runs, which always lie on a line.";
    "largest_batch", "Largest batch" => "The largest batch whose reserved memory, by the line, is within the limit.";
    "largest_batch_low", "At least" =>
        "The largest batch for which the upper end of the 95% prediction interval of reserved memory is within the limit.";
    "largest_batch_high", "At most" =>
        "The largest batch for which the lower end of the 95% prediction interval of memory in use is within the limit: \
         the allocator gives its cache back before it refuses. With two runs, without an interval.";
    "saved_bytes", "Saves" =>
        "How much lower the peak of the run with the largest batch would be, by replaying its history with the change. An \
         estimate: what memory is for is guessed from stacks.";
};

/// A run of some batch.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunRow {
    pub run: String,
    pub batch: u64,
    /// The most in use.
    pub peak_allocated_bytes: u64,
    /// The most reserved; none where the file does not say.
    pub peak_reserved_bytes: Option<u64>,
    /// How far off the line.
    pub off_bytes: i64,
}

/// A straight line through points.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct FittedLine {
    /// Where it crosses a batch of 0.
    pub fixed: f64,
    pub each: f64,
    /// How far points are off it; none for two of them.
    pub residual: Option<f64>,
    points: usize,
    mean: f64,
    squares: f64,
}

/// Points this close to a line, as a share of the highest, lie on it.
const MAX_DEVIATION_SHARE: f64 = 0.01;
/// No batch is larger.
const MAX_BATCH: u64 = 1 << 40;

impl FittedLine {
    /// The line through points by least squares; none without two different batches.
    pub fn through(points: &[(f64, f64)]) -> Option<FittedLine> {
        let count = points.len() as f64;
        let mean = points.iter().map(|point| point.0).sum::<f64>() / count;
        let level = points.iter().map(|point| point.1).sum::<f64>() / count;
        let squares: f64 = points.iter().map(|point| (point.0 - mean).powi(2)).sum();
        if points.len() < 2 || squares <= 0.0 || !squares.is_finite() || !level.is_finite() {
            return None;
        }
        let each = points.iter().map(|point| (point.0 - mean) * (point.1 - level)).sum::<f64>() / squares;
        let fixed = level - each * mean;
        let off: f64 = points.iter().map(|point| (point.1 - fixed - each * point.0).powi(2)).sum();
        let residual = (points.len() > 2).then(|| (off / (count - 2.0)).sqrt());
        Some(FittedLine { fixed, each, residual, points: points.len(), mean, squares })
    }

    /// The line on which the largest batches lie; points are sorted by batch. A peak is the highest of several moments, of which each
    /// grows by its own line: with small batches it may be in the optimizer's step, which does not grow at all. So it only gets
    /// steeper, and beyond the largest batch its last part goes on.
    pub fn rising(points: &[(f64, f64)]) -> Option<FittedLine> {
        let level = points.last()?.1;
        let mut last = None;
        for first in 0..points.len().saturating_sub(1) {
            let Some(line) = FittedLine::through(&points[first..]) else { continue };
            last = Some(line);
            if points[first..]
                .iter()
                .all(|point| (point.1 - line.at(point.0)).abs() <= MAX_DEVIATION_SHARE * level)
            {
                break;
            }
        }
        last
    }

    /// How many runs lie on it.
    pub fn points(&self) -> usize {
        self.points
    }

    /// What it says for a batch.
    pub fn at(&self, batch: f64) -> f64 {
        self.fixed + self.each * batch
    }

    /// Half the 95% prediction interval for a batch; 0 for two points.
    pub fn margin(&self, batch: f64) -> f64 {
        let Some(residual) = self.residual else { return 0.0 };
        let spread = 1.0 + 1.0 / self.points as f64 + (batch - self.mean).powi(2) / self.squares;
        student_quantile(0.05, (self.points - 2) as f64) * residual * spread.sqrt()
    }

    /// The largest batch within a limit, with so many times the margin; none if every batch is.
    pub fn largest(&self, limit: u64, margins: f64) -> Option<u64> {
        let fits = |batch: u64| self.at(batch as f64) + margins * self.margin(batch as f64) <= limit as f64;
        if fits(MAX_BATCH) {
            return None;
        }
        // Below the batches seen, a margin may fall faster than the line rises: a search upward needs a start that fits.
        let start = self.mean as u64;
        let (mut low, mut high) = if fits(start) { (start, MAX_BATCH) } else { (0, start) };
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            (low, high) = if fits(middle) { (middle, high) } else { (low, middle) };
        }
        Some(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_give_a_line_and_no_residual() {
        // 100 at 10 and 160 at 40: 2 per sample, and 80 whatever the batch.
        let line = FittedLine::through(&[(10.0, 100.0), (40.0, 160.0)]).unwrap();
        assert_eq!((line.fixed, line.each, line.residual), (80.0, 2.0, None));
        assert_eq!(line.largest(200, 0.0), Some(60));
        assert_eq!(line.largest(201, 0.0), Some(60));
        assert_eq!(line.largest(79, 0.0), Some(0));
        assert_eq!(line.largest(200, 1.0), Some(60), "no interval without a residual");
    }

    #[test]
    fn four_runs_give_the_interval_of_a_textbook() {
        // x = 1, 2, 3, 4 and y = 3, 5, 6, 9: slope 9.5 / 5 = 1.9, crossing at 5.75 - 1.9 * 2.5 = 1; off by 0.1, 0.2, -0.7,
        // 0.4, so the residual is sqrt(0.7 / 2) = 0.5916. At 6: 12.4 +- 4.303 * 0.5916 * sqrt(1 + 1/4 + 3.5^2 / 5).
        let line = FittedLine::through(&[(1.0, 3.0), (2.0, 5.0), (3.0, 6.0), (4.0, 9.0)]).unwrap();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-3;
        assert!(close(line.each, 1.9) && close(line.fixed, 1.0) && close(line.at(6.0), 12.4), "{line:?}");
        assert!(close(line.residual.unwrap(), 0.35f64.sqrt()));
        assert!(close(line.margin(6.0), 4.303 * 0.35f64.sqrt() * 3.7f64.sqrt()), "{}", line.margin(6.0));
        assert_eq!(line.largest(21, 0.0), Some(10));
        let (low, high) = (line.largest(21, 1.0).unwrap(), line.largest(21, -1.0));
        assert!(low < 10 && high.is_none_or(|high| high > 10), "{low} {high:?}");
    }

    /// Recorded on an H200 under a limit of 4 GiB: 14,592 samples fit, 14,608 do not. The peaks of the three smaller batches are in
    /// the optimizer's step.
    #[test]
    fn a_peak_that_moves_goes_on_by_its_last_part() {
        const MIB: f64 = 1048576.0;
        let reserved = [(512.0, 1454.0), (1024.0, 1454.0), (2048.0, 1495.0), (4096.0, 1966.0)];
        let in_use = [(512.0, 1351.7), (1024.0, 1361.9), (2048.0, 1402.9), (4096.0, 1833.0)];
        let lines = [reserved, in_use]
            .map(|all| FittedLine::rising(&all.map(|(batch, mib)| (batch, mib * MIB))).unwrap());
        assert!(lines.iter().all(|line| line.points() == 2));
        let [low, high] = lines.map(|line| line.largest(4 << 30, 0.0).unwrap());
        assert!(low < 14_592 && 14_592 < high && high < 16_000, "{low} {high}");
        // Straight from the start: all of it counts.
        let straight = [(1.0, 110.0), (2.0, 120.5), (3.0, 129.8), (4.0, 140.0)];
        assert_eq!(FittedLine::rising(&straight).map(|line| line.points()), Some(4));
        assert_eq!(FittedLine::rising(&[(8.0, 1.0)]), None);
    }

    #[test]
    fn what_has_no_line_or_no_end_says_so() {
        assert_eq!(FittedLine::through(&[(8.0, 1.0)]), None);
        assert_eq!(FittedLine::through(&[(8.0, 1.0), (8.0, 2.0)]), None);
        // A peak that does not grow fits any batch.
        assert_eq!(FittedLine::through(&[(8.0, 5.0), (16.0, 5.0)]).unwrap().largest(5, 0.0), None);
    }
}
