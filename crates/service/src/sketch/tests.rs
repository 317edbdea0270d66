use proptest::prelude::*;

use super::*;

fn sketch_of(values: &[u64]) -> Sketch {
    let mut sketch = Sketch::default();
    values.iter().for_each(|v| sketch.record(*v));
    sketch
}

#[test]
fn buckets_are_those_of_the_definition() {
    // Scale 5: 32 buckets per doubling; a bucket ends with its upper bound. 2 = 2^(32/32) ends bucket 31, 4 bucket 63.
    // 3: 32 log2 3 = 50.7, so bucket 50. 1,000,000: 32 log2 10^6 = 637.8. 10^9: 956.7. 1 = 2^0 ends bucket -1.
    for (value, bucket) in
        [(1, -1), (2, 31), (3, 50), (4, 63), (5, 74), (1_000_000, 637), (1_000_000_000, 956), (1 << 40, 1279)]
    {
        let (offset, counts) = (sketch_of(&[value]).offset, sketch_of(&[value]).counts);
        assert_eq!((offset, counts.as_slice()), (bucket, [1].as_slice()), "{value}");
    }
    // Each bound of the finest scale, and the value after it: the largest whole number up to the bound is inside.
    for k in 1..64_i32 {
        let bound = (f64::from(k) / 64.0).exp2() * (1_u64 << 40) as f64;
        let inside = bound.floor() as u64;
        assert_eq!(bounds::index(inside), 40 * 64 + k - 1, "{k}");
        assert_eq!(bounds::index(inside + 1), 40 * 64 + k, "{k}");
    }
    assert_eq!(bounds::index(u64::MAX), 64 * 64 - 1);
}

#[test]
fn quantiles_are_ranks_within_the_error() {
    let values: Vec<u64> = (1..=10_000).map(|n| n * 1_000).collect();
    let sketch = sketch_of(&values);
    assert!(sketch.error() < 0.011);
    for (share, rank) in [(0.5, 5_000), (0.9, 9_000), (0.95, 9_500), (0.99, 9_900), (0.999, 9_990)] {
        let (found, exact) = (sketch.quantile(share).unwrap() as f64, values[rank - 1] as f64);
        assert!((found / exact - 1.0).abs() <= sketch.error() + 1e-9, "{share}: {found} is not {exact}");
    }
    assert_eq!((sketch.quantile(0.0), sketch.quantile(1.0)), (Some(1_000), Some(10_000_000)));
    assert_eq!((sketch.count(), sketch.sum(), sketch.mean()), (10_000, 50_005_000_000, Some(5_000_500)));
    assert_eq!((sketch.min(), sketch.max()), (Some(1_000), Some(10_000_000)));
}

#[test]
fn nothing_has_no_quantiles_and_zeros_have() {
    let mut sketch = Sketch::default();
    assert_eq!((sketch.quantile(0.5), sketch.min(), sketch.max(), sketch.mean()), (None, None, None, None));
    sketch.record(0);
    sketch.record(0);
    sketch.record(8);
    assert_eq!((sketch.quantile(0.5), sketch.quantile(0.99), sketch.zeros()), (Some(0), Some(8), 2));
}

#[test]
fn too_wide_a_range_makes_the_scale_coarser() {
    // Eight buckets for 2 to 512: at scale 0 they are those of 2, 4, 8, …, 512, which is nine; so scale -1.
    let mut sketch = Sketch::new(5, 9);
    (1..=9).for_each(|exponent| sketch.record(1 << exponent));
    assert_eq!((sketch.scale, sketch.offset, sketch.counts.as_slice()), (0, 0, [1; 9].as_slice()));
    sketch.record(1 << 10);
    assert_eq!((sketch.scale, sketch.offset), (-1, 0));
    assert_eq!(sketch.counts, [2; 5]);
    sketch.record(u64::MAX);
    sketch.record(1);
    assert!(sketch.counts.len() <= 9);
    assert_eq!(sketch.counts.iter().sum::<u64>(), sketch.count());
}

/// Merging goes through the buckets of a worker once: these must not become more with its values.
#[test]
fn sixty_four_workers_merge_by_their_buckets_and_not_by_their_values() {
    let mut random = 1_u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        100_000 + (random >> 40) * (random >> 60)
    };
    let mut worker = |values: u64| {
        let mut sketch = Sketch::default();
        (0..values).for_each(|_| sketch.record(next()));
        sketch
    };
    let workers: Vec<Sketch> = (0..64).map(|_| worker(10_000)).collect();
    let mut merged = Sketch::default();
    workers.iter().for_each(|worker| merged.merge(worker));
    assert_eq!(merged.count(), 640_000);
    // From 100 µs to 251 ms: 11.3 doublings of 32 buckets each.
    let buckets = |sketch: &Sketch| sketch.buckets().1.len();
    assert!(workers.iter().all(|worker| buckets(worker) <= 364), "{:?}", workers.iter().map(buckets).max());
    assert!(buckets(&merged) <= 364, "{}", buckets(&merged));
    assert!(buckets(&worker(100_000)) <= 364);
}

proptest! {
    #[test]
    fn merging_is_recording_in_one(values in prop::collection::vec(any::<u64>().prop_map(|v| v >> (v % 64)), 0..200),
                                   cut in 0_usize..200, most in 9_usize..64) {
        let cut = cut.min(values.len());
        let record = |values: &[u64]| {
            let mut sketch = Sketch::new(5, most);
            values.iter().for_each(|v| sketch.record(*v));
            sketch
        };
        let whole = record(&values);
        let (mut left, right) = (record(&values[..cut]), record(&values[cut..]));
        let mut other = right.clone();
        other.merge(&left);
        left.merge(&right);
        for merged in [&left, &other] {
            prop_assert_eq!(merged.scale, whole.scale);
            prop_assert_eq!((merged.count, merged.sum, merged.zeros), (whole.count, whole.sum, whole.zeros));
            let trimmed = |s: &Sketch| {
                let first = s.counts.iter().position(|n| *n > 0);
                first.map(|at| (s.offset + at as i32, s.counts[at..].iter().copied().rev().skip_while(|n| *n == 0).collect::<Vec<_>>()))
            };
            prop_assert_eq!(trimmed(merged), trimmed(&whole));
        }
        prop_assert!(whole.counts.len() <= most);
    }

    #[test]
    fn every_value_is_inside_its_bucket(value in any::<u64>().prop_map(|v| (v >> (v % 64)).max(1))) {
        let sketch = sketch_of(&[value]);
        let (low, high) = (bounds::start(sketch.offset, sketch.scale), bounds::start(sketch.offset + 1, sketch.scale));
        let value = value as f64;
        prop_assert!(low * (1.0 - 1e-12) < value && value <= high * (1.0 + 1e-12), "{value} is not in {low}..{high}");
    }
}
