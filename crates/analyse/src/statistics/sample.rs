//! Measurements in groups: one group per repeat of a run, one value per step.

/// Which number summarizes the values of a repeat.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Statistic {
    /// Their sum divided by their count: what throughput follows.
    Mean,
    /// The quantile with this share of the values below it, interpolated; 0.5 is the median.
    Quantile(f64),
}

impl Statistic {
    pub const MEDIAN: Self = Self::Quantile(0.5);

    /// The number for these values, in any order; `None` without values. Reorders them.
    pub fn compute(self, values: &mut [f64]) -> Option<f64> {
        match self {
            _ if values.is_empty() => None,
            Self::Mean => Some(values.iter().sum::<f64>() / values.len() as f64),
            Self::Quantile(share) => {
                let at = share.clamp(0.0, 1.0) * (values.len() - 1) as f64;
                let below = at.floor() as usize;
                let (_, &mut low, above) = values.select_nth_unstable_by(below, f64::total_cmp);
                let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
                Some(low + (high - low) * (at - below as f64))
            }
        }
    }
}

/// Measurements of one thing: a group for each repeat of the run, in each group the values of its steps in order.
///
/// Steps of one run are not independent of each other: what slowed one down (another program, a warm chip, the place of
/// a buffer) slows its neighbors too. Repeats are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    groups: Vec<Vec<f64>>,
}

impl Sample {
    /// A sample of these groups. Values that are not finite numbers, and groups without values, are left out.
    pub fn new(groups: impl IntoIterator<Item = Vec<f64>>) -> Self {
        let groups = groups.into_iter().map(|mut group| {
            group.retain(|value| value.is_finite());
            group
        });
        Self { groups: groups.filter(|group| !group.is_empty()).collect() }
    }

    /// A sample with one value per repeat.
    pub fn of_repeats(values: impl IntoIterator<Item = f64>) -> Self {
        Self::new(values.into_iter().map(|value| vec![value]))
    }

    /// A sample of one run: the values of its steps, in order.
    pub fn of_steps(values: impl IntoIterator<Item = f64>) -> Self {
        Self::new([values.into_iter().collect()])
    }

    /// The groups: one per repeat.
    pub fn groups(&self) -> &[Vec<f64>] {
        &self.groups
    }

    pub fn repeats(&self) -> usize {
        self.groups.len()
    }

    /// How many values there are in total.
    pub fn values(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    /// One number per repeat.
    pub fn units(&self, statistic: Statistic) -> Vec<f64> {
        self.groups.iter().filter_map(|group| statistic.compute(&mut group.clone())).collect()
    }

    /// The number for the whole sample: the median of its repeats' numbers.
    pub fn center(&self, statistic: Statistic) -> Option<f64> {
        Statistic::MEDIAN.compute(&mut self.units(statistic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated() {
        // numpy.quantile([10, 20, 30, 50], [0.5, 0.95]) is [25, 47].
        let values = [30.0, 10.0, 50.0, 20.0];
        assert_eq!(Statistic::MEDIAN.compute(&mut values.clone()), Some(25.0));
        assert!((Statistic::Quantile(0.95).compute(&mut values.clone()).unwrap() - 47.0).abs() < 1e-12);
        assert_eq!(Statistic::Quantile(1.0).compute(&mut values.clone()), Some(50.0));
        assert_eq!(Statistic::Mean.compute(&mut values.clone()), Some(27.5));
        assert_eq!(Statistic::Mean.compute(&mut []), None);
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let sample = Sample::new([vec![1.0, f64::NAN, 3.0], vec![f64::INFINITY], vec![]]);
        assert_eq!(sample.groups(), [vec![1.0, 3.0]]);
        assert_eq!((sample.repeats(), sample.values(), sample.center(Statistic::Mean)), (1, 2, Some(2.0)));
    }
}
