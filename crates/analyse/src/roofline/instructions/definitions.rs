//! What the numbers of instructions mean.

use crate::scope::definition::{Definition, definitions};

pub const DEFINITIONS: &[Definition] = definitions! {
    "program_id", "Program number" => "The number by which events name the program.";
    "calls", "Calls" =>
        "How often the instruction ran. Kernels of one operator, or of one launch of a graph, that run the same \
         instruction one after the other are one call.";
    "kernels", "Kernels" => "Kernels, copies and memsets that ran it; 0 on a host.";
    "total_ns", "Total" =>
        "Summed duration of what ran the instruction: work of devices, or operators on threads of the host.";
    "self_ns", "Self" =>
        "The same without operators that ran inside it on its thread, such as the body of a loop. On devices both are the \
         same. The rows add up to the time that names an instruction.";
    "share", "% of time" =>
        "Self time / the time of all selected device work; on a host, of all operators on threads that run instructions.";
    "mean_ns", "Mean" => "Self time divided by calls.";
    "flops", "FLOPs" =>
        "Floating-point operations of all calls, counted from shapes in the compiled program: two per multiplication of a \
         matrix product, one per element otherwise. Unknown for calls of libraries that are neither matrix product nor \
         convolution.";
    "bytes", "Bytes" =>
        "Bytes of operands and results of all calls; what is fused stays in registers, and of an operand from which slices \
         are taken the slices count.";
    "tflops", "FLOP/s" => "FLOPs / the time of the calls whose FLOPs are known, in 10^12 per second.";
    "gbs", "Bandwidth" => "Bytes / the time of the calls whose bytes are known, in 10^9 per second.";
    "of_peak_flops", "% peak FLOP/s" =>
        "The rate of operations / the device's peak for that arithmetic, by the table of devices; unknown on a device that \
         is not in it. Above 1, the note says why.";
    "of_peak_bandwidth", "% peak memory" =>
        "The rate of bytes / the device's peak memory bandwidth, by the table of devices. Above 1, the note says why.";
    "line", "Line" => "The line of source code that the compiler recorded.";
    "instructions", "Instructions" => "How many instructions that ran are in this row.";
    "by_order_ns", "By order" =>
        "Self time of kernels in captured graphs that name no instruction, placed by the order of the program's schedule.";
    "first_ns", "First at" => "When it first ran, since the start of the trace.";
    "first_end_ns", "First until" => "When that run ended, since the start of the trace.";
    "device_named_ns", "Named" =>
        "Summed duration of selected device work that names an instruction, or is placed by the order of its graph.";
    "device_unnamed_ns", "Unnamed" => "Summed duration of selected device work that names no instruction.";
    "device_by_order_ns", "By order" =>
        "Named device time whose instruction is known only from the order of captured graphs.";
    "host_named_ns", "Named on the host" => "Self time of operators on host threads that name an instruction.";
    "host_unnamed_ns", "Unnamed on the host" => "Self time of other operators on the threads that run instructions.";
    "programs", "Programs" => "How many compiled programs the file describes.";
};
