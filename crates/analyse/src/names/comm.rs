//! Which slices are communication between devices or ranks.
//!
//! There are two rules. [`CommRule::ByName`], ours, goes by the names of kernels and host ranges;
//! [`CommRule::TensorBoard`] is the one of PyTorch's TensorBoard plugin, kept so that its figures can be
//! reproduced. They differ where the plugin's list has aged: it knows five collectives of two libraries and sees
//! a kernel only through its operator, so an all-to-all, a send, `nccl:_all_gather_base`, or a kernel
//! that belongs to `record_param_comms` (how PyTorch records it today) counts as computation there.
//! Neither rule knows hand-written collectives (`cross_device_reduce`, …): their names follow no pattern.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, SliceId, Trace};

use crate::names::by_name::ByName;

/// How communication is recognised.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommRule {
    /// By name: NCCL's and RCCL's kernels, kernels of a collective's operator, and host ranges whose name starts
    /// with a communication library's (`nccl:`, `gloo:`, …).
    #[default]
    ByName,
    /// As the TensorBoard plugin 0.4.3: operators named `nccl:` or `gloo:` and one of broadcast, reduce,
    /// all_reduce, all_gather, reduce_scatter, and the kernels that carry such an operator's External id.
    TensorBoard,
}

/// Whether this is the name of a kernel of NCCL or RCCL.
pub fn is_comm_kernel(name: &str) -> bool {
    let name = name.strip_prefix("void ").unwrap_or(name);
    // RCCL's kernels carry NCCL's names; `mscclKernel…` and `rccl…` are its own.
    ["nccl", "rccl", "mscclKernel"].iter().any(|prefix| name.starts_with(prefix))
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
struct NameIs {
    kernel: bool,
    range: bool,
}

/// Decides kernel by kernel, remembering what it learned of each name.
pub(crate) struct Comm<'a> {
    trace: &'a Trace,
    names: ByName<'a, NameIs, fn(&str) -> NameIs>,
}

impl<'a> Comm<'a> {
    pub(crate) fn new(trace: &'a Trace, rule: CommRule) -> Self {
        let question: fn(&str) -> NameIs = match rule {
            CommRule::ByName => |name| NameIs { kernel: is_comm_kernel(name), range: is_comm_range(name) },
            CommRule::TensorBoard => |name| NameIs { kernel: false, range: is_tensorboard_comm_op(name) },
        };
        Comm { trace, names: ByName::new(trace, question) }
    }

    /// Whether a kernel communicates.
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
        ] {
            assert!(is_comm_kernel(name), "{name}");
        }
        assert!(!is_comm_kernel("void at::native::vectorized_elementwise_kernel<4>()"));
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
