//! What the figures of the roofline mean.

use crate::scope::definition::Definition;

/// What the figures of the roofline mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "calls",
        label: "Calls",
        text: "Calls of the operator that have a cost. Going inwards from the outermost operator, the first with a \
               model takes all device work launched inside it; linear, matmul, conv1d to conv3d, embedding and \
               scaled_dot_product_attention only where nothing inside has one. So no kernel counts twice.",
    },
    Definition {
        field: "device_ns",
        label: "Device time",
        text: "The summed durations of the kernels, copies and fills launched inside these calls; work that overlaps \
               counts each.",
    },
    Definition {
        field: "share",
        label: "Share",
        text: "Device time / the summed durations of all selected kernels, copies and fills, as a fraction.",
    },
    Definition {
        field: "flops",
        label: "FLOPs",
        text: "Floating-point operations that the operator's definition asks for, from its recorded inputs; a \
               multiplication with an addition counts as two. Products 2*M*N*K without the bias; convolutions 2 for \
               each output element and weight it sees, backward as much for each wanted gradient; attention two \
               products forward and five backward, half of them under a causal mask of a square; elsewhere one \
               for each element and simple function, none for moving data.",
    },
    Definition {
        field: "bytes",
        label: "Bytes",
        text: "Every input read once as it lies in memory (an expanded dimension counts once) and every output \
               written once. Real traffic is more where a kernel reads twice, and less where data is still in cache.",
    },
    Definition {
        field: "tflops",
        label: "TFLOP/s",
        text: "FLOPs / device time. TraceLens' TFLOPS/s_mean is the mean of the calls' rates instead of the rate of \
               all, and counts one more operation for each output element of a product with a bias.",
    },
    Definition { field: "gbs", label: "GB/s", text: "Bytes / device time, a GB being 10^9 bytes." },
    Definition { field: "intensity", label: "FLOP/byte", text: "FLOPs / bytes." },
    Definition {
        field: "ideal_ns",
        label: "Ideal",
        text: "The roofline time: for each call the longer of FLOPs / peak rate and bytes / peak bandwidth, by the \
               maker's dense figures for the device and the arithmetic; for copies between host and device, bytes / \
               the bus's bandwidth.",
    },
    Definition {
        field: "bound",
        label: "Bound",
        text: "Whether arithmetic (compute), the device's memory or the host's bus takes most of the ideal time.",
    },
    Definition {
        field: "of_roofline",
        label: "Of roofline",
        text: "Ideal / device time, as a fraction: 1 is as fast as the device can be. Over 1 carries a note.",
    },
    Definition {
        field: "of_compute_peak",
        label: "Of peak FLOP/s",
        text: "The time the FLOPs take at peak / device time, as a fraction.",
    },
    Definition {
        field: "of_bandwidth",
        label: "Of peak GB/s",
        text: "The time the bytes take at peak bandwidth / device time, as a fraction.",
    },
    Definition {
        field: "precision",
        label: "Arithmetic",
        text: "What products run in: the type of the inputs, or TF32 where the name of a kernel says that float went \
               to tensor cores. Work that is no product runs in float (double for double), whatever its inputs.",
    },
    Definition {
        field: "mfu",
        label: "MFU",
        text: "Model FLOPs utilization: the FLOPs of products, convolutions and attention of the calls that start in \
               the step, less what fused attention recomputes, / (wall time of the step x peak rate of the arithmetic \
               that has most of them x devices that ran any). Layers recomputed by activation checkpointing count as \
               model FLOPs, because a trace does not tell them apart; operators without a model do not count.",
    },
    Definition {
        field: "hfu",
        label: "HFU",
        text: "Hardware FLOPs utilization: as MFU, with what fused attention recomputes.",
    },
    Definition {
        field: "mean_mfu",
        label: "Mean MFU",
        text: "The mean of the steps' MFU weighted by their wall time, steps flagged as partial left out.",
    },
];
