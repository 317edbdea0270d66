//! The calls that HTA takes for launches, by name. What other calls launch (graph launches above all) it does not
//! see, which its analyses here count as left out.

/// Launches by the rule of HTA's launch statistics that are not copies or memsets.
const KERNEL_LAUNCHES: [&str; 3] =
    ["cudaLaunchKernel", "cudaLaunchKernelExC", "runFunction - job_prep_and_submit_for_execution"];

const MEMORY_LAUNCHES: [&str; 2] = ["cudaMemcpyAsync", "cudaMemsetAsync"];

/// What the queue length and the critical path know beside.
const OTHER_LAUNCHES: [&str; 7] = [
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
    in_statistics(name, true) || OTHER_LAUNCHES.contains(&name)
}

/// Whether the launch statistics count a call of this name.
pub(super) fn in_statistics(name: &str, with_memory: bool) -> bool {
    KERNEL_LAUNCHES.contains(&name) || (with_memory && MEMORY_LAUNCHES.contains(&name))
}
