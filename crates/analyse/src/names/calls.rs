//! What the name of a runtime or driver call says: it launches, waits for a device, gets memory, or sets something up.

/// Whether a call of this name waits for a device until work is done.
pub fn is_synchronization(call: &str) -> bool {
    let call = bare(call);
    (call.contains("Synchronize") && !call.contains("SynchronizeOnly"))
        // The plain copies and memsets block; their `Async` forms are launches.
        || matches!(call, "cudaMemcpy" | "hipMemcpy" | "cudaMemcpy2D" | "cudaMemcpyToSymbol" | "cudaMemcpyFromSymbol")
        || call.starts_with("hipMemcpyWithStream")
}

/// Whether a call of this name gets or returns memory.
pub fn is_allocation(call: &str) -> bool {
    let call = bare(call);
    const WORDS: [&str; 9] = [
        "cudaMalloc",
        "cudaFree",
        "hipMalloc",
        "hipFree",
        "cudaHostAlloc",
        "hipHostMalloc",
        "cuMemCreate",
        "cuMemRelease",
        "cuMemAlloc",
    ];
    WORDS.iter().any(|word| call.starts_with(word))
        || ["cuMemMap", "cuMemUnmap", "cuMemSetAccess", "cuMemFree", "cudaHostRegister", "hipHostFree"]
            .iter()
            .any(|word| call.starts_with(word))
}

/// Whether a call of this name hands work to a device.
pub fn is_launch(call: &str) -> bool {
    let call = bare(call);
    call.contains("Launch") || (call.contains("Mem") && call.contains("Async") && !is_allocation(call))
}

/// Whether a call of this name is made once: it creates a context, or loads or builds code for a device.
pub fn is_first_use(call: &str) -> bool {
    const CALLS: [&str; 13] = [
        "cuModuleLoad",
        "cuLibraryLoad",
        "cudaLibraryLoad",
        "cuLink",
        "hipModuleLoad",
        "hipLibraryLoad",
        "nvrtc",
        "hiprtc",
        "cuInit",
        "hipInit",
        "cuCtxCreate",
        "cuDevicePrimaryCtxRetain",
        "hipDevicePrimaryCtxRetain",
    ];
    let call = bare(call);
    CALLS.iter().any(|first| call.starts_with(first))
}

/// Whether a call of this name replays a captured graph.
pub fn is_graph_launch(call: &str) -> bool {
    bare(call).contains("GraphLaunch")
}

/// The name without the `::` that some producers put before it.
fn bare(call: &str) -> &str {
    call.strip_prefix("::").unwrap_or(call)
}
