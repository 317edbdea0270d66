//! What XProf reads out of a name: an operator of TensorFlow or JAX, a stage of tf.data, a copy.

/// What sort of operator a name is of.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// `mlp/matmul:MatMul`.
    TensorFlow,
    /// `jit(f)/dot_general:`.
    Jax,
    /// `Iterator::Root::Map`.
    Data,
    /// `MemcpyHToD`.
    Copy,
}

/// An operator's name and type.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Op<'n> {
    pub(super) sort: Sort,
    pub(super) name: &'n str,
    pub(super) kind: &'n str,
}

/// The operator that a name is of; none if it is not an operator's.
pub(super) fn parse(full: &str) -> Option<Op<'_>> {
    let Some((name, kind)) = full.split_once(':') else {
        let kind = ["MemcpyHToD", "MemcpyDToH", "MemcpyDToD", "MemcpyHToH"]
            .into_iter()
            .find(|kind| full.get(..kind.len()).is_some_and(|start| start.eq_ignore_ascii_case(kind)))?;
        return Some(Op { sort: Sort::Copy, name: full, kind });
    };
    if name == "Iterator" {
        return Some(Op { sort: Sort::Data, name: full, kind: "Dataset" });
    }
    if is_name(name) && is_type(kind) {
        return Some(Op { sort: Sort::TensorFlow, name, kind });
    }
    let derived = if kind.is_empty() { derived_type(name) } else { kind };
    if is_jax_type(derived) {
        let kind = derived.split('[').next().unwrap_or_default();
        return Some(Op { sort: Sort::Jax, name, kind });
    }
    kind.is_empty().then_some(Op { sort: Sort::TensorFlow, name, kind: derived })
}

fn is_name(name: &str) -> bool {
    let inside = |b: u8| b.is_ascii_alphanumeric() || b"_.\\/>-".contains(&b);
    name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'.') && name.bytes().all(inside)
}

fn is_type(kind: &str) -> bool {
    kind.bytes().next().is_some_and(|b| b.is_ascii_uppercase() || b == b'_')
        && kind.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Lower case, with anything in brackets behind it.
fn is_jax_type(kind: &str) -> bool {
    let (word, bracket) = kind.split_once('[').map_or((kind, None), |(word, rest)| (word, Some(rest)));
    word.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b == b'_')
        && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && bracket.is_none_or(|rest| rest.ends_with(']') && !rest.contains('\n'))
}

/// The last part of a path, without the number behind it: `MatMul` of `mlp/MatMul_1`.
fn derived_type(name: &str) -> &str {
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.rsplit_once('_') {
        Some((word, number)) if number.parse::<i64>().is_ok() => word,
        _ => last,
    }
}

/// Whether XProf takes a kernel of this name for one that uses tensor cores.
pub(super) fn uses_tensor_cores(kernel: &str) -> bool {
    const PATTERNS: [&str; 19] = [
        "16816",
        "c1688",
        "conv1x1",
        "conv2d_c1_k1",
        "dgrad_1x1_stride_2x2",
        "direct_group",
        "first_layer_wgrad_kernel",
        "h1688",
        "h884",
        "hmma",
        "i16832",
        "i8816",
        "s884",
        "s1688",
        "xmma_gemm",
        "xmma_implicit_gemm",
        "xmma_sparse_conv",
        "xmma_sparse_gemm",
        "xmma_warp_specialized_implicit_gemm",
    ];
    PATTERNS.iter().any(|pattern| kernel.contains(pattern)) || uses_matrix_cores(kernel)
}

/// The same for AMD's kernels: products of its libraries that say so, attention, and XLA's own products.
fn uses_matrix_cores(kernel: &str) -> bool {
    kernel.starts_with("Custom_Cijk_")
        || (kernel.starts_with("Cijk_") && kernel.contains("_MI"))
        || kernel.contains("TileFmhaShape<")
        || kernel.contains("TileFmhaBwdShape<")
        || (kernel.starts_with("gemm_fusion") && kernel.ends_with(".kd"))
}

/// Whether XProf expects an operator of this name to be able to use tensor cores.
pub(super) fn may_use_tensor_cores(op: &str) -> bool {
    const ENDS: [&str; 14] = [
        "Conv2D",
        "Conv2DBackpropFilter",
        "Conv2DBackpropInput",
        "Conv3D",
        "DepthwiseConv2dNative",
        "DepthwiseConv2dNativeBackpropFilter",
        "DepthwiseConv2dNativeBackpropInput",
        "/MatMul",
        "FusedMatMul",
        "/CudnnRNN",
        "XlaDot",
        "XlaDotV2",
        "dot_general",
        "conv_general_dilated",
    ];
    const HOLDS: [&str; 4] = ["BatchMatMul", "CudnnRNNV", "CudnnRNNForward", "CudnnRNNBackprop"];
    ENDS.iter().any(|end| op.ends_with(end)) || HOLDS.iter().any(|part| op.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_xprof_reads_them() {
        let of = |name| parse(name).map(|op| (op.sort, op.name, op.kind));
        assert_eq!(of("mlp/matmul:_MklMatMul"), Some((Sort::TensorFlow, "mlp/matmul", "_MklMatMul")));
        assert_eq!(of("PyFunc:PyFunc"), Some((Sort::TensorFlow, "PyFunc", "PyFunc")));
        assert_eq!(of("Iterator::Root::Map"), Some((Sort::Data, "Iterator::Root::Map", "Dataset")));
        assert_eq!(of("jit(f)/dot_general:"), Some((Sort::Jax, "jit(f)/dot_general", "dot_general")));
        assert_eq!(of("a/transpose_3:"), Some((Sort::Jax, "a/transpose_3", "transpose")));
        assert_eq!(
            of("f:transpose[permutation=(0, 1)]"),
            Some((Sort::Jax, "f", "transpose")),
            "what is in brackets is not part of the type"
        );
        assert_eq!(of("XlaModule:"), Some((Sort::TensorFlow, "XlaModule", "XlaModule")));
        assert_eq!(of("HLO Transforms:jit_stage"), Some((Sort::Jax, "HLO Transforms", "jit_stage")));
        assert_eq!(of("memcpyHtoD"), Some((Sort::Copy, "memcpyHtoD", "MemcpyHToD")));
        // CUDA's profiler writes these, and XProf does not know them.
        assert_eq!(of("MemcpyH2D"), None);
        for other in ["ExecutorState::Process", "end: dot.4", "$core.py:686 bind", "train", ""] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn tensor_cores_are_told_by_names() {
        assert!(uses_tensor_cores("cutlass_80_tensorop_s1688gemm_128x64"));
        assert!(!uses_tensor_cores("nvjet_hsh_128x256"));
        assert!(uses_tensor_cores("gemm_fusion_dot_6.kd") && !uses_tensor_cores("gemm_fusion_dot_6"));
        assert!(uses_tensor_cores("Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_MI16x16x16x1_SN"));
        assert!(may_use_tensor_cores("jit(f)/dot_general"));
        assert!(may_use_tensor_cores("model/dense/MatMul") && !may_use_tensor_cores("MatMul"));
    }
}
