//! Stacks of other processes, compared with what py-spy says about the same process.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use stepscope_record::spy::{Spy, TaskState};

use crate::{MAX_WAIT, until};

/// Every shape that `shapes.py` knows and that does not change.
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

pub(crate) struct Program(pub(crate) Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn start(python: &PathBuf, shape: &str) -> Program {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/shapes.py");
    let child = Command::new(python).arg("-u").arg(script).arg(shape).stdout(Stdio::piped()).spawn().unwrap();
    let mut program = Program(child);
    wait_until_ready(&mut program);
    if SHAPES.contains(&shape) || shape == "local_variables" {
        wait_until_still(program.0.id());
    }
    program
}

/// Programs say `ready` from the function that they then stay in, so no one has to guess how long they take to get there.
fn wait_until_ready(program: &mut Program) {
    let mut line = String::new();
    BufReader::new(program.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "ready");
}

/// Waits until all threads of a process sleep and none has run since the sample before. The system counts how long and how often
/// a thread ran: two samples with the same counts have nothing between them, however late a busy machine takes them.
fn wait_until_still(pid: u32) {
    let look = || -> Option<Vec<String>> {
        let mut all = Vec::new();
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
            let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
            if !stat.rsplit(')').next()?.trim_start().starts_with('S') {
                return None;
            }
            all.push(std::fs::read_to_string(task.path().join("schedstat")).ok()?);
        }
        Some(all)
    };
    let mut before = None;
    until(&format!("all threads of {pid} sleep"), || {
        let now = look();
        let is_still = now.is_some() && now == before;
        before = now;
        is_still.then_some(())
    });
}

/// A number in what the system says about a thread.
fn in_status(thread: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("{thread}/status")).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    value.trim_start_matches(':').trim().parse().unwrap()
}

