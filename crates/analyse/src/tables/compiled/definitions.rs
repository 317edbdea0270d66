//! What the numbers about torch.compile mean.

use crate::scope::definition::Definition;

/// What the numbers about torch.compile mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "region",
        label: "Region",
        text: "The id in `Torch-Compiled Region: F/V`: frame F, a function or the part of one behind a graph break, in its \
               version V. A version above 0 means the frame was compiled again because no earlier one fit.",
    },
    Definition {
        field: "calls",
        label: "Calls",
        text: "Of a region: how often it was entered. Of an operator, kernel or phase: how often it ran.",
    },
    Definition {
        field: "breaks",
        label: "Breaks",
        text: "Of the calls, those entered inside another region: the frame around them could not be compiled as one graph \
               and goes on there.",
    },
    Definition {
        field: "host_ns",
        label: "Host",
        text: "Summed duration on the host thread. Of a region, without regions and compiling inside it; in the sum over \
               all, compiled backward passes are included.",
    },
    Definition {
        field: "device_ns",
        label: "Device",
        text: "Summed duration of the kernels, copies and memsets launched from inside: of a region, from its innermost call; \
               of an operator, from its calls. The sum over all counts compiled backward passes too, and leaves out what \
               eager operators inside regions launched.",
    },
    Definition {
        field: "backward_host_ns",
        label: "Backward",
        text: "Summed duration of `CompiledFunctionBackward` on the host for the region whose forward pass it belongs to, \
               without compiling inside it.",
    },
    Definition {
        field: "backward_device_ns",
        label: "Backward device",
        text: "Summed duration of the kernels, copies and memsets launched from inside the region's compiled backward pass.",
    },
    Definition {
        field: "device_slices",
        label: "Launches",
        text: "Kernels, copies and memsets of the region's forward and backward passes.",
    },
    Definition {
        field: "compile_ns",
        label: "Compile",
        text: "Time the compiler took, its backward passes included: the outermost of dynamo, entire_frame_compile, \
               entire_backward_compile and every range that ends in (dynamo_timed). Of a region, where those name its id.",
    },
    Definition {
        field: "steps",
        label: "Steps",
        text: "Steps selected; a trace without ProfilerStep marks counts as one.",
    },
    Definition { field: "regions", label: "Regions", text: "Different region ids that were entered." },
    Definition {
        field: "calls_per_step",
        label: "Per step",
        text: "Calls that start in a selected step's host range / selected steps.",
    },
    Definition {
        field: "breaks_per_step",
        label: "Breaks per step",
        text: "Regions entered inside another region, in the steps' host ranges / selected steps.",
    },
    Definition {
        field: "eager_per_step",
        label: "Eager per step",
        text: "Calls of eager operators in the steps' host ranges / selected steps. An eager operator is an outermost operator \
               inside a region but outside its compiled code, or between two regions of one thread and step.",
    },
    Definition {
        field: "in_regions",
        label: "In regions",
        text: "Of the operator's calls, those inside a region but outside its compiled code: at a graph break.",
    },
    Definition {
        field: "device_share",
        label: "Compiled",
        text: "Device time of compiled regions and backward passes / the summed duration of all selected kernels, copies and \
               memsets, as a fraction; none without device work.",
    },
    Definition {
        field: "lookups",
        label: "Lookups",
        text: "How often `TorchDynamo Cache Lookup` ran, which checks guards to find compiled code that fits.",
    },
    Definition { field: "lookup_ns", label: "Lookup time", text: "Summed duration of the cache lookups." },
    Definition {
        field: "compiles",
        label: "Compiles",
        text: "How often a frame was compiled within the selected part of the trace; backward passes compiled later are not \
               counted.",
    },
    Definition {
        field: "recompiles",
        label: "Recompiles",
        text: "Of the compiles, those for a version above 0: the frame had been compiled before.",
    },
    Definition {
        field: "total_ns",
        label: "Total",
        text: "Of a kernel: summed duration on the device. Of a phase of the compiler: summed duration on the host.",
    },
    Definition { field: "mean_ns", label: "Mean", text: "The total divided by the calls." },
    Definition {
        field: "share",
        label: "% device",
        text: "Total / the summed duration of all selected kernels, copies and memsets, as a fraction.",
    },
    Definition {
        field: "self_ns",
        label: "Self",
        text: "Duration of the phase without phases inside it, summed over calls.",
    },
];
