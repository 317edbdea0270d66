//! What the numbers of areas, details and hits mean.

use crate::scope::definition::{Definition, definitions};

/// Every number beside a picture.
pub const DEFINITIONS: &[Definition] = definitions! {
    "count", "Count" =>
        "Slices with any time inside the area, and slices without length and instants that lie in it. In a tile: slices \
         that start in the bucket.";
    "total_ns", "Total" =>
        "Time inside the area, summed over slices: one that reaches out counts with the part inside. Slices inside others \
         count again.";
    "self_ns", "Self" =>
        "Total less the time during which a slice directly inside it ran on the same thread or stream. A slice is inside \
         another if it starts no earlier and ends no later; one that only overlaps is not.";
    "share", "Share" => "Self time of the name / self time of everything selected.";
    "busy_ns", "Busy" => "Time in the area during which the row has anything on it.";
    "busy", "Covered" => "Of the time from the first start to the last end in a bucket, the share that slices cover.";
    "longest", "Longest" => "The slice of this name with the most time inside the area; of equals, the first.";
    "dur_ns", "Duration" => "End less start.";
    "start_ns", "Start" => "Since the first slice or point of the trace.";
    "step", "Step" =>
        "The step in whose window it starts; device work may start in the step after the one that launched it only if that \
         one had ended.";
    "category", "Category" =>
        "What the slice is, by its kind and name. Kernels are identified by their names, a heuristic; a wait is a call \
         that blocks by its name, or a wait that a device recorded.";
    "flops", "FLOPs" =>
        "Floating-point operations by PyTorch's with_flops formulas, from the recorded input shapes; absent where there is \
         no formula.";
    "density", "Density" => "How many hits start in each of 256 equal parts of the trace.";
};
