//! The real program on real files: what it prints, what it refuses, what it exits with.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed; helpers are tests too"
)]

mod analyses;
#[cfg(unix)]
mod capture;
mod commands;
#[cfg(unix)]
mod compare;
mod errors;
mod findings;
mod first_screen;
mod found_steps;
#[cfg(unix)]
mod gate;
#[cfg(target_os = "linux")]
mod growth;
mod house;
#[cfg(target_os = "linux")]
mod monitor;
mod narrowed;
#[cfg(target_os = "linux")]
mod process_faults;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(unix)]
mod production;
mod profiles;
mod readme;
mod repro;
mod snapshots;
mod view;
mod what_if;
mod words;

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a test waits for what never comes. What does come may be late: the machine does other things too.
const MAX_WAIT: Duration = Duration::from_secs(240);

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn fixture(case: &str) -> String {
    root().join("fixtures/pytorch/2.11-h200").join(case).display().to_string()
}

fn gpt() -> String {
    fixture("gpt_bf16/gpt_bf16.pt.trace.json.gz")
}

/// An empty folder that no one else has: not another test of this process, nor one before it that had its number.
fn temp_folder(name: &str) -> PathBuf {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("stepscope-{name}-{}-{number}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Says that a test cannot run here. Reports count these lines: a test that did nothing is not one that passed.
#[allow(clippy::print_stdout, reason = "this is what a report reads")]
fn skip(reason: &str) {
    println!("skipped: {reason}");
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(what, || is_so().then_some(()));
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < MAX_WAIT, "waited {MAX_WAIT:?} in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    /// Starts a command; what it prints is kept for the test.
    fn start(command: &mut Command) -> Program {
        Program(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// The first line that it prints; what it prints after that is lost.
    fn first_line(&mut self) -> String {
        let mut line = String::new();
        let pipe = self.0.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(pipe), &mut line).unwrap();
        line.trim().to_owned()
    }

    /// Sends a signal: `-INT` is what Ctrl-C does.
    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.pid()]).status().unwrap().success());
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Waits for its end: how it ended, and what it said.
    fn ended(mut self) -> Output {
        wait_until("the program to end", || self.has_ended());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        if let Some(mut pipe) = self.0.stdout.take() {
            pipe.read_to_end(&mut stdout).unwrap();
        }
        if let Some(mut pipe) = self.0.stderr.take() {
            pipe.read_to_end(&mut stderr).unwrap();
        }
        Output { status: self.0.wait().unwrap(), stdout, stderr }
    }
}

fn stepscope(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stepscope"));
    command
        .args(args)
        .env_remove("NO_COLOR")
        .env("COLUMNS", "100")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null());
    command
}

/// Whether a line is one of the commands to type next, which are there to be copied and never cut.
fn is_typed(line: &str) -> bool {
    let beside = line.strip_prefix("MORE").or_else(|| line.strip_prefix("  "));
    let word = beside.and_then(|command| command.trim_start().split(' ').next());
    word.is_some_and(|word| word.ends_with("stepscope") || word.starts_with("TRACE="))
}

fn run(args: &[&str]) -> Output {
    stepscope(args).output().unwrap()
}

/// The program's commands that answer a question about a trace.
fn questions() -> Vec<String> {
    let about_one = stepscope_ask::QUESTIONS.iter().filter(|question| !question.compares());
    about_one.map(|question| question.name.to_owned()).collect()
}

#[test]
fn commands_of_the_help_that_read_a_trace_are_the_questions() {
    let help = stdout(&["--help"]);
    let listed = help.lines().take_while(|line| !line.starts_with("Arguments:"));
    // What is indented further is the rest of a line above.
    let listed = listed.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
    let reads_a_trace = |name: &&str| {
        let usage = format!("Usage: stepscope {name} [OPTIONS] [PATH]");
        String::from_utf8_lossy(&run(&[name, "--help"]).stdout).lines().any(|line| line.starts_with(&usage))
    };
    let names = listed.filter_map(|line| line.split_whitespace().next());
    let mut found: Vec<String> = names.filter(reads_a_trace).map(str::to_owned).collect();
    // The comparison is a question too, but about two of them.
    let mut registered = [questions(), vec!["diff".to_owned()]].concat();
    found.sort_unstable();
    registered.sort_unstable();
    assert_eq!(found, registered);
    assert!(found.len() >= 20 && found.contains(&"summary".to_owned()), "{found:?}");
}

/// What a run that must succeed printed.
fn stdout(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> serde_json::Value {
    let text = stdout(&[args, &["--format", "json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{args:?}: {e}\n{text}"))
}
