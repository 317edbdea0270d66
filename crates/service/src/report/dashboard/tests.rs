use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::block::{Block, Gauges};
use crate::segment::{self, Name, Process};
use crate::service_dir::ServiceDir;
use crate::stats::{RegionStats, RouteStats, TargetCount};

/// 2026-08-14T00:00Z
const DAY: i64 = 20_679 * 1_440;
const MS: u64 = 1_000_000;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("stepscope-dashboard-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn route(requests: u64, latency_ns: u64, missed: u64) -> RouteStats {
    let mut stats = RouteStats { errors: 1, ..RouteStats::default() };
    let mut inference = RegionStats::default();
    for n in 0..requests {
        let latency = latency_ns + n * 1_000;
        stats.latency.record(latency);
        inference.duration.record(latency * 3 / 4);
        inference.self_ns += latency * 3 / 4;
    }
    stats.regions.insert("inference".to_owned(), inference);
    stats.targets.insert("p95<100ms".to_owned(), TargetCount { requests, missed });
    stats
}

/// A minute of two processes: `/predict` takes 10 ms before noon and 20 ms after, `/health` 1 ms.
fn write_minute(folder: &Path, minute: i64) {
    let slow = minute % 1_440 >= 720;
    for token in 0..2 {
        let routes = [
            ("/predict", route(30, if slow { 20 } else { 10 } * MS, if slow { 3 } else { 0 })),
            ("/health", route(5, MS, 0)),
        ];
        let gauges = Gauges {
            watched_ns: 60_000 * MS,
            cpu_ns: 15_000 * MS,
            max_rss_bytes: 1 << 30,
            ..Gauges::default()
        };
        let block = Block {
            minute,
            sequence: minute as u64,
            gauges,
            routes: routes.map(|(name, stats)| (name.to_owned(), stats)).into(),
            exemplars: Vec::new(),
        };
        let process = Process { host: "h".to_owned(), id: 1, token };
        let name = Name { hour: minute.div_euclid(60), process, open: false };
        segment::append(&folder.join(name.text()), &block).unwrap();
    }
}

