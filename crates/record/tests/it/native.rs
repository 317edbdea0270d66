//! Native frames, and samples of threads that are stopped for a moment.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use stepscope_record::spy::{Mode, Spy};

use crate::spy::{Program, SHAPES, impossible_stack, py_spy, pythons, pythons_of_this_run, start};
use crate::{MAX_WAIT, until};

/// Frames with whether they are native: function, file, line.
type Frames = Vec<(bool, String, String, u32)>;

fn frames(spy: &mut Spy) -> Vec<Frames> {
    let seen = spy.sample().unwrap();
    let named = |thread: &stepscope_record::spy::ThreadSample| {
        let frames = thread.frames.iter().filter_map(|frame| {
            let code = spy.code(frame.code)?;
            Some((code.native, code.qualified_name.clone(), code.file.clone(), frame.line))
        });
        frames.collect()
    };
    seen.iter().map(named).collect()
}

fn attach(pid: u32, mode: Mode) -> Spy {
    let mut spy = Spy::attach(pid).unwrap();
    spy.set_mode(mode);
    spy
}

#[test]
fn python_frames_are_the_same_with_native_ones_between_them() {
    let thoroughly = pythons_of_this_run();
    for python in pythons() {
        let few = ["plain", "threads", "coroutines", "c_calls"];
        for shape in if thoroughly.contains(&python) { SHAPES.as_slice() } else { &few } {
            let program = start(&python, shape);
            let plain = frames(&mut attach(program.0.id(), Mode::Running));
            let mut spy = attach(program.0.id(), Mode::Native);
            // All of these sleep: that is the system's, below the innermost Python function.
            let sleeps = |native: &[Frames]| {
                native.iter().any(|thread| {
                    let mut inner = thread.iter().take_while(|frame| frame.0);
                    inner.any(|frame| frame.1.contains("nanosleep") || frame.1.contains("select"))
                })
            };
            // On a busy machine a thread may not get a processor in time to stop, and is then seen without native frames.
            let native = until(&format!("{python:?} {shape}: the call that it sleeps in"), || {
                Some(frames(&mut spy)).filter(|native| sleeps(native))
            });
            let only = |all: &[Frames]| -> Vec<Frames> {
                all.iter().map(|one| one.iter().filter(|frame| !frame.0).cloned().collect()).collect()
            };
            assert_eq!(only(&native), plain, "{python:?} {shape}");
            // Nothing of how a program or the interpreter starts.
            let all: Vec<&str> = native.iter().flatten().map(|frame| frame.1.as_str()).collect();
            assert!(!all.iter().any(|name| name.contains("EvalFrameDefault") || *name == "_start"), "{all:?}");
        }
    }
}

/// Looks until a thread is in a native function of this name, called by this Python function.
fn seen_in(python: &PathBuf, shape: &str, names: &[&str], file: &str) {
    let program = start(python, shape);
    let mut spy = attach(program.0.id(), Mode::Native);
    let began = Instant::now();
    let mut last = Vec::new();
    while began.elapsed() < MAX_WAIT {
        last = frames(&mut spy);
        let Some(at) = last[0].iter().position(|frame| !frame.0) else { continue };
        let found =
            last[0][..at].iter().any(|(_, name, of, _)| names.contains(&name.as_str()) && of.contains(file));
        if found && last[0][at].1 == shape {
            return;
        }
    }
    panic!("{python:?} {shape}: {last:#?}");
}

#[test]
fn libraries_are_named_below_the_function_that_calls_them() {
    let mut without = Vec::new();
    for python in pythons() {
        let has = |module: &str| {
            let asked = Command::new(&python).args(["-c", &format!("import {module}")]).output();
            asked.is_ok_and(|output| output.status.success())
        };
        for (module, shape, function, file) in
            [("zlib", "squeezes", "deflate", "libz"), ("sqlite3", "counts_rows", "sqlite3_step", "sqlite3")]
        {
            match has(module) {
                true => seen_in(&python, shape, &[function], file),
                false => without.push(format!("{} has no {module}", python.display())),
            }
        }
    }
    if !without.is_empty() {
        println!("skipped: {}", without.join(", "));
    }
}

