//! What the numbers of a program's memory mean. `allocated_bytes` and times are defined as for devices.

use crate::scope::definition::{Definition, definitions};

/// Every number of the lines of memory.
pub const DEFINITIONS: &[Definition] = definitions! {
    "peak_bytes", "At the peak" =>
        "Bytes that were allocated and not freed at the moment when the program held most. In a sampled profile an \
         estimate: an allocation counts for its size divided by the chance that it was seen.";
    "peak_share", "% of peak" => "Bytes at the peak / the peak, as a fraction.";
    "peak_count", "Pieces" =>
        "Allocations that were alive at the peak; estimated as bytes are where the profile is sampled.";
    "live_bytes", "At the end" =>
        "Bytes that were allocated and not freed when the recording ended. Points of the curve: the most since the point \
         before.";
    "live_count", "Pieces left" => "Allocations that were not freed when the recording ended.";
    "end_bytes", "At the end" => "Bytes that were allocated and not freed when the recording ended, over all lines.";
    "growth_bytes", "Growth" =>
        "Bytes alive at the end minus those alive near the middle of the recording (`earlier_at_ns`). What a program needs \
         it has by then; what still grows may be a leak.";
    "allocations", "Allocations" => "How often memory was allocated.";
    "line", "Line" => "The line in its file, counted from 1; 0 where it is not known.";
    "peak_rss_bytes", "Peak RSS" =>
        "The most of the process that was in memory at any point of the curve. Memory that was allocated and never written \
         to is not in it; code, libraries and freed memory that was kept are.";
};

/// Every number beside them: of the curve, of lines one by one, and of how it was recorded.
pub const MORE_DEFINITIONS: &[Definition] = definitions! {
    "earlier_at_ns", "Compared with" =>
        "The moment that growth is counted from: a mark at 0.25 s, or twice that, four times, … whichever is nearest to \
         the middle of the recording.";
    "sample_bytes", "Sample every" =>
        "Bytes allocated per sampled allocation, on average; 0 if every allocation is recorded.";
    "rss_bytes", "RSS" => "How much of the process is in memory, as the system says: the resident set.";
    "function_line", "Starts at" => "The line at which the function starts.";
    "occurrences", "Occurrences" => "How often the line ran.";
    "memory_bytes", "Mem usage" =>
        "The most of the process that was in memory when the line had run, as memory_profiler shows it.";
    "increment_bytes", "Increment" =>
        "How much of the process was in memory after the line minus before it, summed over its runs. The system is asked \
         when 4 KiB were allocated or freed since it last was, or 20 µs have passed.";
    "recorded_ns", "Duration" => "How long memory was recorded.";
};
