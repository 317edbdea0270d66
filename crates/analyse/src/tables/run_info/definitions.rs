//! What the figures mean.

use crate::scope::definition::Definition;

/// Every figure of the run report.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "extent_ns",
        label: "Extent",
        text: "From the earliest start to the latest end of all slices; recording windows are left out, as they \
               also cover the profiler's own start and stop.",
    },
    Definition {
        field: "origin_ns",
        label: "Origin",
        text: "The first event's time on the file's own clock: the first slice, or point that is no metadata. All times \
               count from it; add this and `base_ns` to have nanoseconds since 1970.",
    },
    Definition {
        field: "closes",
        label: "Ledger closes",
        text: "Whether events in the file = slices + joined pairs + points + flow ends + set aside. A slice made \
               of a begin and an end event stands for two, hence the joined pairs.",
    },
    Definition {
        field: "set_aside",
        label: "Set aside",
        text: "Events found in the file but not kept; the notes say why and where.",
    },
    Definition {
        field: "skipped_bytes",
        label: "Skipped bytes",
        text: "Bytes between events that belong to no event; above zero some events may be missing. They are no part \
               of whether the ledger closes, which is about counts.",
    },
    Definition {
        field: "steps",
        label: "Steps",
        text: "Host ranges named `ProfilerStep#N`, N a number, by their names in order of time.",
    },
    Definition {
        field: "processes",
        label: "Processes",
        text: "Host processes with at least one slice of a thread's call tree.",
    },
    Definition {
        field: "threads",
        label: "Threads",
        text: "Host threads with at least one slice of a thread's call tree.",
    },
    Definition { field: "streams", label: "Streams", text: "Device streams with at least one slice." },
    Definition {
        field: "bytes_per_event",
        label: "Bytes per event",
        text: "Bytes held by columns, texts, arguments and links, divided by slices, points and flow ends.",
    },
];
