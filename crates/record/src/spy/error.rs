//! Why a process could not be read, and what to do about it.

use std::io;

use stepscope_ground::Problem;

/// Why memory could not be read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// There is nothing at this address: what pointed there has changed meanwhile.
    Address(u64),
    /// The process has ended.
    Gone,
    /// It may not be read.
    Denied,
    /// The structures make no sense.
    Nonsense,
}

impl Unreadable {
    pub(crate) fn from_error(error: &io::Error, at: u64) -> Unreadable {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Unreadable::Denied,
            _ if error.raw_os_error() == Some(NO_SUCH_PROCESS) => Unreadable::Gone,
            io::ErrorKind::Unsupported => Unreadable::Denied,
            _ => Unreadable::Address(at),
        }
    }
}

const NO_SUCH_PROCESS: i32 = 3;

/// Why a process cannot be sampled: a sentence, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpyError {
    /// What is wrong, and what to do.
    pub problem: Problem,
    /// Whether it is over, and not forbidden or unknown.
    pub gone: bool,
    /// Whether the system forbids it.
    pub denied: bool,
    /// Whether there is a Python, of a version that is not known.
    pub unknown_version: bool,
}

impl SpyError {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> SpyError {
        SpyError { problem: Problem::new(what, hint), gone: false, denied: false, unknown_version: false }
    }

    pub(crate) fn no_thread(error: io::Error) -> SpyError {
        SpyError::new(format!("no thread can be started: {error}"), "end others")
    }

    pub(crate) fn gone(pid: u32) -> SpyError {
        let what = format!("there is no process with this number: {pid}");
        let hint = "`stepscope dump --all` lists the Python processes of this machine";
        SpyError { gone: true, ..SpyError::new(what, hint) }
    }
}

impl std::ops::Deref for SpyError {
    type Target = Problem;

    fn deref(&self) -> &Problem {
        &self.problem
    }
}

impl std::fmt::Display for SpyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for SpyError {}
