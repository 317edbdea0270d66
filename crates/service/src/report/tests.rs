use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use stepscope_ask::print::Screen;
use stepscope_ask::write;

use super::*;
use crate::block::{Block, Gauges};
use crate::exemplar::KeptSpan;
use crate::segment::{self, Name, Process};
use crate::stats::{RegionStats, TargetCount};

/// 2026-08-14T01:00Z
const FROM: i64 = 496_297 * 60;
const MS: u64 = 1_000_000;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("stepscope-report-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn keep(folder: &Path, token: u32, block: &Block) {
    let process = Process { host: "h".to_owned(), id: 1, token };
    let name = Name { hour: block.minute.div_euclid(60), process, open: false };
    segment::append(&folder.join(name.text()), block).unwrap();
}

fn text(answer: &Answer, width: usize) -> String {
    let mut out = Vec::new();
    write::screen(&mut out, answer, &Screen::plain(width), false).unwrap();
    String::from_utf8(out).unwrap()
}

/// A hundred requests: the first `slow` take 200 ms, the rest `base`; inference is all but 2 ms of each.
fn minute(at: i64, base_ns: u64, slow: u64) -> Block {
    let mut stats = RouteStats { errors: slow / 2, samples: 800, ..RouteStats::default() };
    let mut inference = RegionStats::default();
    for n in 0..100 {
        // Some noise that is the same every time.
        let latency = if n < slow { 200 * MS } else { base_ns + (n * 37 + at as u64 * 13) % 100 * 5_000 };
        stats.latency.record(latency);
        inference.duration.record(latency - 2 * MS);
        inference.self_ns += latency - 2 * MS;
    }
    stats.regions.insert("inference".to_owned(), inference);
    stats.targets.insert("p95<100ms".to_owned(), TargetCount { requests: 100, missed: slow });
    stats.targets.insert("each<=2s".to_owned(), TargetCount { requests: 100, missed: 0 });
    let gauges =
        Gauges { watched_ns: 60_000 * MS, cpu_ns: 6_000 * MS, max_rss_bytes: 1 << 30, ..Gauges::default() };
    let routes = BTreeMap::from([("/predict".to_owned(), stats)]);
    Block { minute: at, sequence: at as u64, gauges, routes, exemplars: Vec::new() }
}

