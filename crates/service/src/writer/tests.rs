use std::collections::HashMap;
use std::path::Path;

use super::*;
use crate::exemplar::ExemplarLimits;
use crate::recorder::{Limits, Request, RequestDetails};
use crate::service_dir::ServiceDir;

const SECOND: i64 = 1_000_000_000;
/// 2026-08-14T01:00:00Z
const START: i64 = 496_297 * 3_600 * SECOND;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("stepscope-writer-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

struct Service {
    recorder: Recorder,
    writer: Writer,
    wall_ns: i64,
    steady_ns: u64,
}

impl Service {
    fn new(folder: &Path, token: u32) -> Self {
        let recorder = Recorder::new(HashMap::new(), Limits::default(), ExemplarLimits::default());
        let writer = Writer::new(folder.to_owned(), Retention::default(), token);
        let mut service = Self { recorder, writer, wall_ns: START, steady_ns: 5 };
        assert_eq!(service.tick(0), None);
        service
    }

    fn serve(&self, requests: u64) {
        let route = self.recorder.route("/predict");
        for _ in 0..requests {
            let request = Request {
                route,
                latency_ns: 1_000_000,
                failed: false,
                samples: 0,
                tokens: 0,
                cpu_ns: None,
                spans: &[],
                left_out: 0,
            };
            if let Some(candidate) = self.recorder.record(&request).candidate {
                self.recorder.keep(
                    candidate,
                    &request,
                    RequestDetails { id: "id", ..RequestDetails::default() },
                    self.wall_ns,
                );
            }
        }
    }

    fn tick(&mut self, seconds: i64) -> Option<String> {
        self.wall_ns += seconds * SECOND;
        self.steady_ns += (seconds * SECOND) as u64;
        self.tick_now()
    }

    fn tick_now(&mut self) -> Option<String> {
        let now = Now {
            wall_ns: self.wall_ns,
            steady_ns: self.steady_ns,
            cpu_ns: self.steady_ns / 4,
            rss_bytes: 1 << 20,
        };
        self.writer.tick(&self.recorder, now).1
    }
}

fn counts(folder: &Path) -> Vec<(i64, u64)> {
    let dir = ServiceDir::open(folder).unwrap();
    let mut found = Vec::new();
    for hour in dir.hours().unwrap() {
        for (minute, of) in dir.hour(hour).unwrap().minutes {
            let requests = of.routes.values().map(RouteStats::requests).sum();
            found.push((minute - START / MINUTE_NS, requests));
        }
    }
    found
}

#[test]
fn a_minute_is_readable_while_it_is_open_and_counts_once_when_closed() {
    let folder = folder("open");
    let mut service = Service::new(&folder, 1);
    service.serve(3);
    service.tick(1);
    assert_eq!(counts(&folder), [(0, 3)]);
    service.serve(4);
    service.tick(1);
    assert_eq!(counts(&folder), [(0, 7)]);
    // The minute closes; the file of the open one still holds it, and it counts once.
    service.tick(59);
    assert_eq!(counts(&folder), [(0, 7)]);
    service.serve(2);
    service.tick(1);
    assert_eq!(counts(&folder), [(0, 7), (1, 2)]);
    // An hour later: another file.
    service.tick(3_600);
    service.serve(5);
    service.tick(1);
    assert_eq!(counts(&folder), [(0, 7), (1, 2), (61, 5)]);
    let hour = ServiceDir::open(&folder).unwrap().hour(START / (60 * MINUTE_NS)).unwrap();
    assert_eq!(hour.minutes[&(START / MINUTE_NS)].processes.values().next().unwrap().max_rss_bytes, 1 << 20);
    assert!(!hour.exemplars.is_empty() && hour.notes.is_empty());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn examples_of_the_first_second_and_of_an_idle_night_are_kept() {
    let folder = folder("first");
    let recorder = Recorder::new(HashMap::new(), Limits::default(), ExemplarLimits::default());
    let writer = Writer::new(folder.clone(), Retention::default(), 1);
    let mut service = Service { recorder, writer, wall_ns: START, steady_ns: 5 };
    let examples = |hour: i64| {
        let hour = ServiceDir::open(&folder).unwrap().hour(START / (60 * MINUTE_NS) + hour).unwrap();
        hour.exemplars.len()
    };
    service.serve(2);
    service.tick(1);
    assert_eq!(examples(0), 2);
    service.tick(8 * 3_600);
    service.serve(3);
    service.tick(1);
    assert_eq!((examples(0), examples(8)), (2, 3));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn several_processes_write_side_by_side() {
    let folder = folder("many");
    let mut services: Vec<Service> = (0..8).map(|token| Service::new(&folder, token)).collect();
    for round in 0..3 {
        for service in &mut services {
            service.serve(10);
            service.tick(if round == 1 { 60 } else { 1 });
        }
    }
    assert_eq!(counts(&folder), [(0, 160), (1, 80)]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_clock_that_is_set_loses_nothing() {
    let folder = folder("jump");
    let mut service = Service::new(&folder, 1);
    service.serve(1);
    service.tick(1);
    // Two hours back, and forward again by three.
    service.wall_ns -= 7_200 * SECOND;
    service.serve(2);
    service.tick(1);
    service.wall_ns += 3 * 3_600 * SECOND;
    service.serve(4);
    service.tick(1);
    service.tick(60);
    let found = counts(&folder);
    assert_eq!(found.iter().map(|(_, n)| n).sum::<u64>(), 7);
    assert_eq!(found, [(-120, 2), (0, 1), (60, 4)]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_that_cannot_be_written_costs_nothing_for_an_hour() {
    // A file where the folder should be: no one can write there, not even root.
    let folder = folder("blocked");
    fs::write(&folder, "").unwrap();
    let mut service = Service::new(&folder, 1);
    for _ in 0..30 {
        service.serve(10);
        assert!(service.tick(60).unwrap().contains("requests are counted but not kept"));
    }
    fs::remove_file(&folder).unwrap();
    service.tick(1);
    assert_eq!(counts(&folder).iter().map(|(_, n)| n).sum::<u64>(), 300);
    fs::remove_dir_all(&folder).unwrap();
    // Gone while it runs: made anew.
    service.serve(5);
    let _ = service.tick(1);
    service.serve(1);
    assert_eq!(service.tick(1), None);
    fs::remove_dir_all(&folder).unwrap();

    // More than an hour: what is lost is counted.
    fs::write(&folder, "").unwrap();
    let mut service = Service::new(&folder, 2);
    for _ in 0..100 {
        service.serve(1);
        let _ = service.tick(60);
    }
    fs::remove_file(&folder).unwrap();
    service.tick(60);
    let kept: u64 = counts(&folder).iter().map(|(_, n)| n).sum();
    let dir = ServiceDir::open(&folder).unwrap();
    let lost: u64 = dir
        .hours()
        .unwrap()
        .into_iter()
        .flat_map(|hour| dir.hour(hour).unwrap().minutes.into_values())
        .flat_map(|minute| minute.processes.into_values())
        .map(|gauges| gauges.lost_requests)
        .sum();
    assert_eq!((kept, lost), (60, 40));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_newer_folder_is_left_alone() {
    let folder = folder("newer");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(segment::MARK_FILE), r#"{"schema": 99}"#).unwrap();
    let mut service = Service::new(&folder, 1);
    service.serve(1);
    let said = service.tick(1).unwrap();
    assert!(said.contains("newer version (schema 99)") && said.contains("hint: update stepscope"), "{said}");
    service.serve(1);
    assert_eq!(service.tick(1), None);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    assert!(ServiceDir::open(&folder).unwrap_err().what.contains("newer version"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_reader_counts_each_request_once_whenever_it_looks() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let folder = folder("reader");
    let mut service = Service::new(&folder, 1);
    service.serve(1);
    service.tick(1);
    let (served, written, done) = (AtomicU64::new(1), AtomicU64::new(1), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Minutes close all the time, and hours now and then.
            for _ in 0..600 {
                served.fetch_add(3, Ordering::SeqCst);
                service.serve(3);
                assert_eq!(service.tick(20), None);
                written.store(served.load(Ordering::SeqCst), Ordering::SeqCst);
            }
            done.store(1, Ordering::SeqCst);
        });
        let mut looks = 0;
        while done.load(Ordering::SeqCst) == 0 {
            let least = written.load(Ordering::SeqCst);
            let found: u64 = counts(&folder).iter().map(|(_, n)| n).sum();
            let most = served.load(Ordering::SeqCst);
            assert!((least..=most).contains(&found), "{found} is not in {least}..{most}");
            looks += 1;
        }
        assert!(looks > 3, "{looks}");
    });
    assert_eq!(counts(&folder).iter().map(|(_, n)| n).sum::<u64>(), 1_801);
    fs::remove_dir_all(folder).unwrap();
}
