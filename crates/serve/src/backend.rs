//! What the server needs from whoever starts it: which traces there are, and how to read one.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_ask::Refusal;
use stepscope_model::Document;

use crate::source_files::SourceFiles;

/// A sentence on what went wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem with a way out.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem { message: message.into(), hint: Some(hint.into()) }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        Problem::new(refusal.what, refusal.hint)
    }
}

/// A trace file, not yet read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// Its name among the others.
    pub label: String,
    /// Stored bytes.
    pub bytes: u64,
    /// When it was last written, in milliseconds since 1970.
    pub modified_ms: Option<u64>,
}

/// A trace about to be read.
pub struct Loading {
    /// Stored bytes read and in all (0 if unknown), while [`Loading::read`] runs.
    pub progress: Box<dyn Fn() -> (u64, u64) + Send + Sync>,
    /// Reads it.
    pub read: Box<dyn FnOnce() -> Result<Document, Problem> + Send>,
}

/// Files and traces.
pub trait Backend: Send + Sync + 'static {
    /// The traces there are now.
    fn discover(&self) -> Result<Vec<Found>, Problem>;
    /// How to read one of them.
    fn open(&self, path: &Path) -> Loading;
    /// Source code that runs name.
    fn sources(&self) -> SourceFiles {
        SourceFiles::default()
    }
}
