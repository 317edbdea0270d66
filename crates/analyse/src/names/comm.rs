//! Which slices are communication between devices or ranks.
//!
//! There are two rules. [`CommRule::ByName`], ours, goes by the names of kernels and host ranges;
//! [`CommRule::TensorBoard`] is the one of PyTorch's TensorBoard plugin, kept so that its numbers can be
//! reproduced. They differ where the plugin's list has aged: it knows five collectives of two libraries and sees
//! a kernel only through its operator, so an all-to-all, a send, `nccl:_all_gather_base`, or a kernel
//! that belongs to `record_param_comms` (how PyTorch records it today) counts as computation there.
//! Hand-written collectives (`multimem_all_reduce_kernel`, `cross_device_reduce_1stage`, …) are known by the words that
//! their authors use; one that is called otherwise counts as computation.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, SliceId, Trace};

use crate::names::by_name::ByName;

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommRule {
    /// By name: NCCL's, RCCL's and hand-written kernels, kernels of a collective's operator, and host ranges whose name starts
    /// with a communication library's (`nccl:`, `gloo:`, …).
    #[default]
    ByName,
    /// As the TensorBoard plugin 0.4.3: operators named `nccl:` or `gloo:` and one of broadcast, reduce,
    /// all_reduce, all_gather, reduce_scatter, and the kernels that carry such an operator's External id.
    TensorBoard,
}

/// What the kernels of other collectives than NCCL's are called: PyTorch's symmetric memory (`one_shot_all_reduce`,
/// `multimem_all_gather_kernel`), vLLM's, SGLang's, AITER's and TensorRT-LLM's (`cross_device_reduce_2stage`,
/// `allreduce_fusion_kernel`, `quickreduce`), NVSHMEM's and DeepEP's.
const HAND_WRITTEN_KERNELS: [&str; 18] = [
    "all_reduce",
    "allreduce",
    "cross_device_reduce",
    "crossdevicereduce",
    "quickreduce",
    "quick_reduce",
    "reduce_scatter",
    "reducescatter",
    "all_gather",
    "allgather",
    "all_to_all",
    "alltoall",
    "multimem_",
    "nvshmem",
    "rocshmem",
    "symm_mem",
    "deep_ep::",
    "mscclpp",
];

/// Whether this is the name of a kernel that communicates: NCCL's, RCCL's or a hand-written one.
pub fn is_comm_kernel(name: &str) -> bool {
    let name = name.strip_prefix("void ").unwrap_or(name);
    // RCCL's kernels carry NCCL's names; `mscclKernel…` and `rccl…` are its own.
    if ["nccl", "rccl", "mscclKernel"].iter().any(|prefix| name.starts_with(prefix)) {
        return true;
    }
    // A product in a template's argument, or Inductor's list of what it fused, does not communicate by itself.
    let head = name.split('<').next().unwrap_or(name).to_ascii_lowercase();
    !head.starts_with("triton_") && HAND_WRITTEN_KERNELS.iter().any(|word| head.contains(word))
}

/// Whether this is the name of a host range in which a communication library works.
pub fn is_comm_range(name: &str) -> bool {
    const LIBRARIES: [&str; 7] = ["nccl", "rccl", "gloo", "ucc", "mpi", "xccl", "hccl"];
    name.split_once(':').is_some_and(|(library, rest)| !rest.starts_with(':') && LIBRARIES.contains(&library))
}

/// Whether the TensorBoard plugin takes an operator of this name for communication.
pub fn is_tensorboard_comm_op(name: &str) -> bool {
    const COLLECTIVES: [&str; 5] = ["broadcast", "reduce", "all_reduce", "all_gather", "reduce_scatter"];
    let collective = name.strip_prefix("nccl:").or_else(|| name.strip_prefix("gloo:"));
    collective.is_some_and(|c| COLLECTIVES.contains(&c))
}

impl CommRule {
    /// Whether a host range of this name is communication.
    pub fn is_range(self, name: &str) -> bool {
        match self {
            CommRule::ByName => is_comm_range(name),
            CommRule::TensorBoard => is_tensorboard_comm_op(name),
        }
    }
}

#[derive(Copy, Clone)]
struct NameTraits {
    kernel: bool,
    range: bool,
}

/// Decides kernel by kernel, remembering what it learned of each name.
pub(crate) struct Comm<'a> {
    trace: &'a Trace,
    names: ByName<'a, NameTraits, fn(&str) -> NameTraits>,
}

impl<'a> Comm<'a> {
    pub(crate) fn new(trace: &'a Trace, rule: CommRule) -> Self {
        let question: fn(&str) -> NameTraits = match rule {
            CommRule::ByName => |name| NameTraits { kernel: is_comm_kernel(name), range: is_comm_range(name) },
            CommRule::TensorBoard => |name| NameTraits { kernel: false, range: is_tensorboard_comm_op(name) },
        };
        Comm { trace, names: ByName::new(trace, question) }
    }

    pub(crate) fn kernel(&mut self, id: SliceId) -> bool {
        debug_assert!(self.trace.slices().kind(id) == Kind::Kernel);
        if self.names.get(self.trace.slices().name(id)).kernel {
            return true;
        }
        let op = self.trace.links().op(id);
        op.is_some_and(|op| self.names.get(self.trace.slices().name(op)).range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_and_ranges_by_name() {
        for name in [
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)",
            "ncclAllReduceRingLLKernel_sum_f32(ncclColl)",
            "mscclKernel_Sum_half_Simple_false(ncclDevComm*)",
            "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
            "void c10d::symmetric_memory::(anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(int)",
            "void (anonymous namespace)::one_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(int)",
            "void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 8>(int)",
            "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)",
            "void sglang::cross_device_reduce_2stage<half, 4>(int)",
            "_ZN5aiter26cross_device_reduce_1stageIDF16bLi8EEEvPNS_8RankDataE",
            "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<3, __nv_bfloat16>(int)",
            "nvshmemi_transfer_rma_nbi",
        ] {
            assert!(is_comm_kernel(name), "{name}");
        }
        for name in [
            "void at::native::vectorized_elementwise_kernel<4>()",
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(float)",
            "triton_poi_fused_all_gather_into_tensor_0",
            "void cublasLt::splitKreduce_kernel<32, 16, int, float>(int)",
            "",
        ] {
            assert!(!is_comm_kernel(name), "{name}");
        }
        for name in ["nccl:all_reduce", "nccl:_all_gather_base", "nccl:send 0->1", "gloo:all_reduce"] {
            assert!(is_comm_range(name), "{name}");
        }
        for name in ["aten::mm", "mpi::helper", "c10d::allreduce_", "nccl", ""] {
            assert!(!is_comm_range(name), "{name}");
        }
        assert!(is_tensorboard_comm_op("gloo:reduce_scatter"));
        assert!(!is_tensorboard_comm_op("nccl:_all_gather_base"));
        assert!(!is_tensorboard_comm_op("nccl:all_to_all"));
    }
}
