//! Which kernels use tensor cores, which were launched by operators that could, and what each keeps resident.

use stepscope_model::{CallTree, Domain, Kind, SliceId, Trace};

use crate::devices::memory_bandwidth::MemoryBandwidth;
use crate::devices::occupancy::Occupancy;
use crate::names::by_name::ByName;
use crate::names::tensor_core::{TensorCores, op_is_eligible, tensor_cores};

#[derive(Copy, Clone)]
pub(crate) struct KernelTraits {
    pub(crate) tensor_core: TensorCores,
    pub(crate) eligible: bool,
}

/// Whether kernels use tensor cores, and whether their operators could.
pub(crate) struct KernelKinds<'a> {
    trace: &'a Trace,
    tensor_core: ByName<'a, TensorCores, fn(&str) -> TensorCores>,
    pub(crate) occupancy: Occupancy,
    /// What was measured of the devices' memory.
    pub(crate) memory: MemoryBandwidth,
    /// For host slices: it or a slice around it is an operator that could use tensor cores.
    eligible: Vec<bool>,
}

impl<'a> KernelKinds<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Self {
        let slices = trace.slices();
        let counts = |kind: Kind| kind == Kind::HostOp || kind.is_runtime();
        let tree = CallTree::build(trace, counts);
        let mut ops = ByName::new(trace, op_is_eligible);
        let mut eligible = vec![false; slices.len()];
        for (lane, _) in trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Host) {
            for id in slices.of_lane(lane).filter(|&id| counts(slices.kind(id))) {
                // A parent comes before its children, so its answer is there already.
                let inherited = tree.parent(id).is_some_and(|parent| eligible[parent.index()]);
                eligible[id.index()] =
                    inherited || (slices.kind(id) == Kind::HostOp && ops.get(slices.name(id)));
            }
        }
        let tensor_core = ByName::new(trace, tensor_cores as fn(&str) -> TensorCores);
        KernelKinds {
            trace,
            tensor_core,
            occupancy: Occupancy::new(trace),
            memory: MemoryBandwidth::new(trace),
            eligible,
        }
    }

    pub(crate) fn traits_of(&mut self, kernel: SliceId) -> KernelTraits {
        let links = self.trace.links();
        // The operator by External id; where that is missing, whatever the launching call lies in.
        let known = [links.op(kernel), links.launch(kernel)];
        KernelTraits {
            tensor_core: self.tensor_core.get(self.trace.slices().name(kernel)),
            eligible: known.into_iter().flatten().any(|id| self.eligible[id.index()]),
        }
    }
}
