//! `monitor` and `production flame` on programs that run while the test does.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use stepscope_ground::utc::{HOUR_NS, MINUTE_NS, now_ns};
use stepscope_service::{
    AlertState, Block, CounterHistory, Period, RecentCounter, RouteStats, StackFrame, StackWriter, alerts,
    counters, recent_counters, stacks,
};

use crate::processes::{fake_nvml, python, wait_for_looks};
use crate::production::write_minute;
use crate::{Program, run, stepscope, temp_folder, wait_until};

/// Works until there is a file with the name that it is given, in functions that can be distinguished; then ends with exit
/// code 3. It says what share of the time it had a processor, and what share of the time `three_quarters` took.
const BUSY: &str = "
import os, sys, time
def spin(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
def three_quarters(): spin(0.03)
def a_quarter(): spin(0.01)
print('from the program')
took, began, used = {}, time.perf_counter(), time.thread_time()
while not os.path.exists(sys.argv[1]):
    for part in three_quarters, a_quarter:
        at = time.perf_counter()
        part()
        took[part] = took.get(part, 0) + time.perf_counter() - at
print((time.thread_time() - used) / (time.perf_counter() - began))
print(took[three_quarters] / sum(took.values()))
sys.exit(3)
";

fn sleeper() -> Program {
    Program(Command::new("sleep").arg("600").spawn().unwrap())
}

/// A folder that is not there yet.
fn folder(name: &str) -> PathBuf {
    let folder = temp_folder(&format!("monitor-{name}"));
    fs::remove_dir(&folder).unwrap();
    folder
}

fn begin(args: &[&str]) -> Program {
    Program::start(&mut stepscope(args))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn kept(folder: &Path) -> Vec<CounterHistory> {
    let found = counters(folder, Period::last(120, now_ns())).unwrap();
    assert_eq!(found.notes, Vec::<String>::new());
    found.series
}

fn mean(series: &[CounterHistory], name: &str, device: Option<u32>) -> Option<f64> {
    let one = series.iter().find(|series| series.name == name && series.device == device)?;
    let points = one.points.len() as f64;
    Some(one.points.iter().map(|point| point.mean).sum::<f64>() / points)
}

/// What a counter was at every moment so far. At first the directory is not there.
fn recent(folder: &Path, name: &str) -> Option<RecentCounter> {
    recent_counters(folder, now_ns()).unwrap_or_default().into_iter().find(|one| one.name == name)
}

/// The same, values only.
fn values(folder: &Path, name: &str) -> Vec<f64> {
    recent(folder, name).map_or_else(Vec::new, |one| one.values)
}

fn numbers(lines: &str) -> Vec<f64> {
    lines.lines().filter_map(|line| line.parse().ok()).collect()
}

#[test]
fn a_program_is_watched_and_its_exit_code_passed_on() {
    let folder = folder("program");
    let (path, stop) = (folder.display().to_string(), folder.with_extension("stop"));
    let words = ["--", &python(), "-c", BUSY, stop.to_str().unwrap()];
    let monitor = begin(&[&["monitor", "-o", &path, "--every", "100ms"], &words[..]].concat());
    wait_until("samples of the program", || values(&folder, "process.threads").len() >= 10);
    fs::write(&stop, "").unwrap();
    let output = monitor.ended();
    let (said, printed) = (text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(3), "{said}");
    // What the program prints is its own; everything else goes elsewhere.
    assert!(printed.starts_with("from the program\n") && printed.lines().count() == 3, "{printed}");
    assert!(said.contains("the program ended (exit code 3)"), "{said}");
    for words in ["CPU of the processes", "memory of the processes", "CPU of the machine", "kept in"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let series = kept(&folder);
    assert!(mean(&series, "process.cpu_percent", None).is_some());
    let rss = mean(&series, "process.rss_bytes", None).unwrap();
    assert!((2e6..1e9).contains(&rss), "{rss}");
    assert!(mean(&series, "host.memory_total_bytes", None).unwrap() > 1e8);
    let program = series.iter().find(|one| one.name == "process.cpu_percent").unwrap();
    assert!(program.process.is_some());
    // Every sample is there, whether its minute was over or not.
    let threads = values(&folder, "process.threads");
    assert!(threads.len() >= 10 && threads.iter().all(|n| *n >= 1.0), "{threads:?}");
    // The samples together say what the program says of itself. Each is of the time since the one before.
    let cpu = recent(&folder, "process.cpu_percent").unwrap();
    let spans = || cpu.at_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
    let used =
        spans().zip(&cpu.values[1..]).map(|(span, percent)| span * percent).sum::<f64>() / spans().sum::<f64>();
    let truth = numbers(&printed)[0] * 100.0;
    assert!((used - truth).abs() < 25.0, "{used} is not {truth}: {:?}", cpu.values);
    fs::remove_file(stop).unwrap();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn children_of_a_program_count_with_it() {
    let folder = folder("children");
    let (path, stop) = (folder.display().to_string(), folder.with_extension("stop"));
    let script = "\"$0\" -c \"$1\" \"$2\" & \"$0\" -c \"$1\" \"$2\" & wait";
    let words = ["--", "sh", "-c", script, &python(), BUSY, stop.to_str().unwrap()];
    let monitor = begin(&[&["monitor", "-o", &path, "--every", "100ms", "-q"], &words[..]].concat());
    wait_until("samples of all three processes", || {
        values(&folder, "process.count").iter().filter(|count| **count == 3.0).count() >= 10
    });
    fs::write(&stop, "").unwrap();
    let output = monitor.ended();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    let highest = |name: &str| values(&folder, name).into_iter().fold(0.0, f64::max);
    assert_eq!(highest("process.count"), 3.0);
    // A shell that waits uses nothing; each of the other two says what it got.
    let truth: f64 = numbers(&text(&output.stdout)).chunks(2).map(|said| said[0] * 100.0).sum();
    assert!(
        highest("process.cpu_percent") > truth / 3.0,
        "{truth} {:?}",
        values(&folder, "process.cpu_percent")
    );
    fs::remove_file(stop).unwrap();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn gpus_have_counters_and_alerts_run_a_command() {
    let folder = folder("gpu");
    fs::create_dir(&folder).unwrap();
    let library = fake_nvml(&folder);
    let path = folder.display().to_string();
    let heard = folder.join("heard");
    let command = format!(
        "echo \"$STEPSCOPE_ALERT_STATE $STEPSCOPE_ALERT_DEVICE $STEPSCOPE_ALERT_MESSAGE\" >> {}; exit 7",
        heard.display()
    );
    let args = [
        "monitor",
        "-o",
        &path,
        "--every",
        "100ms",
        "--alert",
        "gpu_utilization>70% for 500ms",
        "--alert",
        "gpu_memory(0)>=25%",
        "--alert",
        "temperature>90C",
        "--on-alert",
        &command,
    ];
    let monitor = Program::start(stepscope(&args).env("STEPSCOPE_NVML", &library));
    wait_until("three alerts and their commands", || {
        alerts(&folder).len() >= 3 && fs::read_to_string(&heard).is_ok_and(|text| text.lines().count() >= 3)
    });
    monitor.signal("-INT");
    let output = monitor.ended();
    let (said, table) = (text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{said}");
    let series = kept(&folder);
    let of = |name: &str, device| mean(&series, name, Some(device));
    let gib = 1_073_741_824.0;
    for device in [0, 1] {
        assert_eq!(of("gpu.utilization_percent", device), Some(75.0));
        assert_eq!(of("gpu.memory_used_bytes", device), Some(20.0 * gib));
        assert_eq!(of("gpu.power_w", device), Some(350.5));
        assert_eq!(of("gpu.temperature_c", device), Some(61.0));
        assert_eq!(of("gpu.sm_clock_mhz", device), Some(1980.0));
    }
    // What is not measured is not there, and the monitor's own memory is no one's business.
    assert!(of("gpu.energy_j", 0).is_some() && of("gpu.energy_j", 1).is_none());
    assert!(series.iter().all(|one| !one.name.contains("process")), "no process was named");
    let events = alerts(&folder);
    let fired = |state| {
        let of = events.iter().filter(|event| event.state == state);
        of.map(|event| (event.rule.as_str(), event.device)).collect::<Vec<_>>()
    };
    let both = [
        ("gpu_memory(0)>=25%", Some(0)),
        ("gpu_utilization>70% for 500ms", Some(0)),
        ("gpu_utilization>70% for 500ms", Some(1)),
    ];
    assert_eq!(fired(AlertState::Firing), both, "{events:?}");
    // The monitor ended meanwhile.
    assert_eq!(fired(AlertState::Over).len(), 3);
    let heard = fs::read_to_string(heard).unwrap();
    assert!(
        heard.contains("firing 1 GPU 1 utilization has been above 70% for 500.0 ms (now 75.0%)\n"),
        "{heard}"
    );
    assert_eq!(heard.lines().count(), 6, "{heard}");
    // A command that fails is reported once.
    assert_eq!(said.matches("failed with exit code 7").count(), 1, "{said}");
    assert_eq!(said.matches("alert: ").count(), 3, "{said}");
    for words in ["GPU 0 utilization", "GPU 1 power", "350 W", "GPU 0 energy", "Alerts", "3 fired"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn ctrl_c_ends_cleanly_and_a_kill_loses_nothing() {
    for (name, code) in [("-INT", Some(0)), ("-TERM", Some(0)), ("-KILL", None)] {
        let folder = folder(&format!("ended{name}"));
        let path = folder.display().to_string();
        let monitor = begin(&["monitor", "-o", &path, "--every", "100ms"]);
        let samples = || values(&folder, "host.memory_used_bytes").len();
        wait_until("samples", || samples() >= 3);
        let before = samples();
        monitor.signal(name);
        let output = monitor.ended();
        assert_eq!(output.status.code(), code, "{name}: {}", text(&output.stderr));
        assert_eq!(text(&output.stdout).contains("CPU of the machine"), code.is_some());
        assert!(samples() >= before);
        assert!(mean(&kept(&folder), "host.memory_used_bytes", None).is_some());
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_process_that_ends_ends_the_monitor() {
    let folder = folder("gone");
    let path = folder.display().to_string();
    let mut program = sleeper();
    let pid = program.pid();
    let monitor = begin(&["monitor", "-o", &path, "--every", "100ms", "--pid", &pid]);
    wait_until("a sample of the process", || !values(&folder, "process.rss_bytes").is_empty());
    program.0.kill().unwrap();
    // No one has waited for it yet, and it has ended all the same.
    let output = monitor.ended();
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stderr);
    assert!(said.contains(&format!("process {pid} has ended, and the monitor with it")), "{said}");
    assert!(mean(&kept(&folder), "process.rss_bytes", None).unwrap() > 1e5);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_program_is_told_to_end_with_the_monitor() {
    let folder = folder("told");
    let path = folder.display().to_string();
    // Without a terminal no one else tells it.
    let program = "sleep 600 & trap \"kill $!; exit 5\" TERM; echo ready; wait";
    let mut monitor = begin(&["monitor", "-o", &path, "-q", "--", "sh", "-c", program]);
    assert_eq!(monitor.first_line(), "ready");
    monitor.signal("-TERM");
    let output = monitor.ended();
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_watched_is_said_before_anything_is_written() {
    let folder = folder("wrong");
    let path = folder.display().to_string();
    let library = "/no/such/library.so";
    for (args, message, hint) in [
        (vec!["--pid", "4000000"], "there is no process with this number", "ps -e"),
        (
            vec!["--alert", "gpu_utilisation<3%"],
            "no such counter: gpu_utilisation",
            "did you mean gpu_utilization?",
        ),
        (vec!["--alert", "gpu_utilization<3%"], "is not measured here", "stepscope doctor"),
        (vec!["--alert", "rss>1GiB"], "rss is not measured here", "--pid"),
        (vec!["--alert", "cpu>"], "this is not a threshold for cpu", "cpu<30%"),
        (vec!["--every", "1ms"], "from 50ms to 1m", ""),
        (vec!["--on-alert", "true"], "--alert", ""),
    ] {
        let args = [&["monitor", "-o", &path], &args[..]].concat();
        let output = stepscope(&args).env("STEPSCOPE_NVML", library).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(message) && said.contains(hint), "{args:?}: {said}");
        assert!(!folder.exists(), "{args:?}");
    }
    let output = run(&["monitor", "-o", &path, "--", "no-such-program-anywhere"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("check the spelling"), "{}", text(&output.stderr));
    let output = run(&["monitor", "-o", &path, "--sample", "--duration", "1s"]);
    assert!(text(&output.stderr).contains("stacks are those of a process"), "{}", text(&output.stderr));
    // A process without a Python.
    let program = sleeper();
    let pid = program.pid();
    let output = run(&["monitor", "-o", &path, "--pid", &pid, "--sample", "--duration", "1s"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("hint:"), "{}", text(&output.stderr));
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn stacks_of_a_program_become_flame_graphs() {
    let folder = folder("stacks");
    let (path, stop) = (folder.display().to_string(), folder.with_extension("stop"));
    let words = ["--", &python(), "-c", BUSY, stop.to_str().unwrap()];
    let mut monitor = begin(&[&["monitor", "-o", &path, "-q", "--sample", "100"], &words[..]].concat());
    // A Python that is not there at once is looked for after 1 s, and after 2 s more: by then there were 300 samples.
    wait_for_looks(&mut monitor, 450);
    fs::write(&stop, "").unwrap();
    let output = monitor.ended();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let found = stacks(&folder, Period::last(120, now_ns())).unwrap();
    let looks_of = |name: &str| {
        let of = found.stacks.iter().filter(|stack| stack.frames.iter().any(|frame| frame.name == name));
        of.map(|stack| stack.samples).sum::<u64>() as f64
    };
    let (all, most) = (looks_of("spin"), looks_of("three_quarters"));
    assert!(all > 50.0 && all <= found.samples() as f64, "{all} of {} samples", found.samples());
    let truth = numbers(&text(&output.stdout))[1];
    // Chance alone stays within 10 points of 300 samples.
    assert!((most / all - truth).abs() < 0.15, "{most} of {all} is not {truth}");
    let table = run(&["production", "flame", &path, "--last", "2h"]);
    let table = text(&table.stdout);
    assert!(table.contains("three_quarters") && table.contains("spin"), "{table}");
    for (name, holds) in [
        ("flame.svg", "three_quarters"),
        ("flame.folded", ";three_quarters (<string>:7);spin (<string>:3) "),
        ("flame.speedscope.json", "three_quarters"),
        ("flame.pprof", "three_quarters"),
    ] {
        let file = folder.join(name);
        let file_text = file.display().to_string();
        let output = run(&["production", "flame", &path, "--last", "2h", "-o", &file_text]);
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        assert!(text(&fs::read(&file).unwrap()).contains(holds), "{name}");
    }
    // Every format that is written can be read again, and says the same.
    let again = run(&["functions", &folder.join("flame.pprof").display().to_string(), "--format", "json"]);
    assert!(text(&again.stdout).contains("three_quarters"), "{}", text(&again.stderr));
    let output = run(&["production", "flame", &path, "-o", &folder.join("flame.exe").display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    fs::remove_file(stop).unwrap();
    fs::remove_dir_all(folder).unwrap();
}

/// Stacks of one hour, as a monitor would have counted them.
fn hour_of_stacks(folder: &Path, at_ns: i64, counts: &[(&[&str], u64)]) {
    let mut writer = StackWriter::open(folder, 50_000_000, at_ns).unwrap();
    for (names, samples) in counts {
        let frame = |name: &&str| StackFrame { name: (*name).to_owned(), file: "serve.py".to_owned(), line: 1 };
        let frames: Vec<u32> = names.iter().map(frame).map(|frame| writer.frame(&frame)).collect();
        writer.add(&frames, *samples);
    }
    assert_eq!(writer.write(), None);
}

#[test]
fn two_hours_are_compared() {
    let folder = folder("hours");
    let path = folder.display().to_string();
    // 2026-11-17T01:00Z and the hour after it.
    let first = 1_794_877_200_000_000_000;
    hour_of_stacks(&folder, first, &[(&["main", "encode"], 800), (&["main", "decode"], 200)]);
    hour_of_stacks(&folder, first + HOUR_NS, &[(&["main", "encode"], 500), (&["main", "decode"], 1_500)]);
    let flame = |args: &[&str]| run(&[&["production", "flame", &path], args].concat());
    let (before, after) = ("2026-11-17T01", "2026-11-17T02");
    let output = flame(&["--hour", after, "--against", before]);
    let table = text(&output.stdout);
    let line = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    let words = |name: &str| line(name).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    // 20% of 1,000 samples, then 75% of 2,000.
    assert_eq!(words("decode")[1..4], ["20.0%", "75.0%", "+55.0"], "{table}");
    assert_eq!(words("encode")[1..4], ["80.0%", "25.0%", "-55.0"], "{table}");
    let svg = folder.join("changed.svg");
    assert!(flame(&["--hour", after, "--against", before, "-o", &svg.display().to_string()]).status.success());
    let svg = fs::read_to_string(svg).unwrap();
    assert!(svg.contains("class=\"up3\"") && svg.contains("75.00% (20.00% before)"), "{svg}");
    let folded = folder.join("changed.folded");
    assert!(
        flame(&["--hour", after, "--against", before, "-o", &folded.display().to_string()]).status.success()
    );
    assert_eq!(
        fs::read_to_string(folded).unwrap(),
        "main (serve.py:1);decode (serve.py:1) 200 1500\nmain (serve.py:1);encode (serve.py:1) 800 500\n"
    );
    let output = flame(&["--hour", after, "--against", before, "-o", "changed.pprof"]);
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("-diff_base"));
    let output = flame(&["--hour", "2026-11-17T09"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("from --hour 2026-11-17T01 to --hour 2026-11-17T02"), "{said}");
    let output = flame(&["--hour", "yesterday"]);
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("2026-11-17T01"));
    fs::remove_dir_all(folder).unwrap();
}

/// Minutes of a service in which `/predict` takes 300 ms: three that are over, and ten more, because a minute may end while
/// the test runs.
fn service(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let now = now_ns().div_euclid(MINUTE_NS);
    for (at, minute) in (now - 3..now + 10).enumerate() {
        let mut stats = RouteStats::default();
        (0..100).for_each(|_| stats.latency.record(300_000_000));
        let routes = BTreeMap::from([("/predict".to_owned(), stats)]);
        write_minute(folder, at + 1, &Block { minute, sequence: at as u64, routes, ..Block::default() });
    }
}

#[test]
fn the_directory_of_a_service_is_watched() {
    let folder = folder("service");
    service(&folder);
    let path = folder.display().to_string();
    let watch = |rule: &str| {
        run(&["monitor", "--watch", &path, "--alert", rule, "--every", "200ms", "--duration", "300ms"])
    };
    let output = watch("p95(/predict)>100ms");
    let (said, table) = (text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("alert: p95 of /predict is above 100 ms (now 300.0 ms)"), "{said}");
    assert!(table.contains("1 fired"), "{table}");
    assert_eq!(alerts(&folder)[0].rule, "p95(/predict)>100ms");
    assert!(text(&watch("p95(/predict)>400ms").stdout).contains("none"));
    assert!(text(&watch("requests_per_second(/predict)>1").stderr).contains("(now 1.67/s)"));
    let output = watch("cpu>1%");
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("monitor -o DIR"));
    let output = run(&["monitor", "--watch", "/no/such/directory", "--alert", "error_rate>1%"]);
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("there is no directory"));
    // Whoever measures the machine there may have rules about the service too.
    let output =
        run(&["monitor", "-o", &path, "--duration", "1s", "--alert", "p95>100ms", "--alert", "cpu>=0%"]);
    let said = text(&output.stderr);
    assert!(
        said.contains("alert: p95 of all requests") && said.contains("alert: CPU of the machine"),
        "{said}"
    );
    fs::remove_dir_all(folder).unwrap();
}