#[test]
fn a_day_on_one_axis() {
    let folder = folder("day");
    // Nothing in the first hour: a restart.
    (60..1_440).for_each(|minute| write_minute(&folder, DAY + minute));
    let hours = Hours::new(ServiceDir::open(&folder).unwrap());
    let period = Period { from: DAY, until: DAY + 1_440 };
    let all = ServiceDashboard::make(&hours, period, None).unwrap();
    assert_eq!((all.point_minutes, all.minutes.len(), all.processes), (10, 144, 2));
    assert_eq!((all.minutes[0], all.first, all.last), (DAY, Some(DAY + 60), Some(DAY + 1_439)));
    // Of 24 hours 23 were counted.
    assert!((all.total.per_second - all.total.requests as f64 / (23.0 * 3_600.0)).abs() < 1e-9);
    // Every list is as long as the axis, and gaps are gaps.
    let series = &all.series;
    for values in [&series.p50_ns, &series.p90_ns, &series.p95_ns, &series.p99_ns, &series.max_ns] {
        assert_eq!(values.len(), 144);
        assert!(values[..6].iter().all(Option::is_none) && values[6..].iter().all(Option::is_some));
    }
    // 2 processes, 10 minutes, 35 requests; all of them are in the heat map.
    assert_eq!((series.requests[5], series.requests[6], series.errors[6]), (0, 700, 40));
    assert_eq!(series.requests.iter().sum::<u64>(), all.total.requests);
    assert_eq!(all.heat.bounds_ns.len(), all.heat.counts[0].len() + 1);
    for (requests, counts) in series.requests.iter().zip(&all.heat.counts) {
        assert_eq!(*requests, counts.iter().sum::<u64>());
    }
    let slowest = all.heat.counts[143].iter().rposition(|count| *count > 0).unwrap();
    assert!(all.heat.bounds_ns[slowest] <= 20.03e6 && 20.0e6 <= all.heat.bounds_ns[slowest + 1]);
    // Three quarters of the time are inference, the rest is outside.
    let names: Vec<&str> = all.regions.iter().map(|region| region.name.as_str()).collect();
    assert_eq!(names, ["inference", OUTSIDE]);
    assert!((all.regions[0].share - 0.75).abs() < 0.01 && (all.regions[1].share - 0.25).abs() < 0.01);
    // A quarter of a core each, and two processes of a gigabyte.
    let values: Vec<_> = all.counters.iter().map(|counter| counter.values[100].unwrap()).collect();
    assert_eq!(values, [50.0, 2.0 * f64::from(1 << 30)]);
    assert_eq!(all.counters[0].values[3], None);

    // Found at noon, with its region.
    let change = all.changes.iter().find(|change| change.metric == "p95").unwrap();
    assert_eq!((change.route.as_str(), change.minute), ("/predict", DAY + 720));
    assert_eq!(change.grew.as_ref().unwrap().region, "inference");
    let happened: Vec<_> = all.happened.iter().map(|one| (one.minute, one.kind)).collect();
    assert_eq!(happened, [(DAY + 720, ServiceEventKind::Worse); 2]);
    let text = &all.happened[1].text;
    assert!(
        text.starts_with("p95 of /predict went from 10.0 ms to 20 ms (+99.") && text.ends_with(" per request"),
        "{text}"
    );
    assert!(
        all.clone()
            .for_later()
            .verdict
            .first
            .sentence
            .starts_with("/predict was slow from Aug 14, 12:00 UTC on")
    );

    // One route is that route alone; the table of routes stays.
    let one = ServiceDashboard::make(&hours, period, Some("/health")).unwrap();
    assert_eq!((one.total.requests, one.routes.len(), one.targets.len()), (1_380 * 10, 2, 1));
    assert_eq!(one.series.requests.iter().sum::<u64>(), 1_380 * 10);
    assert!(one.changes.is_empty() && one.total.max_ns < 2 * MS);
    let share: f64 = one.routes.iter().map(|row| row.time_share).sum();
    assert!((share - 1.0).abs() < 1e-9);

    // 3 of 30 missed a target that allows 5%: twice the budget, at every point of the afternoon.
    let target = all.targets.iter().find(|target| target.target.route == "/predict").unwrap();
    assert_eq!(target.burn_over_time[..6], [None; 6]);
    assert_eq!((target.burn_over_time[10], target.burn_over_time[100]), (Some(0.0), Some(2.0)));

    let nobody = ServiceDashboard::make(&hours, period, Some("/nothing")).unwrap();
    assert_eq!((nobody.total.requests, nobody.heat.counts.len()), (0, 0));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_remembered_is_what_would_be_read() {
    let folder = folder("memory");
    (0..1_440).for_each(|minute| write_minute(&folder, DAY + minute));
    let hours = Hours::new(ServiceDir::open(&folder).unwrap());
    let json = |hours: &Hours, period| {
        serde_json::to_value(ServiceDashboard::make(hours, period, None).unwrap()).unwrap()
    };
    let day = Period { from: DAY, until: DAY + 1_440 };
    // From and until in the middle of an hour and of a point.
    let part = Period { from: DAY + 13, until: DAY + 1_337 };
    let fresh = || Hours::new(ServiceDir::open(&folder).unwrap());
    let (whole, cut) = (json(&fresh(), day), json(&fresh(), part));
    for _ in 0..2 {
        assert_eq!(json(&hours, day), whole);
        assert_eq!(json(&hours, part), cut);
    }
    assert_eq!(cut["total"]["requests"], (1_337 - 13) * 70);
    // A file that grows is read again.
    write_minute(&folder, DAY + 7);
    assert_eq!(json(&hours, day)["total"]["requests"], 1_441 * 70);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_page_over_a_week_reads_the_week_once() {
    let folder = folder("week");
    (0..7 * 1_440).for_each(|minute| write_minute(&folder, DAY + minute));
    let hours = Hours::new(ServiceDir::open(&folder).unwrap());
    let week = Period { from: DAY, until: DAY + 7 * 1_440 };
    let make = || {
        let made = ServiceDashboard::make(&hours, week, None).unwrap();
        assert_eq!((made.total.requests, made.minutes.len()), (7 * 1_440 * 70, 168));
    };
    make();
    // The same names and sizes, and nothing in them that can be read: whoever reads them again finds nothing.
    for file in segment::list(&folder).unwrap().into_iter().map(|(_, path, _)| path) {
        let length = fs::metadata(&file).unwrap().len();
        fs::write(&file, vec![0; usize::try_from(length).unwrap()]).unwrap();
    }
    make();
    let fresh = Hours::new(ServiceDir::open(&folder).unwrap());
    assert_eq!(ServiceDashboard::make(&fresh, week, None).map_or(0, |made| made.total.requests), 0);
    fs::remove_dir_all(folder).unwrap();
}
