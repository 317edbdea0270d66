//! What the reader of speedscope profiles notes.

use stepscope_model::{NoteKind, Severity};

/// A frame number without a frame.
pub(super) const UNKNOWN_FRAME: &NoteKind = &NoteKind::new(
    "unknown-frame",
    Severity::Repaired,
    50,
    "frames that the file does not describe were left out of their stacks",
);
/// More samples than weights, or the other way round.
pub(super) const NO_PARTNER: &NoteKind = &NoteKind::new(
    "no-partner",
    Severity::Lost,
    51,
    "samples without a weight, or weights without a sample, were set aside",
);
/// A weight or a time that is not a number in range.
pub(super) const BAD_NUMBER: &NoteKind = &NoteKind::new(
    "bad-number",
    Severity::Lost,
    52,
    "samples or calls without a number in range were set aside",
);
/// A weight or a time finer than its unit.
pub(super) const ROUNDED: &NoteKind =
    &NoteKind::new("rounded", Severity::Info, 53, "amounts finer than their unit were rounded to the nearest");
/// The end of a call that is not the innermost, or that never began.
pub(super) const BAD_CLOSE: &NoteKind = &NoteKind::new(
    "bad-close",
    Severity::Repaired,
    54,
    "ends of calls that are not the innermost: those within were ended too, and ends without a begin were ignored",
);
/// A call without an end.
pub(super) const LEFT_OPEN: &NoteKind =
    &NoteKind::new("left-open", Severity::Repaired, 55, "calls without an end were ended with their profile");
/// A time before the one before it.
pub(super) const BACKWARDS: &NoteKind = &NoteKind::new(
    "backwards",
    Severity::Repaired,
    56,
    "events earlier than the one before them were read as if at the same time",
);
/// A profile of a type that is not known.
pub(super) const UNKNOWN_TYPE: &NoteKind = &NoteKind::new(
    "unknown-type",
    Severity::Lost,
    57,
    "profiles that are neither sampled nor evented were left out",
);
