//! Every number of the pictures of memory.

use crate::scope::definition::{Definition, definitions};

/// Every number of the pictures of memory.
pub const DEFINITIONS: &[Definition] = definitions! {
    "state", "State" => "The state after this many entries of the allocator's history. State 0 is the state before it.";
    "allocated_bytes", "In use" => "Bytes that the program holds, rounded up as the allocator does.";
    "requested_bytes", "Requested" => "Bytes that the program asked for, before rounding.";
    "pending_bytes", "Pending" =>
        "Bytes that the program gave back, but that another stream may still use (record_stream).";
    "reserved_bytes", "Reserved" => "Bytes that the allocator has taken from the device and not given back.";
    "free_bytes", "Free inside" =>
        "Reserved bytes that nothing uses: reserved less in use less pending. Much of it in small pieces is fragmentation.";
    "largest_free_bytes", "Largest free" =>
        "The longest free stretch of one segment. A request for more needs new memory from the device, or fails.";
    "allocations", "Allocations" => "Allocations that were in use in this state.";
    "bytes", "Bytes" =>
        "Bytes in use, rounded up as the allocator does: of one allocation, or of all that a line asked for.";
    "share", "Share" => "Share of all bytes in use in this state.";
    "peak_bytes", "Peak" => "The most bytes in use at once since the history begins.";
    "peak_reserved_bytes", "Reserved, peak" => "The most bytes reserved at once since the history begins.";
    "lifetime_ns", "Lifetime" => "From the allocation to the moment when the program gave it back.";
    "pending_ns", "Pending for" =>
        "From the moment when the program gave it back to the one when no stream used it any longer.";
    "alive", "In this window" =>
        "Allocations in use at some moment of the window, whether or not they are tall and long enough to be drawn.";
    "drawn", "Drawn" =>
        "Allocations in at least one pixel. A column of pixels shows its highest moment, a pixel the allocation at its \
         middle.";
};
