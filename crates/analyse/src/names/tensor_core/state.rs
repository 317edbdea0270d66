//! What a kernel's name says about tensor cores: that it uses them, that it does not, or nothing.

use schemars::JsonSchema;
use serde::Serialize;

use super::kernels::marked;
use crate::names::comm::is_comm_kernel;
use crate::names::kernel_name::demangled;

/// Whether a kernel uses tensor cores (AMD: matrix cores), recognized by its name.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TensorCores {
    /// The name has a mark of a kernel that does.
    Yes,
    /// The name is that of a kernel that multiplies no matrices, or multiplies them elsewhere.
    No,
    /// The name says nothing: a kernel of Triton, or one that someone wrote by hand.
    #[default]
    Unknown,
}

impl TensorCores {
    pub fn name(self) -> &'static str {
        match self {
            TensorCores::Yes => "yes",
            TensorCores::No => "no",
            TensorCores::Unknown => "unknown",
        }
    }
}

/// Whether a kernel of this name has a mark of one that uses tensor cores; `false` also where no one knows.
pub fn kernel_uses_tensor_cores(name: &str) -> bool {
    marked(name) == Some(true)
}

/// What is known about a kernel of this name.
pub fn tensor_cores(name: &str) -> TensorCores {
    match marked(name) {
        Some(true) => TensorCores::Yes,
        Some(false) => TensorCores::No,
        None if is_comm_kernel(name) || is_plain(name) => TensorCores::No,
        None => TensorCores::Unknown,
    }
}

/// Words of kernels that multiply matrices, or may: whatever else such a name says, it is not evidence against.
const PRODUCT_NAMES: &[&str] =
    &["gemm", "matmul", "_mm", "mm_", "bmm", "attn", "attention", "fmha", "mha", "mla", "moe_", "conv", "dot"];

/// Products of libraries that are known to run on the ordinary cores.
const ORDINARY_PRODUCTS: &[&str] = &[
    "sgemm",
    "dgemm",
    "cgemm",
    "zgemm",
    "gemv",
    "gemmsn",
    "gemmk1",
    "scudnn",
    "wgrad_alg0_engine",
    "dgrad_engine",
    "im2col",
    "col2im",
    "winograd",
    "computeoffsets",
    "computeboffsets",
    "computewgrad",
];

/// Namespaces of libraries that multiply no matrices, or say so where they do.
const LIBRARIES: &[&str] = &[
    "at::native::",
    "at::cuda::",
    "at_cuda_detail::",
    "cub::",
    "thrust::",
    "rocprim::",
    "cudnn::ops",
    "cudnn::bn",
];

/// What kernels are called that go through their data element by element, sort it, move it or sum it up.
const PLAIN_KERNELS: &[&str] = &[
    "elementwise",
    "elemwise",
    "multi_tensor_apply",
    "act_and_mul",
    "activation",
    "fill",
    "copy",
    "cast",
    "transpose",
    "tonhwc",
    "tonchw",
    "padding",
    "permute",
    "reduce",
    "softmax",
    "norm",
    "welford",
    "scan",
    "sort",
    "topk",
    "histogram",
    "gather",
    "scatter",
    "index",
    "indices",
    "embedding",
    "rotary",
    "rope",
    "quantize",
    "quant_kernel",
    "cache",
    "dropout",
    "random",
    "philox",
    "adam",
    "sgd",
    "criterion",
    "loss",
    "pool",
    "mask",
    "scal_kernel",
    "epilogue",
    "fft",
    "subtensorop",
    "memset",
    "memcpy",
    "sampling",
    "routing",
    "finalize",
    "arange",
    "unique",
    "bounds_check",
];

/// What a kernel is called, without its template arguments: there are the functions applied and the types. `fbgemm` is a
/// library of embeddings and quantization.
fn head(name: &str) -> &str {
    let head = name.split('<').next().unwrap_or(name);
    head.strip_prefix("void fbgemm_gpu::").unwrap_or(head)
}

/// Whether the name is that of a kernel that multiplies no matrices anywhere: elementwise work, reductions, copies,
/// communication.
pub fn multiplies_nothing(name: &str) -> bool {
    if tensor_cores(name) != TensorCores::No {
        return false;
    }
    let name = demangled(name).to_ascii_lowercase();
    if is_comm_kernel(&name) || name.starts_with("triton_") {
        return true;
    }
    let head = head(&name);
    let says = |words: &[&str]| words.iter().any(|word| head.contains(word));
    (says(PLAIN_KERNELS) || says(LIBRARIES))
        && !says(PRODUCT_NAMES)
        && !says(ORDINARY_PRODUCTS)
        && !says(UNDER_ANOTHER_NAME)
}

/// Products that only their template arguments, or a namespace, give away.
const UNDER_ANOTHER_NAME: &[&str] = &["cutlass", "xmma", "cijk", "cudnn::cnn"];

/// Whether the name is that of a kernel that uses no tensor cores.
fn is_plain(name: &str) -> bool {
    let name = demangled(name).to_ascii_lowercase();
    let head = head(&name);
    let says = |words: &[&str]| words.iter().any(|word| head.contains(word));
    if says(ORDINARY_PRODUCTS) || says(LIBRARIES) {
        return true;
    }
    says(PLAIN_KERNELS) && !says(PRODUCT_NAMES)
}
