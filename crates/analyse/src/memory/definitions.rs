//! What the numbers mean.

use crate::scope::definition::{Definition, definitions};

/// What the numbers of a device's memory mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    "device_type", "Device type" => "PyTorch's number for the kind of device: 0 is the CPU, 1 CUDA, 6 HIP.";
    "records", "Records" =>
        "Allocator records, which are allocations and releases: for a device, those that count; in total, every one in the \
         trace, even without a byte count.";
    "peak_allocated_bytes", "Peak allocated" =>
        "Highest level of bytes in use: the allocator's own `Total Allocated` after each record, and the level before the \
         first record. Where the file gives no totals, the running sum of `Bytes` from 0 (`totals_from_file` is false), \
         which misses everything allocated before the recording. Of a window: the highest level in it, counting the one it \
         opens with.";
    "peak_at_ns", "Peak at" => "When the peak was first reached, counted from the trace's first event.";
    "peak_reserved_bytes", "Peak reserved" =>
        "Highest `Total Reserved`: what the caching allocator held from the device, in use or not.";
    "peak_reserved_at_ns", "Peak reserved at" =>
        "When the highest `Total Reserved` was first reached, counted from the trace's first event.";
    "opening_allocated_bytes", "At start" =>
        "Level before the first record: its total less its bytes. Of a window: the level at its beginning, which is the \
         total of the last record before it.";
    "closing_allocated_bytes", "At end" => "Level after the last record that counts.";
    "allocated_bytes", "Allocated" =>
        "Sum of the bytes of all allocations, whether or not released since. For an operator: those made while it or \
         anything it called was the innermost operator of the thread, summed over its calls; a call inside a call of the \
         same name counts in both. On the curve: the level of bytes in use after this record.";
    "allocation_count", "Allocations" => "How many allocations the allocated bytes came in.";
    "freed_bytes", "Freed" =>
        "Sum of the bytes of all releases. For an operator: those that happened while it or anything it called was \
         running, whoever had allocated them.";
    "free_count", "Releases" => "How many releases the freed bytes came in.";
    "peak_by_operator", "Alive at the peak" =>
        "Every allocation made before the peak and not released by then, joined by address, summed by the innermost \
         operator that made it. The rows add up to the peak exactly.";
    "bytes", "Bytes" =>
        "At the peak: bytes of the allocations alive then, joined by address, that this operator (from this stack) made. \
         In a list of allocations: the size of one.";
    "count", "Allocations" =>
        "How many allocations alive at the peak these bytes came in; none where their origin is unknown.";
    "peak_known_bytes", "Known at the peak" =>
        "Bytes of the allocations alive at the peak that this file records with an address.";
    "peak_unknown_bytes", "Unknown at the peak" =>
        "The peak less all allocations of this file alive then: memory taken before the recording began, or records that \
         were lost. Below zero where levels are running sums and memory from before the recording was released.";
    "unmatched_frees", "Unmatched frees" =>
        "Releases of an address that no earlier record of the file had allocated: it was taken before the recording.";
    "unmatched_free_bytes", "Unmatched bytes" => "Sum of the bytes of the unmatched releases.";
    "still_live", "Still live" => "Allocations whose release is not in the file.";
    "still_live_bytes", "Still live" => "Sum of the bytes of the allocations whose release is not in the file.";
    "unseen_releases", "Unseen releases" =>
        "Allocations whose address was given out again without a release recorded in between.";
    "level_gaps", "Level gaps" =>
        "Records whose total is not the total before plus their bytes: records in between are missing.";
    "curve", "Level curve" =>
        "Levels over time. A sampled curve keeps, for each of equal stretches of time, the records with the lowest and \
         highest level and the highest reserve, so no peak is lost. Of a window it begins with the level at its beginning.";
    "at_ns", "At" => "When the level of the curve was reached, counted from the trace's first event.";
    "reserved_bytes", "Reserved" =>
        "`Total Reserved` after this record: what the caching allocator held from the device, in use or not.";
};

/// What the numbers of an operator's memory mean.
pub const OPERATOR_DEFINITIONS: &[Definition] = definitions! {
    "calls", "Calls" => "How often the operator ran, with or without allocating.";
    "increase_bytes", "Increase" => "Allocated less freed bytes, by the operator and everything it called.";
    "self_increase_bytes", "Self increase" =>
        "Allocated less freed bytes while this operator was the innermost one: the last of the thread that began at or \
         before the record and ended after it.";
    "self_allocation_count", "Self allocs" => "How many allocations were made while this operator was the innermost one.";
    "self_allocated_bytes", "Self allocated" => "Bytes allocated while this operator was the innermost one.";
    "self_freed_bytes", "Self freed" =>
        "Bytes released while this operator was the innermost one, whoever had allocated them.";
};

/// What the numbers of a single allocation mean.
pub const EVENT_DEFINITIONS: &[Definition] = definitions! {
    "address", "Address" =>
        "Where the memory lies, as the allocator recorded it. An address is given out again once it is released.";
    "allocated_at_ns", "Allocated at" =>
        "When it was allocated, counted from the trace's first event; empty if that was before the recording.";
    "released_at_ns", "Released at" =>
        "When it was released, counted from the trace's first event; empty if that is not in the file.";
    "duration_ns", "Lifetime" =>
        "From allocation to release of the same address on the same device; empty when either is not in the file.";
};
