//! What the numbers mean.

use crate::scope::definition::Definition;

/// What the numbers of a device's memory mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "device_type",
        label: "Device type",
        text: "PyTorch's number for the kind of device: 0 is the CPU, 1 CUDA, 6 HIP.",
    },
    Definition {
        field: "records",
        label: "Records",
        text: "Allocator records, which are allocations and releases: for a device, those that count; in total, \
               every one in the trace, even without a byte count.",
    },
    Definition {
        field: "peak_allocated_bytes",
        label: "Peak allocated",
        text: "Highest level of bytes in use: the allocator's own `Total Allocated` after each record, and the \
               level before the first record. Where the file gives no totals, the running sum of `Bytes` from \
               0 (`totals_from_file` is false), which misses everything allocated before the recording. Of a \
               window: the highest level in it, counting the one it opens with.",
    },
    Definition {
        field: "peak_at_ns",
        label: "Peak at",
        text: "When the peak was first reached, counted from the trace's first event.",
    },
    Definition {
        field: "peak_reserved_bytes",
        label: "Peak reserved",
        text: "Highest `Total Reserved`: what the caching allocator held from the device, in use or not.",
    },
    Definition {
        field: "peak_reserved_at_ns",
        label: "Peak reserved at",
        text: "When the highest `Total Reserved` was first reached, counted from the trace's first event.",
    },
    Definition {
        field: "opening_allocated_bytes",
        label: "At start",
        text: "Level before the first record: its total less its bytes. Of a window: the level at its \
               beginning, which is the total of the last record before it.",
    },
    Definition {
        field: "closing_allocated_bytes",
        label: "At end",
        text: "Level after the last record that counts.",
    },
    Definition {
        field: "allocated_bytes",
        label: "Allocated",
        text: "Sum of the bytes of all allocations, whether or not released since. For an operator: those made \
               while it or anything it called was the innermost operator of the thread, summed over its calls; \
               a call inside a call of the same name counts in both. On the curve: the level of bytes in use \
               after this record.",
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
    Definition { field: "free_count", label: "Releases", text: "How many releases the freed bytes came in." },
    Definition {
        field: "peak_by_operator",
        label: "Alive at the peak",
        text: "Every allocation made before the peak and not released by then, joined by address, summed by \
               the innermost operator that made it. The rows add up to the peak exactly.",
    },
    Definition {
        field: "bytes",
        label: "Bytes",
        text: "At the peak: bytes of the allocations alive then, joined by address, that this operator (from \
               this stack) made. In a list of allocations: the size of one.",
    },
    Definition {
        field: "count",
        label: "Allocations",
        text: "How many allocations alive at the peak these bytes came in; none where their origin is unknown.",
    },
    Definition {
        field: "peak_known_bytes",
        label: "Known at the peak",
        text: "Bytes of the allocations alive at the peak that this file records with an address.",
    },
    Definition {
        field: "peak_unknown_bytes",
        label: "Unknown at the peak",
        text: "The peak less all allocations of this file alive then: memory taken before the recording began, \
               or records that were lost. Below zero where levels are running sums and memory from before the \
               recording was released.",
    },
    Definition {
        field: "unmatched_frees",
        label: "Unmatched frees",
        text: "Releases of an address that no earlier record of the file had allocated: it was taken before \
               the recording.",
    },
    Definition {
        field: "unmatched_free_bytes",
        label: "Unmatched bytes",
        text: "Sum of the bytes of the unmatched releases.",
    },
    Definition {
        field: "still_live",
        label: "Still live",
        text: "Allocations whose release is not in the file.",
    },
    Definition {
        field: "still_live_bytes",
        label: "Still live",
        text: "Sum of the bytes of the allocations whose release is not in the file.",
    },
    Definition {
        field: "unseen_releases",
        label: "Unseen releases",
        text: "Allocations whose address was given out again without a release recorded in between.",
    },
    Definition {
        field: "level_gaps",
        label: "Level gaps",
        text: "Records whose total is not the total before plus their bytes: records in between are missing.",
    },
    Definition {
        field: "curve",
        label: "Level curve",
        text: "Levels over time. A sampled curve keeps, for each of equal stretches of time, the records with \
               the lowest and highest level and the highest reserve, so no peak is lost. Of a window it begins \
               with the level at its beginning.",
    },
    Definition {
        field: "at_ns",
        label: "At",
        text: "When the level of the curve was reached, counted from the trace's first event.",
    },
    Definition {
        field: "reserved_bytes",
        label: "Reserved",
        text: "`Total Reserved` after this record: what the caching allocator held from the device, in use or \
               not.",
    },
];

/// What the numbers of an operator's memory mean.
pub const OPERATOR_DEFINITIONS: &[Definition] = &[
    Definition {
        field: "calls",
        label: "Calls",
        text: "How often the operator ran, with or without allocating.",
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
               that began at or before the record and ended after it.",
    },
    Definition {
        field: "self_allocation_count",
        label: "Self allocs",
        text: "How many allocations were made while this operator was the innermost one.",
    },
    Definition {
        field: "self_allocated_bytes",
        label: "Self allocated",
        text: "Bytes allocated while this operator was the innermost one.",
    },
    Definition {
        field: "self_freed_bytes",
        label: "Self freed",
        text: "Bytes released while this operator was the innermost one, whoever had allocated them.",
    },
];

/// What the numbers of a single allocation mean.
pub const EVENT_DEFINITIONS: &[Definition] = &[
    Definition {
        field: "address",
        label: "Address",
        text: "Where the memory lies, as the allocator recorded it. An address is given out again once it is \
               released.",
    },
    Definition {
        field: "allocated_at_ns",
        label: "Allocated at",
        text: "When it was allocated, counted from the trace's first event; empty if that was before the \
               recording.",
    },
    Definition {
        field: "released_at_ns",
        label: "Released at",
        text: "When it was released, counted from the trace's first event; empty if that is not in the file.",
    },
    Definition {
        field: "duration_ns",
        label: "Lifetime",
        text: "From allocation to release of the same address on the same device; empty when either is not in \
               the file.",
    },
];
