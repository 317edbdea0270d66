use super::*;
use crate::sla;

fn recorder(limits: Limits) -> Recorder {
    let targets = [("/predict", "p95<100ms, error_rate<1%"), ("*", "2.0")];
    let targets = targets.map(|(route, text)| (route.to_owned(), sla::parse(text).unwrap()));
    Recorder::new(HashMap::from(targets), limits, ExemplarLimits::default())
}

fn request(route: RouteId, latency_ns: u64) -> Request<'static> {
    Request { route, latency_ns, failed: false, samples: 1, tokens: 0, cpu_ns: None, spans: &[], left_out: 0 }
}

#[test]
fn eight_threads_lose_nothing_while_somebody_drains() {
    let recorder = recorder(Limits::default());
    let route = recorder.route("/predict");
    let region = recorder.region("inference");
    let done = AtomicU64::new(0);
    let mut total = RouteStats::default();
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (recorder, done) = (&recorder, &done);
            scope.spawn(move || {
                for n in 0..25_000_u64 {
                    let spans = [Span { region, parent: NO_PARENT, start_ns: 0, duration_ns: n }];
                    let slow = n % 100 == 0;
                    let latency_ns = if slow { 100_000_000 } else { 1_000_000 + thread };
                    recorder.record(&Request { spans: &spans, failed: slow, ..request(route, latency_ns) });
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        while done.load(Ordering::Relaxed) < 8 {
            recorder.drain().values().for_each(|stats| total.merge(stats));
        }
    });
    recorder.drain().values().for_each(|stats| total.merge(stats));
    assert_eq!((total.requests(), total.errors, total.samples), (200_000, 2_000, 200_000));
    assert_eq!(total.regions["inference"].duration.count(), 200_000);
    assert_eq!(total.targets["p95<100ms"], TargetCount { requests: 200_000, missed: 2_000 });
    assert_eq!(total.targets["error_rate<1%"].missed, 2_000);
}

#[test]
fn too_many_names_count_as_one() {
    let recorder = recorder(Limits { routes: 3, regions: 2, spans: 8 });
    for n in 0..10 {
        let route = recorder.route(&format!("/user/{n}"));
        let region = recorder.region(&format!("region {n}"));
        let spans = [Span { region, parent: NO_PARENT, start_ns: 0, duration_ns: 1 }];
        recorder.record(&Request { spans: &spans, ..request(route, 10) });
    }
    let drained = recorder.drain();
    let counts: Vec<(&str, u64)> = drained.iter().map(|(name, s)| (name.as_str(), s.requests())).collect();
    assert_eq!(counts, [("(other)", 7), ("/user/0", 1), ("/user/1", 1), ("/user/2", 1)]);
    assert_eq!(drained["(other)"].regions["(other)"].duration.count(), 7);
    assert_eq!(recorder.route(&"x".repeat(1_000)), RouteId(0));
}

#[test]
fn regions_have_time_of_their_own() {
    let recorder = recorder(Limits::default());
    let [outer, inner] = ["outer", "inner"].map(|name| recorder.region(name));
    let spans = [
        Span { region: outer, parent: NO_PARENT, start_ns: 0, duration_ns: 100 },
        Span { region: inner, parent: 0, start_ns: 10, duration_ns: 30 },
        Span { region: inner, parent: 0, start_ns: 50, duration_ns: 20 },
    ];
    let asked = Request { spans: &spans, cpu_ns: Some(77), tokens: 5, ..request(recorder.route("/a"), 120) };
    recorder.record(&asked);
    let stats = &recorder.drain()["/a"];
    assert_eq!((stats.regions["outer"].self_ns, stats.regions["outer"].duration.sum()), (50, 100));
    assert_eq!((stats.regions["inner"].self_ns, stats.regions["inner"].duration.count()), (50, 2));
    assert_eq!((stats.cpu_ns, stats.cpu_requests, stats.tokens), (77, 1, 5));
    assert!(recorder.drain().is_empty());
}

#[test]
fn the_slowest_keep_their_regions() {
    let recorder = recorder(Limits::default());
    let route = recorder.route("/predict");
    let region = recorder.region("inference");
    recorder.begin_block(4);
    let mut offered = 0;
    for n in 0..20_000_u64 {
        let latency_ns = 1_000 + n * 7_919 % 20_000;
        let spans = [Span { region, parent: NO_PARENT, start_ns: 3, duration_ns: latency_ns - 3 }];
        let asked = Request { spans: &spans, ..request(route, latency_ns) };
        if let Some(candidate) = recorder.record(&asked).candidate {
            offered += 1;
            recorder.keep(
                candidate,
                &asked,
                RequestDetails { id: &format!("request {n}"), ..RequestDetails::default() },
                0,
            );
        }
    }
    let kept = recorder.exemplars(4);
    let mut slow: Vec<u64> = kept.iter().filter(|e| e.slow).map(|e| e.latency_ns).collect();
    slow.sort_unstable();
    assert_eq!(slow, [20_995, 20_996, 20_997, 20_998, 20_999]);
    assert_eq!(kept.iter().filter(|e| !e.slow).count(), 5);
    assert!(kept.iter().all(|e| e.spans[0].name == "inference" && e.spans[0].duration_ns == e.latency_ns - 3));
    // Almost no request is looked at twice.
    assert!(offered < 400, "{offered}");
    assert!(recorder.exemplars(5).is_empty());
    recorder.begin_hour();
    assert_eq!(recorder.exemplars(4).len(), kept.len());
    recorder.begin_block(5);
    recorder.begin_hour();
    assert!(recorder.exemplars(4).is_empty());
    assert!(recorder.record(&request(route, 1)).candidate.is_some());
}
