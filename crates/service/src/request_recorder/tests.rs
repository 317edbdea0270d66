use super::*;
use crate::recorder::{NO_PARENT, Request, RequestDetails, Span};
use crate::service_dir::ServiceDir;
use crate::sla;

fn watched(name: &str, targets: &str) -> (Arc<RequestRecorder>, PathBuf) {
    let folder = std::env::temp_dir().join(format!("stepscope-monitor-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let targets = HashMap::from([("*".to_owned(), sla::parse(targets).unwrap())]);
    (
        RequestRecorder::new(RecorderOptions { folder: folder.clone(), targets, ..RecorderOptions::default() }),
        folder,
    )
}

fn serve(monitor: &Arc<RequestRecorder>, latency_ns: u64, spans: &[Span]) {
    monitor.begin();
    let route = monitor.recorder.route("/predict");
    let request =
        Request { route, latency_ns, failed: false, samples: 1, tokens: 0, cpu_ns: None, spans, left_out: 0 };
    if let Some(candidate) = monitor.recorder.record(&request).candidate {
        monitor.recorder.keep(
            candidate,
            &request,
            RequestDetails { id: "id", ..RequestDetails::default() },
            now_ns(),
        );
    }
}

fn kept(folder: &std::path::Path) -> u64 {
    let dir = ServiceDir::open(folder).unwrap();
    let hours = dir.hours().unwrap().into_iter().map(|hour| dir.hour(hour).unwrap());
    hours.flat_map(|h| h.minutes.into_values()).flat_map(|m| m.routes.into_values()).map(|r| r.requests()).sum()
}

#[test]
fn the_thread_writes_by_itself_and_dropping_writes_the_rest() {
    let (monitor, folder) = watched("thread", "2.0");
    (0..10).for_each(|_| serve(&monitor, 5, &[]));
    let start = Instant::now();
    while !folder.exists() || kept(&folder) < 10 {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing was written");
        std::thread::sleep(Duration::from_millis(20));
    }
    (0..7).for_each(|_| serve(&monitor, 5, &[]));
    drop(monitor);
    let start = Instant::now();
    while kept(&folder) < 17 {
        assert!(start.elapsed() < Duration::from_secs(60), "the rest was not written");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_share_that_is_missed_is_said_once() {
    let (monitor, folder) = watched("share", "p95<100ms");
    // Its thread would look whenever a second ends, also between two of these requests.
    monitor.started.store(true, Ordering::Relaxed);
    monitor.flush();
    (0..90).for_each(|_| serve(&monitor, 1_000_000, &[]));
    (0..10).for_each(|_| serve(&monitor, 200_000_000, &[]));
    monitor.flush();
    let missed = |news: &ServiceNotice| matches!(news, ServiceNotice::Missed { .. });
    let news: Vec<ServiceNotice> = monitor.take_notices().into_iter().filter(missed).collect();
    let expected = ServiceNotice::Missed {
        route: "/predict".to_owned(),
        target: "p95<100ms".to_owned(),
        requests: 100,
        missed: 10,
    };
    assert_eq!(news, [expected]);
    serve(&monitor, 200_000_000, &[]);
    monitor.flush();
    assert!(!monitor.has_news());
    drop(monitor);
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn a_child_counts_from_nothing_and_leaves_the_parent_alone() {
    let (monitor, folder) = watched("fork", "2.0");
    serve(&monitor, 5, &[]);
    monitor.flush();
    let child = monitor.after_fork();
    assert!(!monitor.is_alive() && child.is_alive());
    serve(&child, 5, &[]);
    child.flush();
    assert_eq!(kept(&folder), 2);
    drop((monitor, child));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Ten million requests of ten routes in an unoptimized build take half a minute; memory is what is measured.
#[test]
fn memory_does_not_grow_with_requests() {
    let (monitor, folder) = watched("memory", "p95<100ms");
    let regions = ["preprocess", "inference", "postprocess"].map(|name| monitor.recorder.region(name));
    let mut random = 7_u64;
    let mut after_first = 0;
    for round in 0..3 {
        for n in 0..300_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let latency_ns = 1_000_000 + (random >> 36);
            // Every request has a route of its own: names of users in paths, as an attacker would send them.
            let route = match n % 10 {
                0 => monitor.recorder.route(&format!("/user/{round}/{n}")),
                _ => monitor.recorder.route("/predict"),
            };
            let spans = regions.map(|region| Span {
                region,
                parent: NO_PARENT,
                start_ns: 0,
                duration_ns: latency_ns / 3,
            });
            let request = Request {
                route,
                latency_ns,
                failed: false,
                samples: 1,
                tokens: 9,
                cpu_ns: None,
                spans: &spans,
                left_out: 0,
            };
            if let Some(candidate) = monitor.recorder.record(&request).candidate {
                monitor.recorder.keep(
                    candidate,
                    &request,
                    RequestDetails { id: "id", ..RequestDetails::default() },
                    now_ns(),
                );
            }
            if n % 100_000 == 0 {
                monitor.flush();
            }
        }
        monitor.flush();
        if round == 0 {
            after_first = rss_bytes();
        }
    }
    let grown = rss_bytes().saturating_sub(after_first);
    assert!(grown < 16 << 20, "{} MiB", grown >> 20);
    drop(monitor);
    assert_eq!(kept(&folder), 900_000);
    std::fs::remove_dir_all(folder).unwrap();
}
