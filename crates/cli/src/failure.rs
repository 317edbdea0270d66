//! Why a command failed, what to do next, and the exit code that says so.

use std::io;

use stepscope_ask::Refusal;
use stepscope_formats::{Limit, ReadError};

/// How a command that did its work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit code 0.
    Fine,
    /// The answer is no: exit code 1, and nothing more to say.
    No,
    /// A program that was started ended with this exit code; so does this one.
    Program(u8),
}

/// A failure on its way to the user.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input could not be read.
    Read(ReadError),
    /// The arguments do not fit the input.
    Use {
        /// What is wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The output could not be written.
    Output(io::Error),
}

impl Failure {
    pub(crate) fn wrong_use(what: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::Use { what: what.into(), hint: hint.into() }
    }

    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Failure::Read(error) => Some(own_words(error).unwrap_or_else(|| error.hint())),
            Failure::Use { hint, .. } => Some(hint.clone()),
            Failure::Output(error) => {
                let hint = match error.kind() {
                    io::ErrorKind::StorageFull => "free up some space, or write elsewhere with -o",
                    io::ErrorKind::NotFound => "create the folder first",
                    io::ErrorKind::PermissionDenied => "write to a folder you own with -o",
                    io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => {
                        "give a file name, not a folder"
                    }
                    _ => return None,
                };
                Some(hint.to_owned())
            }
        }
    }
}

/// Hints that name the program's own commands and options.
fn own_words(error: &ReadError) -> Option<String> {
    match error {
        ReadError::Limit { limit: Limit::TextBytes(_), .. } => {
            Some("if you trust the file, raise the limit with --max-text-bytes".to_owned())
        }
        // `stepscope opz trace.json`: a word without a dot or a slash was meant as a command.
        ReadError::NotFound { path } if !path.contains(['.', '/', '\\']) => {
            Some(format!("'{path}' is neither a file nor a command; `stepscope --help` lists the commands"))
        }
        _ => None,
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Read(error) => error.fmt(f),
            Failure::Use { what, .. } => f.write_str(what),
            Failure::Output(error) => write!(f, "cannot write the output: {error}"),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Use { what: refusal.what, hint: refusal.hint }
    }
}

impl From<stepscope_gate::GateError> for Failure {
    fn from(error: stepscope_gate::GateError) -> Failure {
        Failure::Use { what: error.what, hint: error.hint }
    }
}

impl From<stepscope_production::ProductionError> for Failure {
    fn from(error: stepscope_production::ProductionError) -> Failure {
        Failure::wrong_use(error.message, error.hint)
    }
}

impl From<stepscope_capture::CaptureError> for Failure {
    fn from(error: stepscope_capture::CaptureError) -> Failure {
        Failure::Use { what: error.what, hint: error.hint }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        Failure::Read(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::Output(error.into())
    }
}
