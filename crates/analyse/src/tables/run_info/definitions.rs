//! What the numbers mean.

use crate::scope::definition::Definition;

/// What the numbers here mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "stored_bytes",
        label: "Stored",
        text: "Size of the file as stored, compressed or not.",
    },
    Definition { field: "text_bytes", label: "Text", text: "Size of the file's text after decompression." },
    Definition {
        field: "extent_ns",
        label: "Extent",
        text: "From the earliest start to the latest end of all slices; recording windows are left out, as \
               they also cover the profiler's own start and stop.",
    },
    Definition {
        field: "first_ns",
        label: "First",
        text: "The earliest start of a slice, counted from the trace's first event: of all slices except \
               recording windows, or of one lane.",
    },
    Definition {
        field: "last_ns",
        label: "Last",
        text: "The latest end of a slice, counted from the trace's first event: of all slices except recording \
               windows, or of one lane.",
    },
    Definition {
        field: "origin_ns",
        label: "Origin",
        text: "The first event's time on the file's own clock: the first slice, or point that is no metadata. \
               All times count from it; add this and `base_ns` to get nanoseconds since 1970.",
    },
    Definition {
        field: "base_ns",
        label: "Base",
        text: "Nanoseconds from 1970 to the zero of the file's own clock, if the file records it.",
    },
    Definition {
        field: "start_ns",
        label: "Start",
        text: "When the recording window begins, counted from the trace's first event.",
    },
    Definition {
        field: "dur_ns",
        label: "Duration",
        text: "How long the recording window lasts, as the file records it.",
    },
    Definition {
        field: "total_memory_bytes",
        label: "Device memory",
        text: "Memory of the device in bytes, as the profiler described it.",
    },
    Definition {
        field: "sms",
        label: "SMs",
        text: "Streaming multiprocessors or compute units of the device, as the profiler described it.",
    },
    Definition {
        field: "warp_size",
        label: "Warp size",
        text: "Threads in a warp or wavefront of the device, as the profiler described it.",
    },
    Definition {
        field: "world_size",
        label: "World size",
        text: "How many ranks the distributed job has, as the profiler recorded it.",
    },
    Definition {
        field: "count",
        label: "Events",
        text: "How many slices or points have this category and meaning; for a note, how often it happened.",
    },
    Definition {
        field: "offsets",
        label: "Offsets",
        text: "Where it happened first: up to a few byte offsets in the file's text.",
    },
    Definition {
        field: "events_in_file",
        label: "Events",
        text: "Events found in the file, whatever became of them.",
    },
    Definition {
        field: "slices",
        label: "Slices",
        text: "Events kept with a start and a duration. For a lane: the slices that belong there, which are a \
               thread's calls or a stream's work.",
    },
    Definition {
        field: "other_slices",
        label: "Other slices",
        text: "Slices on the lane with another meaning: recording windows and unknown categories.",
    },
    Definition {
        field: "joined_pairs",
        label: "Joined pairs",
        text: "Slices made of a begin and an end event: each accounts for two events of the file.",
    },
    Definition {
        field: "points",
        label: "Points",
        text: "Events kept without a duration, allocations and counter values included.",
    },
    Definition { field: "flows", label: "Flow ends", text: "Ends of arrows between slices that were kept." },
    Definition {
        field: "closes",
        label: "Ledger closes",
        text: "Whether events in the file = slices + joined pairs + points + flow ends + set aside. A slice \
               made of a begin and an end event accounts for two, hence the joined pairs.",
    },
    Definition {
        field: "set_aside",
        label: "Set aside",
        text: "Events found in the file but not kept; the notes say why and where.",
    },
    Definition {
        field: "skipped_bytes",
        label: "Skipped bytes",
        text: "Bytes between events that belong to no event; above zero, some events may be missing. They do \
               not affect whether the ledger closes, which is about counts.",
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
        field: "heap_bytes",
        label: "Held in memory",
        text: "Bytes that the columns, texts, arguments and links of the trace take in memory.",
    },
    Definition {
        field: "bytes_per_event",
        label: "Bytes per event",
        text: "Bytes held in memory divided by the number of slices, points and flow ends.",
    },
];
