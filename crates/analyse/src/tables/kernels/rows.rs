//! From kernel slices to rows.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{GraphNode, Kind, LaneId, Order, SliceId, SourceLine, StrId, Tag, Trace};

use super::{KernelGroup, KernelRow, KernelsQuery, KernelsReport};
use crate::devices::kernel_form::KernelForm;
use crate::devices::occupancy::Occupancy;
use crate::names::by_name::ByName;
use crate::names::tensor_core::{TensorCores, tensor_cores};
use crate::programs::ProgramWork;
use crate::scope::selection::device_of;
use crate::scope::spread::{Durations, Spread};
use crate::tables::ops::device::owner;
use crate::tables::ops::names::Names;
use crate::tables::ops::tree::HostTree;
use crate::tables::ops::{Attribution, StrayCalls};

/// What makes a row; parts that were not asked for stay empty.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Key<'a> {
    name: StrId,
    op: Option<StrId>,
    grid: Option<&'a str>,
    block: Option<&'a str>,
    registers: Option<i64>,
    shared_memory: Option<i64>,
    lane: Option<LaneId>,
}

/// A mean weighted by duration, over the calls that have the number.
#[derive(Copy, Clone, Default)]
struct WeightedMean {
    sum: f64,
    ns: i64,
    seen: bool,
}

impl WeightedMean {
    fn add(&mut self, value: Option<f64>, ns: i64) {
        if let Some(value) = value {
            self.sum += value * ns as f64;
            self.ns = self.ns.saturating_add(ns);
            self.seen = true;
        }
    }

    fn mean(self) -> Option<f64> {
        // Calls too short for the clock have no weight; their mean is nothing, not unknown.
        self.seen.then(|| if self.ns > 0 { self.sum / self.ns as f64 } else { 0.0 })
    }
}

struct KernelTotals<'a> {
    key: Key<'a>,
    calls: u64,
    total: i64,
    min: i64,
    max: i64,
    blocks: WeightedMean,
    occupancy: WeightedMean,
    lanes: Vec<LaneId>,
    instruction: Option<GraphNode<'a>>,
}

pub(super) fn report(trace: &Trace, query: &KernelsQuery) -> KernelsReport {
    let slices = trace.slices();
    // Only the owner by launch needs the tree; building it is a pass over all host slices.
    let needs_tree = query.attribution == Attribution::Launch;
    let tree = needs_tree.then(|| HostTree::build(trace, &mut Names::new(trace), StrayCalls::OwnThread));
    let op_of = |id: SliceId| match &tree {
        Some(tree) => owner(trace, id, tree, Attribution::Launch),
        None => trace.links().op(id),
    };
    let wanted = query.op.as_deref().map(|name| trace.strings().find(name));
    let mut on_tensor_cores = ByName::new(trace, tensor_cores);
    let occupancy = Occupancy::new(trace);
    let programs = ProgramWork::new(trace);
    let mut report = KernelsReport::default();
    let mut sums: Vec<KernelTotals> = Vec::new();
    let mut rows: HashMap<Key<'_>, u32, RandomState> = HashMap::default();
    let mut durations = Durations::default();
    for id in slices.ids().filter(|&id| slices.kind(id) == Kind::Kernel) {
        if !query.selection.contains(trace, id) {
            continue;
        }
        let ns = slices.dur(id).0;
        let op = op_of(id);
        if wanted.is_some_and(|wanted| wanted.is_none() || wanted != op.map(|op| slices.name(op))) {
            continue;
        }
        report.calls += 1;
        report.total_ns = report.total_ns.saturating_add(ns);
        if op.is_none() {
            report.unlinked_ns = report.unlinked_ns.saturating_add(ns);
        }
        match on_tensor_cores.get(slices.name(id)) {
            TensorCores::Yes => report.tensor_core_ns = report.tensor_core_ns.saturating_add(ns),
            TensorCores::Unknown => {
                report.tensor_core_unknown_ns = report.tensor_core_unknown_ns.saturating_add(ns)
            }
            TensorCores::No => {}
        }
        let form = KernelForm::read(trace, id);
        let key = key(trace, query, &form, id, op);
        let row = *rows.entry(key).or_insert_with(|| {
            sums.push(KernelTotals {
                key,
                calls: 0,
                total: 0,
                min: i64::MAX,
                max: 0,
                blocks: WeightedMean::default(),
                occupancy: WeightedMean::default(),
                lanes: Vec::new(),
                instruction: programs.instruction(trace, id),
            });
            sums.len() as u32 - 1
        });
        durations.add(row, ns);
        let row = &mut sums[row as usize];
        row.calls += 1;
        row.total = row.total.saturating_add(ns);
        row.min = row.min.min(ns);
        row.max = row.max.max(ns);
        row.blocks.add(form.blocks_per_sm, ns);
        row.occupancy.add(occupancy.percent(device_of(trace, id), &form), ns);
        // Slices come lane by lane, so a lane is new or the last one seen.
        if row.lanes.last() != Some(&slices.lane(id)) {
            row.lanes.push(slices.lane(id));
        }
    }
    let total = report.total_ns;
    let spreads = durations.spreads(sums.len());
    let with_spread = sums.iter().zip(spreads);
    report.rows =
        with_spread.map(|(s, spread)| row(trace, s, spread, total, on_tensor_cores.get(s.key.name))).collect();
    report.rows.order_by(|a, b| {
        (b.total_ns, b.calls).cmp(&(a.total_ns, a.calls)).then_with(|| order(a).cmp(&order(b)))
    });
    report
}

