use super::*;

/// Heavy-tailed noise around 20, then 21, then 20.4.
const SERIES: [f64; 60] = [
    20.0, 19.91, 19.93, 20.01, 19.73, 20.26, 20.03, 19.98, 19.7, 19.34, 19.92, 20.33, 19.94, 19.77, 20.03,
    19.74, 19.7, 17.34, 20.53, 19.98, 20.01, 20.02, 19.16, 20.03, 21.68, 20.65, 21.55, 21.15, 21.24, 20.77,
    20.63, 20.62, 20.64, 21.33, 20.68, 20.52, 20.95, 21.25, 20.67, 21.32, 19.82, 20.35, 20.04, 20.2, 20.48,
    20.54, 20.59, 20.59, 20.64, 20.02, 20.18, 21.38, 20.26, 20.57, 20.34, 20.47, 20.38, 19.81, 19.98, 20.46,
];

#[test]
fn cuts_are_those_of_ruptures() {
    // ruptures 1.1.10: Pelt(model="l1", min_size=..., jump=1).fit_predict(SERIES, pen=...), without the end.
    assert_eq!(segments(&SERIES, 0.5, 2), [24, 29, 36, 40, 44, 49]);
    assert_eq!(segments(&SERIES, 0.5, 5), [24, 29, 40]);
    assert_eq!(segments(&SERIES, 1.0, 2), [24, 29, 40]);
    assert_eq!(segments(&SERIES, 2.0, 5), [24, 40]);
    assert_eq!(segments(&SERIES, 4.0, 2), [24]);
    assert_eq!(segments(&SERIES, 16.0, 2), [0; 0]);
    assert_eq!(segments(&[], 1.0, 2), [0; 0]);
}

#[test]
fn two_changes_are_found_among_outliers() {
    let found = change_points(&SERIES, &ChangeRule::default());
    assert_eq!(found.iter().map(|c| c.at).collect::<Vec<_>>(), [24, 40], "{found:?}");
    assert!((found[0].before - 19.965).abs() < 0.02 && (found[0].after - 20.86).abs() < 0.2, "{found:?}");
    assert!(found.iter().all(|c| c.p <= 0.01));
    // A margin of 3% keeps the first, which is 4.6%, and not the second.
    let large = change_points(&SERIES, &ChangeRule { margin: 0.03, ..ChangeRule::default() });
    assert_eq!(large.iter().map(|c| c.at).collect::<Vec<_>>(), [24]);
}

#[test]
fn noise_alone_is_no_change() {
    let mut random = Random::new(5);
    let found = (0..100).filter(|_| {
        let series: Vec<f64> = (0..50)
            .map(|_| 100.0 + random.normal() + if random.unit() < 0.1 { 10.0 * random.unit() } else { 0.0 })
            .collect();
        !change_points(&series, &ChangeRule { margin: 0.0, significance: 0.01 }).is_empty()
    });
    let found = found.count();
    assert!(found <= 5, "{found} of 100");
}

#[test]
fn counted_values_change_at_once() {
    let mut series = vec![12.0; 8];
    series.extend([13.0; 8]);
    let found = change_points(&series, &ChangeRule::default());
    assert_eq!(found.iter().map(|c| (c.at, c.before, c.after)).collect::<Vec<_>>(), [(8, 12.0, 13.0)]);
    assert!(change_points(&[12.0; 30], &ChangeRule::default()).is_empty());
    assert!(change_points(&[1.0, 9.0], &ChangeRule::default()).is_empty());
    assert!(change_points(&[1.0, f64::NAN, 2.0, 2.0, 2.0], &ChangeRule::default()).is_empty());
}

#[test]
fn a_long_series_takes_bounded_time() {
    let series: Vec<f64> =
        (0..5_000).map(|i| if i < 4_500 { 10.0 } else { 11.0 } + f64::from(i * 7 % 5) / 10.0).collect();
    let found = change_points(&series, &ChangeRule::default());
    assert_eq!(found.iter().map(|c| c.at).collect::<Vec<_>>(), [4_500]);
}
