//! What the numbers of instructions mean.

use crate::scope::definition::Definition;

/// What each number means.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        field: "program_id",
        label: "Program number",
        text: "The number by which events name the program.",
    },
    Definition {
        field: "calls",
        label: "Calls",
        text: "How often the instruction ran. Kernels of one operator, or of one launch of a graph, that run the same instruction one \
               after the other are one call.",
    },
    Definition {
        field: "kernels",
        label: "Kernels",
        text: "Kernels, copies and memsets that ran it; 0 on a host.",
    },
    Definition {
        field: "total_ns",
        label: "Total",
        text: "Summed duration of what ran the instruction: work of devices, or operators on threads of the host.",
    },
    Definition {
        field: "self_ns",
        label: "Self",
        text: "The same without operators that ran inside it on its thread, such as the body of a loop. On devices both are the same. \
               The rows add up to the time that names an instruction.",
    },
    Definition {
        field: "share",
        label: "% of time",
        text: "Self time / the time of all selected device work; on a host, of all operators on threads that run instructions.",
    },
    Definition { field: "mean_ns", label: "Mean", text: "Self time divided by calls." },
    Definition {
        field: "flops",
        label: "FLOPs",
        text: "Floating-point operations of all calls, counted from shapes in the compiled program: two per multiplication of a matrix \
               product, one per element otherwise. Unknown for calls of libraries that are no matrix product or convolution.",
    },
    Definition {
        field: "bytes",
        label: "Bytes",
        text: "Bytes of operands and results of all calls; what is fused stays in registers, and of an operand from which slices are \
               taken the slices count.",
    },
    Definition {
        field: "tflops",
        label: "FLOP/s",
        text: "FLOPs / the time of the calls whose FLOPs are known, in 10^12 per second.",
    },
    Definition {
        field: "gbs",
        label: "Bandwidth",
        text: "Bytes / the time of the calls whose bytes are known, in 10^9 per second.",
    },
    Definition {
        field: "of_peak_flops",
        label: "% peak FLOP/s",
        text: "The rate of operations / the device's peak for that arithmetic, by the table of devices; unknown on a device that is not \
               in it. Above 1, the note says why.",
    },
    Definition {
        field: "of_peak_bandwidth",
        label: "% peak memory",
        text: "The rate of bytes / the device's peak memory bandwidth, by the table of devices. Above 1, the note says why.",
    },
    Definition { field: "line", label: "Line", text: "The line of source code that the compiler recorded." },
    Definition {
        field: "instructions",
        label: "Instructions",
        text: "How many instructions that ran are in this row.",
    },
    Definition {
        field: "by_order_ns",
        label: "By order",
        text: "Self time of kernels in captured graphs that name no instruction, placed by the order of the program's schedule.",
    },
    Definition {
        field: "first_ns",
        label: "First at",
        text: "When it first ran, since the start of the trace.",
    },
    Definition {
        field: "first_end_ns",
        label: "First until",
        text: "When that run ended, since the start of the trace.",
    },
    Definition {
        field: "device_named_ns",
        label: "Named",
        text: "Summed duration of selected device work that names an instruction, or is placed by the order of its graph.",
    },
    Definition {
        field: "device_unnamed_ns",
        label: "Unnamed",
        text: "Summed duration of selected device work that names no instruction.",
    },
    Definition {
        field: "device_by_order_ns",
        label: "By order",
        text: "Named device time whose instruction is known only from the order of captured graphs.",
    },
    Definition {
        field: "host_named_ns",
        label: "Named on the host",
        text: "Self time of operators on host threads that name an instruction.",
    },
    Definition {
        field: "host_unnamed_ns",
        label: "Unnamed on the host",
        text: "Self time of other operators on the threads that run instructions.",
    },
    Definition { field: "programs", label: "Programs", text: "How many compiled programs the file describes." },
];
