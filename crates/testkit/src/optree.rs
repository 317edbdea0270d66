//! Operator trees: the templates from which the simulation plays its host work.

use crate::calls::Call;

/// A forward node of the autograd graph: carries a sequence number and one end of a `fwdbwd` arrow.
pub(crate) const NODE: u8 = 1;
/// Frees the oldest block of device memory and takes a new one.
pub(crate) const ALLOC: u8 = 2;
/// The engine's wrapper around a backward node: carries the sequence number, no arrow.
pub(crate) const EVAL: u8 = 4;

#[derive(Debug)]
pub(crate) struct Op {
    pub(crate) name: &'static str,
    /// Its inputs, one letter each (see `writer`); empty for an operator recorded without inputs.
    pub(crate) sig: &'static str,
    pub(crate) flags: u8,
    pub(crate) calls: &'static [Call],
    pub(crate) kids: &'static [Op],
}

impl Op {
    pub(crate) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// How many events the operators write, children, arrows, memory and device work included.
pub(crate) fn cost(ops: &[Op]) -> u64 {
    ops.iter()
        .map(|op| {
            let own = 1 + u64::from(op.has(NODE)) + 2 * u64::from(op.has(ALLOC));
            own + op.calls.iter().map(Call::cost).sum::<u64>() + cost(op.kids)
        })
        .sum()
}

/// Builds an [`Op`] as a constant: `op!("name", "inputs", flags, [calls], [children])`.
macro_rules! op {
    ($name:expr, $sig:expr, $flags:expr, [$($call:expr),*], [$($kid:expr),* $(,)?]) => {
        crate::optree::Op { name: $name, sig: $sig, flags: $flags, calls: &[$($call),*], kids: &[$($kid),*] }
    };
}

/// Builds a backward node inside the engine's wrapper: `node!("Name", "inputs", [children])`.
macro_rules! node {
    ($name:literal, $sig:expr, [$($kid:expr),* $(,)?]) => {
        op!(
            concat!("autograd::engine::evaluate_function: ", $name), "", crate::optree::EVAL, [],
            [op!($name, $sig, crate::optree::NODE, [], [$($kid),*])]
        )
    };
}

pub(crate) use {node, op};
