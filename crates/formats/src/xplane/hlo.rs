//! Compiled programs (`HloProto`): which instructions there are, where they come from, and what they cost.
//!
//! Profiles of CPUs and GPUs have neither arithmetic nor bytes nor source lines in their events; they have the programs
//! that ran. Costs are counted here from shapes, with a cost model of our own.

mod buffers;
mod category;
mod cost;
mod graph;
mod module;
mod shape;

use stepscope_model::{Instruction, Program};

use cost::Costs;
use module::Module;
use stepscope_ground::protobuf::{Field, Fields};

/// The program in a serialized `HloProto`; none if it holds no module. `named` is how the profile calls it.
pub(super) fn program(message: &[u8], number: Option<i64>, named: &str) -> Option<Program> {
    let (mut module, mut buffers) = (None, None);
    for field in Fields::new(message).flatten() {
        match field {
            (1, Field::Bytes(bytes)) => module = Some(bytes),
            (3, Field::Bytes(bytes)) => buffers = Some(bytes),
            _ => {}
        }
    }
    let module = Module::read(module?);
    let id = number.or_else(|| number_in(named)).unwrap_or(module.id);
    let costs = Costs::new(&module);
    let (graph, numbers) = graph::graph(&module);
    let mut instructions = Vec::new();
    for (number, computation) in module.computations.iter().enumerate() {
        if computation.is_fused || module.is_applied(computation.id) {
            continue;
        }
        for at in module.order(computation) {
            let instruction = &computation.instructions[at];
            if instruction.is_free() {
                continue;
            }
            let cost = costs.of(computation, instruction);
            instructions.push(Instruction {
                name: instruction.name.to_owned(),
                opcode: instruction.opcode.to_owned(),
                kind: cost.kind,
                op_path: instruction.op_path.to_owned(),
                source: module.source(instruction),
                flops: cost.flops,
                bytes: cost.bytes,
                element: cost.element,
                rounded: cost.rounded,
                shape: instruction.shape.text(),
                node: numbers.node(number, at),
                computation: number as u32,
                category: category::of(instruction),
                framework_op: match (instruction.op_name, instruction.op_type) {
                    ("", "") => String::new(),
                    (name, kind) => format!("{name}:{kind}"),
                },
            });
        }
    }
    let memory = buffers.map(|buffers| buffers::read(buffers, &module, &numbers));
    let name = if module.name.is_empty() { named } else { module.name };
    Some(Program::new(id, name.to_owned(), instructions, graph, memory))
}

/// The number that older profiles write only into the name: `jit_loss_fn(17)`.
fn number_in(name: &str) -> Option<i64> {
    name.strip_suffix(')')?.rsplit_once('(')?.1.parse().ok()
}
