//! Kernels on tensor cores, recognized by the marks that the libraries leave in their names.

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
const NEVER_TENSOR_CORE: &[&str] = &[
    // Plain fused multiply-add on the CUDA cores, though the library around it is called `xmma`.
    "ffma",
    "gcnasm",
    "miopensp3",
    "subtensorop",
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

/// How CUTLASS 2 says it: a word of its own (MIOpen's `SubTensorOpWithCastTensor1d` only casts).
const CUTLASS: &str = "tensorop_";

/// Marks that are enough on their own, in lower case.
const ALWAYS_TENSOR_CORE: &[&str] = &[
    // cuBLAS on Hopper and later, and the instructions of that age in CUTLASS and cuDNN names
    // (`wgmma`, `qgmma`, `MainloopSm90TmaGmmaWarpSpecialized`).
    "nvjet_",
    "gmma",
    "tcgen05",
    "tmaumma",
    // CUTLASS 2 and the instruction shapes people put into names of their own.
    CUTLASS,
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
    // Quantized GEMM.
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
/// `float`; use [`super::tensor_cores`] unless the point is to agree with the plugin.
pub fn classic_tensor_core_kernel(name: &str) -> bool {
    CLASSIC_KERNELS.iter().any(|pattern| name.contains(pattern))
}

/// What the marks in a kernel's name say about tensor cores (NVIDIA) or matrix cores (AMD); `None` if there is none.
///
/// It knows the libraries behind PyTorch, JAX and the common inference engines, from Volta to Blackwell
/// and on CDNA. PyTorch's memory-efficient attention in `float` counts from `sm80` on: there it is built
/// on TF32 instructions, three to a product.
pub(super) fn marked(name: &str) -> Option<bool> {
    let name = name.to_ascii_lowercase();
    let has = |mark: &str| name.contains(mark);
    let has_any = |marks: &[&str]| marks.iter().any(|mark| name.contains(mark));

    // Inductor names its kernels after the operators it fused, so no word in them is a mark. Those for one result
    // an element and for reductions multiply no matrices; its templates may.
    if name.starts_with("triton_") {
        let plain = ["triton_poi_", "triton_red_", "triton_per_", "triton_for_"];
        return plain.iter().any(|kind| name.starts_with(kind)).then_some(false);
    }
    if has_any(NEVER_TENSOR_CORE) || (has("simt") && !has(CUTLASS)) {
        return Some(false);
    }
    // `xmma` in `float` alone is FMA; a TF32 kernel says so, and names its instruction.
    if has("_f32f32_f32f32_") && !has("tensor") {
        return Some(false);
    }
    if let Some((_, rest)) = name.split_once("fmha_cutlass") {
        return Some(mem_efficient_uses_tensor_cores(rest));
    }
    if name.starts_with("cijk_") {
        let is_instruction = |shape: &str| shape.starts_with(|c: char| matches!(c, '1'..='9'));
        return Some(name.split('_').any(|field| field.strip_prefix("mi").is_some_and(is_instruction)));
    }
    let blackwell = has_any(&["sm100", "sm103", "sm120"])
        && has_any(&["gemm", "bmm_", "fprop", "dgrad", "wgrad", "fmha", "sdpa"]);
    let aiter = has("aiter") && has_any(&["gemm", "fmoe", "mla_a16w16", "mla_a8w8", "pa_bf16", "pa_fp16"]);
    let ck_tile = has("ck_tile") && has_any(&["gemmkernel", "flatmmkernel"]);
    let uses = classic_tensor_core_kernel(&name)
        || has_any(ALWAYS_TENSOR_CORE)
        || has_mma_shape(&name)
        || is_xmma_kernel(&name)
        || blackwell
        || aiter
        || ck_tile
        || name.split('_').any(|field| matches!(field, "imma" | "dmma" | "qmma" | "umma"));
    uses.then_some(true)
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
