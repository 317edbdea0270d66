//! What kind of work a kernel is, by the operator that launched it and by its own name.
//!
//! A kernel of a known ATen operator is what the operator is, helpers that a library runs before and after included.
//! Without one, or where the operator says nothing, the kernel's name decides. What neither says is other work, not a
//! guess.

use schemars::JsonSchema;
use serde::Serialize;

use crate::names::comm::is_comm_kernel;
use crate::names::kernel_family::{KernelFamily, kernel_family};
use crate::names::kernel_name::demangled;

/// What kind of work it is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    Gemm,
    Convolution,
    Attention,
    /// Layer, batch, group and RMS normalization.
    Normalization,
    /// One function for each element.
    Pointwise,
    /// Sums, softmax, losses, pooling.
    Reduction,
    /// Embeddings, gathers and scatters.
    Indexing,
    /// Fused and multi-tensor optimizer kernels.
    Optimizer,
    /// Between devices or ranks.
    Communication,
    Copy,
    Memset,
    Other,
}

impl Category {
    /// All of them, in the order of the declaration.
    pub const ALL: [Category; 12] = [
        Category::Gemm,
        Category::Convolution,
        Category::Attention,
        Category::Normalization,
        Category::Pointwise,
        Category::Reduction,
        Category::Indexing,
        Category::Optimizer,
        Category::Communication,
        Category::Copy,
        Category::Memset,
        Category::Other,
    ];

    pub fn label(self) -> &'static str {
        match self {
            Category::Gemm => "GEMM",
            Category::Convolution => "convolution",
            Category::Attention => "attention",
            Category::Normalization => "normalization",
            Category::Pointwise => "pointwise",
            Category::Reduction => "reduction",
            Category::Indexing => "embedding, indexing",
            Category::Optimizer => "optimizer",
            Category::Communication => "communication",
            Category::Copy => "copy",
            Category::Memset => "memset",
            Category::Other => "other",
        }
    }
}

/// What the name of an operator says about the kernels it launches itself. Operators whose kernels are better known by
/// their own names (`aten::add`, `aten::_cudnn_rnn`) and those of other libraries say nothing.
pub(crate) fn of_operator(name: &str) -> Option<Category> {
    let name = name.strip_prefix("aten::")?;
    if name.starts_with("_foreach_") || name.starts_with("_fused_ada") || name.starts_with("_fused_sgd") {
        return Some(Category::Optimizer);
    }
    if name.contains("attention") || name.contains("scaled_dot_product") {
        return Some(Category::Attention);
    }
    if name.contains("conv") && !name.contains("convert") {
        return Some(Category::Convolution);
    }
    const NORMS: [&str; 6] =
        ["layer_norm", "batch_norm", "group_norm", "instance_norm", "rms_norm", "weight_norm"];
    if NORMS.iter().any(|norm| name.contains(norm)) {
        return Some(Category::Normalization);
    }
    if name.contains("embedding") || name.starts_with("index") || name.starts_with("_index") {
        return Some(Category::Indexing);
    }
    // `sum_`, `_softmax` and `sum` are one; `_backward` and its kin are what their forward is.
    let plain = name.trim_matches('_');
    let plain = ["_backward_data", "_backward", "_forward"]
        .iter()
        .find_map(|end| plain.strip_suffix(end))
        .unwrap_or(plain);
    Some(match plain {
        "mm" | "addmm" | "bmm" | "baddbmm" | "addbmm" | "mv" | "addmv" | "dot" | "vdot" | "matmul"
        | "linear" | "einsum" | "scaled_mm" | "int_mm" | "grouped_mm" | "scaled_grouped_mm"
        | "addmm_activation" | "weight_int4pack_mm" | "cslt_sparse_mm" | "tensordot" => Category::Gemm,
        "sum"
        | "mean"
        | "max"
        | "min"
        | "amax"
        | "amin"
        | "aminmax"
        | "argmax"
        | "argmin"
        | "any"
        | "all"
        | "prod"
        | "var"
        | "std"
        | "var_mean"
        | "std_mean"
        | "norm"
        | "linalg_vector_norm"
        | "logsumexp"
        | "softmax"
        | "log_softmax"
        | "safe_softmax"
        | "masked_softmax"
        | "cumsum"
        | "cumprod"
        | "cummax"
        | "cummin"
        | "count_nonzero"
        | "nll_loss"
        | "nll_loss2d"
        | "cross_entropy_loss"
        | "nansum"
        | "median"
        | "max_pool2d_with_indices"
        | "max_pool3d_with_indices"
        | "avg_pool2d"
        | "avg_pool3d"
        | "adaptive_avg_pool2d"
        | "adaptive_avg_pool3d"
        | "adaptive_max_pool2d" => Category::Reduction,
        "gather" | "scatter" | "scatter_add" | "scatter_reduce" | "take" | "put" | "masked_select"
        | "masked_scatter" | "nonzero" | "repeat_interleave" => Category::Indexing,
        "copy"
        | "clone"
        | "contiguous"
        | "to"
        | "to_copy"
        | "cat"
        | "stack"
        | "repeat"
        | "roll"
        | "flip"
        | "constant_pad_nd"
        | "split_with_sizes_copy"
        | "chunk_cat"
        | "local_scalar_dense" => Category::Copy,
        _ => return None,
    })
}

