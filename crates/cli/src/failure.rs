//! Why a command failed, what to do next, and the exit code that says so.

use std::io;

use stepscope_formats::{Limit, ReadError};
use stepscope_ground::Problem;

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
    Use(Problem),
    /// The output could not be written.
    Output(io::Error),
}

impl Failure {
    pub(crate) fn wrong_use(what: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::Use(Problem::new(what, hint))
    }

    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Failure::Read(error) => Some(own_words(error).unwrap_or_else(|| error.hint())),
            Failure::Use(problem) => Some(problem.hint.clone()).filter(|hint| !hint.is_empty()),
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
            Failure::Use(problem) => problem.fmt(f),
            Failure::Output(error) => write!(f, "cannot write the output: {error}"),
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::Use(problem)
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
