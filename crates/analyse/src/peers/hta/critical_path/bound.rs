//! What each edge of a critical path says the run is bound by.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::Trace;

use super::graph::{Edge, EdgeKind};
use crate::names::by_name::ByName;

/// What the time of an edge is spent on. The names in machine output are HTA's.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub enum HtaBound {
    /// Operators and calls on the host.
    #[serde(rename = "cpu_bound")]
    Cpu,
    /// Host ranges named as data loading.
    #[serde(rename = "data_loading")]
    DataLoading,
    /// Kernels but those of communication, copies and memsets.
    #[serde(rename = "gpu_compute_bound")]
    GpuCompute,
    #[serde(rename = "gpu_communication_bound")]
    GpuCommunication,
    /// Between one kernel and the next.
    #[serde(rename = "gpu_kernel_kernel_overhead")]
    KernelKernel,
    /// Between a call and its kernel.
    #[serde(rename = "gpu_kernel_launch_overhead")]
    KernelLaunch,
    /// Dependencies, which take no time. HTA leaves their name empty.
    #[serde(rename = "dependency")]
    Dependency,
}

impl HtaBound {
    pub const ALL: [HtaBound; 7] = [
        HtaBound::Cpu,
        HtaBound::DataLoading,
        HtaBound::GpuCompute,
        HtaBound::GpuCommunication,
        HtaBound::KernelKernel,
        HtaBound::KernelLaunch,
        HtaBound::Dependency,
    ];
}

/// The bound of each edge.
pub(super) fn bounds<'e>(
    trace: &Trace,
    data_loading: &[String],
    edges: impl Iterator<Item = &'e Edge>,
) -> Vec<HtaBound> {
    let slices = trace.slices();
    let mut communicates = ByName::new(trace, is_communication);
    let mut loads = ByName::new(trace, |name: &str| is_data_loading(name, data_loading));
    let bound = |edge: &Edge| match (edge.kind, edge.slice) {
        (EdgeKind::KernelKernelDelay, _) => HtaBound::KernelKernel,
        (EdgeKind::LaunchDelay, _) => HtaBound::KernelLaunch,
        (EdgeKind::Dependency | EdgeKind::SyncDependency, _) => HtaBound::Dependency,
        (EdgeKind::OperatorKernel, Some(id)) if slices.kind(id).is_device() => {
            if communicates.get(slices.name(id)) { HtaBound::GpuCommunication } else { HtaBound::GpuCompute }
        }
        (EdgeKind::OperatorKernel, Some(id)) if loads.get(slices.name(id)) => HtaBound::DataLoading,
        (EdgeKind::OperatorKernel, _) => HtaBound::Cpu,
    };
    edges.map(bound).collect()
}

/// Whether a name is one of those that stand for data loading: it contains one of the texts.
pub(super) fn is_data_loading(name: &str, data_loading: &[String]) -> bool {
    data_loading.iter().any(|part| name.contains(part.as_str()))
}

/// Whether HTA takes a kernel for communication, by its name without arguments and return type.
fn is_communication(name: &str) -> bool {
    let mut depth = 0usize;
    let mut short = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => short.clear(),
            _ if depth == 0 => short.push(c),
            _ => {}
        }
    }
    ["nccl", "hip", "hccl"].iter().any(|start| short.starts_with(start)) || short.contains("ncclKernel")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communication_by_short_name() {
        assert!(is_communication("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"));
        assert!(is_communication("void ncclKernel<float>(int)"));
        assert!(!is_communication("void at::native::kernel<nccl>(ncclComm)"));
        assert!(!is_communication("Memcpy DtoH (Device -> Pageable)"));
    }
}
