//! The device calls an operator can make: launches, copies, memsets and bare runtime calls.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    Kernel,
    Memcpy,
    Memset,
}

/// A host call into the CUDA runtime or driver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Api {
    pub(crate) name: &'static str,
    pub(crate) cat: &'static str,
    pub(crate) cbid: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) activity: Activity,
    pub(crate) api: Api,
    pub(crate) ns: u64,
    pub(crate) grid: [u64; 3],
    pub(crate) block: [u64; 3],
    pub(crate) registers: u64,
    pub(crate) shared: u64,
    /// Whether some of its launches go to another stream than the first.
    pub(crate) side: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Call {
    Launch(&'static Work),
    Query(&'static Api),
    /// A runtime call that waits until the first stream is idle.
    Sync(&'static Api),
}

impl Call {
    /// How many events the call writes, flow arrows included.
    pub(crate) const fn cost(&self) -> u64 {
        match self {
            Self::Launch(_) => 4,
            Self::Query(_) | Self::Sync(_) => 2,
        }
    }
}

const LAUNCH: Api = Api { name: "cudaLaunchKernel", cat: "cuda_runtime", cbid: 211 };
const LAUNCH_EX: Api = Api { name: "cuLaunchKernelEx", cat: "cuda_driver", cbid: 652 };
const MEMCPY: Api = Api { name: "cudaMemcpyAsync", cat: "cuda_runtime", cbid: 41 };
const MEMSET: Api = Api { name: "cudaMemsetAsync", cat: "cuda_runtime", cbid: 51 };
pub(crate) const IS_CAPTURING: Api = Api { name: "cudaStreamIsCapturing", cat: "cuda_runtime", cbid: 317 };
pub(crate) const ERROR_STRING: Api = Api { name: "cudaGetErrorString", cat: "cuda_runtime", cbid: 11 };
pub(crate) const STREAM_SYNC: Api = Api { name: "cudaStreamSynchronize", cat: "cuda_runtime", cbid: 131 };

const fn kernel(name: &'static str, api: Api, ns: u64, grid: [u64; 3], threads: u64) -> Work {
    let block = [threads, 1, 1];
    Work { name, activity: Activity::Kernel, api, ns, grid, block, registers: 32, shared: 0, side: false }
}

const fn gemm(name: &'static str, ns: u64, grid: [u64; 3]) -> Work {
    let mut work = kernel(name, LAUNCH_EX, ns, grid, 384);
    work.registers = 168;
    work.shared = 213_268;
    work
}

const fn transfer(name: &'static str, activity: Activity, api: Api, ns: u64) -> Work {
    let none = [0, 0, 0];
    Work { name, activity, api, ns, grid: none, block: none, registers: 0, shared: 0, side: false }
}

const fn on_side(mut work: Work) -> Work {
    work.side = true;
    work
}

pub(crate) static COPY_CAST: Work = on_side(kernel(
    "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul>)",
    LAUNCH,
    1_850,
    [768, 1, 1],
    128,
));
pub(crate) static COPY: Work = on_side(kernel(
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}, std::array<char*, 2ul>, 4>(int, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}, std::array<char*, 2ul>)",
    LAUNCH,
    3_250,
    [2_048, 1, 1],
    128,
));
pub(crate) static GEMM_BIAS: Work = gemm("nvjet_sm90_tst_64x24_64x16_2x4_h_bz_bias_TNT", 4_770, [8, 12, 1]);
pub(crate) static GEMM_NN: Work = gemm("nvjet_sm90_tst_64x24_64x16_2x4_h_bz_NNT", 5_040, [8, 12, 1]);
pub(crate) static GEMM_NT: Work = on_side(gemm("nvjet_sm90_tst_64x128_64x8_2x1_v_bz_NTN", 4_000, [2, 64, 1]));
pub(crate) static NORM: Work = kernel(
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int, float, float const*, float const*, float const*, float*, float*, float*)",
    LAUNCH,
    3_110,
    [256, 1, 1],
    128,
);
pub(crate) static NORM_GRAD: Work = kernel(
    "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<float, float, false>(float const*, float const*, float const*, float const*, float const*, float*, int)",
    LAUNCH,
    2_620,
    [256, 1, 1],
    128,
);
pub(crate) static GAMMA_GRAD: Work = kernel(
    "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float, 32u, 32u, 256u, false, true, false>(long, long, float const*, float const*, float*, float*)",
    LAUNCH,
    2_380,
    [16, 1, 1],
    1_024,
);
pub(crate) static ADD: Work = kernel(
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    LAUNCH,
    1_210,
    [128, 1, 1],
    128,
);
pub(crate) static GELU: Work = kernel(
    "void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int)",
    LAUNCH,
    1_820,
    [512, 1, 1],
    128,
);
pub(crate) static GELU_GRAD: Work = kernel(
    "void at::native::vectorized_elementwise_kernel<8, at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda(c10::BFloat16, c10::BFloat16)#1}, std::array<char*, 3ul> >(int)",
    LAUNCH,
    2_050,
    [512, 1, 1],
    128,
);
pub(crate) static REDUCE: Work = kernel(
    "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, c10::BFloat16>, unsigned int, c10::BFloat16, 4, 4> >(at::native::ReduceOp<c10::BFloat16>)",
    LAUNCH,
    6_140,
    [4, 1, 1],
    128,
);
pub(crate) static ATTENTION: Work = gemm(
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0",
    4_720,
    [16, 1, 1],
);
pub(crate) static ATTENTION_GRAD: Work = gemm(
    "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1_cga1x1x1_kernel0_0",
    9_100,
    [16, 1, 1],
);
pub(crate) static ADAM: Work = kernel(
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4> >(int)",
    LAUNCH,
    48_300,
    [320, 1, 1],
    512,
);
pub(crate) static COPY_IN: Work = transfer("Memcpy HtoD (Pageable -> Device)", Activity::Memcpy, MEMCPY, 900);
pub(crate) static COPY_OUT: Work =
    transfer("Memcpy DtoH (Device -> Pageable)", Activity::Memcpy, MEMCPY, 1_200);
pub(crate) static FILL: Work = transfer("Memset (Device)", Activity::Memset, MEMSET, 740);
