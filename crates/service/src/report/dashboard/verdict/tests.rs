use std::collections::BTreeMap;
use std::fs;

use super::bursts::{find, worst};
use super::*;
use crate::block::{Block, Gauges};
use crate::hours::Hours;
use crate::period::Period;
use crate::report::dashboard::CounterSeries;
use crate::segment::{self, Name, Process};
use crate::service_dir::ServiceDir;
use crate::stats::{RegionStats, RouteStats, TargetCount};

/// Tuesday, November 17, 2026, 03:00 UTC.
const NOW: i64 = 20_774 * 1_440 + 180;
const NOW_NS: i64 = NOW * MINUTE_NS;
/// When inference became slow, and when errors came for a while.
const SLOW_AT: i64 = NOW - 54;
const ERRORS_AT: i64 = NOW - 190;
const MS: u64 = 1_000_000;

/// 50 requests, five of them slower; 9 ms of each are outside of inference. Levels that are read off a histogram are off by up to
/// 1.09%.
fn route(usual_ms: u64, slower_ms: u64, failed: u64, targets: &[(&str, u64)]) -> RouteStats {
    let mut stats = RouteStats { errors: failed, ..RouteStats::default() };
    let mut inference = RegionStats::default();
    for n in 0..50 {
        let latency_ns = if n < 5 { slower_ms } else { usual_ms } * MS;
        stats.latency.record(latency_ns);
        inference.duration.record(latency_ns - 9 * MS);
        inference.self_ns += latency_ns - 9 * MS;
    }
    stats.regions.insert("inference".to_owned(), inference);
    let targets = targets
        .iter()
        .map(|(name, missed)| ((*name).to_owned(), TargetCount { requests: 50, missed: *missed }));
    stats.targets = targets.collect();
    stats
}

fn exemplar(minute: i64, latency_ms: u64, failed: bool) -> Exemplar {
    Exemplar {
        route: "/predict".to_owned(),
        id: String::new(),
        ended_ns: minute * MINUTE_NS,
        latency_ns: latency_ms * MS,
        failed,
        samples: 1,
        process: 1,
        spans: Vec::new(),
        stack: Vec::new(),
        profile: None,
        slow: true,
        key: minute as u64,
        block: 0,
    }
}