#[test]
fn native_frames_equal_py_spys() {
    let Some(py_spy) = py_spy() else {
        println!("skipped: py-spy is not here; STEPSCOPE_PY_SPY names it");
        return;
    };
    for python in pythons() {
        for shape in ["plain", "threads", "c_calls"] {
            let program = start(&python, shape);
            let pid = program.0.id();
            let mut spy = attach(pid, Mode::Native);
            let seen = until("a look at which every thread stopped in time", || {
                let seen = spy.sample().unwrap();
                let native =
                    |frame: &stepscope_record::spy::Frame| spy.code(frame.code).is_some_and(|code| code.native);
                seen.iter().all(|thread| thread.frames.iter().any(native)).then_some(seen)
            });
            let output = Command::new(&py_spy)
                .args(["dump", "--native", "--json", "--pid", &pid.to_string()])
                .output()
                .unwrap();
            let value: serde_json::Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
            // Python's frames, and those of the C library below them; which of the interpreter's own are shown is a matter of
            // taste, and so is how a thread begins.
            let of_libc = |file: &str| file.contains("/libc.so") || file.contains("/libc-");
            for thread in value.as_array().unwrap() {
                let number = thread["os_thread_id"].as_u64().unwrap() as u32;
                let text =
                    |frame: &serde_json::Value, key: &str| frame[key].as_str().unwrap_or_default().to_owned();
                let mut theirs: Vec<(bool, String)> = thread["frames"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|frame| (text(frame, "filename"), text(frame, "module"), text(frame, "name")))
                    .map(|(file, module, name)| (file.ends_with(".py") || file.starts_with('<'), module, name))
                    .filter(|(python, module, _)| *python || of_libc(module))
                    .map(|(python, _, name)| (python, name))
                    .collect();
                while theirs.last().is_some_and(|frame| !frame.0) {
                    theirs.pop();
                }
                let ours = seen.iter().find(|seen| seen.native_id == Some(number)).unwrap();
                let ours: Vec<(bool, String)> = ours
                    .frames
                    .iter()
                    .filter_map(|frame| spy.code(frame.code))
                    .filter(|code| !code.native || of_libc(&code.file))
                    .map(|code| (!code.native, code.qualified_name.clone()))
                    .collect();
                // A function without a name is an address there.
                let same = |(ours, theirs): (&(bool, String), &(bool, String))| {
                    ours == theirs || (!ours.0 && theirs.1.starts_with("0x"))
                };
                let fits = ours.len() == theirs.len() && ours.iter().zip(&theirs).all(same);
                assert!(fits, "{python:?} {shape}: {ours:?} {theirs:?}");
            }
        }
    }
}

#[test]
fn stacks_of_stopped_threads_are_always_whole() {
    let often = pythons_of_this_run();
    for python in pythons() {
        let program = start(&python, "calls");
        let stops = if often.contains(&python) { 200 } else { 20 };
        for mode in [Mode::Stopped, Mode::Native] {
            let mut spy = attach(program.0.id(), mode);
            let began = Instant::now();
            // On a busy machine a thread may not get a processor in time to stop; that sample is one of a running thread.
            while spy.stats().stops < stops {
                assert!(began.elapsed() < MAX_WAIT, "{python:?} {mode:?}: {:?}", spy.stats());
                let before = spy.stats();
                let impossible = impossible_stack(&mut spy);
                if spy.stats().stops > before.stops {
                    assert_eq!(impossible, None, "{python:?} {mode:?}");
                    assert_eq!(spy.stats().torn, before.torn, "{python:?} {mode:?}");
                }
                std::thread::sleep(Duration::from_micros(200));
            }
            assert!(spy.stats().stopped_ns > 0, "{:?}", spy.stats());
        }
    }
}

#[test]
fn signals_reach_a_program_that_is_stopped_again_and_again() {
    let python = pythons().pop().unwrap();
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/shapes.py");
    let mut command = Command::new(&python);
    let command = command.arg("-u").arg(script).arg("alarmed").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut program = Program(command.spawn().unwrap());
    let mut said = BufReader::new(program.0.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    // It goes on until it has got 300 signals and has been sampled a hundred times.
    let mut input = program.0.stdin.take();
    let mut spy = attach(program.0.id(), Mode::Native);
    let (mut looks, began) = (0, Instant::now());
    while spy.sample().is_ok() {
        looks += 1;
        if looks > 100 {
            drop(input.take());
        }
        assert!(began.elapsed() < MAX_WAIT, "a signal was lost; {looks} looks");
        std::thread::sleep(Duration::from_millis(1));
    }
    // It ended by itself, and the one who started it learns how.
    assert!(program.0.wait().unwrap().success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    let signals: u32 = rest.trim().parse().unwrap();
    assert!(looks > 100 && signals >= 300 && spy.stats().stops > 0, "{looks} looks, {signals} signals");
}

#[test]
fn a_process_that_is_killed_while_it_is_stopped_is_an_error() {
    for python in pythons_of_this_run() {
        for mode in [Mode::Stopped, Mode::Native] {
            let mut program = start(&python, "calls");
            let mut spy = attach(program.0.id(), mode);
            for _ in 0..20 {
                spy.sample().unwrap();
            }
            program.0.kill().unwrap();
            until(&format!("{python:?} {mode:?}: a look at a process that was killed fails"), || {
                spy.sample().err()
            });
            assert_eq!(program.0.wait().unwrap().code(), None);
        }
    }
}
