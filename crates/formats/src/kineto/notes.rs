//! What the reader of Chrome traces notes.

use stepscope_model::{NoteKind, Severity};

pub use crate::notes::{
    DAMAGED_COMPRESSION, INVALID_UTF8, NEGATIVE_DURATION, SUB_NANOSECOND, TIME_OUT_OF_RANGE,
};

/// What lies beyond a limit.
pub const LIMIT_REACHED: &NoteKind = NoteKind::LIMIT_REACHED;

/// Arguments that could not be kept.
pub const ARGS_DROPPED: &NoteKind = NoteKind::ARGS_DROPPED;

/// The file ends inside an event.
pub const TRUNCATED_EVENT: &NoteKind = &NoteKind::new(
    "truncated-event",
    Severity::Lost,
    0,
    "the file ends inside an event; that event was set aside",
);

/// The file ends before its closing brackets.
pub const MISSING_TAIL: &NoteKind = &NoteKind::new(
    "missing-tail",
    Severity::Repaired,
    1,
    "the file ends before its closing brackets; read as if they were there",
);

/// Bytes that are not event.
pub const GARBAGE: &NoteKind =
    &NoteKind::new("garbage", Severity::Lost, 4, "stretches of bytes that do not form an event were skipped");

/// An event that could not be understood.
pub const BROKEN_EVENT: &NoteKind =
    &NoteKind::new("broken-event", Severity::Lost, 5, "events could not be understood and were set aside");

/// An event without a usable time.
pub const NO_TIME: &NoteKind =
    &NoteKind::new("no-time", Severity::Lost, 6, "events without a usable timestamp were set aside");

/// A slice without its duration.
pub const MISSING_DURATION: &NoteKind =
    &NoteKind::new("missing-duration", Severity::Repaired, 9, "slices without a duration were read as 0 long");

/// A backslash that escapes nothing.
pub const BAD_ESCAPE: &NoteKind = &NoteKind::new(
    "bad-escape",
    Severity::Repaired,
    11,
    "texts with a backslash that escapes nothing were kept literally",
);

/// A raw control byte inside a text.
pub const CONTROL_BYTE: &NoteKind =
    &NoteKind::new("control-byte", Severity::Repaired, 12, "texts with raw control bytes were kept");

/// A bare word where a value belongs (`N/A`, `NaN`, `Infinity`).
pub const BARE_WORD: &NoteKind = &NoteKind::new(
    "bare-word",
    Severity::Repaired,
    14,
    "bare words (N/A, NaN, Infinity, …) were read as texts",
);

/// A quote inside a text that was not escaped.
pub const UNESCAPED_QUOTE: &NoteKind =
    &NoteKind::new("unescaped-quote", Severity::Repaired, 15, "texts with unescaped quotes were repaired");

/// A bracket missing or one too many.
pub const BRACKET: &NoteKind = &NoteKind::new(
    "bracket",
    Severity::Repaired,
    16,
    "values whose brackets do not match were kept up to the next member",
);

/// A comma missing or one too many.
pub const COMMA: &NoteKind =
    &NoteKind::new("comma", Severity::Repaired, 17, "missing or doubled commas were repaired");

/// The same key twice in one object.
pub const DUPLICATE_KEY: &NoteKind = &NoteKind::new(
    "duplicate-key",
    Severity::Repaired,
    18,
    "events with a key given twice: the last one counts",
);

/// A begin without an end.
pub const UNMATCHED_BEGIN: &NoteKind = &NoteKind::new(
    "unmatched-begin",
    Severity::Repaired,
    21,
    "begin events without an end were closed at the end of their lane",
);

/// An end without a begin.
pub const UNMATCHED_END: &NoteKind =
    &NoteKind::new("unmatched-end", Severity::Repaired, 22, "end events without a begin were kept as points");
