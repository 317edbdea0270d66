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

/// A time beyond what 64-bit nanoseconds hold.
pub const TIME_OUT_OF_RANGE: &NoteKind = &NoteKind::new(
    "time-out-of-range",
    Severity::Lost,
    7,
    "events with a time beyond 64-bit nanoseconds were set aside",
);

/// A duration under zero.
pub const NEGATIVE_DURATION: &NoteKind =
    &NoteKind::new("negative-duration", Severity::Repaired, 8, "negative durations were read as 0");

/// Digits finer than a nanosecond.
pub const SUB_NANOSECOND: &NoteKind = &NoteKind::new(
    "sub-nanosecond",
    Severity::Info,
    10,
    "timestamps finer than a nanosecond were rounded to the nearest",
);
