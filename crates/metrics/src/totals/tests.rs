use std::collections::BTreeMap;

use stepscope_service::{Minute, RegionStats, Sketch, TargetCount};

use super::*;

fn stats(latencies: &[u64], targets: &[(&str, u64)]) -> RouteStats {
    let mut latency = Sketch::default();
    latencies.iter().for_each(|ns| latency.record(*ns));
    let requests = latencies.len() as u64;
    let targets =
        targets.iter().map(|(text, missed)| ((*text).to_owned(), TargetCount { requests, missed: *missed }));
    RouteStats { latency, targets: targets.collect(), ..RouteStats::default() }
}

fn hour(minutes: Vec<BTreeMap<String, RouteStats>>) -> Hour {
    let minutes = minutes.into_iter().enumerate();
    let minutes = minutes.map(|(at, routes)| (at as i64, Minute { routes, ..Minute::default() }));
    Hour { minutes: minutes.collect(), ..Hour::default() }
}

#[test]
fn counts_at_a_target_are_exact_and_the_others_within_the_error() {
    // All of these are in one bucket of the histogram (99.2 ms to 101.3 ms), which a bound of 100 ms cuts in two.
    let minute =
        stats(&[99_300_000, 99_900_000, 100_000_000, 101_000_000], &[("p95<100ms", 2), ("p99<=100ms", 1)]);
    let of_minute = RouteTotals::from_stats(&minute);
    let rounded = of_minute.latency.at_most(100_000_000);
    assert!(rounded == 0 || rounded == 4, "{rounded}");
    let found: BTreeMap<u64, u64> = of_minute.at_most(&[50_000_000, 250_000_000]).into_iter().collect();
    // One bound, two targets: that of `<=` is the one that `le` means.
    assert_eq!(found, BTreeMap::from([(50_000_000, 0), (100_000_000, 3), (250_000_000, 4)]));
    let strict = RouteTotals::from_stats(&stats(&[99_300_000, 100_000_000], &[("p95<100ms", 1)]));
    assert_eq!(strict.at_most(&[])[0], (100_000_000, 1));
}

#[test]
fn a_target_that_comes_later_takes_nothing_back() {
    let early = hour(vec![BTreeMap::from([("/a".to_owned(), stats(&[99_900_000; 5], &[]))])]);
    let late = hour(vec![BTreeMap::from([("/a".to_owned(), stats(&[99_900_000; 7], &[("p95<100ms", 0)]))])]);
    let limits = Limits::default();
    let mut totals = Totals::from_hour(&early, limits);
    let before = totals.routes["/a"].latency.at_most(100_000_000);
    totals.add(&Totals::from_hour(&late, limits), limits);
    assert_eq!(totals.routes["/a"].at_most(&[]), [(100_000_000, before + 7)]);
    assert_eq!(totals.routes["/a"].targets["p95<100ms"], TargetTotals { requests: 7, missed: 0 });
}

#[test]
fn counts_up_to_a_bound_rise_with_it() {
    let minute = stats(&[99_900_000, 99_950_000], &[("p95<=99960us", 0)]);
    let found = RouteTotals::from_stats(&minute).at_most(&[99_970_000, 99_980_000, 1_000_000_000]);
    assert_eq!(found.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [2, 2, 2, 2]);
}

#[test]
fn names_beyond_the_limits_count_as_other() {
    let limits = Limits { routes: 3, regions: 4, targets: 2 };
    let mut routes = BTreeMap::new();
    for route in 0..10 {
        let mut of = stats(&[1_000; 2], &[("p90<1s", 0), ("p95<2s", 0), ("p99<3s", 0)]);
        for region in 0..3 {
            let mut duration = Sketch::default();
            duration.record(500);
            of.regions.insert(format!("region {region}"), RegionStats { duration, self_ns: 500 });
        }
        routes.insert(format!("/{route}"), of);
    }
    let totals = Totals::from_hour(&hour(vec![routes.clone(), routes]), limits);
    assert_eq!(totals.requests(), 40);
    assert_eq!(totals.routes.keys().collect::<Vec<_>>(), ["(other)", "/0", "/1", "/2"]);
    assert_eq!(totals.routes[OTHER].latency.count, 28);
    // Regions of all routes: the limit, and one that takes the rest for each route.
    let regions: usize = totals.routes.values().map(|route| route.regions.len()).sum();
    assert!(regions <= 4 + 4, "{regions}");
    let inside: u64 = totals.routes.values().flat_map(|r| r.regions.values()).map(|r| r.duration.count).sum();
    assert_eq!(inside, 60);
    assert!(totals.routes.values().all(|route| route.targets.len() == 2 && route.corrections.len() == 2));
    assert!(totals.is_sane());
}

#[test]
fn a_look_that_finds_less_takes_nothing_back() {
    let limits = Limits::default();
    let minute = |a: usize, b: usize| {
        let routes = BTreeMap::from([
            ("/a".to_owned(), stats(&vec![5; a], &[])),
            ("/b".to_owned(), stats(&vec![5; b], &[])),
        ]);
        Totals::from_hour(&hour(vec![routes]), limits)
    };
    let mut totals = minute(5, 5);
    totals.grow(minute(3, 8));
    assert_eq!((totals.routes["/a"].latency.count, totals.routes["/b"].latency.count), (5, 8));
    totals.grow(Totals::default());
    assert_eq!(totals.requests(), 13);
}
