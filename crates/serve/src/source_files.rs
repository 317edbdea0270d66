//! Source code that runs name, read by whoever starts the server.

use std::sync::Arc;

use stepscope_ask::Sources;

/// The text of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    pub text: String,
    /// Whether it was written after the run was recorded, so that lines may have moved.
    pub changed: bool,
}

/// Reads a source file; given the path of the run that names it and its name there.
type ReadSource = dyn Fn(&str, &str) -> Option<SourceText> + Send + Sync;

/// Reads source files. By default there are none.
#[derive(Clone, Default)]
pub struct SourceFiles(Option<Arc<ReadSource>>);

impl SourceFiles {
    /// Files that this finds.
    pub fn new(read: impl Fn(&str, &str) -> Option<SourceText> + Send + Sync + 'static) -> SourceFiles {
        SourceFiles(Some(Arc::new(read)))
    }

    pub(crate) fn read(&self, run: &str, file: &str) -> Option<SourceText> {
        self.0.as_ref().and_then(|read| read(run, file))
    }

    pub(crate) fn for_questions(&self) -> Sources {
        let files = self.clone();
        Sources::new(move |run, file| files.read(run, file).map(|source| source.text))
    }
}

impl std::fmt::Debug for SourceFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "source files" } else { "no source files" })
    }
}
