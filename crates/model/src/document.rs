//! What a file turned out to be.

use crate::meta::Source;
use crate::notes::Notes;
use crate::profile::Profile;
use crate::snapshot::Snapshot;
use crate::trace::Trace;

/// A file's content, by what can be asked of it.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one per file, and most are traces")]
pub enum Document {
    /// What happened when.
    Trace(Trace),
    /// How much each stack or function took.
    Profile(Profile),
    /// What a device's memory holds.
    Snapshot(Snapshot),
}

impl Document {
    /// What it is, with its article.
    pub fn what(&self) -> &'static str {
        match self {
            Document::Trace(_) => "a trace",
            Document::Profile(_) => "a profile",
            Document::Snapshot(_) => "a memory snapshot",
        }
    }

    /// Where it came from.
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
