//! What the numbers mean.

use crate::scope::definition::{Definition, definitions};

/// What the numbers here mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    "stored_bytes", "Stored" => "Size of the file as stored, compressed or not.";
    "text_bytes", "Text" => "Size of the file's text after decompression.";
    "extent_ns", "Extent" =>
        "From the earliest start to the latest end of all slices; recording windows are left out, as they also cover the \
         profiler's own start and stop.";
    "first_ns", "First" =>
        "The earliest start of a slice, counted from the trace's first event: of all slices except recording windows, or \
         of one lane.";
    "last_ns", "Last" =>
        "The latest end of a slice, counted from the trace's first event: of all slices except recording windows, or of \
         one lane.";
    "origin_ns", "Origin" =>
        "The first event's time on the file's own clock: the first slice, or point that is not metadata. All times count \
         from it; add this and `base_ns` to get nanoseconds since 1970.";
    "base_ns", "Base" => "Nanoseconds from 1970 to the zero of the file's own clock, if the file records it.";
    "start_ns", "Start" => "When the recording window begins, counted from the trace's first event.";
    "dur_ns", "Duration" => "How long the recording window lasts, as the file records it.";
    "total_memory_bytes", "Device memory" => "Memory of the device in bytes, as the profiler described it.";
    "sms", "SMs" => "Streaming multiprocessors or compute units of the device, as the profiler described it.";
    "warp_size", "Warp size" => "Threads in a warp or wavefront of the device, as the profiler described it.";
    "world_size", "World size" => "How many ranks the distributed job has, as the profiler recorded it.";
    "count", "Events" => "How many slices or points have this category and meaning; for a note, how often it happened.";
    "offsets", "Offsets" => "Where it happened first: up to a few byte offsets in the file's text.";
    "events_in_file", "Events" => "Events found in the file, whatever became of them.";
    "slices", "Slices" =>
        "Events kept with a start and a duration. For a lane: the slices that belong there, which are a thread's calls or \
         a stream's work.";
    "other_slices", "Other slices" => "Slices on the lane with another meaning: recording windows and unknown categories.";
    "joined_pairs", "Joined pairs" => "Slices made of a begin and an end event: each accounts for two events of the file.";
    "points", "Points" => "Events kept without a duration, allocations and counter values included.";
    "flows", "Flow ends" => "Ends of arrows between slices that were kept.";
    "closes", "Ledger closes" =>
        "Whether events in the file = slices + joined pairs + points + flow ends + set aside. A slice made of a begin and \
         an end event accounts for two, hence the joined pairs.";
    "set_aside", "Set aside" => "Events found in the file but not kept; the notes say why and where.";
    "skipped_bytes", "Skipped bytes" =>
        "Bytes between events that belong to no event; above zero, some events may be missing. They do not affect whether \
         the ledger closes, which is about counts.";
    "steps", "Steps" => "Host ranges named `ProfilerStep#N`, N a number, by their names in order of time.";
    "processes", "Processes" => "Host processes with at least one slice of a thread's call tree.";
    "threads", "Threads" => "Host threads with at least one slice of a thread's call tree.";
    "streams", "Streams" => "Device streams with at least one slice.";
    "heap_bytes", "Held in memory" => "Bytes that the columns, texts, arguments and links of the trace take in memory.";
    "bytes_per_event", "Bytes per event" => "Bytes held in memory divided by the number of slices, points and flow ends.";
};
