//! What a kernel does, by its name: a heuristic, for colors and filters.
//!
//! Whether a kernel multiplies matrices on tensor cores is [`kernel_uses_tensor_cores`]'s to say; the rest are the words
//! that libraries put into their names. A name that says nothing is not a guess: it is another kernel.

use crate::names::comm::is_comm_kernel;
use crate::names::kernel_name::demangled;
use crate::names::tensor_core::kernel_uses_tensor_cores;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum KernelFamily {
    Communication,
    Elementwise,
    Attention,
    Reduction,
    Matmul,
    Other,
}

/// Templates that apply one function to each element.
const ELEMENTWISE_KERNELS: &[&str] =
    &["elementwise", "triton_poi_", "multi_tensor_apply", "act_and_mul", "fill_kernel"];

const ATTENTION_KERNELS: &[&str] =
    &["fmha", "sdpa", "attention", "flash_fwd", "flash_bwd", "flashattn", "dot_do_o", "convert_dq", "mla_a"];

/// Many elements to one, and what needs that first: softmax and the normalizations.
const REDUCTION_KERNELS: &[&str] = &[
    "reduce",
    "softmax",
    "triton_red_",
    "triton_per_",
    "layer_norm",
    "layernorm",
    "rms_norm",
    "rmsnorm",
    "batch_norm",
    "batchnorm",
    "group_norm",
    "groupnorm",
    "rowwisemoments",
    "gammabeta",
    "::bn_",
    "welford",
    "devicescan",
];

/// Products and convolutions off the tensor cores, and what the libraries run before and after them.
const MATMUL_KERNELS: &[&str] = &[
    "gemm", "gemv", "splitk", "cutlass", "nvjet", "cijk_", "xmma", "scudnn", "convolve", "winograd", "dgrad",
    "wgrad", "fprop", "bmm_",
];

pub(crate) fn kernel_family(name: &str) -> KernelFamily {
    if is_comm_kernel(name) {
        return KernelFamily::Communication;
    }
    let full = demangled(name).to_ascii_lowercase();
    // Template arguments name the functions applied; what the kernel is comes before them.
    let head = full.split('<').next().unwrap_or(&full);
    let says = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    // One step of a product that was split is not a reduction of its own.
    let reduces = says(head, REDUCTION_KERNELS) && !says(head, &["splitk", "wgrad"]);
    if says(head, ELEMENTWISE_KERNELS) {
        KernelFamily::Elementwise
    } else if says(&full, ATTENTION_KERNELS) {
        KernelFamily::Attention
    } else if reduces {
        KernelFamily::Reduction
    } else if kernel_uses_tensor_cores(name) || says(&full, MATMUL_KERNELS) {
        KernelFamily::Matmul
    } else {
        KernelFamily::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_recorded_traces() {
        use KernelFamily::*;
        for (name, category) in [
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, int>(int)",
                Elementwise,
            ),
            (
                "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::Foo>()",
                Elementwise,
            ),
            ("triton_poi_fused_add_mul_pow_tanh_0", Elementwise),
            ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(float)", Reduction),
            ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 10>(float*)", Reduction),
            ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>(int)", Reduction),
            ("void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(float)", Reduction),
            ("triton_red_fused_sum_1", Reduction),
            ("nvjet_sm90_tst_64x24_64x16_2x4_h_bz_NNT", Matmul),
            ("void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(int)", Matmul),
            ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(int)", Matmul),
            ("void cudnn::cnn::reduce_wgrad_nchw_helper<float, float>(void*)", Matmul),
            ("volta_sgemm_64x64_nt", Matmul),
            ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x32x256_MI16x16x1_SN", Matmul),
            (
                "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>)",
                Attention,
            ),
            ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64", Attention),
            ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64> >()", Attention),
            ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Communication),
            ("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(int)", Communication),
            ("void at::native::vectorized_gather_kernel<16, long>(char*, char*)", Other),
            (
                "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib",
                Reduction,
            ),
            ("", Other),
        ] {
            assert_eq!(kernel_family(name), category, "{name}");
        }
    }
}
