//! What the numbers of XProf's tables mean; the rules are those of XProf 2.24.

use stepscope_analyse::scope::definition::{Definition, definitions};

pub(super) const OWN_DEFINITIONS: &[Definition] = definitions! {
    "step", "Step" => "What XProf calls the step: the mark's name and number, or the number of its group.";
    "time_ns", "Time" => "The longest mark of the step: on the host, or from its first to its last work on a device.";
    "all_others_ns", "All others" => "Time of the step in which none of the following happened.";
    "compilation_ns", "Compilation" => "Compiling on the host. XProf takes no event of a CPU's or GPU's profile for it.";
    "output_ns", "Output" => "Copies from a device to the host, while no kernel ran.";
    "input_ns", "Input" =>
        "Waiting for input (`IteratorGetNext`), and copies to a device, while nothing more important happened.";
    "kernel_launch_ns", "Kernel launch" => "Launching kernels. With a device XProf looks at its work alone, so this is 0.";
    "host_compute_ns", "Host compute" => "Any other event of the step on the host, Python calls and waiting included.";
    "device_collectives_ns", "Collectives" => "Kernels named `nccl…`, while nothing more important ran.";
    "device_to_device_ns", "Device to device" => "Copies between devices or within one, while no kernel ran.";
    "device_compute_32_ns", "Compute 32-bit" => "All other kernels, and copies whose names XProf does not know.";
    "device_compute_16_ns", "Compute 16-bit" => "Kernels whose names contain `half` or `fp16`.";
    "steps", "Steps" => "Steps that count: with compute on a device, or on the host where there is none.";
    "left_out", "Left out" => "Of more than 5 steps XProf leaves out the first and the last.";
    "mean_ns", "Average" => "The mean of their lengths; in other tables, total time by occurrences.";
    "sd_ns", "Standard deviation" => "The standard deviation of their lengths, as of a sample.";
    "min_ns", "Min" => "The shortest of them; in the table of kernels, the shortest run.";
    "max_ns", "Max" => "The longest of them; in the table of kernels, the longest run.";
    "input_share", "Input" => "Input as a share of the time of all steps that count.";
    "all_others_share", "All others" => "Other time as a share of the same.";
    "compute_16_share", "16-bit compute" => "Compute on 16 bits as a share of all compute, over every step.";
    "input_bound", "Input-bound" => "Highly from 20% of input on, moderately from 5%, potentially from 3% of other time.";
    "occurrences", "Occurrences" =>
        "How often it ran. Of instructions with one framework operator, that of the one that ran most.";
    "total_ns", "Total" => "Its time, with what it called.";
    "self_ns", "Self" => "Its time without operators inside it on the same thread.";
    "share", "Share" =>
        "Its own time as a share of its side's, idle time included. IDLE is the time from the first operator to the last \
         in which none ran, summed over threads or devices.";
    "busy_share", "Without idle" => "The same without idle time.";
    "registers", "Registers" => "Registers of a thread; unknown where the profiler does not say.";
    "shared_bytes", "Shared mem" => "Static and dynamic shared memory of a block; unknown on AMD, where XProf prints 0.";
    "block", "Block" => "Threads of a block, in three dimensions.";
    "grid", "Grid" => "Blocks of the launch, in three dimensions.";
    "occupancy", "Occupancy" => "The most warps that the kernel's resources allow, as a share of what the device can hold.";
    "tensor_core_eligible", "Eligible" =>
        "Whether the operator's name is one of those that can use tensor cores, or its kernel does.";
    "uses_tensor_cores", "Tensor core" => "Whether the kernel's name has a pattern of those that do; misses newer kernels.";
    "program", "Program" => "The number of the compiled program; 0 for operators outside of any.";
    "changes", "Changes" => "Allocations and releases.";
    "lifetime_peak_bytes", "Peak ever" => "The most the allocator had in use since it was made, at its last change.";
    "peak_bytes", "Peak" => "The most it had in use or set aside while recording.";
    "peak_at_ns", "At" => "When it was there for the last time, since the first event.";
    "heap_bytes", "Heap" => "Bytes in use at that moment.";
    "stack_bytes", "Stack" => "Bytes set aside at that moment.";
    "free_bytes", "Free" => "Bytes it could still hand out then.";
    "fragmentation", "Fragmentation" => "How far free memory was scattered then: 1 less the largest free piece's share.";
    "capacity_bytes", "Capacity" => "Heap, stack and free together then.";
};
