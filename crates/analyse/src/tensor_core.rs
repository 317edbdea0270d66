//! Whether a kernel runs on tensor cores (AMD: matrix cores), told by its name.
//!
//! A trace does not record which pipe a kernel used, so this is a heuristic over the names that the
//! vendors' libraries give their kernels. It errs on the side of "no". Two blind spots are by design:
//! Triton kernels (`triton_tem_fused_mm_0`, `attn_fwd`) may well use tensor cores but never say so, and a
//! kernel somebody wrote by hand may be called anything. The `classic_*` functions answer exactly as the
//! TensorBoard profiler plugin does, for comparing numbers with it.

use crate::kernel_name::demangled;

/// Substrings by which the TensorBoard plugin tells a tensor-core kernel.
const CLASSIC_KERNELS: &[&str] = &[
    "h884",
    "s884",
    "h1688",
    "s1688",
    "hmma",
    "i8816",
    "16816",
    "dgrad_1x1_stride_2x2",
    "first_layer_wgrad_kernel",
    "conv1x1",
    "conv2d_c1_k1",
    "direct_group",
    "xmma_implicit_gemm",
    "xmma_sparse_conv",
    "xmma_warp_specialized_implicit_gemm",
    "xmma_gemm",
    "xmma_sparse_gemm",
    "c1688",
];

/// Marks of kernels that do no matrix multiplication on tensor cores, whatever else their name says.
const NEVER: &[&str] = &[
    // Plain fused multiply-add on the CUDA cores, though the library around it is called `xmma`.
    "ffma",
    "gcnasm",
    "miopensp3",
    // What happens before and after a multiplication.
    "splitkreduce",
    "reducesplitk",
    "init_device_workspace",
    "dot_do_o",
    "convert_dq",
    "convert_dkv",
    "clear_dkvaccum",
    "splitkv_combine",
    "splitkvcombine",
    "fwdcombine",
    "bwdpreprocess",
    "bwdpostprocess",
    "ograddoto",
    "convertqgrad",
    "_odo_",
    "dq_shuffle",
];

/// Marks that are enough on their own, in lower case.
const ALWAYS: &[&str] = &[
    // cuBLAS on Hopper and later, and the instructions of that age in CUTLASS and cuDNN names
    // (`wgmma`, `qgmma`, `MainloopSm90TmaGmmaWarpSpecialized`).
    "nvjet_",
    "gmma",
    "tcgen05",
    "tmaumma",
    // CUTLASS 2 and the instruction shapes people put into names of their own.
    "tensorop",
    "wmma",
    "m16n8k",
    // FlashAttention 2 and 3, cuDNN's and TensorRT-LLM's attention.
    "flash_fwd_kernel",
    "flash_fwd_splitkv_kernel",
    "flash_bwd_dq_dk_dv_loop",
    "flashattnfwdsm",
    "flashattnbwdsm",
    "sdpa_sm80_flash_fprop",
    "sdpa_sm80_flash_bprop",
    "fmha_v2_flash",
    // Quantised GEMM.
    "marlin::marlin",
    "deep_gemm::fp8_gemm",
    "deep_gemm::sm90_fp8",
    "deep_gemm::sm90_bf16",
    // AMD: matrix instructions by name, composable_kernel, MIOpen's `gtcx` family, AITER.
    "mfma",
    "xdl",
    "gtcx",
    "fmhafwdkernel",
    "fmhafwdsplitkvkernel",
    "fmhafwdpagedkvkernel",
    "fmhabwddqdkdvkernel",
    "fmha_fwd_hd",
    "fmha_bwd_hd",
];

/// Whether the TensorBoard profiler plugin would call this a tensor-core kernel.
///
/// It knows nothing newer than Ampere, and it takes every `xmma_gemm` for one, including those in plain
/// `float`; use [`kernel_uses_tensor_cores`] unless the point is to agree with the plugin.
pub fn classic_tensor_core_kernel(name: &str) -> bool {
    CLASSIC_KERNELS.iter().any(|pattern| name.contains(pattern))
}

