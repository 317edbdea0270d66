//! Which names in template arguments say something, and which do not.

/// How much a type says: index types come and go, the accumulator is mostly `float`, and what is left is
/// the type people look for.
pub(super) fn telling(scalar: &str) -> u8 {
    match scalar {
        "float" | "double" | "float2" | "float4" => 1,
        other if is_integer(other) => 0,
        _ => 2,
    }
}

const INTEGERS: &[&str] = &[
    "bool",
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "unsigned int",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "size_t",
    "int8_t",
    "uint8_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
];

pub(super) fn is_integer(name: &str) -> bool {
    INTEGERS.contains(&name)
}

const FLOATS: &[&str] = &[
    "float",
    "double",
    "half",
    "Half",
    "__half",
    "half_t",
    "_Float16",
    "BFloat16",
    "bfloat16",
    "bfloat16_t",
    "__bf16",
    "__nv_bfloat16",
    "nv_bfloat16",
    "__hip_bfloat16",
    "hip_bfloat16",
    "tfloat32_t",
    "float2",
    "float4",
    "__half2",
    "__nv_bfloat162",
];

pub(super) fn is_scalar(name: &str) -> bool {
    // The 8-bit types have a name per library: `Float8_e4m3fn`, `__nv_fp8_e4m3`, `float_e5m2_t`, …
    FLOATS.contains(&name) || name.contains("e4m3") || name.contains("e5m2") || is_integer(name)
}

/// Classes and functions that only carry another one: their arguments are read as if they stood in their place.
const TRANSPARENT: &[&str] = &[
    "gpu_kernel_impl",
    "gpu_kernel_impl_nocast",
    "gpu_index_kernel",
    "func_wrapper_t",
    "ReduceOp",
    "uniform_and_transform",
    "normal_and_transform",
    "_cuda_scatter_gather_internal_kernel",
    "Kernel",
    "Kernel2",
    "device_kernel",
    "ImplicitGemmMultistage",
    "ImplicitGemmPipelined",
    "trampoline_kernel",
    "kentry",
];

pub(super) fn is_transparent(name: &str) -> bool {
    TRANSPARENT.contains(&name)
        || name.starts_with("enable_sm")
        || name.ends_with("Params")
        || name.ends_with("_params")
}

/// Types that say how a kernel is built or walks over memory rather than what it computes.
const NOISE: &[&str] = &[
    "array",
    "Array",
    "AlignedArray",
    "tuple",
    "C",
    "integral_constant",
    "sequence",
    "Sequence",
    "decltype",
    "void",
    "NullType",
    "InputValue",
    "TrivialOffsetCalculator",
    "OffsetCalculator",
    "LoadWithCast",
    "LoadWithoutCast",
    "StoreWithCast",
    "StoreWithoutCast",
    "ScanTileState",
    "ReduceByKeyScanTileState",
    "VSMemHelper",
    "counting_iterator",
    "identity_decomposer_t",
    "RowMajor",
    "ColumnMajor",
    "PassThrough",
    "GemmShape",
    "MatrixShape",
    "distribution_nullary_kernel",
    "CUDAGeneratorImpl",
    "default_config",
    "use_default",
];
const NOISE_STARTS: &[&str] = &["CollectiveEpilogue", "cublasGemvTensor", "Dispatch", "gfx", "policy_hub"];
const NOISE_ENDS: &[&str] =
    &["Policy", "policy", "Metadata", "_config", "_selector", "TileScheduler", "ThreadMap", "Iterator"];

pub(super) fn is_noise(name: &str) -> bool {
    NOISE.contains(&name)
        || NOISE_STARTS.iter().any(|start| name.starts_with(start))
        || NOISE_ENDS.iter().any(|end| name.ends_with(end))
}
