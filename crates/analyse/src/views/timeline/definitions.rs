//! What the numbers of areas, details and hits mean.

use crate::scope::definition::Definition;

/// Every number beside a picture.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "count",
        label: "Count",
        text: "Slices with any time inside the area, and slices without length and instants that lie in it. In a tile: \
               slices that start in the bucket.",
    },
    Definition {
        field: "total_ns",
        label: "Total",
        text: "Time inside the area, summed over slices: one that reaches out counts with the part inside. Slices inside \
               others count again.",
    },
    Definition {
        field: "self_ns",
        label: "Self",
        text: "Total less the time during which a slice directly inside it ran on the same thread or stream. A slice is \
               inside another if it starts no earlier and ends no later; one that only overlaps is not.",
    },
    Definition {
        field: "share",
        label: "Share",
        text: "Self time of the name / self time of everything selected.",
    },
    Definition {
        field: "busy_ns",
        label: "Busy",
        text: "Time in the area during which the row has anything on it.",
    },
    Definition {
        field: "busy",
        label: "Covered",
        text: "Of the time from the first start to the last end in a bucket, the share that slices cover.",
    },
    Definition {
        field: "longest",
        label: "Longest",
        text: "The slice of this name with the most time inside the area; of equals, the first.",
    },
    Definition { field: "dur_ns", label: "Duration", text: "End less start." },
    Definition { field: "start_ns", label: "Start", text: "Since the first slice or point of the trace." },
    Definition {
        field: "step",
        label: "Step",
        text: "The step in whose window it starts; device work may start in the step after the one that launched it \
               only if that one had ended.",
    },
    Definition {
        field: "category",
        label: "Category",
        text: "What the slice is, by its kind and name. Kernels are identified by their names, a heuristic; \
               a wait is a call that blocks by its name, or a wait that a device recorded.",
    },
    Definition {
        field: "flops",
        label: "FLOPs",
        text: "Floating-point operations by PyTorch's with_flops formulas, from the recorded input shapes; absent where \
               there is no formula.",
    },
    Definition {
        field: "density",
        label: "Density",
        text: "How many hits start in each of 256 equal parts of the trace.",
    },
];
