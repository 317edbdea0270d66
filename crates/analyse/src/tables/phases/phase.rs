//! Which phase of a step the host was in.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Attr, CallTree, Kind, SliceId, Trace};

use crate::names::by_name::ByName;
use crate::programs::ProgramWork;
use crate::threads::host_time::HostTime;

/// A phase of a step.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The forward pass; all of inference.
    Forward,
    Backward,
    /// Forward operators that the backward pass runs again (activation checkpointing).
    Recompute,
    /// The optimizer's update of the parameters.
    Update,
    Other,
}

impl Phase {
    /// All of them, in the order of a step.
    pub const ALL: [Phase; 5] =
        [Phase::Forward, Phase::Backward, Phase::Recompute, Phase::Update, Phase::Other];

    pub fn label(self) -> &'static str {
        match self {
            Phase::Forward => "Forward",
            Phase::Backward => "Backward",
            Phase::Recompute => "Recompute",
            Phase::Update => "Update",
            Phase::Other => "Other",
        }
    }
}

/// What a host slice's name says about the phase.
#[derive(Copy, Clone, PartialEq, Eq)]
enum PhaseHint {
    Optimizer,
    /// Many tensors at once, as optimizers do.
    ManyTensors,
    /// The engine runs a node of the backward graph.
    Engine,
    /// A node that runs its forward pass again.
    Checkpoint,
    /// Another node of the backward graph.
    BackwardNode,
    /// An operator that only a backward pass needs.
    BackwardOp,
    Nothing,
}

fn says(name: &str) -> PhaseHint {
    if name.starts_with("Optimizer.step#") || name.starts_with("Optimizer.zero_grad#") {
        PhaseHint::Optimizer
    } else if name.starts_with("autograd::engine::evaluate_function") {
        PhaseHint::Engine
    } else if name.contains("CheckpointFunctionBackward") {
        PhaseHint::Checkpoint
    } else if name.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with("Backward") {
        PhaseHint::BackwardNode
    } else if name.ends_with("_backward") || name.ends_with("_backward_data") {
        PhaseHint::BackwardOp
    } else if name.starts_with("aten::_foreach_")
        || name.starts_with("aten::_fused_ada")
        || name.starts_with("aten::_fused_sgd")
    {
        PhaseHint::ManyTensors
    } else {
        PhaseHint::Nothing
    }
}

/// The phase of every host slice.
pub(crate) struct Phases {
    of: Vec<Option<Phase>>,
    /// Whether paths of compiled instructions tell gradients from the rest.
    by_path: bool,
    programs: ProgramWork,
}

impl Phases {
    pub(crate) fn new(trace: &Trace, host: &HostTime, tree: &CallTree) -> Phases {
        let slices = trace.slices();
        let mut names = ByName::new(trace, says);
        let grows = growing_nodes(trace, tree, &mut |id| names.get(slices.name(id)) == PhaseHint::Engine);
        let mut of: Vec<Option<Phase>> = vec![None; slices.len()];
        for (lane, _) in trace.lanes().iter() {
            let root = if host.backward().binary_search(&lane).is_ok() {
                Some(Phase::Backward)
            } else if host.main() == Some(lane) {
                Some(Phase::Forward)
            } else {
                None
            };
            for id in slices.of_lane(lane).filter(|&id| slices.kind(id).is_host()) {
                let parent = tree.parent(id);
                let around = parent.map_or(root, |parent| of[parent.index()]);
                let is_op = slices.kind(id) == Kind::HostOp;
                of[id.index()] = match names.get(slices.name(id)) {
                    PhaseHint::Optimizer => Some(Phase::Update),
                    PhaseHint::Engine | PhaseHint::Checkpoint | PhaseHint::BackwardNode if is_op => {
                        Some(Phase::Backward)
                    }
                    PhaseHint::BackwardOp if is_op && around != Some(Phase::Recompute) => Some(Phase::Backward),
                    PhaseHint::ManyTensors if is_op && matches!(around, None | Some(Phase::Forward)) => {
                        Some(Phase::Update)
                    }
                    PhaseHint::Nothing if is_op && around == Some(Phase::Backward) => {
                        let of_checkpoint =
                            parent.is_some_and(|p| names.get(slices.name(p)) == PhaseHint::Checkpoint);
                        let again = of_checkpoint || (is_forward(trace, id) && !grows[id.index()]);
                        Some(if again { Phase::Recompute } else { Phase::Backward })
                    }
                    _ if is_op => around.or(Some(Phase::Forward)),
                    _ => around,
                };
            }
        }
        let programs = ProgramWork::new(trace);
        let by_path = slices
            .ids()
            .filter(|&id| slices.kind(id).is_device_work())
            .any(|id| programs.instruction(trace, id).is_some_and(|i| i.op_path().contains(TRANSPOSED_MARK)));
        Phases { of, by_path, programs }
    }

