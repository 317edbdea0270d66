use super::{
    TensorCores, classic_tensor_core_kernel, kernel_uses_tensor_cores, op_is_eligible, precision, tensor_cores,
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
        (
            "sm90_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x256x32_warpgroupsize2x1x1_kernel__5x_cublas",
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

#[test]
fn a_name_without_evidence_is_unknown() {
    use TensorCores::*;
    for (name, expected) in [
        // Triton's and other people's products: they may.
        ("attn_fwd", Unknown),
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x256x128x1_swiglu", Unknown),
        ("kernel_unified_attention_2d", Unknown),
        ("triton_tem_fused_mm_0", Unknown),
        ("fused_moe_kernel", Unknown),
        ("my_kernel", Unknown),
        ("", Unknown),
        // What multiplies no matrices, or does so on the ordinary cores.
        ("SubTensorOpWithCastTensor1d", No),
        ("SubTensorOpWithScalar1d", No),
        ("batched_transpose_32x16_half.kd", No),
        ("triton_poi_fused_add_mm_0", No),
        ("triton_red_fused_sum_1", No),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int)", No),
        ("void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*)", No),
        ("void vllm::reshape_and_cache_kernel<__nv_bfloat16>(int)", No),
        ("void fbgemm_gpu::permute_2D_data_kernel<false, int, int>(int, int)", No),
        ("volta_sgemm_128x32_nt", No),
        ("Cijk_Ailk_Bjlk_SB_MT64x64x8_SN_MIAV0_MIWT1_1_WG16_16_1", No),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", No),
        ("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(int)", No),
        // A word in the name of an operator's kernel proves nothing against a mark.
        ("nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT", Yes),
        ("cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8", Yes),
    ] {
        assert_eq!(tensor_cores(name), expected, "{name}");
    }
    for (name, _) in H200_TENSOR {
        assert_eq!(tensor_cores(name), Yes, "{name}");
    }
    for (name, _) in &H200_PLAIN[..H200_PLAIN.len() - 1] {
        assert_eq!(tensor_cores(name), No, "{name}");
    }
}
