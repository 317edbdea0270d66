//! Compiled programs (`HloProto`): which instructions there are, where they come from, and the memory they were given.

mod buffers;
mod graph;
mod module;
mod shape;

use stepscope_ground::protobuf::{Field, Fields};
use stepscope_model::Program;

use module::Module;

/// The program in a serialized `HloProto`; none if it holds no module. `named` is how the profile calls it.
pub(crate) fn program(message: &[u8], number: Option<i64>, named: &str) -> Option<Program> {
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
    let (graph, numbers) = graph::graph(&module);
    let mut scheduled = Vec::new();
    for (number, computation) in module.computations.iter().enumerate() {
        if !computation.is_fused && !module.is_applied(computation.id) {
            let run =
                module.order(computation).into_iter().filter(|&at| !computation.instructions[at].is_free());
            scheduled.extend(run.map(|at| numbers.node(number, at)));
        }
    }
    let buffers = buffers.map(|buffers| buffers::read(buffers, &module, &numbers));
    let name = if module.name.is_empty() { named } else { module.name };
    Some(Program::new(id, name.to_owned(), graph, scheduled, buffers))
}

/// The number that older profiles write only into the name: `jit_loss_fn(17)`.
fn number_in(name: &str) -> Option<i64> {
    name.strip_suffix(')')?.rsplit_once('(')?.1.parse().ok()
}
