//! The memory that the compiler gave to a program (`BufferAssignmentProto`).

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_ground::protobuf::{self, Field, Fields};
use stepscope_model::{
    BufferAllocation, BufferAssignment, HeapAction, HeapEvent, HeapSimulation, ProgramBuffer,
};

use super::graph::Numbers;
use super::module::Module;

pub(super) fn read(message: &[u8], module: &Module<'_>, numbers: &Numbers) -> BufferAssignment {
    let by_name = numbers.by_name(module);
    let mut found = BufferAssignment::default();
    for field in Fields::new(message).flatten() {
        match field {
            (1, Field::Bytes(bytes)) => found.buffers.push(buffer(bytes, numbers)),
            (3, Field::Bytes(bytes)) => found.allocations.push(allocation(bytes)),
            (4, Field::Bytes(bytes)) => found.simulations.push(simulation(bytes, &by_name)),
            _ => {}
        }
    }
    found
}

fn buffer(message: &[u8], numbers: &Numbers) -> ProgramBuffer {
    let mut found = ProgramBuffer::default();
    for field in Fields::new(message).flatten() {
        match field {
            (1, Field::Number(id)) => found.id = id,
            (2, Field::Number(bytes)) => found.bytes = bytes,
            (3, Field::Bytes(origin)) => {
                for field in Fields::new(origin).flatten() {
                    match field {
                        (4, Field::Number(id)) => found.node = numbers.by_id(id),
                        // What came before the damage counts.
                        (3, list) => drop(protobuf::numbers(list, &mut found.part)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    found
}

fn allocation(message: &[u8]) -> BufferAllocation {
    let mut found = BufferAllocation::default();
    for field in Fields::new(message).flatten() {
        match field {
            (2, Field::Number(bytes)) => found.bytes = bytes,
            (3, Field::Number(local)) => found.is_local = local != 0,
            (5, Field::Number(argument)) => found.is_argument = argument != 0,
            (7, Field::Number(live)) => found.is_result = live != 0,
            (9, Field::Bytes(part)) => {
                let (mut id, mut bytes) = (0, 0);
                for field in Fields::new(part).flatten() {
                    match field {
                        (1, Field::Number(number)) => id = number,
                        (3, Field::Number(number)) => bytes = number,
                        _ => {}
                    }
                }
                found.buffers.push((id, bytes));
            }
            (12, Field::Number(constant)) => found.is_constant = constant != 0,
            (13, Field::Number(aliased)) => found.is_aliased = aliased != 0,
            _ => {}
        }
    }
    found
}

/// A `HeapSimulatorTrace`.
fn simulation(message: &[u8], by_name: &HashMap<&str, u32, RandomState>) -> HeapSimulation {
    let mut simulation = HeapSimulation::default();
    for field in Fields::new(message).flatten() {
        match field {
            (1, Field::Bytes(bytes)) => {
                let (mut kind, mut buffer, mut with, mut name) = (0, 0, 0, "");
                for field in Fields::new(bytes).flatten() {
                    match field {
                        (1, Field::Number(number)) => kind = number,
                        (2, Field::Number(number)) => buffer = number,
                        (4, Field::Bytes(bytes)) => name = std::str::from_utf8(bytes).unwrap_or_default(),
                        (5, Field::Number(number)) => with = number,
                        _ => {}
                    }
                }
                let action = match kind {
                    0 => HeapAction::Allocate,
                    1 => HeapAction::Free,
                    2 => HeapAction::Share(with),
                    _ => continue,
                };
                simulation.events.push(HeapEvent { buffer, action, node: by_name.get(name).copied() });
            }
            (2, Field::Number(number)) => simulation.is_whole = number != 0,
            _ => {}
        }
    }
    simulation
}
