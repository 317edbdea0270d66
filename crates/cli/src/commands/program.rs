//! A program that a command starts and waits for: how it is started, asked to end, and how it ended.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::Failure;

pub(super) fn start(program: &OsString, args: &[OsString]) -> Result<Child, Failure> {
    Command::new(program).args(args).stdin(Stdio::inherit()).spawn().map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "check the spelling; the program is looked for in $PATH",
            _ => "check that it can be run",
        };
        Failure::wrong_use(format!("cannot start {}: {error}", program.display()), hint)
    })
}

/// Passes a signal on to the program.
pub(super) fn pass_on(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// As a shell says it: 128 and the signal that ended a program.
pub(super) fn exit_code(status: ExitStatus) -> Option<u8> {
    u8::try_from(status.code().or(status.signal().map(|signal| 128 + signal))?).ok()
}

pub(super) fn exit_text(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => "killed by a signal".to_owned(),
    }
}