/// Whether a kernel of this name uses tensor cores (NVIDIA) or matrix cores (AMD): a heuristic.
///
/// It knows the libraries behind PyTorch, JAX and the common inference engines, from Volta to Blackwell
/// and on CDNA. PyTorch's memory-efficient attention in `float` counts from `sm80` on: there it is built
/// on TF32 instructions, three to a product.
pub fn kernel_uses_tensor_cores(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let has = |mark: &str| name.contains(mark);
    let has_any = |marks: &[&str]| marks.iter().any(|mark| name.contains(mark));

    if name.starts_with("triton_") || has_any(NEVER) || (has("simt") && !has("tensorop")) {
        return false;
    }
    // `xmma` in `float` alone is FMA; a TF32 kernel says so, and names its instruction.
    if has("_f32f32_f32f32_") && !has("tensor") {
        return false;
    }
    if let Some((_, rest)) = name.split_once("fmha_cutlass") {
        return mem_efficient_uses_tensor_cores(rest);
    }
    if name.starts_with("cijk_") {
        return name.split('_').any(|field| match field.strip_prefix("mi") {
            Some(shape) => shape.starts_with(|c: char| matches!(c, '1'..='9')),
            None => false,
        });
    }
    let blackwell = has_any(&["sm100", "sm103", "sm120"])
        && has_any(&["gemm", "bmm_", "fprop", "dgrad", "wgrad", "fmha", "sdpa"]);
    let aiter = has("aiter") && has_any(&["gemm", "fmoe", "mla_a16w16", "mla_a8w8", "pa_bf16", "pa_fp16"]);
    let ck_tile = has("ck_tile") && has_any(&["gemmkernel", "flatmmkernel"]);
    classic_tensor_core_kernel(&name)
        || has_any(ALWAYS)
        || has_mma_shape(&name)
        || is_xmma_kernel(&name)
        || blackwell
        || aiter
        || ck_tile
        || name.split('_').any(|field| matches!(field, "imma" | "dmma" | "qmma" | "umma"))
}

/// `F_bf16_aligned_64x64_rf_sm80`: which multiplication is built in follows from type and architecture.
fn mem_efficient_uses_tensor_cores(rest: &str) -> bool {
    let fields: Vec<&str> = rest.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let architecture =
        fields.iter().find_map(|field| field.strip_prefix("sm")?.parse::<u32>().ok()).unwrap_or(0);
    let least = match fields.get(1) {
        Some(&"f16") => 70,
        Some(&"bf16") => 75,
        Some(&"f32") => 80,
        _ => return false,
    };
    architecture >= least
}

/// A multiplication kernel of NVIDIA's `xmma` library, not merely its namespace (`xmma__5x_cudnn::`).
fn is_xmma_kernel(name: &str) -> bool {
    name.match_indices("xmma_")
        .any(|(at, mark)| name[at + mark.len()..].starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// An instruction shape as cuBLAS, cuDNN and CUTLASS write it: a letter for the accumulator, then M, N
/// and K run together (`s16816gemm`, `i16832gemm`, `d884gemm`).
fn has_mma_shape(name: &str) -> bool {
    name.split('_').any(|field| {
        let shape = field.strip_prefix(['s', 'h', 'd', 'i', 'c', 'z']).unwrap_or_default();
        let digits = shape.bytes().take_while(u8::is_ascii_digit).count();
        matches!(&shape[..digits], "884" | "1688" | "16816" | "16832" | "16864" | "161616" | "8816" | "8832")
    })
}

/// The type of a matrix kernel's inputs, where its name gives it away: `bf16`, `fp16`, `tf32`, `fp8`,
/// `int8`, `fp32` or `fp64`.
///
/// Only multiplications, convolutions and attention are answered; elsewhere a type in the name may belong
/// to anything. `None` also where the name is known to mislead: cuDNN's attention kernels say `f16` for
/// every 16-bit type, its old convolutions are called `sgemm` in `half` too, and mixed formats have no one
/// answer.
pub fn precision(name: &str) -> Option<&'static str> {
    if let Some(rest) = name.strip_prefix("Cijk_") {
        return tensile_precision(rest.split('_').nth(2)?);
    }
    let name = demangled(name).to_ascii_lowercase();
    let on_cuda_cores = ["simt", "ffma", "sgemm", "dgemm", "hgemm", "scudnn"];
    let matrix = kernel_uses_tensor_cores(&name) || on_cuda_cores.iter().any(|mark| name.contains(mark));
    let misleading = ["native_sdpa", "convolve_sgemm", "marlin", "e2m1"];
    if !matrix || misleading.iter().any(|mark| name.contains(mark)) {
        return None;
    }
    if let Some(rest) = name.strip_prefix("nvjet_") {
        return nvjet_precision(rest);
    }
    // The batched GEMMs of TensorRT-LLM begin with the type of their output.
    let outputs = if name.starts_with("bmm_") { 2 } else { 0 };
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric()).skip(outputs);
    words.find_map(word_precision).or_else(|| {
        // Without any type a 16x8x8 product that accumulates in `float` is the TF32 one.
        name.contains("cutlass_80_tensorop_s1688gemm").then_some("tf32")
    })
}

