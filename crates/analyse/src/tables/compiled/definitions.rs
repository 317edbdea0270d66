//! What the numbers about torch.compile mean.

use crate::scope::definition::{Definition, definitions};

/// What the numbers about torch.compile mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    "region", "Region" =>
        "The id in `Torch-Compiled Region: F/V`: frame F, a function or the part of one behind a graph break, in its \
         version V. A version above 0 means the frame was compiled again because no earlier one fit.";
    "calls", "Calls" => "Of a region: how often it was entered. Of an operator, kernel or phase: how often it ran.";
    "breaks", "Breaks" =>
        "Of the calls, those entered inside another region: the frame around them could not be compiled as one graph and \
         goes on there.";
    "host_ns", "Host" =>
        "Summed duration on the host thread. Of a region, without regions and compiling inside it; in the sum over all, \
         compiled backward passes are included.";
    "device_ns", "Device" =>
        "Summed duration of the kernels, copies and memsets launched from inside: of a region, from its innermost call; of \
         an operator, from its calls. The sum over all counts compiled backward passes too, and leaves out what eager \
         operators inside regions launched.";
    "backward_host_ns", "Backward" =>
        "Summed duration of `CompiledFunctionBackward` on the host for the region whose forward pass it belongs to, \
         without compiling inside it.";
    "backward_device_ns", "Backward device" =>
        "Summed duration of the kernels, copies and memsets launched from inside the region's compiled backward pass.";
    "device_slices", "Launches" => "Kernels, copies and memsets of the region's forward and backward passes.";
    "compile_ns", "Compile" =>
        "Time the compiler took, its backward passes included: the outermost of dynamo, entire_frame_compile, \
         entire_backward_compile and every range that ends in (dynamo_timed). Of a region, where those name its id.";
    "steps", "Steps" => "Steps selected; a trace without ProfilerStep marks counts as one.";
    "regions", "Regions" => "Different region ids that were entered.";
    "calls_per_step", "Per step" => "Calls that start in a selected step's host range / selected steps.";
    "breaks_per_step", "Breaks per step" =>
        "Regions entered inside another region, in the steps' host ranges / selected steps.";
    "eager_per_step", "Eager per step" =>
        "Calls of eager operators in the steps' host ranges / selected steps. An eager operator is an outermost operator \
         inside a region but outside its compiled code, or between two regions of one thread and step.";
    "in_regions", "In regions" =>
        "Of the operator's calls, those inside a region but outside its compiled code: at a graph break.";
    "device_share", "Compiled" =>
        "Device time of compiled regions and backward passes / the summed duration of all selected kernels, copies and \
         memsets, as a fraction; none without device work.";
    "lookups", "Lookups" =>
        "How often `TorchDynamo Cache Lookup` ran, which checks guards to find compiled code that fits.";
    "lookup_ns", "Lookup time" => "Summed duration of the cache lookups.";
    "compiles", "Compiles" =>
        "How often a frame was compiled within the selected part of the trace; backward passes compiled later are not \
         counted.";
    "recompiles", "Recompiles" => "Of the compiles, those for a version above 0: the frame had been compiled before.";
    "total_ns", "Total" =>
        "Of a kernel: summed duration on the device. Of a phase of the compiler: summed duration on the host.";
    "mean_ns", "Mean" => "The total divided by the calls.";
    "share", "% device" => "Total / the summed duration of all selected kernels, copies and memsets, as a fraction.";
    "self_ns", "Self" => "Duration of the phase without phases inside it, summed over calls.";
};
