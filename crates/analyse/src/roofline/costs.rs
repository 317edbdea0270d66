//! Which calls of a trace have a cost, and which device work belongs to each.
//!
//! The rule, which keeps every kernel in one place and every operation counted once: going inwards from the
//! outermost operator, the first one with a cost takes all device work launched inside it, and nothing inside
//! it is looked at. An operator that usually only calls others (`Model::wrapper`) takes it only where nothing
//! inside has a cost. So `aten::linear` leaves its work to `aten::addmm`, and the fill and the bias of
//! `aten::convolution` are its own.

mod programs;
mod recomputed;
mod table;
mod work;

use stepscope_model::{Kind, SliceId, Trace};

use super::cost::{Cost, Ideal, ideal, ideal_over_host_bus};
use super::hardware::{Devices, Hardware};
use super::number::{Pipe, Precision};
use crate::names::by_name::ByName;
use crate::names::comm::{is_comm_kernel, is_comm_range};
use crate::names::tensor_core::{kernel_uses_tensor_cores, precision};
use crate::programs::ProgramWork;
use crate::scope::selection::{Selection, device_of};
use table::Table;
use work::{EnclosingOps, NONE, Work, host_ops};

#[derive(Clone, Debug, PartialEq)]
pub struct OpCost {
    pub slice: SliceId,
    /// What it costs at the least.
    pub cost: Cost,
    /// What its arithmetic ran in: [`Cost::precision`], or TF32 where `float` went to tensor cores.
    pub precision: Precision,
    /// Whether it repeats work of the forward pass whose results were not kept (activation checkpointing).
    pub recomputed: bool,
    /// The summed durations of its kernels, copies and memsets.
    pub device_ns: i64,
    pub kernels: u32,
    /// The device it ran on; `None` if the file gives it no number.
    pub device: Option<i64>,
    /// That device's numbers, if it is known.
    pub hardware: Option<&'static Hardware>,
    /// How long it would take at that device's peaks; `None` if they are not known.
    pub ideal: Option<Ideal>,
    first_kernel: u32,
}

impl OpCost {
    /// Without device work.
    fn new(slice: SliceId, cost: Cost) -> OpCost {
        OpCost {
            slice,
            precision: cost.precision,
            cost,
            recomputed: false,
            device_ns: 0,
            kernels: 0,
            device: None,
            hardware: None,
            ideal: None,
            first_kernel: 0,
        }
    }
}

/// Why device work has no cost.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoCost {
    /// No operator around it has a model.
    NoModel,
    /// An operator around it has one, but its shapes, types or parameters are not recorded or do not fit.
    NotRecorded,
    /// It communicates: what limits it is the network.
    Communication,
    /// The file names no operator that launched it.
    NoOperator,
}

impl NoCost {
    /// A sentence for the reader.
    pub fn sentence(self) -> &'static str {
        match self {
            NoCost::NoModel => "no model for this operator",
            NoCost::NotRecorded => {
                "the operator's shapes, types or values are not in the trace, or do not fit its model; record with \
                 record_shapes=True"
            }
            NoCost::Communication => "the network limits it",
            NoCost::NoOperator => {
                "launched before the recording began, from a CUDA graph, or outside the framework"
            }
        }
    }
}

/// The calls with a cost, and the device work without.
#[derive(Clone, Debug, Default)]
pub struct OpCosts {
    /// By slice.
    pub ops: Vec<OpCost>,
    /// Device slices without a cost, with the operator that launched each if any has, and why.
    pub without: Vec<(SliceId, Option<SliceId>, NoCost)>,
    /// The summed durations of all selected device work.
    pub device_ns: i64,
    kernels: Vec<SliceId>,
}

impl OpCosts {
    /// The kernels, copies and memsets of a call, in order of their slices.
    pub fn kernels_of(&self, op: &OpCost) -> &[SliceId] {
        let first = op.first_kernel as usize;
        self.kernels.get(first..first + op.kernels as usize).unwrap_or_default()
    }
}

/// Every call of a trace that has a cost and launched device work.
pub fn op_costs(trace: &Trace, selection: &Selection) -> OpCosts {
    op_costs_of(trace, selection, &ProgramWork::new(trace))
}

/// The same where it is known already which instructions work runs.
pub fn op_costs_of(trace: &Trace, selection: &Selection, programs: &ProgramWork) -> OpCosts {
    if let Some(costs) = programs::op_costs(trace, selection, programs) {
        return costs;
    }
    let slices = trace.slices();
    let around = EnclosingOps::new(trace);
    let mut work = Work::new(trace, selection, &around);
    work.sum_up(trace, &around);

    // From the outside in: parents stand before their children.
    let mut taken_by = vec![NONE; slices.len()];
    let mut unread = vec![false; slices.len()];
    let mut table = Table::new(trace);
    let mut ops: Vec<OpCost> = Vec::new();
    let below = costs_below(trace, &around, &work, &mut table);
    let recomputed = recomputed::recomputed(trace, &around);
    for id in host_ops(trace) {
        let i = id.index();
        if work.slices[i] == 0 {
            continue;
        }
        if let Some(parent) = around.op(id) {
            taken_by[i] = taken_by[parent.index()];
            unread[i] = unread[parent.index()];
        }
        let Some(model) = table.model(slices.name(id)) else { continue };
        if taken_by[i] != NONE || (model.wrapper && below[i]) {
            continue;
        }
        let Some(cost) = table.cost(id, model, work.list_element(id)) else {
            unread[i] |= !model.wrapper;
            continue;
        };
        taken_by[i] = ops.len() as u32;
        ops.push(OpCost { recomputed: recomputed[i], ..OpCost::new(id, cost) });
    }
    place(trace, work, &taken_by, &unread, ops)
}

