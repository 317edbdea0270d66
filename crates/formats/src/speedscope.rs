//! Speedscope's file format, in and out: weighted stacks, or calls that begin and end.

mod notes;
mod read;
mod write;

use stepscope_model::{Document, DocumentKind, ValueUnit};

use crate::reader::{Reader, trimmed};

pub use write::write_speedscope;

pub(crate) const READER: Reader = Reader {
    name: "a speedscope profile",
    about: "written by speedscope, py-spy and others",
    yields: DocumentKind::Profile,
    example: br#"{"$schema": "https://www.speedscope.app/file-format-schema.json",
"shared": {"frames": [{"name": "main", "file": "a.py", "line": 3}, {"name": "load"}]}, "profiles": [
{"type": "sampled", "name": "thread", "unit": "seconds", "startValue": 0, "endValue": 2, "samples": [[0], [0, 1]],
"weights": [1, 0.5]}]}"#,
    begins,
    read: |text, name, options| read::read(text, name, options).map(Document::Profile),
};

/// The unit as the format spells it, and the power of ten that leads to ours.
const UNITS: &[(&str, ValueUnit, i32)] = &[
    ("nanoseconds", ValueUnit::Nanoseconds, 0),
    ("microseconds", ValueUnit::Nanoseconds, 3),
    ("milliseconds", ValueUnit::Nanoseconds, 6),
    ("seconds", ValueUnit::Nanoseconds, 9),
    ("bytes", ValueUnit::Bytes, 0),
    ("none", ValueUnit::Plain, 0),
];

/// Whether the top-level keys at hand are the format's. Some writers put the schema after long lists.
fn begins(head: &[u8]) -> bool {
    let mut first = true;
    let mut is_ours = false;
    for (key, value) in crate::kineto::members(trimmed(head)) {
        match key {
            b"traceEvents" => return false,
            b"$schema" => {
                is_ours |= memchr::memmem::find(value, b"speedscope.app/file-format-schema").is_some()
            }
            b"shared" | b"profiles" => is_ours |= first,
            _ => {}
        }
        first = false;
    }
    is_ours
}