#[test]
fn an_hour_is_what_its_minutes_come_to() {
    let folder = folder("hour");
    for token in 0..2 {
        for at in 0..60 {
            // The hour before took 10 ms, this one 10 ms until half past and 15 ms from then on.
            keep(&folder, token, &minute(FROM - 60 + at, 10 * MS, 0));
            keep(
                &folder,
                token,
                &minute(FROM + at, if at < 30 { 10 } else { 15 } * MS, if at >= 55 { 10 } else { 0 }),
            );
        }
    }
    let dir = ServiceDir::open(&folder).unwrap();
    let period = Period { from: FROM, until: FROM + 60 };
    let report = ServiceReport::make(&dir, period, Against::Before).unwrap();
    assert_eq!((report.from.as_str(), report.until.as_str()), ("2026-08-14T01:00Z", "2026-08-14T02:00Z"));
    assert_eq!((report.processes, report.max_rss_bytes, report.process_cpu_ns), (2, 1 << 30, 120 * 6_000 * MS));
    // 2 processes, 60 minutes, 100 requests each; in the last 5 minutes 10 of each hundred slow and 5 of them failed.
    let total = &report.total;
    assert_eq!((total.requests, total.errors, total.max_ns), (12_000, 50, 200 * MS));
    assert!(
        (total.per_second - 12_000.0 / 3_600.0).abs() < 1e-9
            && (total.error_rate - 50.0 / 12_000.0).abs() < 1e-12
    );
    let near = |found: u64, low: u64, high: u64| {
        assert!((low..=high).contains(&found), "{found} is not in {low}..{high}")
    };
    near(total.p50_ns, 10 * MS, 15_200_000);
    near(total.p999_ns, 197 * MS, 203 * MS);
    assert_eq!(report.total_before.as_ref().unwrap().requests, 12_000);

    let route = &report.routes[0];
    assert_eq!(route.samples, 2 * 60 * 800);
    // Half an hour at 5 ms more, and 1 request in 120 at 185 ms more: 2.5 + 1.5 ms.
    let grew = route.grew.as_ref().unwrap();
    assert_eq!(grew.region, "inference");
    near(grew.after_ns - grew.before_ns, 3_900_000, 4_200_000);
    let outside = route.regions.iter().find(|region| region.region == OUTSIDE).unwrap();
    assert_eq!((outside.self_ns, outside.before_ns, outside.p95_ns), (2 * MS, Some(2 * MS), None));
    assert!((route.regions.iter().map(|region| region.share).sum::<f64>() - 1.0).abs() < 1e-6);

    // 100 of 12,000 missed, 600 may: a sixth of the budget is gone. In the last 5 minutes 10% missed, twice 5%.
    let target = report.targets.iter().find(|target| target.target == "p95<100ms").unwrap();
    assert_eq!((target.requests, target.missed, target.kept), (12_000, 100, true));
    assert!((target.budget_left.unwrap() - 5.0 / 6.0).abs() < 1e-9);
    let rates: Vec<(i64, f64)> = target.burn.iter().map(|burn| (burn.minutes, burn.rate.unwrap())).collect();
    assert_eq!(rates[0], (5, 2.0));
    assert!((rates[1].1 - 1.0 / 3.0).abs() < 1e-9 && (rates[2].1 - 1.0 / 6.0).abs() < 1e-9);
    assert_eq!(target.alert, None);
    let each = report.targets.iter().find(|target| target.target == "each<=2s").unwrap();
    assert_eq!((each.kept, each.budget_left, each.missed), (true, None, 0));

    // The change is found where it was made, and its region named.
    let change = report.changes.iter().find(|change| change.metric == "p50").unwrap();
    assert_eq!((change.minute, change.grew.as_ref().unwrap().region.as_str()), (FROM + 30, "inference"));
    near(change.after_ns - change.before_ns, 4_700_000, 5_300_000);
    assert_eq!(report.points.len(), 60);
    assert_eq!((report.points[7].minute, report.points[7].requests), (FROM + 7, 200));

    let answer = report.answer();
    let plain = text(&answer, 160);
    for words in ["/predict", "12,000", "p95<100ms", "kept", "inference grew most", "2026-08-14T01:30Z"] {
        assert!(plain.contains(words), "{words}\n{plain}");
    }
    let markdown = write::markdown(&answer, false);
    assert!(markdown.contains("| /predict |"), "{markdown}");
    let object = write::object(&answer, true);
    assert_eq!(object["routes"][0]["route"], "/predict");
    assert!(object["definitions"].as_array().unwrap().len() > 10);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_steady_hour_has_no_changes_and_a_budget_that_burns_is_said() {
    let folder = folder("steady");
    for at in 0..60 {
        keep(&folder, 1, &minute(FROM + at, 10 * MS, 80));
    }
    let dir = ServiceDir::open(&folder).unwrap();
    let report =
        ServiceReport::make(&dir, Period { from: FROM, until: FROM + 60 }, Against::DayBefore).unwrap();
    assert_eq!(report.changes, []);
    // 80% missed where 5% may: 16 times as fast as allowed.
    let target = report.targets.iter().find(|target| !target.kept).unwrap();
    assert_eq!((target.alert, target.burn[2].rate), (Some("fast"), Some(16.0)));
    assert!((target.budget_left.unwrap() + 15.0).abs() < 1e-9);
    assert_eq!((report.total_before, report.routes[0].before.clone()), (None, None));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_day_is_fewer_points_and_only_its_own_minutes() {
    let folder = folder("day");
    for at in (0..1_440).step_by(3) {
        keep(&folder, 1, &minute(FROM - 60 + at, 10 * MS, 0));
    }
    let dir = ServiceDir::open(&folder).unwrap();
    let day = Period::parse("2026-08-14", 0).unwrap();
    let report = ServiceReport::make(&dir, day, Against::Nothing).unwrap();
    assert_eq!((report.total.requests, report.point_minutes, report.points.len()), (48_000, 10, 144));
    // Every third minute has a hundred: three or four of ten.
    assert!(report.points.iter().all(|point| matches!(point.requests, 300 | 400)));
    assert_eq!(report.points.iter().map(|point| point.requests).sum::<u64>(), 48_000);
    let empty = ServiceReport::make(&dir, Period::parse("2026-08-20", 0).unwrap(), Against::Before).unwrap();
    assert_eq!((empty.total.requests, empty.routes.len()), (0, 0));
    assert!(text(&empty.answer(), 80).contains("no requests were kept in this period"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn damage_and_overflow_are_said() {
    let folder = folder("notes");
    let mut block = minute(FROM, 10 * MS, 0);
    let stats = block.routes.remove("/predict").unwrap();
    block.routes.insert(OTHER.to_owned(), stats);
    block.gauges.lost_requests = 1_234;
    let span = |name: &str, parent| KeptSpan { name: name.to_owned(), parent, start_ns: 0, duration_ns: MS };
    block.exemplars.push(Exemplar {
        route: OTHER.to_owned(),
        id: "abc".to_owned(),
        ended_ns: FROM * 60_000_000_000,
        latency_ns: 9 * MS,
        failed: true,
        samples: 1,
        process: 77,
        spans: vec![span("outer", None), span("inner", Some(0))],
        stack: Vec::new(),
        profile: None,
        slow: true,
        key: 5,
        block: 0,
    });
    keep(&folder, 1, &block);
    fs::write(folder.join("20260814T01_h_1_00000009.minutes"), "something else").unwrap();
    let dir = ServiceDir::open(&folder).unwrap();
    let report = ServiceReport::make(&dir, Period { from: FROM, until: FROM + 60 }, Against::Before).unwrap();
    let notes = report.notes.join("\n");
    for words in [
        "is not one of ours",
        "100 requests of routes beyond the limit count as (other)",
        "1,234 requests are lost",
    ] {
        assert!(notes.contains(words), "{notes}");
    }
    let shown = text(&report.answer(), 120);
    assert!(shown.contains("(other) abc (process 77, failed)") && shown.contains("    inner"), "{shown}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_rate_divides_by_what_was_counted_and_says_so() {
    let folder = folder("rate");
    let now_ns = stepscope_ground::utc::now_ns();
    let at = now_ns.div_euclid(60_000_000_000) - 10;
    // A process that answered a hundred requests in seven seconds, and ended in the middle of the minute.
    let mut block = minute(at, 10 * MS, 0);
    block.gauges.watched_ns = 7_000 * MS;
    let process = Process { host: "h".to_owned(), id: 1, token: 1 };
    let path = folder.join(Name { hour: at.div_euclid(60), process, open: true }.text());
    segment::replace(&path, &block).unwrap();
    let ended_ns = at * 60_000_000_000 + 17_000_000_000;
    let ended = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(ended_ns as u64);
    fs::File::options().append(true).open(&path).unwrap().set_modified(ended).unwrap();

    let dir = ServiceDir::open(&folder).unwrap();
    let report = ServiceReport::make(&dir, Period::last(60, now_ns), Against::Before).unwrap();
    let began_ns = ended_ns - 7_000_000_000;
    let since = |now_ns: i64| (now_ns - began_ns) as f64 / 1e9;
    let seconds = since(now_ns)..=since(stepscope_ground::utc::now_ns());
    assert!(seconds.contains(&report.counted_seconds), "{} is not in {seconds:?}", report.counted_seconds);
    assert!((report.total.per_second * report.counted_seconds - 100.0).abs() < 1e-9);
    // The page and `top` divide by the same.
    let page = ServiceDashboard::make(&Hours::new(dir.clone()), Period::last(60, now_ns), None).unwrap();
    assert!((page.total.per_second * page.counted_seconds - 100.0).abs() < 1e-9);
    assert!((page.counted_seconds - report.counted_seconds).abs() < 60.0);
    // A period that is shorter than that is a rate over the period, and says so.
    let hour = ServiceReport::make(&dir, Period { from: at, until: at + 2 }, Against::Before).unwrap();
    assert!((hour.counted_seconds - 110.0).abs() < 1e-6, "{}", hour.counted_seconds);
    let shown = text(&hour.answer(), 160);
    assert!(shown.contains("100 requests (0.9091/s over 110.0 s)"), "{shown}");
    fs::remove_dir_all(folder).unwrap();
}
