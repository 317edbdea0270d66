//! Stacks of other processes, compared with what py-spy says about the same process.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use stepscope_record::spy::{Doing, Spy};

/// Every shape that `shapes.py` knows and that stands still.
pub(crate) const SHAPES: [&str; 12] = [
    "plain",
    "threads",
    "generators",
    "generator_expression",
    "coroutines",
    "c_calls",
    "recursion",
    "comprehensions",
    "classes",
    "executed",
    "handlers",
    "long_lines",
];

/// A program that is ended with the test.
pub(crate) struct Program(pub(crate) Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn start(python: &PathBuf, shape: &str) -> Program {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/shapes.py");
    let mut child =
        Command::new(python).arg("-u").arg(script).arg(shape).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "ready", "{shape}");
    match SHAPES.contains(&shape) {
        true => wait_until_still(child.id()),
        false => std::thread::sleep(Duration::from_millis(100)),
    }
    Program(child)
}

/// Waits until no thread of a process has run for a while: on a busy machine it takes long to fall asleep.
fn wait_until_still(pid: u32) {
    let sleeps = |task: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
    };
    let all_sleep = || std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten().all(sleeps);
    let began = Instant::now();
    let mut in_a_row = 0;
    while in_a_row < 10 && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
        in_a_row = if all_sleep() { in_a_row + 1 } else { 0 };
    }
}

/// The Pythons of this machine: those of pyenv from 3.9 on, and the system's.
pub(crate) fn pythons() -> Vec<PathBuf> {
    let home = std::env::var("HOME").unwrap_or_default();
    let versions = ["3.9", "3.10", "3.11", "3.12", "3.13"];
    let folder = std::fs::read_dir(format!("{home}/.pyenv/versions")).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = folder
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            versions.iter().any(|version| name.starts_with(&format!("{version}.")))
        })
        .map(|entry| entry.path().join("bin/python3"))
        .collect();
    found.push(PathBuf::from("/usr/bin/python3"));
    found.retain(|path| path.exists());
    found.sort();
    found
}

pub(crate) fn py_spy() -> Option<PathBuf> {
    let named = std::env::var_os("STEPSCOPE_PY_SPY").map(PathBuf::from);
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/bin/py-spy");
    named.or(Some(own)).filter(|path| path.exists())
}

/// By the system's number of a thread: its name, and its frames with file, function and line.
type Stacks = BTreeMap<u32, (String, Vec<(String, String, u32)>)>;

fn ours(spy: &mut Spy) -> Stacks {
    let seen = spy.look().unwrap();
    let mut found = Stacks::new();
    for thread in seen {
        let name = spy.thread_name(thread.ident).unwrap_or_default();
        let frames = thread.frames.iter().map(|frame| {
            let code = spy.code(frame.code).unwrap();
            (code.file.clone(), code.qualified_name.clone(), frame.line)
        });
        found.insert(thread.native_id.unwrap(), (name, frames.collect()));
    }
    found
}

fn theirs(py_spy: &PathBuf, pid: u32) -> Stacks {
    let output = Command::new(py_spy).args(["dump", "--json", "--pid", &pid.to_string()]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let value: serde_json::Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text} {}", String::from_utf8_lossy(&output.stderr)));
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let thread = |thread: &serde_json::Value| {
        let frames = thread["frames"].as_array().unwrap().iter();
        let frames = frames.map(|frame| {
            (text(&frame["filename"]), text(&frame["name"]), frame["line"].as_u64().unwrap() as u32)
        });
        let number = thread["os_thread_id"].as_u64().unwrap() as u32;
        (number, (text(&thread["thread_name"]), frames.collect()))
    };
    value.as_array().unwrap().iter().map(thread).collect()
}

#[test]
fn stacks_equal_py_spys() {
    let Some(py_spy) = py_spy() else {
        eprintln!("skipped: py-spy is not here; STEPSCOPE_PY_SPY names it");
        return;
    };
    let mut compared = 0;
    for python in pythons() {
        for shape in SHAPES {
            let program = start(&python, shape);
            let pid = program.0.id();
            let mut spy = Spy::attach(pid).unwrap_or_else(|error| panic!("{python:?} {shape}: {error:?}"));
            let (ours, theirs) = (ours(&mut spy), theirs(&py_spy, pid));
            assert_eq!(ours, theirs, "{python:?} {shape}");
            assert!(ours.values().any(|(_, frames)| frames.iter().any(|frame| frame.1 == "wait")));
            compared += 1;
        }
    }
    assert!(compared > 0);
}

