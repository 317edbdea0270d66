//! What the numbers of phases mean.

use crate::scope::definition::{Definition, definitions};

/// Every number of the answer.
pub const DEFINITIONS: &[Definition] = definitions! {
    "category", "Category" =>
        "What kind of work it is. Copies and memsets of the runtime are that. A kernel is what the ATen operator that \
         launched it is (aten::addmm: GEMM), helpers included; where that says nothing (aten::add), what its own name \
         says; else other. Reduction includes softmax, losses and pooling; copy includes kernels that only move or convert \
         elements (aten::copy_, aten::cat); optimizer is kernels over many tensors (_foreach_, fused Adam).";
    "calls", "Calls" => "Kernels, copies and memsets of this category.";
    "forward_ns", "Forward" =>
        "Device time launched by the main thread, or by an operator of any thread, in none of the other phases. All of \
         inference, copies of the input, the loss, and CUDA graphs launched outside of the other phases.";
    "backward_ns", "Backward" =>
        "Device time launched by a thread of the backward pass, or under autograd::engine::evaluate_function, an operator \
         named …Backward or one named …_backward; without what is recomputed.";
    "recompute_ns", "Recompute" =>
        "Device time of forward operators that run again in the backward pass (activation checkpointing): those right \
         under CheckpointFunctionBackward, and those recorded with a sequence number inside a node of the backward pass \
         whose operators have no backward operators of their own. What torch.compile recomputes inside its graphs is in \
         backward.";
    "update_ns", "Update" =>
        "Device time launched under Optimizer.step# and Optimizer.zero_grad# ranges, and by _foreach_ and fused optimizer \
         operators outside of the backward pass (clipping gradients).";
    "other_ns", "Other" => "Device time whose launch is not in the file, or that a thread without operators launched.";
    "total_ns", "Total" =>
        "Summed duration of the kernels, copies and memsets of this category that the steps launched: the five phases add \
         up to it. Work that overlaps on the device counts in full.";
    "step_ns", "Per step" => "Total / number of steps.";
    "share", "% device" => "Total / all device time of the steps, as a fraction.";
    "total_device_ns", "Device time" =>
        "Summed duration of all kernels, copies and memsets that the steps launched: the rows add up to it.";
    "outside_steps_ns", "Outside steps" => "Device time that no step launched; it is in no row.";
    "steps", "Steps" => "How many steps the numbers per step are divided by.";
};
