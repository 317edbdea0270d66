//! Which operators repeat work of the forward pass because its results were not kept: activation checkpointing.
//!
//! The backward pass runs a node at a time, each inside an `autograd::engine::evaluate_function`. What a node computes
//! itself has no sequence number, because it is not differentiated; operators of a forward pass have one. So operators
//! with a number, inside a node whose last operator has none, are a forward pass that the node ran first to get what it
//! needs: `torch.utils.checkpoint` without `use_reentrant`. With it, the node is a `CheckpointFunctionBackward`, and all
//! it runs before it starts the engine again is that forward pass. In a gradient that is differentiated again
//! (`create_graph=True`) a node's own operators have numbers to the last, so nothing of it counts.

use stepscope_model::{Attr, SliceId, Trace};

use super::work::{EnclosingOps, host_ops};
use crate::names::by_name::ByName;

/// What an operator's name says about its place in a backward pass.
#[derive(Copy, Clone, PartialEq, Eq)]
enum BackwardPlace {
    /// The engine, about to run a node.
    Engine,
    /// A node that runs a forward pass again.
    Checkpoint,
    Elsewhere,
}

fn place(name: &str) -> BackwardPlace {
    if name.starts_with("autograd::engine::evaluate_function") {
        BackwardPlace::Engine
    } else if name.starts_with("CheckpointFunction") && name.contains("Backward") {
        BackwardPlace::Checkpoint
    } else {
        BackwardPlace::Elsewhere
    }
}

/// For each slice, whether it is an operator that repeats work of the forward pass.
pub(super) fn recomputed(trace: &Trace, around: &EnclosingOps) -> Vec<bool> {
    let slices = trace.slices();
    let mut places = ByName::new(trace, place);
    let mut place = |id: SliceId| places.get(slices.name(id));
    let numbered = |id: SliceId| trace.args(id).int(Attr::SequenceNumber).is_some();
    // By node: whether its operators, the last one of which decides, may be those of a forward pass.
    let mut is_node = vec![false; slices.len()];
    let mut first_are_forward = vec![false; slices.len()];
    for id in host_ops(trace) {
        let Some(parent) = around.op(id) else { continue };
        let at = place(id);
        is_node[id.index()] = at == BackwardPlace::Checkpoint
            || (at == BackwardPlace::Elsewhere && place(parent) == BackwardPlace::Engine);
        if is_node[parent.index()] && at != BackwardPlace::Engine {
            first_are_forward[parent.index()] = !numbered(id);
        }
    }
    let mut recomputed = vec![false; slices.len()];
    for id in host_ops(trace) {
        let Some(parent) = around.op(id) else { continue };
        let p = parent.index();
        recomputed[id.index()] = place(id) != BackwardPlace::Engine
            && (recomputed[p]
                || place(parent) == BackwardPlace::Checkpoint
                || (is_node[p] && first_are_forward[p] && numbered(id)));
    }
    recomputed
}
