//! The uncertainty of one run's number, from its own steps: resampled in blocks, because neighbors are alike.

use super::random::Random;
use super::sample::Statistic;

/// Fewer steps than this say nothing about their own noise.
pub(super) const MIN_STEPS: usize = 8;
/// Only the last so many steps count; more would not change the interval.
const MAX_STEPS: usize = 200_000;
/// Values that all resamples together may touch: two seconds at most.
const MAX_VALUES_TOUCHED: usize = 40_000_000;
const MIN_MAX_RESAMPLES: (usize, usize) = (200, 2_000);
const SEED: u64 = 0x5eed_b10c;

/// How many neighboring steps are drawn together: twice the number of steps after which a deviation is forgotten (the sum
/// of the autocorrelation up to where it is lost in noise), at least the cube root of the length.
pub(super) fn block_length(values: &[f64]) -> usize {
    let n = values.len();
    if n < 4 {
        return 1;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
    let least = (n as f64).cbrt().ceil();
    if variance <= 0.0 {
        return least as usize;
    }
    let noise = 2.0 / (n as f64).sqrt();
    let mut memory = 1.0;
    for lag in 1..(n / 4).min(1_000) {
        let products = values.iter().zip(&values[lag..]).map(|(a, b)| (a - mean) * (b - mean));
        let correlation = products.sum::<f64>() / variance;
        if correlation < noise {
            break;
        }
        memory += 2.0 * correlation;
    }
    (2.0 * memory).ceil().max(least).min((n / 4) as f64).max(1.0) as usize
}

/// One run's steps, ready to be drawn from.
struct Run<'a> {
    values: &'a [f64],
    block: usize,
    drawn: Vec<f64>,
}

impl<'a> Run<'a> {
    fn new(values: &'a [f64]) -> Self {
        let values = &values[values.len().saturating_sub(MAX_STEPS)..];
        Self { values, block: block_length(values), drawn: Vec::with_capacity(values.len()) }
    }

    /// The statistic of as many steps, drawn in blocks; the last step is followed by the first.
    fn draw(&mut self, statistic: Statistic, random: &mut Random) -> f64 {
        let n = self.values.len();
        self.drawn.clear();
        while self.drawn.len() < n {
            let start = random.below(n);
            let take = self.block.min(n - self.drawn.len());
            let first = take.min(n - start);
            self.drawn.extend_from_slice(&self.values[start..start + first]);
            self.drawn.extend_from_slice(&self.values[..take - first]);
        }
        statistic.compute(&mut self.drawn).unwrap_or(f64::NAN)
    }
}

/// Differences between the statistics of both runs, resampled, in order; and the longer of the two block lengths.
pub(super) fn differences(
    baseline: &[f64],
    current: &[f64],
    statistic: Statistic,
    scale: impl Fn(f64) -> f64,
) -> (Vec<f64>, usize) {
    let (mut a, mut b) = (Run::new(baseline), Run::new(current));
    let mut random = Random::new(SEED);
    let times = resamples(a.values.len() + b.values.len());
    let mut all: Vec<f64> = (0..times)
        .map(|_| scale(b.draw(statistic, &mut random)) - scale(a.draw(statistic, &mut random)))
        .collect();
    all.sort_by(f64::total_cmp);
    (all, a.block.max(b.block))
}

/// The statistic of one run, resampled, in order; and the block length.
pub(super) fn levels(values: &[f64], statistic: Statistic) -> (Vec<f64>, usize) {
    let mut run = Run::new(values);
    let mut random = Random::new(SEED);
    let mut all: Vec<f64> =
        (0..resamples(run.values.len())).map(|_| run.draw(statistic, &mut random)).collect();
    all.sort_by(f64::total_cmp);
    (all, run.block)
}

fn resamples(steps: usize) -> usize {
    (MAX_VALUES_TOUCHED / steps.max(1)).clamp(MIN_MAX_RESAMPLES.0, MIN_MAX_RESAMPLES.1)
}

/// The middle share of sorted values.
pub(super) fn middle_share(sorted: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let n = sorted.len();
    let skip = ((1.0 - confidence) / 2.0 * n as f64).floor() as usize;
    Some((*sorted.get(skip)?, *sorted.get(n.checked_sub(skip + 1)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps in which each keeps `memory` of the deviation of the one before it.
    fn steps(n: usize, memory: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut deviation = 0.0;
        let keep = (1.0 - memory * memory).sqrt();
        (0..n)
            .map(|_| {
                deviation = memory * deviation + keep * random.normal();
                100.0 + deviation
            })
            .collect()
    }

    #[test]
    fn blocks_grow_with_the_memory_of_a_run() {
        let short = block_length(&steps(1_000, 0.0, 1));
        let long = block_length(&steps(1_000, 0.9, 1));
        // The cube root of 1,000; and twice (1 + 0.9) / (1 - 0.9) = 38, estimated from one run.
        assert_eq!(short, 10);
        assert!((20..80).contains(&long), "{long}");
        assert_eq!(block_length(&[5.0; 64]), 4);
    }

    #[test]
    fn an_interval_of_alike_neighbors_covers_the_truth() {
        // 100 runs of 400 steps; the true mean is 100. Treated as independent, half of the intervals would miss it.
        let missed = |memory: f64, block: Option<usize>| {
            let outside = (0..100).filter(|&seed| {
                let values = steps(400, memory, seed);
                let mut run = Run::new(&values);
                run.block = block.unwrap_or(run.block);
                let mut random = Random::new(seed);
                let mut all: Vec<f64> = (0..400).map(|_| run.draw(Statistic::Mean, &mut random)).collect();
                all.sort_by(f64::total_cmp);
                let (low, high) = middle_share(&all, 0.95).unwrap();
                low > 100.0 || high < 100.0
            });
            outside.count()
        };
        assert!(missed(0.8, Some(1)) > 35);
        assert!(missed(0.8, None) < 17);
        assert!(missed(0.0, None) < 12);
    }

    #[test]
    fn the_same_steps_give_the_same_interval() {
        let (a, b) = (steps(50, 0.3, 1), steps(60, 0.3, 2));
        assert_eq!(
            differences(&a, &b, Statistic::MEDIAN, f64::ln),
            differences(&a, &b, Statistic::MEDIAN, f64::ln)
        );
        assert_eq!(levels(&a, Statistic::Mean), levels(&a, Statistic::Mean));
    }
}
