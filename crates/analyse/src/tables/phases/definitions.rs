//! What the numbers of phases mean.

use crate::scope::definition::Definition;

/// Every number of the answer.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "category",
        label: "Category",
        text: "What kind of work it is. Copies and memsets of the runtime are that. A kernel is what the ATen operator \
               that launched it is (aten::addmm: GEMM), helpers included; where that says nothing (aten::add), what its \
               own name says; else other. Reduction includes softmax, losses and pooling; copy includes kernels that \
               only move or convert elements (aten::copy_, aten::cat); optimizer is kernels over many tensors \
               (_foreach_, fused Adam).",
    },
    Definition { field: "calls", label: "Calls", text: "Kernels, copies and memsets of this category." },
    Definition {
        field: "forward_ns",
        label: "Forward",
        text: "Device time launched by the main thread, or by an operator of any thread, in none of the other phases. \
               All of inference, copies of the input, the loss, and CUDA graphs launched outside of the other phases.",
    },
    Definition {
        field: "backward_ns",
        label: "Backward",
        text: "Device time launched by a thread of the backward pass, or under autograd::engine::evaluate_function, an \
               operator named …Backward or one named …_backward; without what is recomputed.",
    },
    Definition {
        field: "recompute_ns",
        label: "Recompute",
        text: "Device time of forward operators that run again in the backward pass (activation checkpointing): those \
               right under CheckpointFunctionBackward, and those recorded with a sequence number inside a node of the \
               backward pass whose operators have no backward operators of their own. What torch.compile recomputes \
               inside its graphs is in backward.",
    },
    Definition {
        field: "update_ns",
        label: "Update",
        text: "Device time launched under Optimizer.step# and Optimizer.zero_grad# ranges, and by _foreach_ and fused \
               optimizer operators outside of the backward pass (clipping gradients).",
    },
    Definition {
        field: "other_ns",
        label: "Other",
        text: "Device time whose launch is not in the file, or that a thread without operators launched.",
    },
    Definition {
        field: "total_ns",
        label: "Total",
        text: "Summed duration of the kernels, copies and memsets of this category that the steps launched: the five \
               phases add up to it. Work that overlaps on the device counts in full.",
    },
    Definition { field: "step_ns", label: "Per step", text: "Total / number of steps." },
    Definition {
        field: "share",
        label: "% device",
        text: "Total / all device time of the steps, as a fraction.",
    },
    Definition {
        field: "total_device_ns",
        label: "Device time",
        text: "Summed duration of all kernels, copies and memsets that the steps launched: the rows add up to it.",
    },
    Definition {
        field: "outside_steps_ns",
        label: "Outside steps",
        text: "Device time that no step launched; it is in no row.",
    },
    Definition { field: "steps", label: "Steps", text: "How many steps the numbers per step are divided by." },
];
