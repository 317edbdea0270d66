//! A file in a folder that was searched.

use std::path::PathBuf;

/// A file that looks like a trace or a profile; only reading tells.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceFile {
    pub path: PathBuf,
    pub bytes: u64,
}