/// Hands each device slice to the call that takes it.
fn place(trace: &Trace, work: Work, taken_by: &[u32], unread: &[bool], mut ops: Vec<OpCost>) -> OpCosts {
    let slices = trace.slices();
    let mut without = Vec::new();
    let mut comm = ByName::new(trace, is_comm_kernel);
    let mut comm_op = ByName::new(trace, is_comm_op);
    let taker = |owner: u32| if owner == NONE { NONE } else { taken_by[owner as usize] };
    for &(id, owner) in &work.device {
        if let Some(op) = ops.get_mut(taker(owner) as usize) {
            op.kernels += 1;
            op.device_ns = op.device_ns.saturating_add(slices.dur(id).0);
            continue;
        }
        let op = (owner != NONE).then(|| SliceId::from_index(owner as usize));
        let why = match op {
            _ if slices.kind(id) == Kind::Kernel && comm.get(slices.name(id)) => NoCost::Communication,
            None => NoCost::NoOperator,
            Some(op) if comm_op.get(slices.name(op)) => NoCost::Communication,
            Some(op) if unread[op.index()] => NoCost::NotRecorded,
            Some(_) => NoCost::NoModel,
        };
        without.push((id, op, why));
    }
    let mut next = 0u32;
    for op in &mut ops {
        op.first_kernel = next;
        next += op.kernels;
        op.kernels = 0;
    }
    let mut kernels = vec![SliceId::from_index(0); next as usize];
    for &(id, owner) in &work.device {
        if let Some(op) = ops.get_mut(taker(owner) as usize) {
            kernels[(op.first_kernel + op.kernels) as usize] = id;
            op.kernels += 1;
        }
    }
    let mut costs = OpCosts { ops, without, device_ns: work.device_ns, kernels };
    finish(trace, &mut costs);
    costs
}

/// What the kernels tell about each call: the device, the arithmetic, the time at peak.
fn finish(trace: &Trace, costs: &mut OpCosts) {
    let slices = trace.slices();
    let mut devices = Devices::new(trace);
    let mut is_tf32 = ByName::new(trace, runs_in_tf32);
    let mut crosses_bus = ByName::new(trace, crosses_host_bus);
    let OpCosts { ops, kernels, .. } = costs;
    for op in ops {
        let first = op.first_kernel as usize;
        let kernels = kernels.get(first..first + op.kernels as usize).unwrap_or_default();
        op.device = kernels.first().and_then(|&id| device_of(trace, id));
        op.hardware = devices.get(op.device);
        let may_be_tf32 = op.cost.precision == Precision::Fp32 && op.cost.pipe == Pipe::Matrix;
        if may_be_tf32 && kernels.iter().any(|&id| is_tf32.get(slices.name(id))) {
            op.precision = Precision::Tf32;
        }
        let over_bus =
            kernels.iter().all(|&id| slices.kind(id) == Kind::Memcpy && crosses_bus.get(slices.name(id)));
        op.ideal = op.hardware.and_then(|hardware| match over_bus {
            true => Some(ideal_over_host_bus(&op.cost, hardware)),
            false => ideal(&op.cost, hardware, op.precision),
        });
    }
}

/// Whether a kernel that multiplies `float` rounds it to TF32 on tensor cores, by its name.
fn runs_in_tf32(kernel: &str) -> bool {
    // Names without a type, or with that of the operands, are recognized by the instructions they use.
    match precision(kernel) {
        Some("tf32") => true,
        Some("fp32") | None => !is_amd(kernel) && kernel_uses_tensor_cores(kernel),
        Some(_) => false,
    }
}

/// AMD's matrix cores multiply `float` as it is; kernels that round it say so.
fn is_amd(kernel: &str) -> bool {
    ["Cijk_", "gtcx", "xdl", "ck::", "ck_tile", "mfma", "miopen", "aiter"]
        .iter()
        .any(|mark| kernel.contains(mark))
}

/// Whether an operator of this name communicates.
fn is_comm_op(name: &str) -> bool {
    name == "record_param_comms" || name.starts_with("c10d::") || is_comm_range(name)
}

/// Whether a copy of this name goes from or to the host.
fn crosses_host_bus(copy: &str) -> bool {
    ["HtoD", "DtoH", "HostToDevice", "DeviceToHost"].iter().any(|way| copy.contains(way))
}

/// For each slice, whether anything inside it has a cost and device work.
fn costs_below(trace: &Trace, around: &EnclosingOps, work: &Work, table: &mut Table<'_>) -> Vec<bool> {
    let slices = trace.slices();
    let mut below = vec![false; slices.len()];
    for id in host_ops(trace).rev() {
        if work.slices[id.index()] == 0 {
            continue;
        }
        let Some(parent) = around.op(id) else { continue };
        // A cost is asked for only where it can matter.
        let known = below[id.index()] || below[parent.index()];
        let has = known
            || table
                .model(slices.name(id))
                .is_some_and(|model| table.cost(id, model, work.list_element(id)).is_some());
        below[parent.index()] |= has;
    }
    below
}