/// How often the system took the processor away from this thread. A sample with such a moment in it says nothing about how
/// well stacks are read: what it reads before and after lies milliseconds apart.
fn interruptions() -> u64 {
    in_status("/proc/thread-self", "nonvoluntary_ctxt_switches")
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
    if found.is_empty() {
        let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        let output = asked.unwrap_or_else(|error| panic!("these tests need a python3: {error}"));
        assert!(output.status.success(), "these tests need a python3: {output:?}");
        found.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    found
}

/// The same for what takes thousands of samples: at night all of them, else one. What differs from one Python to the next is
/// compared for all of them by tests that need a few samples each.
pub(crate) fn pythons_of_this_run() -> Vec<PathBuf> {
    let mut all = pythons();
    if std::env::var_os("STEPSCOPE_NIGHTLY").is_none_or(|value| value != "1") {
        all.drain(..all.len() - 1);
    }
    all
}

pub(crate) fn py_spy() -> Option<PathBuf> {
    let named = std::env::var_os("STEPSCOPE_PY_SPY").map(PathBuf::from);
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/bin/py-spy");
    named.or(Some(own)).filter(|path| path.exists())
}

/// By the system's number of a thread: its name, and its frames with file, function and line.
type Stacks = BTreeMap<u32, (String, Vec<(String, String, u32)>)>;

fn ours(spy: &mut Spy) -> Stacks {
    let seen = spy.sample().unwrap();
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
        println!("skipped: py-spy is not here; STEPSCOPE_PY_SPY names it");
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
                spy.sample().unwrap();
            }
            // A call that a busy machine interrupts is made again, once; some try of a hundred is left alone.
            let mut fewest = u64::MAX;
            for _ in 0..100 {
                let (before, began) = (spy.stats(), Instant::now());
                for _ in 0..200 {
                    spy.sample().unwrap();
                }
                let reads = spy.stats().reads - before.reads;
                let checks = began.elapsed().as_millis() as u64 / 100 + 1;
                assert!(reads <= 2 * 200 + checks, "{python:?} {shape}: {reads} reads in 200 looks");
                fewest = fewest.min(reads.saturating_sub(checks));
                if fewest <= 220 {
                    break;
                }
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
        let seen = spy.sample().unwrap();
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
        // Printing lets go of the lock for a moment; from then on nothing does.
        until("the program holds the lock", || spy.sample().unwrap()[0].holds_gil.then_some(()));
        let mut compared = 0;
        let began = Instant::now();
        while compared < 100 {
            assert!(
                began.elapsed() < MAX_WAIT,
                "{python:?}: only {compared} looks at a thread that did not wait"
            );
            let seen = spy.sample().unwrap();
            let number = seen[0].native_id.unwrap();
            let thread = format!("/proc/{}/task/{number}", program.0.id());
            // A thread that was ready to run and has not waited since was ready all the time, also where the machine
            // had no processor for it.
            let waits = in_status(&thread, "voluntary_ctxt_switches");
            let stat = std::fs::read_to_string(format!("{thread}/stat")).unwrap();
            let doing = spy.doing(number);
            if stat.rsplit(')').next().unwrap().trim_start().starts_with('R')
                && in_status(&thread, "voluntary_ctxt_switches") == waits
            {
                assert_eq!(doing, Some(TaskState::Running), "{python:?}");
                compared += 1;
            }
            assert!(seen[0].holds_gil, "{python:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(program);
        let program = start(&python, "plain");
        let mut spy = Spy::attach(program.0.id()).unwrap();
        let seen = spy.sample().unwrap();
        assert!(!seen[0].holds_gil);
        let thread = seen[0].native_id.unwrap();
        assert_eq!(spy.doing(thread), Some(TaskState::Waiting));
        // Python 3.11 and later sleep by the clock's own call, earlier ones by `select`.
        let call = spy.waits_in(thread).unwrap();
        assert!(call == "clock_nanosleep" || call.contains("select"), "{call}");
    }
}

#[test]
fn a_process_that_ends_is_an_error_and_no_panic() {
    let python = pythons().pop().unwrap();
    let mut program = start(&python, "busy");
    let mut spy = Spy::attach(program.0.id()).unwrap();
    let pid = program.0.id();
    for _ in 0..20 {
        spy.sample().unwrap();
    }
    let ends = std::thread::spawn(move || {
        program.0.kill().unwrap();
        program.0.wait().unwrap();
    });
    // It ends while it is sampled.
    let error = until("a look at a process that has ended fails", || spy.sample().err());
    ends.join().unwrap();
    assert!(error.what.contains(&pid.to_string()), "{error:?}");
    assert!(Spy::attach(pid).unwrap_err().gone);
}

#[test]
fn what_is_no_python_is_said_so() {
    let program = Program(Command::new("sleep").arg("60").spawn().unwrap());
    let pid = program.0.id();
    // A program that was just started has no words yet.
    until("the program has its words", || {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        (words == b"sleep\x0060\0").then_some(())
    });
    let error = Spy::attach(pid).unwrap_err();
    assert!(error.what.contains("no Python") && error.what.contains("sleep 60"), "{error:?}");
    assert!(error.hint.contains("dump --all"));
}

#[test]
fn a_python_that_is_not_known_is_named_with_what_was_looked_for() {
    let home = std::env::var("HOME").unwrap_or_default();
    let folder = std::fs::read_dir(format!("{home}/.pyenv/versions")).into_iter().flatten().flatten();
    let mut tried = 0;
    for entry in folder {
        let name = entry.file_name().to_string_lossy().into_owned();
        let expected = match name.split('.').collect::<Vec<_>>().as_slice() {
            ["2", ..] | ["3", "6", ..] => "there is no _PyRuntime in it",
            ["3", "7" | "8", ..] => "is older than 3.9, which is not known",
            _ => continue,
        };
        let says_ready = "import sys, time; print('ready'); sys.stdout.flush(); time.sleep(60)";
        let mut command = Command::new(entry.path().join("bin/python"));
        let child = command.args(["-c", says_ready]).stdout(Stdio::piped()).spawn().unwrap();
        let mut program = Program(child);
        wait_until_ready(&mut program);
        let error = Spy::attach(program.0.id()).unwrap_err();
        assert!(error.what.contains(expected), "{name}: {error:?}");
        assert!(error.hint.contains("CPython 3.9 to 3.13"), "{name}: {error:?}");
        tried += 1;
    }
    if tried == 0 {
        println!("skipped: no Python before 3.9 is installed with pyenv");
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
    for python in pythons_of_this_run() {
        let program = start(&python, "calls");
        let mut spy = Spy::attach(program.0.id()).unwrap();
        // One in a thousand, of a program that does nothing but call. What a machine does to this one, below the system that
        // counts interruptions, can only add to that: the best of some tries counts.
        let whole = (0..12).any(|_| {
            let (mut judged, mut torn, mut impossible) = (0, 0, Vec::new());
            for _ in 0..LOOKS {
                let (before, torn_before) = (interruptions(), spy.stats().torn);
                let found = impossible_stack(&mut spy);
                if interruptions() == before {
                    judged += 1;
                    torn += spy.stats().torn - torn_before;
                    impossible.extend(found);
                }
                std::thread::sleep(Duration::from_micros(200));
            }
            println!(
                "{python:?}: {} impossible and {torn} torn of {judged} looks without an interruption: {:?}",
                impossible.len(),
                impossible.first()
            );
            judged * 2 > LOOKS && impossible.len() * 1000 <= judged && torn * 100 <= judged as u64
        });
        assert!(whole, "{python:?}");
    }
}

#[test]
fn a_call_that_leads_to_several_functions_loses_none_of_them() {
    for python in pythons_of_this_run() {
        let program = start(&python, "several");
        let mut spy = Spy::attach(program.0.id()).unwrap();
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        let (mut looks, mut torn) = (0, 0);
        let began = Instant::now();
        loop {
            let (before, torn_before) = (interruptions(), spy.stats().torn);
            let seen = spy.sample().unwrap();
            if interruptions() == before {
                torn += spy.stats().torn - torn_before;
            }
            if let Some(frame) = seen[0].frames.first() {
                *counts.entry(spy.code(frame.code).unwrap().name.clone()).or_default() += 1;
            }
            looks += 1;
            // Both take the same time. Where the program gets no processor, several samples see the same moment: then it
            // takes more of them, but a function that is lost is never seen often.
            let share = |name: &str| f64::from(counts.get(name).copied().unwrap_or(0)) / f64::from(looks);
            if looks >= 1000 && share("short_a") > 0.2 && share("short_b") > 0.2 {
                break;
            }
            assert!(began.elapsed() < MAX_WAIT, "{python:?}: {counts:?}");
            std::thread::sleep(Duration::from_micros(500));
        }
        assert_eq!(torn, 0, "{python:?}");
    }
}

/// Looks at the shape `calls`: a stack that it cannot have, if that is what is seen.
pub(crate) fn impossible_stack(spy: &mut Spy) -> Option<Vec<String>> {
    let seen = spy.sample().unwrap();
    let codes = seen[0].frames.iter().map(|frame| spy.code(frame.code).unwrap());
    let names: Vec<String> = codes.filter(|code| !code.native).map(|code| code.name.clone()).collect();
    let fits = |pair: &[String]| CALLED_BY.contains(&(pair[0].as_str(), pair[1].as_str()));
    let whole = names.last().is_some_and(|name| name == "<module>");
    (!(names.is_empty() || whole && names.windows(2).all(fits))).then_some(names)
}
