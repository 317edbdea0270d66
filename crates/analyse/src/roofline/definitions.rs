//! What the numbers of the roofline mean.

use crate::scope::definition::{Definition, definitions};

/// What the numbers here mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    "calls", "Calls" =>
        "Calls of the operator that have a cost. Going inwards from the outermost operator, the first with a model takes \
         all device work launched inside it; linear, matmul, conv1d to conv3d, embedding and scaled_dot_product_attention \
         only where nothing inside has one. So no kernel counts twice.";
    "kernels", "Kernels" =>
        "How many kernels, copies and memsets were launched inside these calls; without a model, how many belong to the \
         row.";
    "device_ns", "Device" =>
        "Summed duration of the kernels, copies and memsets launched inside these calls; work that overlaps each counts in \
         full. In total: that of all selected ones, with a model or without.";
    "share", "% device" => "Device time / the summed duration of all selected kernels, copies and memsets, as a fraction.";
    "modeled_ns", "Modeled time" => "The part of all device time that belongs to operators with a cost.";
    "modeled_share", "Modeled share" => "Modeled time / all device time, as a fraction.";
    "flops", "FLOPs" =>
        "Floating-point operations that the operator's definition requires, from its recorded inputs; a multiplication \
         with an addition counts as two. Products 2*M*N*K without the bias; convolutions 2 for each output element and \
         weight it sees, backward as many for each wanted gradient; attention two products forward and five backward, half \
         of them under a causal mask of a square; elsewhere one for each element and simple function, none for moving \
         data.";
    "bytes", "Bytes" =>
        "Every input read once as it lies in memory (an expanded dimension counts once) and every output written once. \
         Real traffic is more where a kernel reads twice, and less where data is still in cache.";
    "tflops", "TFLOP/s" =>
        "FLOPs / device time. TraceLens' TFLOPS/s_mean is the mean of the calls' rates instead of the rate of all, and \
         counts one more operation for each output element of a product with a bias.";
    "gbs", "GB/s" => "Bytes / device time, where a GB is 10^9 bytes.";
    "modeled_gbs", "Modeled GB/s" =>
        "Bytes of all operators with a cost / their device time, where a GB is 10^9 bytes: the least they must have moved \
         through the device's memory, not what was measured.";
    "intensity", "FLOP/byte" => "Arithmetic intensity: FLOPs / bytes.";
    "ideal_ns", "Ideal" =>
        "The roofline time: for each call the longer of FLOPs / peak rate and bytes / peak bandwidth, by the vendor's \
         dense peaks for the device and the arithmetic; for copies between host and device, bytes / the bus's bandwidth.";
    "bound", "Bound" => "Whether arithmetic (compute), the device's memory or the host's bus takes most of the ideal time.";
    "of_roofline", "Of roofline" =>
        "Ideal / device time, as a fraction: 1 is as fast as the device can be. Above 1 it carries a note.";
    "of_compute_peak", "Of peak FLOP/s" => "The time the FLOPs take at peak / device time, as a fraction.";
    "of_bandwidth", "Of peak GB/s" => "The time the bytes take at peak bandwidth / device time, as a fraction.";
    "precision", "Arithmetic" =>
        "What products run in: the type of the inputs, or TF32 where the name of a kernel shows that float ran on tensor \
         cores. Work that is not a product runs in float (double for double), whatever its inputs.";
    "dtype", "Dtype" => "What products run in; for other work, the type of its tensors, by which its bytes are counted.";
    "peaks_by", "Peaks by" =>
        "How the device's peaks were found: by its name, or by its compute capability, multiprocessors and memory, which \
         are those of the device in the table.";
};