/// Decides between rows of equal time and calls.
fn order(row: &KernelRow) -> impl Ord + '_ {
    let form = (&row.grid, &row.block, row.registers, row.shared_memory_bytes);
    (&row.name, &row.op, form, &row.devices, &row.streams)
}

fn key<'a>(
    trace: &Trace,
    query: &KernelsQuery,
    form: &KernelForm<'a>,
    id: SliceId,
    op: Option<SliceId>,
) -> Key<'a> {
    let slices = trace.slices();
    let KernelGroup { op: by_op, launch, stream } = query.by;
    Key {
        name: slices.name(id),
        op: op.filter(|_| by_op).map(|op| slices.name(op)),
        grid: form.grid.filter(|_| launch),
        block: form.block.filter(|_| launch),
        registers: form.registers.filter(|_| launch),
        shared_memory: form.shared_memory.filter(|_| launch),
        lane: stream.then(|| slices.lane(id)),
    }
}

fn row(
    trace: &Trace,
    sums: &KernelTotals<'_>,
    spread: Option<Spread>,
    total: i64,
    tensor_core: TensorCores,
) -> KernelRow {
    // One way to write a list, whatever the file's: `[16, 32, 1]`.
    let list = |text: Option<&str>| text.map(|text| text.replace(' ', "").replace(',', ", "));
    let distinct = |part: fn(&stepscope_model::LaneKey) -> Tag| {
        let tags = sums.lanes.iter().filter_map(|&lane| part(&trace.lanes().get(lane).key).as_int());
        let mut numbers: Vec<i64> = tags.collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    KernelRow {
        name: trace.text(sums.key.name).to_owned(),
        op: sums.key.op.map(|op| trace.text(op).to_owned()),
        op_path: sums.instruction.map(|i| i.op_path().to_owned()).filter(|path| !path.is_empty()),
        source: sums.instruction.and_then(|i| i.source).map(SourceLine::short),
        grid: list(sums.key.grid),
        block: list(sums.key.block),
        registers: sums.key.registers,
        shared_memory_bytes: sums.key.shared_memory,
        devices: distinct(|key| key.process),
        streams: distinct(|key| key.thread),
        calls: sums.calls,
        total_ns: sums.total,
        mean_ns: sums.total as f64 / sums.calls.max(1) as f64,
        min_ns: sums.min.min(sums.max),
        max_ns: sums.max,
        p50_ns: spread.map_or(0, |s| s.p50_ns),
        p95_ns: spread.map_or(0, |s| s.p95_ns),
        p99_ns: spread.map_or(0, |s| s.p99_ns),
        cv: spread.and_then(|s| s.cv),
        share: if total > 0 { sums.total as f64 / total as f64 } else { 0.0 },
        blocks_per_sm: sums.blocks.mean(),
        occupancy_percent: sums.occupancy.mean(),
        tensor_core,
    }
}
