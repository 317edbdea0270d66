//! Count, mean, deviation and quartiles of many values, as pandas' `describe` gives them and HTA prints them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::scope::definition::{Definition, definitions};

pub const DEFINITIONS: &[Definition] = definitions! {
    "count", "Count" => "How many values there are.";
    "mean", "Mean" => "Their sum over their count.";
    "std", "Std" => "Sample standard deviation: the root of the squared distances from the mean over count less one.";
    "p25", "25%" =>
        "The value a quarter of the way through the sorted values, between two neighbors in proportion; likewise 50% and \
         75%.";
};

/// What pandas' `describe` says about a column of numbers. All but the count are missing where there is no value,
/// and the deviation also where there is only one.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Describe {
    pub count: u64,
    pub mean: Option<f64>,
    pub std: Option<f64>,
    pub min: Option<f64>,
    pub p25: Option<f64>,
    pub p50: Option<f64>,
    pub p75: Option<f64>,
    pub max: Option<f64>,
}

impl Describe {
    pub fn from_values(mut values: Vec<i64>) -> Describe {
        values.sort_unstable();
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else { return Describe::default() };
        let count = values.len();
        // Summed as integers: a long column of nanoseconds would lose digits in a float.
        let sum: i128 = values.iter().map(|&v| i128::from(v)).sum();
        let mean = sum as f64 / count as f64;
        let squares: f64 = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum();
        let quantile = |q: f64| {
            let at = q * (count - 1) as f64;
            let (low, high) = (values[at as usize] as f64, values[(at.ceil() as usize).min(count - 1)] as f64);
            low + (high - low) * at.fract()
        };
        Describe {
            count: count as u64,
            mean: Some(mean),
            std: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            min: Some(min as f64),
            p25: Some(quantile(0.25)),
            p50: Some(quantile(0.5)),
            p75: Some(quantile(0.75)),
            max: Some(max as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        let d = Describe::from_values(vec![4, 1, 2, 9]);
        assert_eq!((d.count, d.mean, d.min, d.max), (4, Some(4.0), Some(1.0), Some(9.0)));
        assert_eq!((d.p25, d.p50, d.p75), (Some(1.75), Some(3.0), Some(5.25)));
        // Squared distances 9, 4, 0 and 25.
        assert_eq!(d.std, Some((38.0f64 / 3.0).sqrt()));
        assert_eq!(Describe::from_values(vec![7]).std, None);
        assert_eq!(Describe::from_values(Vec::new()), Describe::default());
    }
}