#[test]
fn a_still_stack_takes_one_read() {
    for python in pythons() {
        for shape in ["plain", "threads", "recursion", "coroutines"] {
            let program = start(&python, shape);
            let mut spy = Spy::attach(program.0.id()).unwrap();
            for _ in 0..20 {
                spy.look().unwrap();
            }
            // A call that a busy machine interrupts is made again, once; some try of five is left alone.
            let mut fewest = u64::MAX;
            for _ in 0..5 {
                let (before, began) = (spy.stats(), Instant::now());
                for _ in 0..200 {
                    spy.look().unwrap();
                }
                let reads = spy.stats().reads - before.reads;
                let checks = began.elapsed().as_millis() as u64 / 100 + 1;
                assert!(reads <= 2 * 200 + checks, "{python:?} {shape}: {reads} reads in 200 looks");
                fewest = fewest.min(reads.saturating_sub(checks));
            }
            assert!(fewest <= 220, "{python:?} {shape}: {fewest} reads in 200 looks");
            let stats = spy.stats();
            assert_eq!(stats.torn, 0);
        }
    }
}

#[test]
fn locals_are_shown_without_calling_anything() {
    for python in pythons() {
        let program = start(&python, "local_variables");
        let mut spy = Spy::attach(program.0.id()).unwrap();
        let seen = spy.look().unwrap();
        let frame = |name: &str| {
            *seen[0].frames.iter().find(|frame| spy.code(frame.code).unwrap().name == name).unwrap()
        };
        let (outer, inner) = (frame("local_variables"), frame("closes_over"));
        let outer: BTreeMap<String, String> = spy.locals(&outer).into_iter().collect();
        let shown = |name: &str| outer.get(name).map(String::as_str);
        assert_eq!(shown("text"), Some("\"text\\n\""), "{python:?}");
        assert_eq!(shown("nothing"), Some("None"));
        assert_eq!(shown("truth"), Some("True"));
        assert_eq!(shown("real"), Some("2.5"));
        assert_eq!(shown("negative"), Some("-12"));
        assert!(shown("large").unwrap().starts_with("an int of about"));
        assert_eq!(shown("pairs"), Some("{\"a\": 1, 2: (3,)}"));
        assert_eq!(shown("raw"), Some("b\"\\x00abc\""));
        assert_eq!(shown("rest"), Some("()"));
        let inner: Vec<String> = spy.locals(&inner).into_iter().map(|(name, _)| name).collect();
        assert_eq!(inner, ["number", "values"]);
    }
}

#[test]
fn who_runs_and_who_holds_the_lock() {
    for python in pythons() {
        let program = start(&python, "busy");
        let mut spy = Spy::attach(program.0.id()).unwrap();
        let (mut running, mut holding) = (0, 0);
        for _ in 0..100 {
            let seen = spy.look().unwrap();
            running += u32::from(spy.doing(seen[0].native_id.unwrap()) == Some(Doing::Running));
            holding += u32::from(seen[0].holds_gil);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(running > 90 && holding > 90, "{python:?}: {running} {holding}");
        drop(program);
        let program = start(&python, "plain");
        let mut spy = Spy::attach(program.0.id()).unwrap();
        let seen = spy.look().unwrap();
        assert!(!seen[0].holds_gil);
        let thread = seen[0].native_id.unwrap();
        assert_eq!(spy.doing(thread), Some(Doing::Waiting));
        // Python 3.11 and later sleep by the clock's own call, earlier ones by `select`.
        let call = spy.waits_in(thread).unwrap();
        assert!(call == "clock_nanosleep" || call.contains("select"), "{call}");
    }
}

#[test]
fn a_process_that_ends_is_an_error_and_no_panic() {
    let Some(python) = pythons().pop() else { return };
    let mut program = start(&python, "busy");
    let mut spy = Spy::attach(program.0.id()).unwrap();
    let pid = program.0.id();
    let ends = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        program.0.kill().unwrap();
        program.0.wait().unwrap();
    });
    let error = loop {
        if let Err(error) = spy.look() {
            break error;
        }
    };
    ends.join().unwrap();
    assert!(error.what.contains(&pid.to_string()), "{error:?}");
    assert!(Spy::attach(pid).unwrap_err().gone);
}

