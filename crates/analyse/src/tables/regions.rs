//! Device time of named ranges (`record_function`), with what the backward pass launched for them.
//!
//! PyTorch gives a range the device work that was launched under it on its own thread. The backward pass runs on
//! threads of its own while the main thread waits in `backward()`, so a range around that call shows next to nothing.
//! Here a range owns the work launched inside it on its thread, and the work that threads of the backward pass launched
//! while the main thread waited in it. Each kernel, copy and memset has one innermost range, so ranges that do not hold
//! each other never add up to more than there is.

mod definitions;
mod find;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{CallTree, Order, Trace};

pub use definitions::DEFINITIONS;

use crate::scope::selection::Selection;
use crate::steps::Steps;
use crate::tables::ops::OpsReport;
use crate::threads::host_time::HostTime;
use find::{Owner, Ranges};

/// All ranges of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RegionRow {
    pub name: String,
    /// Calls that began in the selection.
    pub calls: u64,
    /// Host time from start to end; a range inside one of its own name counts once.
    pub host_ns: i64,
    /// Of that, what began in the steps, per step.
    pub host_step_ns: i64,
    /// Device work that it owns, with that of the ranges inside.
    pub device_ns: i64,
    /// The same without the ranges inside.
    pub device_self_ns: i64,
    /// Of `device_ns`, what the steps launched, per step.
    pub device_step_ns: i64,
    /// Device time by PyTorch's rule.
    pub pytorch_device_ns: i64,
    /// Device time of the backward operators of its forward operators.
    pub backward_device_ns: i64,
    /// `device_ns` of all device time; none without any.
    pub share: Option<f64>,
}

/// Where all device time went; the three parts add up to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegionsLedger {
    pub total_device_ns: i64,
    /// Owned by a range.
    pub in_regions_ns: i64,
    /// Of that, launched by threads of the backward pass while the main thread waited in the range.
    pub handed_over_ns: i64,
    /// Launched outside of every range.
    pub outside_ns: i64,
    /// Without a known launch.
    pub unlinked_ns: i64,
}

/// The answer; rows by falling device time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RegionsReport {
    pub regions: Vec<RegionRow>,
    /// Where all device time went.
    pub ledger: RegionsLedger,
}

pub struct Query<'a> {
    /// Which part of the trace counts.
    pub selection: &'a Selection,
    /// The steps that numbers per step are about.
    pub steps: &'a Steps,
    /// PyTorch's own numbers for the same selection.
    pub pytorch: &'a OpsReport,
}

/// Nanoseconds of device time: all, of the steps, and of the backward pass of forward operators.
type RegionDeviceNs = [i64; 3];

/// Answers which range costs what.
pub fn regions(trace: &Trace, host: &HostTime, tree: &CallTree, query: &Query<'_>) -> RegionsReport {
    let ranges = Ranges::find(trace, host, tree);
    let in_steps = query.steps.selected();
    let slices = trace.slices();
    let mut own: Vec<RegionDeviceNs> = vec![[0; 3]; ranges.len()];
    let mut ledger = RegionsLedger::default();
    for work in slices.ids().filter(|&id| slices.kind(id).is_device_work()) {
        if !query.selection.contains(trace, work) {
            continue;
        }
        let ns = slices.dur(work).0;
        let add = |sum: &mut i64| *sum = sum.saturating_add(ns);
        add(&mut ledger.total_device_ns);
        match ranges.owner(trace, host, work) {
            Owner::Unlinked => add(&mut ledger.unlinked_ns),
            Owner::None => add(&mut ledger.outside_ns),
            Owner::Region { region, handed_over } => {
                add(&mut ledger.in_regions_ns);
                if handed_over {
                    add(&mut ledger.handed_over_ns);
                }
                add(&mut own[region][0]);
                if in_steps.contains(trace, work) {
                    add(&mut own[region][1]);
                }
            }
        }
        if let Some(region) = ranges.forward_of(trace, work) {
            add(&mut own[region][2]);
        }
    }
    let rows = rows(trace, &ranges, own, query, &in_steps, &ledger);
    RegionsReport { regions: rows, ledger }
}

fn rows(
    trace: &Trace,
    ranges: &Ranges,
    own: Vec<RegionDeviceNs>,
    query: &Query<'_>,
    in_steps: &Selection,
    ledger: &RegionsLedger,
) -> Vec<RegionRow> {
    let slices = trace.slices();
    let mut total = own.clone();
    ranges.sum_up(|child, parent| {
        let of_child = total[child];
        for (sum, more) in total[parent].iter_mut().zip(of_child) {
            *sum = sum.saturating_add(more);
        }
    });
    let outermost = ranges.outermost_of_name(trace);
    let pytorch: HashMap<&str, i64, RandomState> =
        query.pytorch.annotations.iter().map(|row| (row.name.as_str(), row.device_total_ns)).collect();
    let steps = (query.steps.steps.len() as i64).max(1);
    let mut places: HashMap<stepscope_model::StrId, usize, RandomState> = HashMap::default();
    let mut rows: Vec<RegionRow> = Vec::new();
    // Sums over the steps, divided at the end.
    let mut of_steps: Vec<[i64; 2]> = Vec::new();
    for (at, &id) in ranges.slices().iter().enumerate() {
        let place = *places.entry(slices.name(id)).or_insert(rows.len());
        if place == rows.len() {
            rows.push(RegionRow { name: trace.name(id).to_owned(), ..RegionRow::default() });
            of_steps.push([0; 2]);
        }
        let (row, sums) = (&mut rows[place], &mut of_steps[place]);
        let counted = query.selection.contains(trace, id);
        row.calls += u64::from(counted);
        row.device_self_ns = row.device_self_ns.saturating_add(own[at][0]);
        if !outermost[at] {
            continue;
        }
        row.device_ns = row.device_ns.saturating_add(total[at][0]);
        row.backward_device_ns = row.backward_device_ns.saturating_add(total[at][2]);
        sums[1] = sums[1].saturating_add(total[at][1]);
        if counted {
            row.host_ns = row.host_ns.saturating_add(slices.dur(id).0);
            if in_steps.contains(trace, id) {
                sums[0] = sums[0].saturating_add(slices.dur(id).0);
            }
        }
    }
    for (row, sums) in rows.iter_mut().zip(of_steps) {
        row.host_step_ns = sums[0] / steps;
        row.device_step_ns = sums[1] / steps;
        row.pytorch_device_ns = pytorch.get(row.name.as_str()).copied().unwrap_or(0);
        row.share = (ledger.total_device_ns > 0).then(|| row.device_ns as f64 / ledger.total_device_ns as f64);
    }
    rows.retain(|row| row.calls > 0 || row.device_ns != 0 || row.backward_device_ns != 0);
    rows.order_by(|a, b| {
        (b.device_ns, b.host_ns).cmp(&(a.device_ns, a.host_ns)).then_with(|| a.name.cmp(&b.name))
    });
    rows
}
