//! What the reader of XPlanes notes.

use stepscope_model::{NoteKind, Severity};

pub(super) use crate::notes::{
    DAMAGED_COMPRESSION, INVALID_UTF8, NEGATIVE_DURATION, SUB_NANOSECOND, TIME_OUT_OF_RANGE,
};

/// The file ends inside a plane.
pub(super) const CUT_PLANE: &NoteKind =
    &NoteKind::new("cut-plane", Severity::Lost, 0, "the file ends inside a plane; what came before was read");

/// Events whose names were cut off with the end of the file.
pub(super) const NAMELESS: &NoteKind = &NoteKind::new(
    "nameless-events",
    Severity::Lost,
    1,
    "events were set aside because the file ends before their names",
);

/// Bytes that are not a field of a profile.
pub(super) const DAMAGED_MESSAGE: &NoteKind = &NoteKind::new(
    "damaged-message",
    Severity::Lost,
    4,
    "messages are damaged; what came before the damage was kept",
);

/// An event that names a description which is not there.
pub(super) const UNDESCRIBED: &NoteKind = &NoteKind::new(
    "undescribed-events",
    Severity::Repaired,
    12,
    "events whose description is missing were named by its number",
);

/// What the profiler says went wrong.
pub(super) const PROFILER_ERROR: &NoteKind =
    &NoteKind::new("profiler-error", Severity::Lost, 5, "errors were reported by the profiler itself");

pub(super) const PROFILER_WARNING: &NoteKind =
    &NoteKind::new("profiler-warning", Severity::Info, 5, "warnings were reported by the profiler itself");

/// Marks of the profiler that say nothing of their own.
pub(super) const MARKS: &NoteKind = &NoteKind::new(
    "marks",
    Severity::Info,
    30,
    "marks of the profiler (`end: …`, ThreadpoolListener) were left out; they have no length and repeat what \
     other events say",
);

/// Copies of other lines of a device.
pub(super) const DERIVED_LINES: &NoteKind = &NoteKind::new(
    "derived-lines",
    Severity::Info,
    31,
    "events on lines that XProf derives from others (steps, modules, scopes) are ranges, not work",
);

/// Launch properties that no device can have.
pub(super) const IMPOSSIBLE_DETAILS: &NoteKind = &NoteKind::new(
    "impossible-details",
    Severity::Repaired,
    32,
    "kernels claim more registers than any device has; their registers and shared memory are unknown",
);

/// Calls that were recorded apart from the thread that made them.
pub(super) const MOVED_CALLS: &NoteKind = &NoteKind::new(
    "moved-calls",
    Severity::Info,
    33,
    "calls of the device's runtime were recorded on a line of their own; they were put on the thread in whose \
     launches they lie",
);