fn word_precision(word: &str) -> Option<&'static str> {
    let word = word.strip_prefix("qkv").unwrap_or(word);
    // CuTe's atoms put the accumulator first: `F32BF16BF16`.
    let word = match word.strip_prefix("f32") {
        Some(rest) if !rest.is_empty() && !rest.starts_with("f32") => rest,
        _ => word,
    };
    const STARTS: &[(&str, &str)] = &[
        ("bf16", "bf16"),
        ("bfloat16", "bf16"),
        ("fp16", "fp16"),
        ("f16", "fp16"),
        ("h884", "fp16"),
        ("h1688", "fp16"),
        ("h16816", "fp16"),
        ("tf32", "tf32"),
        ("tfloat32", "tf32"),
        ("e4m3", "fp8"),
        ("e5m2", "fp8"),
        ("fp8", "fp8"),
        ("int8", "int8"),
        ("i8", "int8"),
        ("i16832", "int8"),
        ("f32", "fp32"),
        ("sgemm", "fp32"),
        ("scudnn", "fp32"),
        ("f64", "fp64"),
        ("d884", "fp64"),
        ("dgemm", "fp64"),
    ];
    let whole = match word {
        "half" | "float16" | "hgemm" => Some("fp16"),
        _ => None,
    };
    whole.or_else(|| STARTS.iter().find(|(start, _)| word.starts_with(start)).map(|(_, precision)| *precision))
}

/// Two or three letters of types, inputs first: `tst` is bf16 with `float` inside, `hsh` the same in fp16.
fn nvjet_precision(rest: &str) -> Option<&'static str> {
    let types = rest.split('_').find(|field| !field.starts_with("sm"))?;
    match types {
        "tst" | "tss" => Some("bf16"),
        "hsh" | "hss" | "hhh" => Some("fp16"),
        _ if types.starts_with("qq") => Some("fp8"),
        _ => None,
    }
}

/// Tensile's letters: input, output, compute, then `B` for batched (`BBS`, `HHS`, `SB`).
fn tensile_precision(types: &str) -> Option<&'static str> {
    match types {
        "SB" | "S" => Some("fp32"),
        "DB" | "D" => Some("fp64"),
        "BBS" | "BSS" | "B" => Some("bf16"),
        "HHS" | "HSS" | "HB" | "H" => Some("fp16"),
        _ if types.starts_with("F8") || types.starts_with("B8") => Some("fp8"),
        _ if types.starts_with("I8") => Some("int8"),
        _ => None,
    }
}

/// What the TensorBoard plugin counts besides [`AUTOCAST_OPS`]: an elementwise one, and backward nodes.
const CLASSIC_OPS: &[&str] = &[
    "aten::prelu",
    "aten::addmm_",
    "aten::cudnn_convolution",
    "aten::cudnn_convolution_transpose",
    "aten::cudnn_convolution_backward",
    "aten::cudnn_convolution_backward_input",
    "aten::cudnn_convolution_backward_weight",
    "aten::cudnn_convolution_transpose_backward",
    "aten::cudnn_convolution_transpose_backward_input",
    "aten::cudnn_convolution_transpose_backward_weight",
    "CudnnConvolutionBackward",
    "CudnnConvolutionTransposeBackward",
    "BmmBackward0",
    "MmBackward",
    "MvBackward",
    "AddmmBackward",
    "AddmvBackward",
    "AddbmmBackward",
];

/// Whether the TensorBoard profiler plugin would call this operator eligible for tensor cores.
pub fn classic_op_is_eligible(op: &str) -> bool {
    CLASSIC_OPS.contains(&op) || op.strip_prefix("aten::").is_some_and(is_autocast_op)
}

/// Operators that autocast has run in lower precision since its beginning and that multiply matrices.
const AUTOCAST_OPS: &[&str] = &[
    "_convolution",
    "convolution",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "linear",
    "matmul",
    "mm",
    "mv",
    "bmm",
    "addmm",
    "addmv",
    "addr",
    "addbmm",
    "baddbmm",
    "chain_matmul",
    "linalg_multi_dot",
    "_thnn_fused_lstm_cell",
    "_thnn_fused_gru_cell",
    "lstm_cell",
    "gru_cell",
    "rnn_tanh_cell",
    "rnn_relu_cell",
];