    /// Whether the backward pass runs this host slice again.
    pub(crate) fn is_recompute(&self, id: SliceId) -> bool {
        self.of[id.index()] == Some(Phase::Recompute)
    }

    /// The phase in which device work was launched.
    pub(crate) fn phase_of(&self, trace: &Trace, host: &HostTime, work: SliceId) -> Phase {
        if self.by_path
            && let Some(instruction) = self.programs.instruction(trace, work)
        {
            return of_path(instruction.op_path());
        }
        let links = trace.links();
        // A call that a file gives another thread than its operator says less than the operator.
        let launch = links.launch(work).filter(|&call| host.home(trace, call) == trace.slices().lane(call));
        let known = [launch, links.op(work), links.launch(work)];
        known.into_iter().flatten().find_map(|id| self.of[id.index()]).unwrap_or(Phase::Other)
    }
}

/// How JAX writes that something is of a gradient, computed again for it, or differentiated.
const TRANSPOSED_MARK: &str = "transpose(";
const RECOMPUTED_MARK: &str = "rematted_computation";
const DIFFERENTIATED_MARK: &str = "jvp(";

/// The phase of an instruction of a program that computes gradients.
fn of_path(path: &str) -> Phase {
    if path.contains(RECOMPUTED_MARK) {
        Phase::Recompute
    } else if path.contains(TRANSPOSED_MARK) {
        Phase::Backward
    } else if path.contains(DIFFERENTIATED_MARK) {
        Phase::Forward
    } else {
        // The update, or something before or after.
        Phase::Other
    }
}

/// Whether an operator was recorded while gradients were: then it has a number for its backward operator to find it by,
/// and no forward thread. Operators of a backward pass have none, unless its own gradient is wanted.
fn is_forward(trace: &Trace, id: SliceId) -> bool {
    let args = trace.args(id);
    args.int(Attr::SequenceNumber).is_some_and(|number| number >= 0)
        && args.int(Attr::ForwardThread).is_none_or(|thread| thread == 0)
}

/// By slice: whether it is in a node of the backward pass whose operators have backward operators of their own
/// (`create_graph=True`). Such a node computes a gradient to be differentiated again; it repeats no forward pass. (What
/// a checkpoint repeats has none: the engine goes on with the graph of the first time.)
fn growing_nodes(trace: &Trace, tree: &CallTree, is_node: &mut impl FnMut(SliceId) -> bool) -> Vec<bool> {
    const NONE: u32 = u32::MAX;
    let (slices, links) = (trace.slices(), trace.links());
    let mut node = vec![NONE; slices.len()];
    let mut grows = vec![false; slices.len()];
    for id in slices.ids().filter(|&id| slices.kind(id).is_host()) {
        let is_op = slices.kind(id) == Kind::HostOp;
        let around = tree.parent(id).map_or(NONE, |parent| node[parent.index()]);
        node[id.index()] = if is_op && is_node(id) { id.index() as u32 } else { around };
        if is_op && around != NONE && node[id.index()] == around && links.backward_of(id).next().is_some() {
            grows[around as usize] = true;
        }
    }
    for at in 0..grows.len() {
        if node[at] != NONE {
            grows[at] = grows[node[at] as usize];
        }
    }
    grows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_tell_the_phases_of_jax() {
        assert_eq!(of_path("jit(step)/jvp(loss)/dot_general"), Phase::Forward);
        assert_eq!(of_path("jit(step)/transpose(jvp(loss))/dot_general"), Phase::Backward);
        assert_eq!(
            of_path("jit(step)/transpose(jvp(loss))/checkpoint/rematted_computation/tanh"),
            Phase::Recompute
        );
        assert_eq!(of_path("jit(step)/mul"), Phase::Other);
    }
}
