//! What the numbers of a program's memory mean. `allocated_bytes` and times are defined as for devices.

use crate::scope::definition::Definition;

/// Every number of the lines of memory.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "peak_bytes",
        label: "At the peak",
        text: "Bytes that were allocated and not freed at the moment when the program held most. In a sampled profile an \
               estimate: an allocation counts for its size divided by the chance that it was seen.",
    },
    Definition {
        field: "peak_share",
        label: "% of peak",
        text: "Bytes at the peak / the peak, as a fraction.",
    },
    Definition {
        field: "peak_count",
        label: "Pieces",
        text: "Allocations that were alive at the peak; estimated as bytes are where the profile is sampled.",
    },
    Definition {
        field: "live_bytes",
        label: "At the end",
        text: "Bytes that were allocated and not freed when the recording ended. Points of the curve: the most since the point \
               before.",
    },
    Definition {
        field: "live_count",
        label: "Pieces left",
        text: "Allocations that were not freed when the recording ended.",
    },
    Definition {
        field: "end_bytes",
        label: "At the end",
        text: "Bytes that were allocated and not freed when the recording ended, over all lines.",
    },
    Definition {
        field: "growth_bytes",
        label: "Growth",
        text: "Bytes alive at the end minus those alive near the middle of the recording (`earlier_at_ns`). What a program \
               needs it has by then; what still grows may be a leak.",
    },
    Definition { field: "allocations", label: "Allocations", text: "How often memory was allocated." },
    Definition {
        field: "line",
        label: "Line",
        text: "The line in its file, counted from 1; 0 where it is not known.",
    },
    Definition {
        field: "peak_rss_bytes",
        label: "Peak RSS",
        text: "The most of the process that was in memory at any point of the curve. Memory that was allocated and never \
               written to is not in it; code, libraries and freed memory that was kept are.",
    },
];

/// Every number beside them: of the curve, of lines one by one, and of how it was recorded.
pub const MORE_DEFINITIONS: &[Definition] = &[
    Definition {
        field: "earlier_at_ns",
        label: "Compared with",
        text: "The moment that growth is counted from: a mark at 0.25 s, or twice that, four times, … whichever is nearest \
               to the middle of the recording.",
    },
    Definition {
        field: "sample_bytes",
        label: "Sample every",
        text: "Bytes allocated per sampled allocation, on average; 0 if every allocation is recorded.",
    },
    Definition {
        field: "rss_bytes",
        label: "RSS",
        text: "How much of the process is in memory, as the system says: the resident set.",
    },
    Definition { field: "function_line", label: "Starts at", text: "The line at which the function starts." },
    Definition { field: "occurrences", label: "Occurrences", text: "How often the line ran." },
    Definition {
        field: "memory_bytes",
        label: "Mem usage",
        text: "The most of the process that was in memory when the line had run, as memory_profiler shows it.",
    },
    Definition {
        field: "increment_bytes",
        label: "Increment",
        text: "How much of the process was in memory after the line minus before it, summed over its runs. The system is \
               asked when 4 KiB were allocated or freed since it last was, or 20 µs have passed.",
    },
    Definition { field: "recorded_ns", label: "Duration", text: "How long memory was recorded." },
];