/// What the name of a kernel says about it.
pub(crate) fn of_kernel(name: &str) -> Option<Category> {
    if is_comm_kernel(name) {
        return Some(Category::Communication);
    }
    let full = demangled(name).to_ascii_lowercase();
    let head = full.split('<').next().unwrap_or(&full);
    let says = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    if head.starts_with("triton_") {
        return of_triton(head);
    }
    const NORMS: &[&str] = &["norm", "rowwisemoments", "gammabeta", "::bn_", "welford"];
    const CONVOLUTIONS: &[&str] =
        &["conv", "winograd", "dgrad", "wgrad", "fprop", "scudnn", "nchwtonhwc", "nhwctonchw"];
    Some(match kernel_family(name) {
        KernelFamily::Communication => Category::Communication,
        KernelFamily::Elementwise if head.contains("multi_tensor_apply") => Category::Optimizer,
        KernelFamily::Elementwise if full.contains("direct_copy") => Category::Copy,
        KernelFamily::Elementwise => Category::Pointwise,
        KernelFamily::Attention => Category::Attention,
        KernelFamily::Reduction if says(head, NORMS) => Category::Normalization,
        KernelFamily::Reduction => Category::Reduction,
        KernelFamily::Matmul if says(&full, CONVOLUTIONS) => Category::Convolution,
        KernelFamily::Matmul => Category::Gemm,
        KernelFamily::Other if says(head, CONVOLUTIONS) && !head.contains("convert") => Category::Convolution,
        KernelFamily::Other if says(head, &["catarray", "copy"]) => Category::Copy,
        KernelFamily::Other if says(head, &["embedding", "index", "gather", "scatter"]) => Category::Indexing,
        KernelFamily::Other if says(head, &["adam", "lamb_"]) => Category::Optimizer,
        KernelFamily::Other if says(head, &["dropout", "distribution"]) => Category::Pointwise,
        KernelFamily::Other if head.contains("pool") => Category::Reduction,
        KernelFamily::Other => return None,
    })
}

/// Inductor's names say what a kernel is made of: `triton_per_fused_native_layer_norm_0`.
fn of_triton(name: &str) -> Option<Category> {
    let rest = name.strip_prefix("triton_")?;
    let has = |word: &str| rest.contains(word);
    Some(match rest.split('_').next()? {
        "tem" if has("attention") => Category::Attention,
        "tem" if has("conv") => Category::Convolution,
        "tem" | "mm" => Category::Gemm,
        "red" | "per" | "spl" if has("_norm") => Category::Normalization,
        "red" | "per" | "spl" => Category::Reduction,
        "poi" if has("embedding") => Category::Indexing,
        "poi" => Category::Pointwise,
        "for" => Category::Optimizer,
        _ => return None,
    })
}

/// What the name of an operator outside of ATen says, where its kernels' names say nothing.
pub(crate) fn of_other_operator(name: &str) -> Option<Category> {
    if name.len() > 200 {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if says(&["attention", "attn", "fmha"]) {
        Some(Category::Attention)
    } else if says(&["all_reduce", "allreduce", "all_gather", "reduce_scatter", "all_to_all", "c10d::"]) {
        Some(Category::Communication)
    } else if says(&["layernorm", "layer_norm", "rmsnorm", "rms_norm", "batchnorm", "groupnorm"]) {
        Some(Category::Normalization)
    } else if says(&["gemm", "matmul"]) {
        Some(Category::Gemm)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_recorded_traces() {
        use Category::*;
        for (name, category) in [
            ("aten::addmm", Some(Gemm)),
            ("aten::cudnn_convolution", Some(Convolution)),
            ("aten::convolution_backward", Some(Convolution)),
            ("aten::_convert_indices_from_coo_to_csr", None),
            ("aten::_scaled_dot_product_flash_attention_backward", Some(Attention)),
            ("aten::native_layer_norm_backward", Some(Normalization)),
            ("aten::linalg_vector_norm", Some(Reduction)),
            ("aten::_log_softmax_backward_data", Some(Reduction)),
            ("aten::nll_loss_backward", Some(Reduction)),
            ("aten::embedding_dense_backward", Some(Indexing)),
            ("aten::index_put_", Some(Indexing)),
            ("aten::copy_", Some(Copy)),
            ("aten::_foreach_addcdiv_", Some(Optimizer)),
            ("aten::_fused_adamw_", Some(Optimizer)),
            ("aten::_fused_rms_norm", Some(Normalization)),
            ("aten::add_", None),
            ("MulBackward0", None),
        ] {
            assert_eq!(of_operator(name), category, "{name}");
        }
    }

    #[test]
    fn kernels_of_recorded_traces() {
        use Category::*;
        for (name, category) in [
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, int>(int)",
                Some(Pointwise),
            ),
            (
                "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)> >(int)",
                Some(Copy),
            ),
            (
                "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::Foo>()",
                Some(Optimizer),
            ),
            (
                "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>(int)",
                Some(Normalization),
            ),
            ("void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(float)", Some(Normalization)),
            (
                "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10>(float*)",
                Some(Reduction),
            ),
            ("nvjet_sm90_tst_64x24_64x16_2x4_h_bz_NNT", Some(Gemm)),
            (
                "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64",
                Some(Convolution),
            ),
            (
                "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)0>()",
                Some(Convolution),
            ),
            ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Some(Communication)),
            ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>()", Some(Copy)),
            ("void at::native::vectorized_gather_kernel<16, long>(char*, char*)", Some(Indexing)),
            ("triton_per_fused_native_layer_norm_0", Some(Normalization)),
            ("triton_poi_fused_add_mul_1", Some(Pointwise)),
            ("triton_tem_fused_addmm_3", Some(Gemm)),
            ("my_own_kernel", None),
        ] {
            assert_eq!(of_kernel(name), category, "{name}");
        }
    }
}
