//! What the figures mean.

use crate::scope::definition::Definition;

/// Every figure of the memory report.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "peak_allocated_bytes",
        label: "Peak allocated",
        text: "Highest level of bytes in use: the allocator's own `Total Allocated` after each mark, and the \
               level before the first mark. Where the file gives no totals, the running sum of `Bytes` from 0 \
               (`totals_from_file` is false), which misses everything allocated before the recording. Of a window: \
               the highest level in it, counting the one it opens with.",
    },
    Definition {
        field: "peak_at_ns",
        label: "Peak at",
        text: "When the peak was first reached, in nanoseconds since the trace's first event.",
    },
    Definition {
        field: "peak_reserved_bytes",
        label: "Peak reserved",
        text: "Highest `Total Reserved`: what the caching allocator held from the device, in use or not.",
    },
    Definition {
        field: "opening_allocated_bytes",
        label: "Opening level",
        text: "Level before the first mark: its total less its bytes. Of a window: the level at its beginning, \
               which is the total of the last mark before it.",
    },
    Definition { field: "closing_allocated_bytes", label: "Closing level", text: "Level after the last mark." },
    Definition {
        field: "allocated_bytes",
        label: "Allocated",
        text: "Sum of the bytes of all allocations, whether or not released since. For an operator: those made \
               while it or anything it called was the innermost operator of the thread, summed over its calls; \
               a call inside a call of the same name counts in both.",
    },
    Definition {
        field: "allocation_count",
        label: "Allocations",
        text: "How many allocations the allocated bytes came in.",
    },
    Definition {
        field: "freed_bytes",
        label: "Freed",
        text: "Sum of the bytes of all releases. For an operator: those that happened while it or anything it \
               called was running, whoever had allocated them.",
    },
    Definition {
        field: "increase_bytes",
        label: "Increase",
        text: "Allocated less freed bytes, by the operator and everything it called.",
    },
    Definition {
        field: "self_increase_bytes",
        label: "Self increase",
        text: "Allocated less freed bytes while this operator was the innermost one: the last of the thread \
               that began at or before the mark and ended after it.",
    },
    Definition {
        field: "self_allocation_count",
        label: "Self allocations",
        text: "How many allocations were made while this operator was the innermost one.",
    },
    Definition {
        field: "self_allocated_bytes",
        label: "Self allocated",
        text: "Bytes allocated while this operator was the innermost one.",
    },
    Definition {
        field: "peak_by_operator",
        label: "Alive at the peak",
        text: "Every allocation made before the peak and not released by then, joined by address, summed by the \
               innermost operator that made it. The rows add up to the peak exactly.",
    },
    Definition {
        field: "peak_unknown_bytes",
        label: "Unknown at the peak",
        text: "The peak less all allocations of this file alive then: memory taken before the recording began, \
               or marks that were lost. Under zero where levels are running sums and memory from before the \
               recording was released.",
    },
    Definition {
        field: "unmatched_frees",
        label: "Unmatched releases",
        text: "Releases of an address that no earlier mark of the file had allocated: taken before the recording.",
    },
    Definition {
        field: "still_live",
        label: "Still live",
        text: "Allocations whose release is not in the file.",
    },
    Definition {
        field: "unseen_releases",
        label: "Unseen releases",
        text: "Allocations whose address was given out again without a release mark in between.",
    },
    Definition {
        field: "level_gaps",
        label: "Level gaps",
        text: "Marks whose total is not the total before plus their bytes: marks in between are missing.",
    },
    Definition {
        field: "curve",
        label: "Level curve",
        text: "Levels over time. A sampled curve keeps, for each of equal stretches of time, the marks with the \
               lowest and highest level and the highest reserve, so no peak is lost. Of a window it begins with the \
               level at its beginning.",
    },
    Definition {
        field: "duration_ns",
        label: "Lifetime",
        text: "From allocation to release of the same address on the same device; empty when either is not in \
               the file.",
    },
];
