//! Why a file could not be read, in sentences a user can act on.

use std::fmt;
use std::io;

/// A limit that a file passed. Each has an option of its own in [`OpenOptions`](crate::OpenOptions).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// The text is longer than this many bytes (`max_text_bytes`).
    TextBytes(u64),
    /// One stored byte unpacks to more than this many (`max_expansion`).
    Expansion(u64),
    /// It was compressed more often than this (`max_layers`).
    Layers(u32),
    /// It has to be held as a whole and is longer than this many bytes (`max_whole_bytes`).
    WholeBytes(u64),
    /// A part of it has to be held and is longer than this many bytes (`max_held_bytes`).
    HeldBytes(u64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::TextBytes(most) => write!(f, "more than {most} bytes of text"),
            Limit::Expansion(most) => write!(f, "one stored byte unpacks to more than {most}"),
            Limit::Layers(most) => write!(f, "compressed more than {most} times over"),
            Limit::HeldBytes(most) => write!(f, "more than {most} bytes in one plane"),
            Limit::WholeBytes(most) => write!(f, "more than {most} bytes of text that must be held at once"),
        }
    }
}

/// Why nothing came out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The path does not exist.
    #[error("there is no file or folder at this path: {path}")]
    NotFound {
        /// The path as given.
        path: String,
    },
    /// The path may not be read.
    #[error("permission denied: {path}")]
    Denied {
        /// The path as given.
        path: String,
    },
    /// A folder where a file belongs.
    #[error("this is a folder, not a file: {path}")]
    IsDirectory {
        /// The path as given.
        path: String,
    },
    /// Nothing in it.
    #[error("the file is empty: {path}")]
    Empty {
        /// The path as given.
        path: String,
    },
    /// In no format that has a reader.
    #[error("this is {what}, which stepscope cannot read: {path}")]
    Unknown {
        what: String,
        /// What can be read, in a sentence.
        readable: String,
        /// The path as given.
        path: String,
    },
    /// Readable, but not what was asked for.
    #[error("this is {what}, not a trace: {path}")]
    NotATrace {
        what: String,
        /// The path as given.
        path: String,
    },
    /// Broken beyond repair.
    #[error("this {what} is damaged ({why}): {path}")]
    Damaged {
        what: String,
        why: String,
        /// The path as given.
        path: String,
    },
    /// Whole, but without events.
    #[error("this {what} holds no events{}: {path}", said(errors))]
    NothingRecorded {
        what: String,
        errors: Vec<String>,
        /// The path as given.
        path: String,
    },
    /// JSON, but without events.
    #[error("this JSON holds no trace events: {path}")]
    NoEvents {
        /// The path as given.
        path: String,
    },
    /// A folder without any trace.
    #[error("no traces in this folder: {path}")]
    NoTraces {
        /// The path as given.
        path: String,
    },
    /// A folder whose traces are of other ranks.
    #[error("there is no trace of rank {rank}: {path}")]
    NoSuchRank {
        /// The rank asked for.
        rank: i64,
        /// The ranks that are there, rising.
        ranks: Vec<i64>,
        /// The path as given.
        path: String,
    },
    /// A limit was passed before anything could be read.
    #[error("the file was refused: {limit}: {path}")]
    Limit {
        limit: Limit,
        /// The path as given.
        path: String,
    },
    /// The operating system said no.
    #[error("cannot read ({source}): {path}")]
    Io {
        source: io::Error,
        /// The path as given.
        path: String,
    },
}

/// What the profiler says went wrong, in brackets.
fn said(errors: &[String]) -> String {
    errors.first().map_or_else(String::new, |first| format!(" (the profiler says: {first})"))
}

impl ReadError {
    pub(crate) fn open(path: &str, source: io::Error) -> ReadError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => ReadError::NotFound { path },
            io::ErrorKind::PermissionDenied => ReadError::Denied { path },
            io::ErrorKind::IsADirectory => ReadError::IsDirectory { path },
            _ => ReadError::Io { source, path },
        }
    }

    pub(crate) fn damaged(what: &str, path: &str, why: impl Into<String>) -> ReadError {
        ReadError::Damaged { what: what.to_owned(), why: why.into(), path: path.to_owned() }
    }

    /// What to do next. Programs that have an option for a limit say so in words of their own.
    pub fn hint(&self) -> String {
        let words = match self {
            ReadError::NotFound { .. } => {
                "check the spelling; a trace file usually ends in .pt.trace.json, .json.gz or .xplane.pb"
            }
            ReadError::Denied { .. } => "make the file readable (chmod u+r), or run as its owner",
            ReadError::IsDirectory { .. } => "give the path of a file in it",
            ReadError::Empty { path } if path.contains(".xplane.pb") => {
                "the profiler leaves an empty file where a profile would pass 2 GB: record fewer steps, or turn the Python tracer off"
            }
            ReadError::NothingRecorded { .. } => {
                "check that the program did something between the profiler's start and stop; devices need their profiling library (CUPTI, rocprofiler) and the permission to use it"
            }
            ReadError::Empty { .. } => {
                "the program may have ended before the profiler wrote its trace; check that the profile() block ended and the disk is not full"
            }
            ReadError::Unknown { readable, .. } => return readable.clone(),
            ReadError::NotATrace { .. } => {
                "it has no timeline; try the trace of the same run, such as prof.export_chrome_trace(\"trace.json.gz\") writes"
            }
            ReadError::Damaged { .. } => "write or copy the file again; its beginning alone is of no use here",
            ReadError::NoEvents { .. } => {
                "a Chrome trace is an object with \"traceEvents\" or an array of events; prof.export_chrome_trace() writes one"
            }
            ReadError::NoTraces { .. } => {
                "give the folder that tensorboard_trace_handler() or jax.profiler.trace() wrote to (files named *.pt.trace.json[.gz] or *.xplane.pb)"
            }
            ReadError::NoSuchRank { ranks, .. } if ranks.is_empty() => {
                "the traces here do not say which rank they are; give the file's path instead"
            }
            ReadError::NoSuchRank { ranks, .. } => {
                let ranks: Vec<String> = ranks.iter().map(i64::to_string).collect();
                return format!("ranks here: {}", ranks.join(", "));
            }
            ReadError::Limit {
                limit: Limit::TextBytes(_) | Limit::WholeBytes(_) | Limit::HeldBytes(_),
                ..
            } => "if you trust the file, raise the limit",
            ReadError::Limit { limit: Limit::Expansion(_) | Limit::Layers(_), .. } => {
                "if you trust the file, unpack it (gzip -d, zstd -d) and give the result"
            }
            ReadError::Io { .. } => "check the disk and the mount, then try again",
        };
        words.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_hints_at_what_helps() {
        let hint = |limit| ReadError::Limit { limit, path: String::new() }.hint();
        assert!(hint(Limit::TextBytes(1000)).contains("raise the limit"));
        assert!(hint(Limit::Expansion(200)).contains("gzip -d"));
        assert!(hint(Limit::Layers(2)).contains("gzip -d"));
    }
}
