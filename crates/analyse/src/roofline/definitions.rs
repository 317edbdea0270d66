//! What the numbers of the roofline mean.

use crate::scope::definition::Definition;

/// What the numbers here mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "calls",
        label: "Calls",
        text: "Calls of the operator that have a cost. Going inwards from the outermost operator, the first \
               with a model takes all device work launched inside it; linear, matmul, conv1d to conv3d, \
               embedding and scaled_dot_product_attention only where nothing inside has one. So no kernel \
               counts twice.",
    },
    Definition {
        field: "kernels",
        label: "Kernels",
        text: "How many kernels, copies and memsets were launched inside these calls; without a model, how \
               many belong to the row.",
    },
    Definition {
        field: "device_ns",
        label: "Device",
        text: "Summed duration of the kernels, copies and memsets launched inside these calls; work that \
               overlaps each counts in full. In total: that of all selected ones, with a model or without.",
    },
    Definition {
        field: "share",
        label: "% device",
        text: "Device time / the summed duration of all selected kernels, copies and memsets, as a fraction.",
    },
    Definition {
        field: "modelled_ns",
        label: "Modeled time",
        text: "The part of all device time that belongs to operators with a cost.",
    },
    Definition {
        field: "modelled_share",
        label: "Modeled share",
        text: "Modeled time / all device time, as a fraction.",
    },
    Definition {
        field: "flops",
        label: "FLOPs",
        text: "Floating-point operations that the operator's definition requires, from its recorded inputs; a \
               multiplication with an addition counts as two. Products 2*M*N*K without the bias; convolutions \
               2 for each output element and weight it sees, backward as many for each wanted gradient; \
               attention two products forward and five backward, half of them under a causal mask of a square; \
               elsewhere one for each element and simple function, none for moving data.",
    },
    Definition {
        field: "bytes",
        label: "Bytes",
        text: "Every input read once as it lies in memory (an expanded dimension counts once) and every output \
               written once. Real traffic is more where a kernel reads twice, and less where data is still in \
               cache.",
    },
    Definition {
        field: "tflops",
        label: "TFLOP/s",
        text: "FLOPs / device time. TraceLens' TFLOPS/s_mean is the mean of the calls' rates instead of the \
               rate of all, and counts one more operation for each output element of a product with a bias.",
    },
    Definition { field: "gbs", label: "GB/s", text: "Bytes / device time, where a GB is 10^9 bytes." },
    Definition {
        field: "modelled_gbs",
        label: "Modeled GB/s",
        text: "Bytes of all operators with a cost / their device time, where a GB is 10^9 bytes: the least they \
               must have moved through the device's memory, not what was measured.",
    },
    Definition { field: "intensity", label: "FLOP/byte", text: "Arithmetic intensity: FLOPs / bytes." },
    Definition {
        field: "ideal_ns",
        label: "Ideal",
        text: "The roofline time: for each call the longer of FLOPs / peak rate and bytes / peak bandwidth, by \
               the vendor's dense peaks for the device and the arithmetic; for copies between host and device, \
               bytes / the bus's bandwidth.",
    },
    Definition {
        field: "bound",
        label: "Bound",
        text: "Whether arithmetic (compute), the device's memory or the host's bus takes most of the ideal \
               time.",
    },
    Definition {
        field: "of_roofline",
        label: "Of roofline",
        text: "Ideal / device time, as a fraction: 1 is as fast as the device can be. Above 1 it carries a \
               note.",
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
        text: "What products run in: the type of the inputs, or TF32 where the name of a kernel shows that \
               float ran on tensor cores. Work that is no product runs in float (double for double), whatever \
               its inputs.",
    },
    Definition {
        field: "dtype",
        label: "Dtype",
        text: "What products run in; for other work, the type of its tensors, by which its bytes are counted.",
    },
    Definition {
        field: "peaks_by",
        label: "Peaks by",
        text: "How the device's peaks were found: by its name, or by its compute capability, multiprocessors and \
               memory, which are those of the device in the table.",
    },
];

