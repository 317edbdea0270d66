//! Device time by kind of work and by phase of the step: forward, backward, recomputation, update.
//!
//! The phase is the host's: a piece of device work belongs to the phase in which it was launched. The kind is the
//! launching operator's, else the kernel's ([`crate::names::category`]). Every kernel, copy and memset counts once, so
//! the table adds up to all device time.

mod definitions;
pub(crate) mod phase;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{CallTree, Kind, Order, SliceId, Trace};

pub use definitions::DEFINITIONS;
pub use phase::Phase;

use crate::names::by_name::ByName;
use crate::names::category::{Category, of_kernel, of_operator, of_other_operator};
use crate::scope::selection::Selection;
use crate::steps::Steps;
use crate::threads::host_time::HostTime;
use phase::Phases;

/// One kind of work in every phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PhaseRow {
    pub category: Category,
    /// Kernels, copies and memsets.
    pub calls: u64,
    /// Device time in the forward pass.
    pub forward_ns: i64,
    /// In the backward pass.
    pub backward_ns: i64,
    /// In forward operators that the backward pass runs again.
    pub recompute_ns: i64,
    /// In the optimizer's update.
    pub update_ns: i64,
    /// In none of these.
    pub other_ns: i64,
    /// All of it: the five phases add up to it.
    pub total_ns: i64,
    pub step_ns: i64,
    /// `total_ns` of all device time; none without any.
    pub share: Option<f64>,
}

impl PhaseRow {
    fn new(category: Category) -> PhaseRow {
        PhaseRow {
            category,
            calls: 0,
            forward_ns: 0,
            backward_ns: 0,
            recompute_ns: 0,
            update_ns: 0,
            other_ns: 0,
            total_ns: 0,
            step_ns: 0,
            share: None,
        }
    }

    /// Device time in a phase.
    pub fn time_in(&self, phase: Phase) -> i64 {
        match phase {
            Phase::Forward => self.forward_ns,
            Phase::Backward => self.backward_ns,
            Phase::Recompute => self.recompute_ns,
            Phase::Update => self.update_ns,
            Phase::Other => self.other_ns,
        }
    }

    fn add(&mut self, phase: Phase, ns: i64) {
        let sum = match phase {
            Phase::Forward => &mut self.forward_ns,
            Phase::Backward => &mut self.backward_ns,
            Phase::Recompute => &mut self.recompute_ns,
            Phase::Update => &mut self.update_ns,
            Phase::Other => &mut self.other_ns,
        };
        *sum = sum.saturating_add(ns);
        self.total_ns = self.total_ns.saturating_add(ns);
        self.calls += 1;
    }
}

/// All device time of the selection, and the steps it is divided by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PhaseTotals {
    /// Summed over the rows.
    pub total_device_ns: i64,
    /// Launched outside of the steps; in no row.
    pub outside_steps_ns: i64,
    /// How many steps `step_ns` is per.
    pub steps: u64,
}

/// The answer: a row for each kind of work that there is, by falling device time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PhasesReport {
    pub phases: Vec<PhaseRow>,
    pub totals: PhaseTotals,
}

/// Divides the device time of the steps, of one device or of all.
pub fn phases(
    trace: &Trace,
    host: &HostTime,
    tree: &CallTree,
    steps: &Steps,
    device: Option<i64>,
) -> PhasesReport {
    let slices = trace.slices();
    let in_steps = Selection { device, ..steps.selected() };
    let everything = Selection { ranges: None, device };
    let phases = Phases::new(trace, host, tree);
    let mut categories = Categories::new(trace, tree);
    let mut rows: Vec<PhaseRow> = Category::ALL.map(PhaseRow::new).to_vec();
    let mut totals = PhaseTotals { total_device_ns: 0, outside_steps_ns: 0, steps: steps.steps.len() as u64 };
    for work in slices.ids().filter(|&id| slices.kind(id).is_device_work()) {
        if !everything.contains(trace, work) {
            continue;
        }
        let ns = slices.dur(work).0;
        if !in_steps.contains(trace, work) {
            totals.outside_steps_ns = totals.outside_steps_ns.saturating_add(ns);
            continue;
        }
        totals.total_device_ns = totals.total_device_ns.saturating_add(ns);
        rows[categories.category_of(work) as usize].add(phases.phase_of(trace, host, work), ns);
    }
    rows.retain(|row| row.calls > 0);
    for row in &mut rows {
        row.step_ns = row.total_ns / (totals.steps as i64).max(1);
        row.share = (totals.total_device_ns > 0).then(|| row.total_ns as f64 / totals.total_device_ns as f64);
    }
    rows.order_by_key(|row| (std::cmp::Reverse(row.total_ns), row.category));
    PhasesReport { phases: rows, totals }
}

type CategoryRule = fn(&str) -> Option<Category>;

/// What kind of work each piece is.
pub(crate) struct Categories<'a> {
    trace: &'a Trace,
    tree: &'a CallTree,
    operators: ByName<'a, Option<Category>, CategoryRule>,
    kernels: ByName<'a, Option<Category>, CategoryRule>,
    others: ByName<'a, Option<Category>, CategoryRule>,
}

impl<'a> Categories<'a> {
    pub(crate) fn new(trace: &'a Trace, tree: &'a CallTree) -> Self {
        Categories {
            trace,
            tree,
            operators: ByName::new(trace, of_operator as CategoryRule),
            kernels: ByName::new(trace, of_kernel as CategoryRule),
            others: ByName::new(trace, of_other_operator as CategoryRule),
        }
    }

    /// The kind of a piece of device work.
    pub(crate) fn category_of(&mut self, work: SliceId) -> Category {
        let (slices, links) = (self.trace.slices(), self.trace.links());
        match slices.kind(work) {
            Kind::Memset => return Category::Memset,
            Kind::Memcpy => return Category::Copy,
            _ => {}
        }
        let name = slices.name(work);
        let of_kernel = self.kernels.get(name);
        if of_kernel == Some(Category::Communication) {
            return Category::Communication;
        }
        let is_op = |&id: &SliceId| slices.kind(id) == Kind::HostOp;
        // The operator that launched it: by its id, else right around the call.
        let op = links.op(work).filter(is_op);
        let op = op.or_else(|| self.tree.parent(links.launch(work)?).filter(is_op)).map(|op| slices.name(op));
        op.and_then(|op| self.operators.get(op))
            .or(of_kernel)
            .or_else(|| self.others.get(op?))
            .unwrap_or(Category::Other)
    }
}