/// Six hours of a service: `/predict` takes 40 ms (p95: 64 ms) and, with trouble, 105 ms (p95: 190 ms) in its last 54
/// minutes; for 14 minutes before that six of fifty requests fail.
fn service(name: &str, trouble: bool) -> ServiceDashboard {
    let folder = std::env::temp_dir().join(format!("stepscope-verdict-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for minute in NOW - 360..NOW {
        let slow = trouble && minute >= SLOW_AT;
        let failed = if trouble && (ERRORS_AT..ERRORS_AT + 14).contains(&minute) { 6 } else { 0 };
        let (usual_ms, slower_ms) = if slow { (105, 190) } else { (40, 64) };
        let targets = [("p95<70ms", if slow { 50 } else { 0 }), ("error_rate<10%", failed)];
        let routes = [
            ("/predict", route(usual_ms, slower_ms, failed, &targets)),
            ("/embed", route(12, 20, 0, &[("p99<=50ms", 0)])),
        ];
        let block = Block {
            minute,
            sequence: minute as u64,
            gauges: Gauges { watched_ns: MINUTE_NS as u64, ..Gauges::default() },
            routes: BTreeMap::from(routes.map(|(name, stats)| (name.to_owned(), stats))),
            exemplars: match minute {
                _ if minute == SLOW_AT + 9 => vec![exemplar(minute, 300, false)],
                _ if minute == SLOW_AT - 9 => vec![exemplar(minute, 500, false)],
                _ if minute == ERRORS_AT + 1 => vec![exemplar(minute, 70, true)],
                _ => Vec::new(),
            },
        };
        let process = Process { host: "h".to_owned(), id: 1, token: 1 };
        let name = Name { hour: minute.div_euclid(60), process, open: false };
        segment::append(&folder.join(name.text()), &block).unwrap();
    }
    let hours = Hours::new(ServiceDir::open(&folder).unwrap());
    let period = Period { from: NOW - 360, until: NOW };
    let made = ServiceDashboard::make(&hours, period, None).unwrap();
    fs::remove_dir_all(folder).unwrap();
    ServiceDashboard { newest_ns: Some(NOW_NS - 4_000_000_000), ..made }
}

fn now(of: &ServiceDashboard) -> Verdict {
    Verdict::for_dashboard(of, Some(NOW_NS))
}

fn matter_words(of: &[Concern]) -> Vec<&str> {
    of.iter().map(|matter| matter.word).collect()
}

#[test]
fn trouble_is_named_with_its_route_time_levels_region_and_target() {
    let of = service("trouble", true);
    let verdict = now(&of);
    assert_eq!(
        verdict.first.sentence,
        "/predict has been slow since 02:06 UTC: p95 rose from 64 ms to 190 ms (2.99×); inference grew most."
    );
    // 54 of 60 minutes missed it: 90% by the 5% that may.
    assert_eq!(
        verdict.detail.as_deref(),
        Some(
            "90.0% of requests to /predict missed p95<70ms in the last hour (5.0% may): the error budget is burning 18.0 times too fast."
        )
    );
    let Concern { kind, tone, word, since, until, minutes, route, .. } = &verdict.first;
    assert_eq!((*kind, *tone, *word), (Kind::Slow, Tone::Bad, "Slow"));
    assert_eq!((*since, *until, *minutes, route.as_deref()), (Some(SLOW_AT), None, Some(54), Some("/predict")));
    assert_eq!(verdict.first.pieces[1], Piece::When(When { from: SLOW_AT, until: None, near: NOW }));
    // Said once, not again among the rest.
    assert_eq!(matter_words(&verdict.also), ["Errors earlier"]);
    assert_eq!(
        verdict.also[0].sentence,
        "6.0% of requests failed from Nov 16, 23:50 to Nov 17, 00:04 UTC: 84 requests, most of them of /predict; usually 0.0%."
    );
    // The slowest request of the route since then, not the slower one before.
    assert_eq!(of.exemplars[verdict.example.unwrap()].latency_ns, 300 * MS);
    let errors = Verdict::for_dashboard(
        &ServiceDashboard { changes: Vec::new(), targets: Vec::new(), ..of.clone() },
        None,
    );
    assert_eq!((errors.first.word, errors.first.minutes), ("Errors earlier", Some(14)));
    assert!(of.exemplars[errors.example.unwrap()].failed);

    // Someone who reads it later, or looks at a stretch that has ended, reads so.
    for verdict in
        [Verdict::for_dashboard(&of, None), Verdict::for_dashboard(&of, Some(NOW_NS + 2 * MINUTE_NS))]
    {
        assert!(verdict.first.sentence.starts_with("/predict was slow from 02:06 UTC on: p95 rose"));
    }
    let later = of.clone().for_later();
    assert_eq!((later.newest_ns, later.verdict), (None, Verdict::for_dashboard(&of, None)));

    let text = |terminal: bool, width: usize| {
        let mut out = Vec::new();
        let screen = stepscope_ask::print::Screen { terminal, ..stepscope_ask::print::Screen::plain(width) };
        super::text(&verdict, &mut out, &screen).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(text(false, 60).lines().next(), Some(verdict.first.sentence.as_str()));
    assert!(text(true, 60).lines().all(|line| line.chars().count() <= 60));
    assert!(text(false, 300).contains("\nErrors earlier: 6.0% of requests failed"), "{}", text(false, 300));
    assert!(sentences(&verdict)[0].starts_with("/predict has been slow since"), "{:?}", sentences(&verdict));
}

#[test]
fn a_calm_service_is_fine_with_numbers() {
    let of = service("calm", false);
    let verdict = now(&of);
    assert_eq!((verdict.first.kind, verdict.first.tone), (Kind::Fine, Tone::Good));
    assert_eq!(
        verdict.first.sentence,
        "The service answers 1.67 requests per second, 95% of them within 40.34 ms; none failed; all 3 targets are met."
    );
    assert_eq!((verdict.also.len(), verdict.example, verdict.movers), (0, None, None));

    // Silence is about now only.
    let silent = ServiceDashboard { newest_ns: Some(NOW_NS - 14 * MINUTE_NS), ..of.clone() };
    assert_eq!(Verdict::for_dashboard(&silent, None).first.tone, Tone::Good);

    // A target that was missed without a cause.
    let mut missed = of.clone();
    let target = missed.targets.iter_mut().find(|one| one.target.target == "p95<70ms").unwrap();
    (target.target.kept, target.target.missed) = (false, target.target.requests * 8 / 100);
    let verdict = now(&missed);
    assert_eq!((verdict.first.tone, verdict.first.word), (Tone::Warn, "Target missed"));
    assert_eq!(
        verdict.first.sentence,
        "8.0% of requests to /predict missed p95<70ms over the period (5.0% may)."
    );

    let mut nothing = of;
    nothing.total.requests = 0;
    assert_eq!((now(&nothing).first.tone, now(&nothing).first.word), (Tone::None, "No requests"));
}

#[test]
fn silence_comes_before_everything_else() {
    let of = service("silent", true);
    let silent = ServiceDashboard { newest_ns: Some(NOW_NS - 14 * MINUTE_NS), ..of };
    let verdict = now(&silent);
    assert_eq!(
        (verdict.first.word, verdict.first.sentence.as_str()),
        (
            "No data",
            "Nothing has been written since 02:46 UTC, for 14 minutes: the service gets no requests, or is down."
        )
    );
    assert_eq!(verdict.also[0].kind, Kind::Target);
    let brief = ServiceDashboard { newest_ns: Some(NOW_NS - 3 * MINUTE_NS), ..silent };
    assert_eq!(now(&brief).first.kind, Kind::Slow);
}

#[test]
fn errors_that_go_on_are_worse_than_a_slow_level() {
    let mut of = service("errors", true);
    of.targets.clear();
    of.series.errors = of
        .minutes
        .iter()
        .zip(&of.series.requests)
        .map(|(m, n)| if *m > NOW - 10 { n / 5 } else { 0 })
        .collect();
    let verdict = now(&of);
    assert_eq!((verdict.first.kind, verdict.first.word), (Kind::Errors, "Errors"));
    assert!(verdict.first.sentence.starts_with("20.0% of requests failed since 02:52 UTC: 160 requests"));
    assert!(verdict.also[0].sentence.starts_with("/predict has been slow"));
}

fn level(minute: i64, before_ms: u64, after_ms: u64) -> LevelChange {
    LevelChange {
        route: "/a".to_owned(),
        metric: "p95",
        minute,
        before_ns: before_ms * MS,
        after_ns: after_ms * MS,
        pace: Pace::between(before_ms * MS, after_ms * MS),
        p: 0.001,
        grew: None,
    }
}

#[test]
fn a_level_that_rose_lasts_until_it_is_back() {
    let rise = |changes: &[LevelChange]| {
        rises::of_metric(&changes.iter().collect::<Vec<_>>())
            .map(|rise| (rise.minute, rise.until, rise.before_ns / MS, rise.after_ns / MS))
    };
    let rose = level(10, 40, 130);
    assert_eq!(rise(std::slice::from_ref(&rose)), Some((10, None, 40, 130)));
    assert_eq!(rise(&[rose.clone(), level(30, 130, 41)]), Some((10, Some(30), 40, 130)));
    // Halfway back it lasts, at the level it has now.
    assert_eq!(rise(&[rose.clone(), level(30, 130, 90)]), Some((10, None, 40, 90)));
    // The latest of several.
    assert_eq!(rise(&[rose, level(30, 130, 40), level(50, 40, 60)]), Some((50, None, 40, 60)));
    assert_eq!(rise(&[level(10, 130, 40)]), None);
    // A middle that moved alone counts; a p95 that lasts comes before it.
    let middle = LevelChange { metric: "p50", ..level(20, 40, 60) };
    let over = [level(10, 40, 130), level(30, 130, 41)];
    let route = |changes: &[&LevelChange]| rises::of_route(changes).map(|rise| rise.metric);
    assert_eq!(route(&[&middle]), Some("p50"));
    assert_eq!(route(&[&over[0], &middle]), Some("p95"));
    assert_eq!(route(&[&over[0], &middle, &over[1]]), Some("p50"));
}

#[test]
fn errors_are_a_burst_where_they_are_far_more_than_usual() {
    let (requests, usual) = ([1_000; 60], [2; 60]);
    assert_eq!(find(&requests, &usual), []);
    assert_eq!(find(&[3, 4, 2], &[1, 0, 1]), []);
    assert_eq!(find(&[], &[]), []);
    // One from its first point to its last, with a short break.
    let mut errors = usual;
    (20..30).filter(|at| *at != 25).for_each(|at| errors[at] = 80);
    let burst = worst(&requests, &errors).unwrap();
    assert_eq!((burst.from, burst.to, burst.errors, burst.requests), (20, 29, 9 * 80, 9_000));
    assert_eq!((burst.usual, burst.lasts), (0.002, false));
    // It goes on if the newest point, or the one before it, has them, however many there were earlier.
    errors[58] = 40;
    let burst = worst(&requests, &errors).unwrap();
    assert_eq!((burst.from, burst.lasts), (58, true));
    (errors[58], errors[50]) = (2, 40);
    assert_eq!(worst(&requests, &errors).unwrap().from, 20);
}

#[test]
fn counters_that_moved_with_the_latency_are_found_and_no_other() {
    let minutes: Vec<i64> = (NOW - 120..NOW).collect();
    let counter = |name: &str, unit: &str, value: &dyn Fn(i64) -> f64| CounterSeries {
        name: name.to_owned(),
        unit: unit.to_owned(),
        device: Some("GPU 0".to_owned()),
        values: minutes.iter().map(|minute| Some(value(*minute))).collect(),
    };
    let wobble = |minute: i64| (minute * 37 % 100) as f64 / 100.0;
    let slow = |minute: i64| if minute >= SLOW_AT { 1.0 } else { 0.0 };
    let counters = [
        counter("GPU busy", "percent", &|m| 50.0 + 4.0 * wobble(m) + 26.0 * slow(m)),
        counter("GPU power", "watts", &|m| 400.0 + 12.0 * wobble(m) - 190.0 * slow(m)),
        counter("GPU memory", "bytes", &|m| (41.0 + 0.4 * wobble(m)) * f64::from(1 << 30)),
        // Moved, but less than it wanders.
        counter("CPU busy", "percent", &|m| 30.0 + 20.0 * wobble(m) + 5.0 * slow(m)),
        // Still until then, and moved by less than matters.
        counter("GPU temperature", "celsius", &|m| 54.0 + slow(m)),
    ];
    let found = movers::at(SLOW_AT, &minutes, &counters).unwrap();
    let names: Vec<&str> = found.iter().map(|mover| mover.name.as_str()).collect();
    assert_eq!(names, ["GPU power", "GPU busy"]);
    assert!((found[0].before - 406.0).abs() < 0.5 && (found[0].after - 216.0).abs() < 0.5, "{found:?}");
    assert_eq!(movers::at(NOW - 100, &minutes, &counters).map(|found| found.len()), Some(0));
    // Two points, or no counters, tell nothing.
    assert_eq!(movers::at(NOW - 2, &minutes, &counters), None);
    assert_eq!(movers::at(SLOW_AT, &minutes, &[]), None);
    let verdict = Verdict { movers: Some(found), ..Verdict::default() };
    assert!(sentences(&verdict).contains(&"Moved with it: GPU power, GPU 0, from 406 W to 216 W.".to_owned()));
}
