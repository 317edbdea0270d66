//! The calls that HTA takes for launches, by name. What other calls launch (graph launches above all) it does not
//! see, which its analyses here count as left out.

/// Launches by the rule of HTA's launch statistics that are not copies or fills.
const KERNELS: [&str; 3] =
    ["cudaLaunchKernel", "cudaLaunchKernelExC", "runFunction - job_prep_and_submit_for_execution"];

const MEMORY: [&str; 2] = ["cudaMemcpyAsync", "cudaMemsetAsync"];

/// What the queue length and the critical path know beside.
const MORE: [&str; 7] = [
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "hipLaunchKernel",
    "hipExtModuleLaunchKernel",
    "hipMemsetAsync",
    "hipMemcpyAsync",
    "hipMemcpyWithStream",
];

/// Whether the queue length counts a call of this name.
pub(super) fn fills_queue(name: &str) -> bool {
    in_statistics(name, true) || MORE.contains(&name)
}

/// Whether the launch statistics count a call of this name.
pub(super) fn in_statistics(name: &str, with_memory: bool) -> bool {
    KERNELS.contains(&name) || (with_memory && MEMORY.contains(&name))
}