fn is_autocast_op(op: &str) -> bool {
    AUTOCAST_OPS.contains(&op)
}

/// Whether a PyTorch operator can use tensor cores, given inputs of a suitable type and size.
///
/// These are the operators that autocast casts down on CUDA, without the elementwise `prelu`, and with
/// what they call underneath, the scaled and grouped products, attention, and the backward operators.
pub fn op_is_eligible(op: &str) -> bool {
    let Some(op) = op.strip_prefix("aten::") else {
        return false;
    };
    is_autocast_op(op) || is_newer_product(op) || is_library_convolution_or_rnn(op) || is_attention(op)
}

const NEWER_PRODUCTS: &[&str] = &[
    "einsum",
    "linear_backward",
    "matmul_backward",
    "addmm_",
    "addbmm_",
    "baddbmm_",
    "_addmm_activation",
    "_scaled_mm",
    "_scaled_mm_v2",
    "_grouped_mm",
    "_scaled_grouped_mm",
    "_scaled_grouped_mm_v2",
    "_int_mm",
    "_weight_int4pack_mm",
    "_weight_int8pack_mm",
    "_cslt_sparse_mm",
    "_sparse_semi_structured_linear",
    "_sparse_semi_structured_mm",
    "_sparse_semi_structured_addmm",
];

fn is_newer_product(op: &str) -> bool {
    NEWER_PRODUCTS.contains(&op)
}

fn is_library_convolution_or_rnn(op: &str) -> bool {
    if matches!(op, "convolution_backward" | "convolution_overrideable" | "_convolution_mode" | "lstm" | "gru")
    {
        return true;
    }
    let Some(op) = op.strip_prefix("cudnn_").or_else(|| op.strip_prefix("miopen_")) else {
        return matches!(op, "_cudnn_rnn" | "_cudnn_rnn_backward");
    };
    op.starts_with("convolution") || op.starts_with("rnn")
}

const ATTENTION: &[&str] = &[
    "scaled_dot_product_attention",
    "_scaled_dot_product_attention_math",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_fused_attention_overrideable",
    "_flash_attention",
    "_flash_attention_forward",
    "_efficient_attention",
    "_efficient_attention_forward",
    "_cudnn_attention",
    "_cudnn_attention_forward",
];

fn is_attention(op: &str) -> bool {
    let op = op.strip_suffix("_backward").unwrap_or(op);
    ATTENTION.contains(&op)
}

#[cfg(test)]
mod tests {
    use super::{
        classic_op_is_eligible, classic_tensor_core_kernel, kernel_uses_tensor_cores, op_is_eligible, precision,
    };

    const H200_TENSOR: &[(&str, Option<&str>)] = &[
        ("nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT", Some("bf16")),
        (
            "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1_cga1x1x1_kernel0_0",
            None,
        ),
        (
            "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)",
            Some("fp32"),
        ),
        (
            "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
            Some("bf16"),
        ),
        (
            "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc_align8>(cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc_align8::Params)",
            Some("bf16"),
        ),
    ];

    const H200_PLAIN: &[(&str, Option<&str>)] = &[
        (
            "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
            Some("fp32"),
        ),
        (
            "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(cutlass_80_simt_sgemm_128x32_8x5_nn_align1::Params)",
            Some("fp32"),
        ),
        (
            "void cask_plugin__5x_cudnn::xmma__5x_cudnn::init_device_workspace_kernel<xmma__5x_cudnn::implicit_gemm::wgrad_indexed::Warp_specialized_params<xmma__5x_cudnn::Grid_constant_params> >(int)",
            None,
        ),
        ("void cudnn::fusion::compute_dot_do_o_specialized<true, 64>(void const*)", None),
        ("void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int)", None),
        ("Memcpy DtoD (Device -> Device)", None),
    ];

    #[test]
    fn names_from_an_h200() {
        for (name, expected) in H200_TENSOR {
            assert!(kernel_uses_tensor_cores(name), "{name}");
            assert_eq!(precision(name), *expected, "{name}");
        }
        for (name, expected) in H200_PLAIN {
            assert!(!kernel_uses_tensor_cores(name), "{name}");
            assert_eq!(precision(name), *expected, "{name}");
        }
    }

