use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use stepscope_ground::utc::MINUTE_NS;

use super::*;
use crate::block::Block;
use crate::counters::Column;
use crate::segment::{self, Name, Process};
use crate::service_dir::ServiceDir;
use crate::stats::RouteStats;

const SECOND: u64 = 1_000_000_000;
/// 2026-11-17T01:00Z.
const START: i64 = 1_794_877_200_000_000_000;

/// How long a test waits for something that a busy machine may be late with.
const MAX_WAIT: Duration = Duration::from_secs(60);

fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < MAX_WAIT, "waited {} s for this: {what}", MAX_WAIT.as_secs());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stepscope-alert-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn rule(text: &str) -> AlertRule {
    AlertRule::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn columns() -> Vec<Column> {
    let names = [
        ("host.cpu_percent", "%"),
        ("host.memory_used_bytes", "bytes"),
        ("host.memory_total_bytes", "bytes"),
        ("gpu.0.utilization_percent", "%"),
        ("gpu.1.utilization_percent", "%"),
        ("gpu.0.memory_used_bytes", "bytes"),
        ("gpu.0.memory_total_bytes", "bytes"),
    ];
    names.into_iter().map(|(name, unit)| Column::new(name, unit)).collect()
}

/// Samples one second apart, and what was said at which second.
fn changes(rules: &[&str], samples: &[Vec<Option<f64>>]) -> Vec<(usize, AlertState, String)> {
    let mut rules = MachineRules::new(rules.iter().map(|text| rule(text)).collect(), &columns()).unwrap();
    let mut found = Vec::new();
    for (second, values) in samples.iter().enumerate() {
        let steady_ns = (second as u64 + 100) * SECOND;
        let now = AlertMoment { wall_ns: START, steady_ns, covers_ns: SECOND };
        let events = rules.observe(now, values).into_iter();
        found.extend(events.map(|event| (second, event.state, event.message)));
    }
    found
}

fn cpu(values: &[Option<f64>]) -> Vec<Vec<Option<f64>>> {
    values.iter().map(|value| vec![*value]).collect()
}

#[test]
fn rules_are_read() {
    for (text, normal, seconds) in [
        ("gpu_utilization<30% for 5m", "gpu_utilization<30% for 5m", 300),
        ("  GPU_Utilization < 30  ", "gpu_utilization<30", 0),
        ("gpu_utilization(3) <= 30 % for 90s", "gpu_utilization(3)<=30% for 90s", 90),
        ("rss>20GiB for 1h", "rss>20GiB for 1h", 3_600),
        ("temperature>=85C for 2 minutes", "temperature>=85C for 2 minutes", 120),
        ("p95(/predict)>100ms for 5m", "p95(/predict)>100ms for 5m", 300),
        ("p99.9(/items/<id>) > 1s", "p99.9(/items/<id>)>1s", 0),
        ("p95(GET /wait for me)>1s for 10s", "p95(GET /wait for me)>1s for 10s", 10),
        ("p95(GET /wait for me)>1s", "p95(GET /wait for me)>1s", 0),
        ("error_rate>1%", "error_rate>1%", 0),
        ("requests_per_second(/predict)<0.5 for 10m", "requests_per_second(/predict)<0.5 for 10m", 600),
    ] {
        let rule = rule(text);
        assert_eq!((rule.text.as_str(), rule.for_ns), (normal, seconds * SECOND), "{text}");
    }
    let about = |text: &str| rule(text).subject;
    assert_eq!(
        about("gpu_memory(1)>90%"),
        Subject::Machine {
            column: "gpu.memory_used_bytes",
            of: Some("gpu.memory_total_bytes"),
            device: Some(1)
        }
    );
    assert_eq!(
        about("p99.9(/items/<id>)>1s"),
        Subject::Latency { quantile: 0.999, route: Some("/items/<id>".into()) }
    );
    assert_eq!(about("error_rate>1%"), Subject::ErrorRate { route: None });
    assert!(rule("rss>1GiB").holds(1_073_741_825.0) && !rule("rss>1GiB").holds(1_073_741_824.0));
    assert!(rule("rss>=1GB").holds(1e9) && rule("sm_clock<1.2GHz").holds(1_199.0));
    assert!(rule("error_rate>1%").holds(0.011) && !rule("error_rate>0.01").holds(0.01));
    assert!(rule("p95>100ms").holds(100_000_001.0) && !rule("p95>100ms").holds(100_000_000.0));
    assert!(rule("disk_read>100MB/s").holds(100_000_001.0));
}

#[test]
fn wrong_rules_say_what_is_meant() {
    let wrong = |text: &str| AlertRule::parse(text).unwrap_err();
    assert_eq!(wrong("gpu_utilisation<30%").hint, "did you mean gpu_utilization?");
    assert_eq!(wrong("tempreature>80").hint, "did you mean temperature?");
    assert_eq!(wrong("error_rat>1%").hint, "did you mean error_rate?");
    assert!(wrong("zzzzzzzzzz>1").hint.starts_with("one of gpu_utilization, "));
    assert_eq!(wrong("rss>20C").what, "this is not a threshold for rss: '20C'");
    assert_eq!(wrong("rss>20C").hint, "write rss>20GiB");
    assert!(wrong("cpu>80% for ever").what.contains("not a duration: 'ever'"));
    assert!(wrong("cpu>80% for 9999d").what.contains("not a duration"));
    assert!(wrong("cpu(0)>80%").what.contains("cpu has no '0'"));
    for text in [
        "",
        "cpu",
        "cpu=3",
        "<",
        ">5",
        "cpu>",
        "cpu>nan",
        "cpu>inf",
        "cpu>-1",
        "cpu>1e999",
        "p0>1s",
        "p100>1s",
        "error_rate>200%",
        "p95(/a>1s",
        "((((",
        "cpu<30%<40%",
    ] {
        let error = wrong(text);
        assert!(!error.what.is_empty() && !error.hint.is_empty(), "{text}");
    }
    assert!(AlertRule::parse(&"(".repeat(100_000)).is_err());
}

#[test]
fn a_rule_fires_once_and_says_when_it_is_over() {
    let mut samples = vec![Some(10.0); 3];
    samples.extend([Some(95.0); 8]);
    samples.extend([Some(10.0); 8]);
    samples.extend([Some(95.0); 2]);
    samples.extend([Some(10.0); 9]);
    let found = changes(&["cpu>80% for 5s"], &cpu(&samples));
    // It holds from second 2 on: the sample at 3 covers the second before it. Over when it has not held for 5 s.
    assert_eq!(
        found,
        [
            (7, AlertState::Firing, "CPU of the machine has been above 80% for 5 s (now 95.0%)".to_owned()),
            (15, AlertState::Over, "CPU of the machine is no longer above 80% (now 10.0%)".to_owned())
        ]
    );
}

#[test]
fn a_short_dip_does_not_end_an_alert_and_a_short_peak_starts_none() {
    let mut samples = vec![Some(95.0); 10];
    samples[7] = Some(10.0);
    let found = changes(&["cpu>80% for 5s"], &cpu(&samples));
    assert_eq!(found.iter().map(|f| f.0).collect::<Vec<_>>(), [4]);
    let peaks: Vec<Option<f64>> =
        (0..60).map(|second| Some(if second % 5 == 4 { 0.0 } else { 99.0 })).collect();
    assert_eq!(changes(&["cpu>80% for 5s"], &cpu(&peaks)), []);
}

#[test]
fn what_is_unknown_is_no_zero() {
    // Without a value nothing is below 30%.
    assert_eq!(changes(&["cpu<30%"], &cpu(&[None; 100])), []);
    // A value that is missing now and then changes nothing.
    let some: Vec<Option<f64>> = (0..20).map(|second| (second % 3 == 0).then_some(5.0)).collect();
    assert_eq!(changes(&["cpu<30% for 10s"], &cpu(&some)).len(), 1);
    // One that stays away ends it.
    let mut gone = vec![Some(5.0); 5];
    gone.extend([None; 60]);
    let found = changes(&["cpu<30%"], &cpu(&gone));
    assert_eq!(found.len(), 2);
    assert!((34..40).contains(&found[1].0) && found[1].2.ends_with("(unknown now)"), "{found:?}");
}

#[test]
fn each_gpu_is_held_against_a_rule_by_itself() {
    let gib = 1_073_741_824.0;
    let sample = vec![
        Some(1.0),
        Some(3.0 * gib),
        Some(4.0 * gib),
        Some(90.0),
        Some(5.0),
        Some(72.0 * gib),
        Some(80.0 * gib),
    ];
    let found =
        changes(&["gpu_utilization<30%", "gpu_memory>85%", "memory>=75%", "gpu_utilization(0)<30%"], &[sample]);
    let words: Vec<&str> = found.iter().map(|(_, _, message)| message.as_str()).collect();
    assert_eq!(
        words,
        [
            "GPU 1 utilization is below 30% (now 5.0%)",
            "GPU 0 memory used is above 85% (now 90.0%)",
            "Memory used is at 75% or above (now 75.0%)",
        ]
    );
}

#[test]
fn what_fires_when_the_monitor_ends_is_over() {
    let mut rules = MachineRules::new(vec![rule("cpu>80%"), rule("memory>1.5GB")], &columns()).unwrap();
    let now = AlertMoment { wall_ns: START, steady_ns: SECOND, covers_ns: SECOND };
    let begun = rules.observe(now, &[Some(95.0), Some(1e9)]);
    assert_eq!((begun.len(), rules.firing()), (1, 1));
    let ended = rules.end(START + 5);
    assert_eq!((ended.len(), ended[0].state, ended[0].at_ns), (1, AlertState::Over, START + 5));
    assert_eq!(ended[0].message, "CPU of the machine is no longer watched: the monitor has ended");
    assert_eq!((rules.end(START + 6), rules.firing()), (vec![], 0));
    // Thresholds are shown as they were written.
    assert_eq!(rules.observe(now, &[None, Some(2e9)])[0].message, "Memory used is above 1.5 GB (now 1.86 GiB)");
}

#[test]
fn a_rule_that_can_never_fire_is_refused() {
    let error = MachineRules::new(vec![rule("power>300W")], &columns()).unwrap_err();
    assert!(error.what.starts_with("power is not measured here") && error.hint.contains("doctor"), "{error}");
    let error = MachineRules::new(vec![rule("rss>1GiB")], &columns()).unwrap_err();
    assert!(error.hint.contains("--pid"), "{error}");
    let error = MachineRules::new(vec![rule("gpu_utilization(7)<1%")], &columns()).unwrap_err();
    assert!(error.hint.contains("leave the number out"), "{error}");
    assert!(MachineRules::new(vec![rule("error_rate>1%")], &columns()).is_err());
}

/// A minute of a service: requests of `/predict` that took so long each, and how many of them failed.
fn minute(folder: &std::path::Path, after: i64, latencies_ms: &[u64], errors: u64) {
    let mut stats = RouteStats { errors, ..RouteStats::default() };
    latencies_ms.iter().for_each(|ms| stats.latency.record(ms * 1_000_000));
    let minute = START / MINUTE_NS + after;
    let block = Block {
        minute,
        sequence: after as u64,
        routes: BTreeMap::from([("/predict".to_owned(), stats)]),
        ..Block::default()
    };
    let process = Process { host: "h".to_owned(), id: 1, token: 1 };
    let name = Name { hour: minute.div_euclid(60), process, open: false }.text();
    segment::append(&folder.join(name), &block).unwrap();
}

#[test]
fn minutes_of_a_service_are_held_against_rules() {
    let folder = folder("service");
    let dir = ServiceDir::open(&folder).unwrap();
    let rules = [
        "p95(/predict)>100ms for 3m",
        "error_rate>10%",
        "requests_per_second<0.05",
        "p95(/other)>1ms",
        "requests_per_second(/other)<1 for 2m",
    ];
    let rules = rules.iter().map(|text| rule(text)).collect();
    let mut watch = ServiceRules::new(dir, rules, START).unwrap();
    // Minutes 0 to 9; 58 requests in each but in 6 to 8, where no one asks anything. Slow from 1 to 4, errors in 2.
    let mut found = Vec::new();
    for after in 0..12_i64 {
        if !(6..=8).contains(&after) {
            let slow = (1..=4).contains(&after);
            minute(&folder, after, &[if slow { 200 } else { 20 }; 58], if after == 2 { 10 } else { 0 });
        }
        // Not yet: the processes may not have written it.
        let end = START + (after + 1) * MINUTE_NS;
        assert_eq!(watch.poll(end + 1_000_000_000).unwrap(), [], "{after}");
        let events = watch.poll(end + 3_500_000_000).unwrap();
        found.extend(events.into_iter().map(|event| (after, event.state, event.rule)));
        assert_eq!(watch.poll(end + 4_000_000_000).unwrap(), []);
    }
    let (firing, over) = (AlertState::Firing, AlertState::Over);
    let at = |text: &str| {
        let of = found.iter().filter(|(_, _, rule)| rule == text);
        of.map(|(after, state, _)| (*after, *state)).collect::<Vec<_>>()
    };
    assert_eq!(at("p95(/predict)>100ms for 3m"), [(3, firing), (5, over)]);
    assert_eq!(at("error_rate>10%"), [(2, firing), (3, over)]);
    assert_eq!(at("requests_per_second<0.05"), [(6, firing), (9, over)]);
    // A route that no one has asked for has no latency, and no requests.
    assert_eq!(at("p95(/other)>1ms"), []);
    assert_eq!(at("requests_per_second(/other)<1 for 2m"), [(1, firing)]);
    assert!(ServiceRules::new(ServiceDir::open(&folder).unwrap(), vec![rule("cpu>1%")], START).is_err());
    fs::remove_dir_all(folder).unwrap();
}

fn event(at_ns: i64, message: &str) -> AlertEvent {
    AlertEvent {
        at_ns,
        rule: "cpu>80%".to_owned(),
        message: message.to_owned(),
        state: AlertState::Firing,
        value: Some(0.5),
        device: Some(3),
        host: "h".to_owned(),
    }
}

#[test]
fn events_are_lines_and_half_a_line_costs_only_itself() {
    let folder = folder("log");
    assert_eq!(alerts(&folder), []);
    keep_alert(&folder, &event(2, "two")).unwrap();
    keep_alert(&folder, &event(1, "one")).unwrap();
    let path = folder.join("alerts.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 2);
    let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((line["state"].as_str(), line["message"].as_str()), (Some("firing"), Some("two")));
    // Someone was killed while they wrote, and someone else wrote rubbish.
    fs::write(&path, format!("{text}{{\"at_ns\": 7, \"ru")).unwrap();
    keep_alert(&folder, &event(3, "three")).unwrap();
    let messages: Vec<String> = alerts(&folder).into_iter().map(|event| event.message).collect();
    assert_eq!(messages, ["one", "two", "three"]);
    for at in 0..2_000 {
        log::keep(&folder, &event(10 + at, "many"), 20_000).unwrap();
    }
    assert!(fs::metadata(&path).unwrap().len() < 21_000);
    let left = alerts(&folder);
    assert!(left.len() > 50 && left.last() == Some(&event(2_009, "many")), "{}", left.len());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_command_hears_what_happened() {
    let folder = folder("command");
    let out = folder.join("out");
    let command = format!(
        "echo \"$STEPSCOPE_ALERT_STATE|$STEPSCOPE_ALERT_RULE|$STEPSCOPE_ALERT_MESSAGE|$STEPSCOPE_ALERT_VALUE|$STEPSCOPE_ALERT_DEVICE|$STEPSCOPE_ALERT_AT\" >> {}",
        out.display()
    );
    let mut runner = AlertCommand::new(&command, &folder, COMMAND_LIMIT).unwrap();
    assert_eq!(runner.run(&event(START, "it's \"hot\"; $(rm x)")), None);
    assert_eq!(runner.finish(MAX_WAIT), Vec::<String>::new());
    assert_eq!(
        fs::read_to_string(&out).unwrap(),
        "firing|cpu>80%|it's \"hot\"; $(rm x)|0.5|3|2026-11-17T01:00:00.000Z\n"
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_command_that_fails_or_hangs_is_told_once() {
    let folder = folder("failing");
    let mut failing = AlertCommand::new("exit 7", &folder, COMMAND_LIMIT).unwrap();
    (0..5).for_each(|at| drop(failing.run(&event(at, "x"))));
    assert_eq!(failing.finish(MAX_WAIT), ["the command of --on-alert failed with exit code 7: exit 7"]);
    let mut slow = AlertCommand::new("sleep 600", &folder, Duration::from_millis(1)).unwrap();
    slow.run(&event(0, "x"));
    let said = slow.finish(MAX_WAIT);
    assert!(said.len() == 1 && said[0].contains("took longer than 0.001 s and was ended"), "{said:?}");
    let mut crowded = AlertCommand::new("sleep 600", &folder, MAX_WAIT * 10).unwrap();
    let full: Vec<String> = (0..100).filter_map(|at| crowded.run(&event(at, "x"))).collect();
    assert_eq!(full.len(), 1, "{full:?}");
    let said = crowded.finish(Duration::ZERO);
    assert!(said.iter().any(|words| words.contains("was not run for the last alerts")), "{said:?}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_a_command_started_ends_with_it() {
    let folder = folder("started");
    let path = folder.join("pid");
    let command = format!("sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait", path.display());
    let mut endless = AlertCommand::new(&command, &folder, MAX_WAIT * 10).unwrap();
    endless.run(&event(0, "x"));
    until("the command has started another one", || path.exists());
    let pid: u32 = fs::read_to_string(&path).unwrap().trim().parse().unwrap();
    // One that has ended may still wait for someone to hear of it.
    let is_there = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    };
    assert!(is_there());
    let said = endless.finish(Duration::ZERO);
    assert!(said.len() == 1 && said[0].contains("was ended with the monitor"), "{said:?}");
    until("what the command started has ended", || !is_there());
    fs::remove_dir_all(folder).unwrap();
}
