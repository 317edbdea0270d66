//! Why a file could not be read, in sentences a user can act on.

use std::io;

/// Words of the one limit that an option raises; the others are about how the file is packed.
const TEXT_LIMIT: &str = "bytes of text";

/// Why no trace came out.
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
    #[error("this is a folder, not a trace file: {path}")]
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
    /// Something else than a trace.
    #[error("this is {what}, not a trace: {path}")]
    NotATrace {
        /// What it looks like.
        what: String,
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
    /// A limit was passed before anything could be read.
    #[error("the file was refused: {why}: {path}")]
    Limit {
        /// Which limit.
        why: String,
        /// The path as given.
        path: String,
    },
    /// The operating system said no.
    #[error("cannot read ({source}): {path}")]
    Io {
        /// Its words.
        source: io::Error,
        /// The path as given.
        path: String,
    },
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

    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            ReadError::NotFound { .. } => {
                "check the spelling; a trace file usually ends in .pt.trace.json or .json.gz"
            }
            ReadError::Denied { .. } => "make the file readable (chmod u+r), or run as its owner",
            ReadError::IsDirectory { .. } => "give the trace file itself",
            ReadError::Empty { .. } => {
                "the program may have ended before the profiler wrote its trace; check that the profile() block ended and the disk is not full"
            }
            ReadError::NotATrace { .. } => {
                "stepscope reads PyTorch (Kineto) and Chrome trace JSON, plain, gzip or zstd: prof.export_chrome_trace(\"trace.json.gz\") writes one"
            }
            ReadError::NoEvents { .. } => {
                "a Chrome trace is an object with \"traceEvents\" or an array of events; prof.export_chrome_trace() writes one"
            }
            ReadError::NoTraces { .. } => {
                "give the folder that tensorboard_trace_handler() wrote to (files named *.pt.trace.json[.gz])"
            }
            ReadError::Limit { why, .. } if why.contains(TEXT_LIMIT) => {
                "if the file is trustworthy, raise the limit with --max-text-bytes"
            }
            ReadError::Limit { .. } => {
                "if the file is trustworthy, unpack it (gzip -d, zstd -d) and give the JSON itself"
            }
            ReadError::Io { .. } => "check the disk and the mount, then try again",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_hints_at_what_helps() {
        let hint = |why: &str| ReadError::Limit { why: why.to_owned(), path: String::new() }.hint();
        assert!(hint("more than 1000 bytes of text").contains("--max-text-bytes"));
        assert!(hint("one stored byte unpacks to more than 1100").contains("gzip -d"));
        assert!(hint("compressed more than 2 times over").contains("gzip -d"));
    }
}
