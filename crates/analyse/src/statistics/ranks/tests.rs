use super::*;

const A: [f64; 9] = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
#[expect(clippy::approx_constant, reason = "a measurement")]
const B: [f64; 9] = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.061, 3.14, 1.291];

#[test]
fn p_values_are_as_scipy_says() {
    // scipy.stats.mannwhitneyu(A, B, method="exact"), SciPy 1.17.1.
    assert!((mann_whitney(&A, &B).unwrap() - 0.13591114767585355).abs() < 1e-12);
    // With ties: scipy.stats.permutation_test of the same statistic over all 462 choices.
    let tied = mann_whitney(&[1.0, 2.0, 2.0, 3.0, 5.0], &[2.0, 4.0, 5.0, 5.0, 6.0, 7.0]).unwrap();
    assert!((tied - 0.08225108225108226).abs() < 1e-12, "{tied}");
    // Many values: method="asymptotic" with the correction for ties and continuity.
    let x: Vec<f64> = (0..40).map(|i| f64::from(i * 37 % 101) / 10.0).collect();
    let y: Vec<f64> = (0..45).map(|i| f64::from(i * 53 % 97) / 10.0 + 0.9).collect();
    assert!((mann_whitney(&x, &y).unwrap() - 0.5090057831976251).abs() < 1e-6);
    assert_eq!(mann_whitney(&[3.0; 40], &[3.0; 40]), Some(1.0));
    assert_eq!(mann_whitney(&[], &B), None);
}

#[test]
fn intervals_leave_out_what_the_test_allows() {
    // The largest u with P(U <= u) <= 0.025, counted by the recurrence of Mann and Whitney.
    for (n, m, u) in [(4, 4, 0), (5, 5, 2), (10, 10, 23), (3, 5, 0), (9, 9, 17)] {
        assert_eq!(outer_pairs(n, m, 0.025), Some(u), "{n} and {m}");
    }
    assert_eq!(outer_pairs(3, 3, 0.025), None);
    // Where exact counting ends, the approximation takes over without a step.
    let (exact, near) = (outer_pairs(30, 30, 0.025).unwrap(), outer_pairs(30, 31, 0.025).unwrap());
    assert!(near > exact && near - exact < 30, "{exact} {near}");
}

#[test]
fn the_interval_excludes_zero_when_the_test_rejects() {
    let shifted: Vec<f64> = A.iter().map(|v| v + 1.5).collect();
    let (shift, interval) = hodges_lehmann(&A, &shifted, 0.95).unwrap();
    let (low, high) = interval.unwrap();
    assert!((shift - 1.5).abs() < 1e-12 && low < 1.5 && 1.5 < high);
    assert_eq!(low > 0.0, mann_whitney(&A, &shifted).unwrap() <= 0.05);
    let (_, wide) = hodges_lehmann(&A, &B, 0.95).unwrap();
    assert!(wide.unwrap().0 < 0.0 && wide.unwrap().1 > 0.0);
    assert_eq!(hodges_lehmann(&[1.0, 2.0, 3.0], &[9.0, 10.0, 11.0], 0.95), Some((8.0, None)));
}

#[test]
fn a_median_is_between_two_of_its_values() {
    // n = 10: P(at most 1 of 10 below) = 11/1024 = 1.1%, at most 2: 5.5%. So the second and the ninth.
    let ten: Vec<f64> = (1..=10).map(f64::from).collect();
    assert_eq!(median_interval(&ten, 0.95), Some((5.5, Some((2.0, 9.0)))));
    assert_eq!(median_interval(&ten[..5], 0.95), Some((3.0, None)));
    let (_, many) = median_interval(&(1..=5_000).map(f64::from).collect::<Vec<_>>(), 0.95).unwrap();
    // 2,500 ± 1.96 * sqrt(5,000) / 2.
    assert!((many.unwrap().0 - 2431.0).abs() <= 2.0, "{many:?}");
}