    #[test]
    fn other_architectures_and_libraries() {
        let tensor = [
            ("volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn", Some("fp16")),
            ("turing_h1688gemm_128x128_ldg8_nn", Some("fp16")),
            ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nn", Some("bf16")),
            ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>(int)", Some("tf32")),
            ("cutlass_80_tensorop_i16832gemm_s8_256x128_64x3_tn_align16", Some("int8")),
            ("cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8", Some("bf16")),
            ("cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_void_f16_128x128x64_tnn", Some("fp16")),
            ("ampere_d884gemm_64x64_nn", Some("fp64")),
            (
                "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_tensor16x8x8_kernel",
                Some("tf32"),
            ),
            ("nvjet_qqtst_128x128_128x6_2x1_v_bz_TNT", Some("fp8")),
            ("nvjet_sm100_hsh_128x256_64x6_2x1_2cta_v_bz_TNN", Some("fp16")),
            (
                "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, 64, 256, 4, false, false, cutlass::half_t> >(int)",
                Some("fp16"),
            ),
            (
                "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Traits<64, cutlass::bfloat16_t> >(int)",
                Some("bf16"),
            ),
            (
                "void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::Mainloop<2, cutlass::float_e4m3_t> > >(int)",
                Some("fp8"),
            ),
            ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80(int)", Some("bf16")),
            ("fmha_cutlassF_f16_aligned_64x64_rf_sm70(int)", Some("fp16")),
            ("Cijk_Ailk_Bjlk_HHS_BH_MT64x64x32_MI16x16x16x1_SN_WG64_4_1", Some("fp16")),
            ("void ck::kernel_gemm_xdl_cshuffle_v3<ck::Gridwise<ck::bhalf> >(int)", None),
        ];
        for (name, expected) in tensor {
            assert!(kernel_uses_tensor_cores(name), "{name}");
            assert_eq!(precision(name), expected, "{name}");
        }
        let plain = [
            "triton_tem_fused_mm_0",
            "volta_sgemm_128x32_nt",
            "volta_scudnn_128x64_relu_medium_nn_v1",
            "fmha_cutlassF_f32_aligned_64x64_rf_sm75(int)",
            "fmha_cutlassF_bf16_notaligned_64x64_rf_sm50(int)",
            "void flash::flash_fwd_splitkv_combine_kernel<Traits<64, cutlass::half_t> >(int)",
            "void cutlass::device_kernel<flash::FlashAttnBwdPostprocessConvertdQ<cute::SM90_64x64x16::GMMA> >(int)",
            "_ZN5aiter24add_rmsnorm_quant_kernelEv",
            "Cijk_Ailk_Bjlk_SB_MT64x64x8_SN_MIAV0_MIWT1_1_WG16_16_1",
            "miopenSp3AsmConv_v30_3_1_gfx9_fp16_dot2_edc_stride1",
            "void vllm::scaled_fp8_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn>(int)",
            "",
        ];
        for name in plain {
            assert!(!kernel_uses_tensor_cores(name), "{name}");
        }
    }

    #[test]
    fn classic_answers_stay_as_they_were() {
        assert!(classic_tensor_core_kernel("volta_h884gemm_64x64"));
        assert!(classic_tensor_core_kernel("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_ffma"));
        assert!(!classic_tensor_core_kernel("nvjet_sm90_tst_64x64_64x13_2x1_v_bz_NNT"));
        for op in
            ["aten::mm", "aten::prelu", "aten::addmm_", "aten::_convolution", "BmmBackward0", "MmBackward"]
        {
            assert!(classic_op_is_eligible(op), "{op}");
        }
        for op in ["aten::convolution_backward", "aten::scaled_dot_product_attention", "BmmBackward", "mm", ""]
        {
            assert!(!classic_op_is_eligible(op), "{op}");
        }
    }

    #[test]
    fn operators_that_multiply_matrices_are_eligible() {
        for op in [
            "aten::mm",
            "aten::addmm_",
            "aten::einsum",
            "aten::convolution_backward",
            "aten::cudnn_convolution_backward_weight",
            "aten::_scaled_mm",
            "aten::_scaled_dot_product_flash_attention_backward",
            "aten::_cudnn_attention_forward",
            "aten::_flash_attention_backward",
        ] {
            assert!(op_is_eligible(op), "{op}");
        }
        for op in [
            "aten::add",
            "aten::prelu",
            "aten::_scaled_dot_product_flash_attention_for_cpu",
            "MmBackward0",
            "mm",
            "",
        ] {
            assert!(!op_is_eligible(op), "{op}");
        }
    }
}