#[test]
fn what_is_no_python_is_said_so() {
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let error = Spy::attach(child.id()).unwrap_err();
    let _ = child.kill();
    let _ = child.wait();
    assert!(error.what.contains("no Python") && error.what.contains("sleep 60"), "{error:?}");
    assert!(error.hint.contains("dump --all"));
}

#[test]
fn a_python_that_is_not_known_is_named_with_what_was_looked_for() {
    let home = std::env::var("HOME").unwrap_or_default();
    let folder = std::fs::read_dir(format!("{home}/.pyenv/versions")).into_iter().flatten().flatten();
    for entry in folder {
        let name = entry.file_name().to_string_lossy().into_owned();
        let expected = match name.split('.').collect::<Vec<_>>().as_slice() {
            ["2", ..] | ["3", "6", ..] => "there is no _PyRuntime in it",
            ["3", "7" | "8", ..] => "is older than 3.9, which is not known",
            _ => continue,
        };
        let mut child = Command::new(entry.path().join("bin/python"))
            .args(["-c", "import time; time.sleep(60)"])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(500));
        let error = Spy::attach(child.id()).unwrap_err();
        let _ = child.kill();
        let _ = child.wait();
        assert!(error.what.contains(expected), "{name}: {error:?}");
        assert!(error.hint.contains("CPython 3.9 to 3.13"), "{name}: {error:?}");
    }
}

/// Who calls whom in the shape `calls`.
const CALLED_BY: [(&str, &str); 7] = [
    ("leaf_a", "mid_a"),
    ("mid_a", "outer_a"),
    ("leaf_b", "mid_b"),
    ("mid_b", "outer_b"),
    ("outer_a", "calls"),
    ("outer_b", "calls"),
    ("calls", "<module>"),
];

#[test]
fn stacks_that_change_all_the_time_are_whole() {
    const LOOKS: usize = 4_000;
    for python in pythons() {
        let program = start(&python, "calls");
        let mut spy = Spy::attach(program.0.id()).unwrap();
        // One in a thousand, of a program that does nothing but call, on a machine where a look may be interrupted.
        let whole = (0..6).any(|_| {
            let before = spy.stats();
            let impossible = impossible_stacks(&mut spy, LOOKS);
            let torn = spy.stats().torn - before.torn;
            eprintln!(
                "{python:?}: {} impossible, {torn} torn, {} read again of {LOOKS}: {:?}",
                impossible.len(),
                spy.stats().again - before.again,
                impossible.first()
            );
            impossible.len() * 1000 <= LOOKS && torn * 100 <= LOOKS as u64
        });
        assert!(whole, "{python:?}");
    }
}

#[test]
fn a_call_that_leads_to_several_functions_loses_none_of_them() {
    for python in pythons() {
        let program = start(&python, "several");
        let mut spy = Spy::attach(program.0.id()).unwrap();
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for _ in 0..1000 {
            let seen = spy.look().unwrap();
            if let Some(frame) = seen[0].frames.first() {
                *counts.entry(spy.code(frame.code).unwrap().name.clone()).or_default() += 1;
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        // Both take the same time; on a busy machine several looks see the same moment.
        let share = |name: &str| f64::from(counts.get(name).copied().unwrap_or(0)) / 1000.0;
        let (a, b) = (share("short_a"), share("short_b"));
        assert!(a > 0.2 && b > 0.2, "{python:?}: {counts:?}");
        assert_eq!(spy.stats().torn, 0, "{python:?}");
    }
}

/// Stacks that the shape `calls` cannot have.
pub(crate) fn impossible_stacks(spy: &mut Spy, looks: usize) -> Vec<Vec<String>> {
    let mut impossible = Vec::new();
    for _ in 0..looks {
        let seen = spy.look().unwrap();
        let codes = seen[0].frames.iter().map(|frame| spy.code(frame.code).unwrap());
        let names: Vec<String> = codes.filter(|code| !code.native).map(|code| code.name.clone()).collect();
        let fits = |pair: &[String]| CALLED_BY.contains(&(pair[0].as_str(), pair[1].as_str()));
        let whole = names.last().is_some_and(|name| name == "<module>");
        if !(names.is_empty() || whole && names.windows(2).all(fits)) {
            impossible.push(names);
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    impossible
}