/// What the numbers of a step mean.
pub const STEP_DEFINITIONS: &[Definition] = definitions! {
    crate::steps::STEP;
    crate::steps::WALL;
    crate::steps::PARTIAL;
    "model_flops", "Model FLOPs" =>
        "FLOPs of the products, convolutions and attention of the calls that start in the step's host range, less the \
         recomputed ones.";
    "recomputed_flops", "Recomputed FLOPs" =>
        "FLOPs that the backward pass of the step spends on repeating work of the forward pass: what fused attention \
         recomputes, and the operators that activation checkpointing runs again.";
    "peak_tflops", "Peak" =>
        "The vendor's peak rate in TFLOP/s, on one device, of the arithmetic that has most of the step's FLOPs.";
    "devices", "Devices" => "How many devices ran any of the step's model FLOPs.";
    "mfu", "MFU" =>
        "Model FLOPs utilization: the FLOPs of products, convolutions and attention of the calls that start in the step, \
         less what fused attention and activation checkpointing recompute, / (wall time of the step x peak rate of the \
         arithmetic that has most of them x devices that ran any). Recomputed operators are those of a forward pass inside \
         a node of the backward pass. Operators without a model do not count: where the coverage is below 80%, it is a \
         lower bound.";
    "hfu", "HFU" => "Hardware FLOPs utilization: like MFU, but with what is recomputed.";
    "coverage", "Coverage" =>
        "The share of kernel time, communication left out, in kernels whose FLOPs are known: an operator with a model \
         launched them, or their names say that they multiply no matrices (elementwise work, reductions, copies). What MFU \
         and HFU are based on.";
    "lower_bound", "At least" => "Whether the coverage is below 80%, so that MFU and HFU are at least what is shown.";
    "mean_mfu", "Mean MFU" => "The mean of the steps' MFU weighted by their wall time, without those that are left out.";
    "mean_hfu", "Mean HFU" => "The mean of the steps' HFU weighted by their wall time, without those that are left out.";
};

/// What the peaks of a device mean.
pub const HARDWARE_DEFINITIONS: &[Definition] = definitions! {
    "fp64", "FP64" =>
        "Peak rate of double-precision arithmetic in TFLOP/s, from the vendor's data sheet, without sparsity.";
    "fp64_matrix", "FP64 matrix" =>
        "Peak rate of matrix products in double precision in TFLOP/s, from the vendor's data sheet, without sparsity.";
    "fp32", "FP32" =>
        "Peak rate of single-precision arithmetic in TFLOP/s, from the vendor's data sheet, without sparsity.";
    "fp32_matrix", "FP32 matrix" =>
        "Peak rate of matrix products in single precision without rounding, where that is faster, in TFLOP/s, from the \
         vendor's data sheet, without sparsity.";
    "tf32", "TF32" =>
        "Peak rate of matrix products in single precision rounded to TF32 in TFLOP/s, from the vendor's data sheet, \
         without sparsity.";
    "fp16", "FP16" =>
        "Peak rate of matrix products in half precision, summed in single precision, in TFLOP/s, from the vendor's data \
         sheet, without sparsity.";
    "bf16", "BF16" =>
        "Peak rate of matrix products in bfloat16, summed in single precision, in TFLOP/s, from the vendor's data sheet, \
         without sparsity.";
    "fp8", "FP8" =>
        "Peak rate of matrix products in 8-bit floats, summed in single precision, in TFLOP/s, from the vendor's data \
         sheet, without sparsity.";
    "int8", "INT8" =>
        "Peak rate of matrix products in 8-bit integers in tera-operations per second, from the vendor's data sheet, \
         without sparsity.";
    "fp4", "FP4" =>
        "Peak rate of matrix products in 4-bit floats in TFLOP/s, from the vendor's data sheet, without sparsity.";
    "memory_gbs", "Memory bandwidth" =>
        "Peak bandwidth of the device's memory in GB/s, from the vendor's data sheet, where a GB is 10^9 bytes.";
    "memory_gb", "Memory" => "Memory of the device in GB of 10^9 bytes, as sold.";
    "units", "SMs" => "Streaming multiprocessors or compute units of the device, from the vendor's data sheet.";
    "host_bus_gbs", "Host bus" =>
        "Peak bandwidth of the bus between host and device in one direction, in GB/s of 10^9 bytes.";
    "link_gbs", "Links" => "Peak bandwidth of all links to other devices together in one direction, in GB/s of 10^9 bytes.";
};
