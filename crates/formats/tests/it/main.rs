//! Reading real, old, broken and hostile files.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed; helpers are tests too"
)]

mod calls;
mod choose;
mod columns;
mod documents;
mod eras;
mod growth;
mod hostile;
mod memory_files;
mod profilers;
mod round_trip;
mod salvage;
mod snapshots;
mod xla_events;
mod xplane;

use std::path::PathBuf;

use stepscope_formats::{OpenOptions, ReadError};
use stepscope_model::{Note, NoteKind, Trace};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch").join(name)
}

fn mini() -> Vec<u8> {
    std::fs::read(fixture("mini/mini.pt.trace.json")).unwrap()
}

fn try_read(text: &[u8]) -> Result<Trace, ReadError> {
    stepscope_formats::read_trace(text, "test", &OpenOptions::default())
}

fn read(text: impl AsRef<[u8]>) -> Trace {
    try_read(text.as_ref()).unwrap()
}

fn with_events(events: &str) -> String {
    format!("{{\"schemaVersion\": 1, \"traceEvents\": [{events}], \"traceName\": \"t\"}}")
}

fn note(trace: &Trace, kind: &NoteKind) -> Option<Note> {
    trace.notes().iter().find(|n| *n.kind == *kind).cloned()
}

fn names(trace: &Trace) -> Vec<&str> {
    trace.slices().ids().map(|id| trace.name(id)).collect()
}

/// Every event of the file is somewhere: kept, joined or set aside.
fn assert_ledger_closes(trace: &Trace) {
    let meta = trace.meta();
    assert_eq!(meta.events_in_file, trace.events() as u64 + meta.joined_pairs + meta.events_set_aside);
}
