//! What the numbers of XProf's tables mean; the rules are those of XProf 2.24.

use stepscope_analyse::scope::definition::Definition;

pub(super) const OWN_DEFINITIONS: &[Definition] = &[
    Definition {
        field: "step",
        label: "Step",
        text: "What XProf calls the step: the mark's name and number, or the number of its group.",
    },
    Definition {
        field: "time_ns",
        label: "Time",
        text: "The longest mark of the step: on the host, or from its first to its last work on a device.",
    },
    Definition {
        field: "all_others_ns",
        label: "All others",
        text: "Time of the step in which none of the following happened.",
    },
    Definition {
        field: "compilation_ns",
        label: "Compilation",
        text: "Compiling on the host. XProf takes no event of a CPU's or GPU's profile for it.",
    },
    Definition {
        field: "output_ns",
        label: "Output",
        text: "Copies from a device to the host, while no kernel ran.",
    },
    Definition {
        field: "input_ns",
        label: "Input",
        text: "Waiting for input (`IteratorGetNext`), and copies to a device, while nothing more important happened.",
    },
    Definition {
        field: "kernel_launch_ns",
        label: "Kernel launch",
        text: "Launching kernels. With a device XProf looks at its work alone, so this is 0.",
    },
    Definition {
        field: "host_compute_ns",
        label: "Host compute",
        text: "Any other event of the step on the host, Python calls and waiting included.",
    },
    Definition {
        field: "device_collectives_ns",
        label: "Collectives",
        text: "Kernels named `nccl…`, while nothing more important ran.",
    },
    Definition {
        field: "device_to_device_ns",
        label: "Device to device",
        text: "Copies between devices or within one, while no kernel ran.",
    },
    Definition {
        field: "device_compute_32_ns",
        label: "Compute 32-bit",
        text: "All other kernels, and copies whose names XProf does not know.",
    },
    Definition {
        field: "device_compute_16_ns",
        label: "Compute 16-bit",
        text: "Kernels whose names contain `half` or `fp16`.",
    },
    Definition {
        field: "steps",
        label: "Steps",
        text: "Steps that count: with compute on a device, or on the host where there is none.",
    },
    Definition {
        field: "left_out",
        label: "Left out",
        text: "Of more than 5 steps XProf leaves out the first and the last.",
    },
    Definition {
        field: "mean_ns",
        label: "Average",
        text: "The mean of their lengths; in other tables, total time by occurrences.",
    },
    Definition {
        field: "sd_ns",
        label: "Standard deviation",
        text: "The standard deviation of their lengths, as of a sample.",
    },
    Definition {
        field: "min_ns",
        label: "Min",
        text: "The shortest of them; in the table of kernels, the shortest run.",
    },
    Definition {
        field: "max_ns",
        label: "Max",
        text: "The longest of them; in the table of kernels, the longest run.",
    },
    Definition {
        field: "input_share",
        label: "Input",
        text: "Input as a share of the time of all steps that count.",
    },
    Definition { field: "all_others_share", label: "All others", text: "Other time as a share of the same." },
    Definition {
        field: "compute_16_share",
        label: "16-bit compute",
        text: "Compute on 16 bits as a share of all compute, over every step.",
    },
    Definition {
        field: "input_bound",
        label: "Input-bound",
        text: "Highly from 20% of input on, moderately from 5%, potentially from 3% of other time.",
    },
    Definition {
        field: "occurrences",
        label: "Occurrences",
        text: "How often it ran. Of instructions with one framework operator, that of the one that ran most.",
    },
    Definition { field: "total_ns", label: "Total", text: "Its time, with what it called." },
    Definition {
        field: "self_ns",
        label: "Self",
        text: "Its time without operators inside it on the same thread.",
    },
    Definition {
        field: "share",
        label: "Share",
        text: "Its own time as a share of its side's, idle time included. IDLE is the time from the first operator to the last in which none ran, summed over threads or devices.",
    },
    Definition { field: "busy_share", label: "Without idle", text: "The same without idle time." },
    Definition {
        field: "registers",
        label: "Registers",
        text: "Registers of a thread; unknown where the profiler does not say.",
    },
    Definition {
        field: "shared_bytes",
        label: "Shared mem",
        text: "Static and dynamic shared memory of a block; unknown on AMD, where XProf prints 0.",
    },
    Definition { field: "block", label: "Block", text: "Threads of a block, in three dimensions." },
    Definition { field: "grid", label: "Grid", text: "Blocks of the launch, in three dimensions." },
    Definition {
        field: "occupancy",
        label: "Occupancy",
        text: "The most warps that the kernel's resources allow, as a share of what the device can hold.",
    },
    Definition {
        field: "tensor_core_eligible",
        label: "Eligible",
        text: "Whether the operator's name is one of those that can use tensor cores, or its kernel does.",
    },
    Definition {
        field: "uses_tensor_cores",
        label: "Tensor core",
        text: "Whether the kernel's name has a pattern of those that do; misses newer kernels.",
    },
    Definition {
        field: "program",
        label: "Program",
        text: "The number of the compiled program; 0 for operators outside of any.",
    },
    Definition { field: "changes", label: "Changes", text: "Allocations and releases." },
    Definition {
        field: "lifetime_peak_bytes",
        label: "Peak ever",
        text: "The most the allocator had in use since it was made, at its last change.",
    },
    Definition {
        field: "peak_bytes",
        label: "Peak",
        text: "The most it had in use or set aside while recording.",
    },
    Definition {
        field: "peak_at_ns",
        label: "At",
        text: "When it was there for the last time, since the first event.",
    },
    Definition { field: "heap_bytes", label: "Heap", text: "Bytes in use at that moment." },
    Definition { field: "stack_bytes", label: "Stack", text: "Bytes set aside at that moment." },
    Definition { field: "free_bytes", label: "Free", text: "Bytes it could still hand out then." },
    Definition {
        field: "fragmentation",
        label: "Fragmentation",
        text: "How far free memory was scattered then: 1 less the largest free piece's share.",
    },
    Definition { field: "capacity_bytes", label: "Capacity", text: "Heap, stack and free together then." },
];
