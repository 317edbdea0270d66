use proptest::prelude::*;

use super::*;

fn histogram_of(values: &[u64]) -> DurationHistogram {
    let mut sketch = Sketch::default();
    values.iter().for_each(|value| sketch.record(*value));
    DurationHistogram::from_sketch(&sketch)
}

/// The bounds of a bucket, in nanoseconds.
fn bounds(bucket: i32) -> (f64, f64) {
    ((f64::from(bucket) / 256.0).exp2() * 1e9, (f64::from(bucket + 1) / 256.0).exp2() * 1e9)
}

#[test]
fn nanoseconds_become_seconds_without_a_bias() {
    // Many latencies, evenly spread over their logarithms: a shift by whole buckets would move their mean by 0.62%.
    let values: Vec<u64> =
        (0..40_000).map(|n| (1e6 * (f64::from(n) / 40_000.0 * 10.0).exp2()) as u64).collect();
    let spread = histogram_of(&values);
    let middle = |bucket: i32| (f64::from(bucket) + 0.5) / 256.0 * std::f64::consts::LN_2 + 1e9_f64.ln();
    let found: f64 = spread.buckets.iter().map(|(bucket, count)| middle(*bucket) * *count as f64).sum();
    let exact: f64 = values.iter().map(|value| (*value as f64).ln()).sum();
    let bias = (found - exact) / values.len() as f64;
    assert!(bias.abs() < 0.001, "off by {:.3}%", bias * 100.0);
}

#[test]
fn a_second_lies_where_the_middle_of_its_bucket_does() {
    // 1 s = 2^0 s; its bucket of nanoseconds, (2^(956/32), 2^(957/32)], is 0.9848 s to 1.0062 s with 0.9954 s in its middle.
    // log2(0.9954) * 256 = -1.71, so bucket -2 of scale 8.
    let spread = histogram_of(&[1_000_000_000]);
    assert_eq!(spread.buckets, BTreeMap::from([(-2, 1)]));
    assert_eq!((spread.count, spread.sum_ns, spread.zeros), (1, 1_000_000_000, 0));
}

#[test]
fn bounds_count_what_is_clearly_inside() {
    let values = [0, 1_000, 95_000_000, 98_000_000, 102_000_000, 200_000_000];
    let spread = histogram_of(&values);
    assert_eq!(spread.at_most(100_000_000), 4);
    assert_eq!(spread.at_most(1), 1);
    assert_eq!(spread.at_most(u64::MAX), 6);
    assert_eq!((spread.min_ns, spread.max_ns), (Some(0), Some(200_000_000)));
}

#[test]
fn fewer_buckets_hold_the_same() {
    let spread = histogram_of(&(1..2_000).map(|n| n * 1_000_000).collect::<Vec<_>>());
    let (scale, buckets) = spread.narrowed(160);
    assert!(scale < SCALE && buckets.len() <= 160);
    assert_eq!(buckets.values().sum::<u64>(), 1_999);
    let (first, last) = (*buckets.keys().next().unwrap(), *buckets.keys().last().unwrap());
    assert!(last - first < 160);
    assert_eq!(histogram_of(&[5]).narrowed(160), (SCALE, histogram_of(&[5]).buckets));
    assert_eq!(DurationHistogram::default().narrowed(160), (SCALE, BTreeMap::new()));
}

#[test]
fn damage_is_seen() {
    let mut spread = histogram_of(&[1, 2, 3]);
    assert!(spread.is_sane());
    spread.count = 4;
    assert!(!spread.is_sane());
}

proptest! {
    #[test]
    fn every_duration_is_near_its_bucket(value in 1_u64..1 << 50) {
        let spread = histogram_of(&[value]);
        let (low, high) = bounds(*spread.buckets.keys().next().unwrap());
        let value = value as f64;
        prop_assert!(high / value < 1.0137 && value / low < 1.0137, "{value} in {low}..{high}");
        prop_assert!(spread.at_most((value * 1.0124).ceil() as u64 + 1) == 1);
        // Fewer than 100 ns are whole numbers too far apart for shares of them.
        prop_assert!(value < 100.0 || spread.at_most((value / 1.0124) as u64) == 0);
    }

    #[test]
    fn adding_is_counting_in_one(values in prop::collection::vec((0_u64..1 << 40).prop_map(|v| if v < 1_000 { 0 } else { v }), 0..100), cut in 0_usize..100) {
        let cut = cut.min(values.len());
        let mut parts = histogram_of(&values[..cut]);
        parts.add(&histogram_of(&values[cut..]));
        prop_assert_eq!(&parts, &histogram_of(&values));
        let mut through: DurationHistogram = serde_json::from_str(&serde_json::to_string(&parts).unwrap()).unwrap();
        prop_assert_eq!(&through, &parts);
        through.sum_ns = u128::from(u64::MAX) * 5;
        prop_assert_eq!(serde_json::from_str::<DurationHistogram>(&serde_json::to_string(&through).unwrap()).unwrap(), through);
    }
}
