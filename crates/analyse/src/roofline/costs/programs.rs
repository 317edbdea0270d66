//! Costs of device work whose program the file describes: each instruction is a call, whatever launched it.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, Domain, Kind, LaneId, SliceId, Trace};

use super::{Cost, NoCost, OpCost, OpCosts, finish};
use crate::names::by_name::ByName;
use crate::names::comm::is_comm_kernel;
use crate::programs::{InstructionAt, InstructionCost, InstructionKind, ProgramWork};
use crate::roofline::cost::Family;
use crate::roofline::number::{Pipe, Precision};
use crate::scope::selection::{Selection, device_of};

/// What makes kernels one call: the operator that launched them, and their instruction.
type Key = (SliceId, Place);

/// A program's number, and a position in its schedule.
type Place = (i64, u32);

/// The costs of a trace's instructions; none where it describes no programs.
pub(super) fn op_costs(trace: &Trace, selection: &Selection, programs: &ProgramWork) -> Option<OpCosts> {
    if trace.programs().is_empty() {
        return None;
    }
    let slices = trace.slices();
    let mut calls: HashMap<Key, u32, RandomState> = HashMap::default();
    let mut ops: Vec<(OpCost, Vec<SliceId>)> = Vec::new();
    let mut costs = OpCosts::default();
    let mut comm = ByName::new(trace, is_comm_kernel);
    // The instruction, the lane and the call of the work before.
    let mut before: Option<(Place, LaneId, u32)> = None;
    let lanes = trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Device);
    for id in lanes.flat_map(|(lane, _)| slices.of_lane(lane)).filter(|&id| slices.kind(id).is_device_work()) {
        if !selection.contains(trace, id) {
            continue;
        }
        costs.device_ns = costs.device_ns.saturating_add(slices.dur(id).0);
        let placed = programs.at(trace, id);
        let own = placed.and_then(|placed| programs.cost(placed.program, placed.at));
        let Some((placed, own, cost)) = placed.zip(own).and_then(|(at, own)| Some((at, own, cost(own)?)))
        else {
            let communicates = slices.kind(id) == Kind::Kernel && comm.get(slices.name(id))
                || own.is_some_and(|own| own.kind == InstructionKind::Collective);
            let why = match placed {
                _ if communicates => NoCost::Communication,
                Some(_) => NoCost::NoModel,
                None => NoCost::NoOperator,
            };
            costs.without.push((id, trace.links().op(id), why));
            continue;
        };
        let InstructionAt { program, at, instruction, by_order } = placed;
        let (which, lane) = ((program.id, at), slices.lane(id));
        // An instruction may take several kernels; without an operator around them, those that follow each other are
        // one call. Work of a graph that is recognized by its own name is a call of its own.
        let named = by_order
            || trace.args(id).text_id(Attr::Instruction).is_some_and(|n| trace.text(n) == instruction.name);
        let key = match trace.links().op(id) {
            Some(op) if named => (op, which),
            _ => (id, which),
        };
        let again = before.filter(|b| named && key.0 == id && (b.0, b.1) == (which, lane)).map(|b| b.2);
        let at = again.unwrap_or_else(|| {
            *calls.entry(key).or_insert_with(|| {
                let named = trace.links().op(id).filter(|&op| trace.name(op) == instruction.name);
                let rounds = own.rounded && cost.precision == Precision::Fp32 && rounds_to_tf32(trace, id);
                let mut op = OpCost::new(named.unwrap_or(id), cost);
                if rounds {
                    op.precision = Precision::Tf32;
                }
                ops.push((op, Vec::new()));
                (ops.len() - 1) as u32
            })
        });
        before = Some((which, lane, at));
        let (op, kernels) = &mut ops[at as usize];
        op.kernels += 1;
        op.device_ns = op.device_ns.saturating_add(slices.dur(id).0);
        kernels.push(id);
    }
    ops.sort_by_key(|(op, _)| op.slice);
    for (mut op, kernels) in ops {
        op.first_kernel = costs.kernels.len() as u32;
        costs.kernels.extend(kernels);
        costs.ops.push(op);
    }
    finish(trace, &mut costs);
    Some(costs)
}

/// What an instruction costs, if that is known.
fn cost(instruction: InstructionCost) -> Option<Cost> {
    let (flops, bytes) = (instruction.flops?, instruction.bytes?);
    let family = match instruction.kind {
        InstructionKind::Matmul => Family::Gemm,
        InstructionKind::Convolution => Family::Convolution,
        InstructionKind::Reduction => Family::Reduction,
        InstructionKind::Elementwise => Family::Elementwise,
        InstructionKind::Movement => Family::Copy,
        InstructionKind::Collective | InstructionKind::Control => return None,
        InstructionKind::CustomCall | InstructionKind::Other => Family::Compiled,
    };
    let precision = precision(instruction.element);
    let multiplies = matches!(instruction.kind, InstructionKind::Matmul | InstructionKind::Convolution);
    Some(Cost {
        family,
        flops,
        recomputed: 0,
        // Only their sum is known, and only that matters.
        read: bytes,
        written: 0,
        precision: precision.unwrap_or(Precision::Fp32),
        data: precision,
        pipe: if multiplies { Pipe::Matrix } else { Pipe::Vector },
    })
}

/// The arithmetic of a type, by the compiler's name for it.
fn precision(element: &str) -> Option<Precision> {
    match element {
        "f64" | "c128" => Some(Precision::Fp64),
        "f32" | "c64" => Some(Precision::Fp32),
        "f16" => Some(Precision::Fp16),
        "bf16" => Some(Precision::Bf16),
        "s8" | "u8" => Some(Precision::Int8),
        narrow if narrow.starts_with("f8") => Some(Precision::Fp8),
        narrow if narrow.starts_with("f4") => Some(Precision::Fp4),
        _ => None,
    }
}

/// Whether products of floats that may be rounded are, on the device of a kernel: NVIDIA's since Ampere.
fn rounds_to_tf32(trace: &Trace, kernel: SliceId) -> bool {
    let described = trace.meta().described(device_of(trace, kernel));
    described.is_some_and(|d| d.name.contains("NVIDIA") && d.compute_major.is_some_and(|major| major >= 8))
}
