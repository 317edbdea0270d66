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

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn fixture(case: &str) -> String {
    root().join("fixtures/pytorch/2.11-h200").join(case).display().to_string()
}

fn gpt() -> String {
    fixture("gpt_bf16/gpt_bf16.pt.trace.json.gz")
}

/// An empty folder of a test's own.
fn temp_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stepscope-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
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

/// The program's commands that answer a question about a trace, as its own help lists them.
fn questions() -> Vec<String> {
    let help = stdout(&["--help"]);
    let listed = help.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let named = |name: &&str| name.starts_with(|c: char| c.is_ascii_lowercase());
    let is_question = |name: &&str| {
        let usage = format!("Usage: stepscope {name} [OPTIONS] [PATH]");
        String::from_utf8_lossy(&run(&[name, "--help"]).stdout).lines().any(|line| line == usage)
    };
    let found: Vec<String> = listed.filter(named).filter(is_question).map(str::to_owned).collect();
    assert!(found.len() >= 19 && found.contains(&"summary".to_owned()), "{found:?}");
    found
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