/// What the numbers of a step mean.
pub const STEP_DEFINITIONS: &[Definition] = &[
    crate::steps::STEP,
    crate::steps::WALL,
    crate::steps::PARTIAL,
    Definition {
        field: "model_flops",
        label: "Model FLOPs",
        text: "FLOPs of the products, convolutions and attention of the calls that start in the step's host \
               range, less the recomputed ones.",
    },
    Definition {
        field: "recomputed_flops",
        label: "Recomputed FLOPs",
        text: "FLOPs that the backward pass of the step spends on repeating work of the forward pass: what fused \
               attention recomputes, and the operators that activation checkpointing runs again.",
    },
    Definition {
        field: "peak_tflops",
        label: "Peak",
        text: "The vendor's peak rate in TFLOP/s, on one device, of the arithmetic that has most of the step's \
               FLOPs.",
    },
    Definition {
        field: "devices",
        label: "Devices",
        text: "How many devices ran any of the step's model FLOPs.",
    },
    Definition {
        field: "mfu",
        label: "MFU",
        text: "Model FLOPs utilization: the FLOPs of products, convolutions and attention of the calls that \
               start in the step, less what fused attention and activation checkpointing recompute, / (wall time \
               of the step x peak rate of the arithmetic that has most of them x devices that ran any). \
               Recomputed operators are those of a forward pass inside a node of the backward pass. Operators \
               without a model do not count: where the coverage is below 80%, it is a lower bound.",
    },
    Definition {
        field: "hfu",
        label: "HFU",
        text: "Hardware FLOPs utilization: like MFU, but with what is recomputed.",
    },
    Definition {
        field: "coverage",
        label: "Coverage",
        text: "The share of kernel time, communication left out, in kernels whose FLOPs are known: an operator with \
               a model launched them, or their names say that they multiply no matrices (elementwise work, \
               reductions, copies). What MFU and HFU are based on.",
    },
    Definition {
        field: "lower_bound",
        label: "At least",
        text: "Whether the coverage is below 80%, so that MFU and HFU are at least what is shown.",
    },
    Definition {
        field: "mean_mfu",
        label: "Mean MFU",
        text: "The mean of the steps' MFU weighted by their wall time, without those that are left out.",
    },
    Definition {
        field: "mean_hfu",
        label: "Mean HFU",
        text: "The mean of the steps' HFU weighted by their wall time, without those that are left out.",
    },
];

/// What the peaks of a device mean.
pub const HARDWARE_DEFINITIONS: &[Definition] = &[
    Definition {
        field: "fp64",
        label: "FP64",
        text: "Peak rate of double-precision arithmetic in TFLOP/s, from the vendor's data sheet, without \
               sparsity.",
    },
    Definition {
        field: "fp64_matrix",
        label: "FP64 matrix",
        text: "Peak rate of matrix products in double precision in TFLOP/s, from the vendor's data sheet, \
               without sparsity.",
    },
    Definition {
        field: "fp32",
        label: "FP32",
        text: "Peak rate of single-precision arithmetic in TFLOP/s, from the vendor's data sheet, without \
               sparsity.",
    },
    Definition {
        field: "fp32_matrix",
        label: "FP32 matrix",
        text: "Peak rate of matrix products in single precision without rounding, where that is faster, in \
               TFLOP/s, from the vendor's data sheet, without sparsity.",
    },
    Definition {
        field: "tf32",
        label: "TF32",
        text: "Peak rate of matrix products in single precision rounded to TF32 in TFLOP/s, from the vendor's \
               data sheet, without sparsity.",
    },
    Definition {
        field: "fp16",
        label: "FP16",
        text: "Peak rate of matrix products in half precision, summed in single precision, in TFLOP/s, from \
               the vendor's data sheet, without sparsity.",
    },
    Definition {
        field: "bf16",
        label: "BF16",
        text: "Peak rate of matrix products in bfloat16, summed in single precision, in TFLOP/s, from the \
               vendor's data sheet, without sparsity.",
    },
    Definition {
        field: "fp8",
        label: "FP8",
        text: "Peak rate of matrix products in 8-bit floats, summed in single precision, in TFLOP/s, from the \
               vendor's data sheet, without sparsity.",
    },
    Definition {
        field: "int8",
        label: "INT8",
        text: "Peak rate of matrix products in 8-bit integers in tera-operations per second, from the vendor's \
               data sheet, without sparsity.",
    },
    Definition {
        field: "fp4",
        label: "FP4",
        text: "Peak rate of matrix products in 4-bit floats in TFLOP/s, from the vendor's data sheet, without \
               sparsity.",
    },
    Definition {
        field: "memory_gbs",
        label: "Memory bandwidth",
        text: "Peak bandwidth of the device's memory in GB/s, from the vendor's data sheet, where a GB is 10^9 \
               bytes.",
    },
    Definition {
        field: "memory_gb",
        label: "Memory",
        text: "Memory of the device in GB of 10^9 bytes, as sold.",
    },
    Definition {
        field: "units",
        label: "SMs",
        text: "Streaming multiprocessors or compute units of the device, from the vendor's data sheet.",
    },
    Definition {
        field: "host_bus_gbs",
        label: "Host bus",
        text: "Peak bandwidth of the bus between host and device in one direction, in GB/s of 10^9 bytes.",
    },
    Definition {
        field: "link_gbs",
        label: "Links",
        text: "Peak bandwidth of all links to other devices together in one direction, in GB/s of 10^9 bytes.",
    },
];
