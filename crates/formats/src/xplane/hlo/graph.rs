//! A module as a graph that can be walked: every instruction, also those that never run by themselves.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{GraphBuilder, NewNode, ProgramGraph};

use super::module::Module;

/// The numbers that computations and instructions have in a graph.
pub(super) struct Numbers {
    /// Of a computation's first instruction, by its position in the module.
    first: Vec<u32>,
    /// Of an instruction, by its id in the module; of several with one id, the last.
    by_id: HashMap<u64, u32, RandomState>,
}

impl Numbers {
    /// The number of the instruction at a position of a computation.
    pub(super) fn node(&self, computation: usize, at: usize) -> u32 {
        self.first[computation] + at as u32
    }

    /// The numbers of the instructions by name; of a computation that is not fused, the first of a name.
    pub(super) fn by_name<'m>(&self, module: &Module<'m>) -> HashMap<&'m str, u32, RandomState> {
        let mut by_name = HashMap::default();
        for (number, computation) in module.computations.iter().enumerate().filter(|(_, c)| !c.is_fused) {
            for (at, instruction) in computation.instructions.iter().enumerate() {
                by_name.entry(instruction.name).or_insert_with(|| self.node(number, at));
            }
        }
        by_name
    }

    /// The number of the instruction with an id.
    pub(super) fn by_id(&self, id: u64) -> Option<u32> {
        self.by_id.get(&id).copied()
    }
}

pub(super) fn graph(module: &Module<'_>) -> (ProgramGraph, Numbers) {
    let mut numbers = Numbers { first: Vec::new(), by_id: HashMap::default() };
    let mut next = 0u32;
    for computation in &module.computations {
        numbers.first.push(next);
        for (at, instruction) in computation.instructions.iter().enumerate() {
            numbers.by_id.insert(instruction.id, next + at as u32);
        }
        next += computation.instructions.len() as u32;
    }
    let mut builder = GraphBuilder::default();
    let (mut operands, mut calls) = (Vec::new(), Vec::new());
    for (number, computation) in module.computations.iter().enumerate() {
        let is_fused = computation.is_fused || module.is_applied(computation.id);
        let root = computation.position(computation.root).map(|at| numbers.node(number, at));
        builder.computation(computation.name, is_fused, root);
        for instruction in &computation.instructions {
            operands.clear();
            calls.clear();
            let within = instruction.operands.iter().filter_map(|&id| computation.position(id));
            operands.extend(within.map(|at| numbers.node(number, at)));
            calls.extend(instruction.calls.iter().filter_map(|&id| module.position(id)).map(|at| at as u32));
            builder.node(NewNode {
                name: instruction.name,
                opcode: instruction.opcode,
                shape: instruction.shape.clone(),
                op_name: instruction.op_name,
                op_type: instruction.op_type,
                source: module.source(instruction),
                details: instruction.details.clone(),
                operands: &operands,
                calls: &calls,
            });
        }
    }
    (builder.finish(), numbers)
}
