//! What readers of more than one format note.

use stepscope_model::{NoteKind, Severity};

/// The compressed stream is damaged or cut; what came before was read.
pub const DAMAGED_COMPRESSION: &NoteKind = &NoteKind::new(
    "damaged-compression",
    Severity::Lost,
    2,
    "the stream is damaged or cut short; what came before was read",
);

/// A text that is not UTF-8.
pub const INVALID_UTF8: &NoteKind = &NoteKind::new(
    "invalid-utf8",
    Severity::Repaired,
    13,
    "texts that are not UTF-8 were kept with replacement characters",
);
