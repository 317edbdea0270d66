//! What a file turned out to be.

use crate::meta::Source;
use crate::notes::Notes;
use crate::profile::Profile;
use crate::snapshot::Snapshot;
use crate::trace::Trace;

/// What a file holds, by what can be asked of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    Trace,
    /// How much each stack, function or line took.
    Profile,
    Snapshot,
}

impl DocumentKind {
    /// What it is, with its article.
    pub fn what(self) -> &'static str {
        match self {
            DocumentKind::Trace => "a trace",
            DocumentKind::Profile => "a profile",
            DocumentKind::Snapshot => "a memory snapshot",
        }
    }
}

/// A file's content, by what can be asked of it.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one per file, and most are traces")]
pub enum Document {
    Trace(Trace),
    /// How much each stack or function took.
    Profile(Profile),
    Snapshot(Snapshot),
}

impl Document {
    pub fn kind(&self) -> DocumentKind {
        match self {
            Document::Trace(_) => DocumentKind::Trace,
            Document::Profile(_) => DocumentKind::Profile,
            Document::Snapshot(_) => DocumentKind::Snapshot,
        }
    }

    pub fn source(&self) -> &Source {
        match self {
            Document::Trace(trace) => &trace.meta().source,
            Document::Profile(profile) => &profile.source,
            Document::Snapshot(snapshot) => &snapshot.source,
        }
    }

    /// What was kept, repaired and set aside.
    pub fn notes(&self) -> &Notes {
        match self {
            Document::Trace(trace) => trace.notes(),
            Document::Profile(profile) => &profile.notes,
            Document::Snapshot(snapshot) => &snapshot.notes,
        }
    }
}
