use super::{demangled, short};

#[test]
fn elementwise_kernels_show_what_they_compute() {
    let cases = [
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
            "vectorized_elementwise_kernel<FillFunctor<float>>",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)",
            "vectorized_elementwise_kernel<CUDAFunctor_add<BFloat16>>",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int, at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul>)",
            "vectorized_elementwise_kernel<AUnaryFunctor<MulFunctor<float>>>",
        ),
        (
            "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1>)",
            "unrolled_elementwise_kernel<direct_copy_kernel_cuda(float)>",
        ),
        (
            "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1})",
            "elementwise_kernel<CUDAFunctor_add<float>>",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<8, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::(anonymous namespace)::threshold_kernel_impl<c10::BFloat16>(at::TensorIteratorBase&, c10::BFloat16, c10::BFloat16)::{lambda(c10::BFloat16, c10::BFloat16)#1}>, std::array<char*, 3ul> >(int, int)",
            "vectorized_elementwise_kernel<BinaryFunctor<threshold_kernel_impl<BFloat16>>>",
        ),
    ];
    for (name, expected) in cases {
        assert_eq!(short(name), expected);
    }
}

#[test]
fn other_templates_keep_operation_and_type() {
    let cases = [
        (
            "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListScalarListMetadata<float, 3>, at::native::(anonymous namespace)::PointwiseOpScalarListFunctor<float, 3, 3, 0>, std::divides<float> >(at::native::(anonymous namespace)::TensorListScalarListMetadata<float, 3>, at::native::(anonymous namespace)::PointwiseOpScalarListFunctor<float, 3, 3, 0>, std::divides<float>)",
            "multi_tensor_apply_kernel<PointwiseOpScalarListFunctor<float>, divides>",
        ),
        (
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, c10::BFloat16, 4, 8> >(int)",
            "reduce_kernel<sum_functor<BFloat16>>",
        ),
        (
            "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, true, false>(c10::BFloat16*, c10::BFloat16 const*, int, int, int, bool const*, int, bool)",
            "softmax_warp_forward<BFloat16>",
        ),
        (
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>(int)",
            "CatArrayBatchedCopy<OpaqueType<2>>",
        ),
        (
            "void cublasLt::epilogue::impl::globalKernel<8, 32, float, float, float, true, true, 1>(int, int, long, float*)",
            "epilogue::globalKernel<float>",
        ),
        (
            "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(cutlass_80_simt_sgemm_64x64_8x5_tn_align1::Params)",
            "cutlass_80_simt_sgemm_64x64_8x5_tn_align1",
        ),
        (
            "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)",
            "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
        ),
        (
            "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1> >, cutlass::bfloat16_t, float>, flash::CollectiveEpilogueFwd<int> > > >(int)",
            "FlashAttnFwdSm90<CollectiveMainloopFwdSm90<bfloat16_t>>",
        ),
        (
            "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::norm_kernel<c10::BFloat16, 8>(long)",
            "norm_kernel<BFloat16>",
        ),
        (
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        ),
    ];
    for (name, expected) in cases {
        assert_eq!(short(name), expected);
    }
}

#[test]
fn library_names_lose_their_build_settings() {
    let cases = [
        (
            "sm90_xmma_wgrad_indexed_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x64_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
            "sm90_xmma_wgrad_indexed_bf16_nhwc_128x64x64_segment_k_off",
        ),
        (
            "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_split_k_kernel__5x_cublas",
            "sm80_xmma_gemm_f32_nn_n_64x64x8_ffma_split_k",
        ),
        (
            "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0",
            "cudnn_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1",
        ),
        (
            "Cijk_Ailk_Bjlk_HHS_BH_Bias_HA_S_SAV_UserArgs_MT64x64x32_MI16x16x1_SN_LDSB0_WG64_4_1",
            "Cijk_Ailk_Bjlk_HHS_BH_…_MT64x64x32_MI16x16x1",
        ),
    ];
    for (name, expected) in cases {
        assert_eq!(short(name), expected);
    }
    for kept in [
        "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT",
        "triton_poi_fused_add_gelu_0",
        "Memcpy HtoD (Pinned -> Device)",
        "Memset (Device)",
        "a kernel with blanks",
    ] {
        assert_eq!(short(kept), kept);
    }
}

#[test]
fn mangled_names_are_demangled_or_at_least_named() {
    assert_eq!(demangled("_ZN5space3fooEi"), "space::foo(int)");
    assert_eq!(demangled("_Znonsense"), "_Znonsense");
    assert_eq!(short("_ZN5space3fooIfEEvPT_.kd"), "foo<float>");
    // The unresolvable tail must not hide the function's name.
    assert_eq!(short("_ZN5space3fooI!!!"), "foo");
    assert_eq!(short("_Z3foo1a!!!"), "foo");
    assert_eq!(short("_Z0"), "_Z0");
    assert_eq!(demangled(&doubling_symbol(2)), "f(a, p<a, a>, p<p<a, a>, p<a, a> >)");
    assert_eq!(demangled(&doubling_symbol(200)), doubling_symbol(200));
}

/// `f(a, p<a, a>, p<p<a, a>, p<a, a>>, …)`: each argument twice the one before, by substitution.
fn doubling_symbol(arguments: u32) -> String {
    let digit = |value: u32| char::from_digit(value, 36).unwrap().to_ascii_uppercase();
    (1..arguments).fold("_Z1f1a1pIS_S_E".to_owned(), |symbol, at| {
        let (high, low) = ((2 * at - 1) / 36, (2 * at - 1) % 36);
        let sequence = if high > 0 { format!("{}{}", digit(high), digit(low)) } else { digit(low).to_string() };
        symbol + &format!("1pIS{sequence}_S{sequence}_E")
    })
}

#[test]
fn the_chip_that_a_kernel_was_made_for_is_not_its_name() {
    let name = "void ck_tile::kentry<ck_tile::gfx950_t, 1, ck_tile::FmhaBwdDQDKDVKernel<ck_tile::BlockFmhaBwdDQDKDVPipeline<\
                ck_tile::BlockFmhaBwdPipelineProblem<std::bfloat16_t, float> > > >(int)";
    assert!(short(name).starts_with("FmhaBwdDQDKDVKernel"), "{}", short(name));
}

#[test]
fn hostile_names_are_survived() {
    let deep = 100_000;
    let hostile = [
        String::new(),
        "<".repeat(deep),
        ">".repeat(deep),
        "a<".repeat(deep) + &">".repeat(deep),
        "Kernel<".repeat(deep) + &">".repeat(deep),
        "f(".repeat(deep) + &")".repeat(deep),
        "(<{[".repeat(deep) + &"]})>".repeat(deep),
        "f<".to_owned() + &"A<int>,".repeat(deep) + ">(int)",
        "::".repeat(deep) + "f<>()",
        "_Z".to_owned() + &"N".repeat(deep),
        "_ZN3fooI".to_owned() + &"S_".repeat(4_000),
        "_Z99999999999999999999foo".to_owned(),
        doubling_symbol(200),
        "x".repeat(1 << 20),
        "é<ü>(ß)::".repeat(deep),
        "void ".to_owned(),
        "operator()<>()".to_owned(),
        "f<{lambda(".to_owned(),
    ];
    for name in &hostile {
        short(name);
    }
}
