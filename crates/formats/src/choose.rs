//! Which trace of a folder: one rule for every caller.

use std::path::{Path, PathBuf};

use stepscope_model::{Document, DocumentKind};

use crate::discover::discover;
use crate::error::ReadError;
use crate::trace_file::TraceFile;
use crate::xplane_runs;

/// The trace that was chosen, and what was seen on the way.
#[derive(Debug)]
pub struct ChosenTrace {
    /// What its file holds: a trace, or what else can be read.
    pub document: Document,
    pub file: TraceFile,
    /// How many files were found.
    pub found: usize,
    /// Files that could not be read, and why.
    pub skipped: Vec<ReadError>,
    /// Ranks of the other traces that were read, rising. The search ends as soon as the choice is clear, so there may be
    /// more.
    pub other_ranks: Vec<i64>,
    /// Profiled runs here that were left out because a newer one is beside them.
    pub older_runs: Vec<PathBuf>,
}

/// How the search goes on after a trace was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Every file is to be read, however clear the choice is.
    AtAll,
    /// The choice is all that is wanted.
    UntilClear,
}

/// The trace at a path: a file's own; of a folder's that of the asked rank, or else of the lowest, and of equals the
/// first by path. Of several runs that JAX or TensorFlow profiled into one
/// folder, only the newest counts. Traces that do not say their rank come last, and profiles after all traces.
///
/// Files that cannot be read are passed over as long as another can; if none can, the first failure is the answer.
/// `open` reads a file; it is shown every file in turn, [`Look::AtAll`] or until the choice is clear.
pub fn choose(
    path: &Path,
    rank: Option<i64>,
    look: Look,
    open: &mut dyn FnMut(&TraceFile) -> Result<Document, ReadError>,
) -> Result<ChosenTrace, ReadError> {
    let mut files = discover(path)?;
    let older_runs = xplane_runs::newest(&mut files);
    let found = files.len();
    let mut best: Option<(Document, TraceFile)> = None;
    let mut ranks = Vec::new();
    let mut skipped = Vec::new();
    for file in files {
        let document = match open(&file) {
            Ok(document) => document,
            Err(error) => {
                skipped.push(error);
                continue;
            }
        };
        let own = rank_of(&document);
        ranks.extend(own);
        let better = match rank {
            Some(_) => own == rank && best.is_none(),
            None => best.as_ref().is_none_or(|(best, _)| place(&document) < place(best)),
        };
        if better {
            best = Some((document, file));
            if look == Look::UntilClear && (rank.is_some() || own == Some(0)) {
                break;
            }
        }
    }
    ranks.sort_unstable();
    ranks.dedup();
    match best {
        Some((document, file)) => {
            let own = rank_of(&document);
            ranks.retain(|&rank| Some(rank) != own);
            Ok(ChosenTrace { document, file, found, skipped, other_ranks: ranks, older_runs })
        }
        None if skipped.len() == found => Err(skipped.swap_remove(0)),
        None => Err(ReadError::NoSuchRank {
            rank: rank.unwrap_or_default(),
            ranks,
            path: path.display().to_string(),
        }),
    }
}

/// The rank that a trace says it is.
pub fn rank_of(document: &Document) -> Option<i64> {
    match document {
        Document::Trace(trace) => trace.meta().distributed.as_ref().and_then(|known| known.rank),
        _ => None,
    }
}

/// Traces come before profiles, and low ranks before high ones.
fn place(document: &Document) -> (bool, u64) {
    (document.kind() != DocumentKind::Trace, order(rank_of(document)))
}

/// No real rank is below 0, so that the search may end at 0.
fn order(rank: Option<i64>) -> u64 {
    rank.and_then(|rank| u64::try_from(rank).ok()).unwrap_or(u64::MAX)
}
