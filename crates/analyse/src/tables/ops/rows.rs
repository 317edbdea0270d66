//! From the tree to rows.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Kind, Order, StrId, Trace};

use super::device::DeviceTimes;
use super::extra::Extra;
use super::names::Names;
use super::tree::HostTree;
use super::{OpKind, OpRow, OpsQuery, OpsReport};
use crate::memory::by_operator::{Bytes, MemoryRecords, add, subtract};
use crate::names::by_name::ByName;
use crate::names::tensor_core::kernel_uses_tensor_cores;
use crate::scope::NONE;
use crate::scope::spread::{Durations, Spread};
use crate::tables::flops::Flops;

/// Sums of one row.
struct OpTotals {
    name: StrId,
    kind: OpKind,
    extra: u32,
    calls: u64,
    host: [i64; 2],
    /// Total and self; of each, all and on tensor cores.
    device: [[i64; 2]; 2],
    memory: Bytes,
    memory_self: Bytes,
    flops: u64,
    eligible: bool,
}

/// Rows by what makes them. A row without an extra is found by its name's position instead of by hashing.
struct Rows {
    sums: Vec<OpTotals>,
    by_name: Vec<[u32; 2]>,
    others: HashMap<(OpKind, StrId, u32), u32, RandomState>,
}

impl Rows {
    fn find(&mut self, kind: OpKind, name: StrId, extra: u32) -> u32 {
        let next = self.sums.len() as u32;
        let slot = match (kind, extra) {
            (OpKind::Op, 0) => &mut self.by_name[name.index()][0],
            (OpKind::Runtime, 0) => &mut self.by_name[name.index()][1],
            _ => self.others.entry((kind, name, extra)).or_insert(NONE),
        };
        if *slot == NONE {
            *slot = next;
            self.sums.push(OpTotals {
                name,
                kind,
                extra,
                calls: 0,
                host: [0; 2],
                device: [[0; 2]; 2],
                memory: [0; 2],
                memory_self: [0; 2],
                flops: 0,
                eligible: false,
            });
        }
        *slot
    }
}

pub(super) fn report(trace: &Trace, query: &OpsQuery) -> OpsReport {
    let slices = trace.slices();
    let mut names = Names::new(trace);
    let tree = HostTree::build(trace, &mut names, query.stray_calls);
    let device = DeviceTimes::new(trace, &tree, &mut names, query);
    let mut memory = MemoryRecords::new(trace, &query.selection);
    let mut flops = Flops::new(trace);
    let mut extra = Extra::new(trace, query.by);
    let mut rows =
        Rows { sums: Vec::new(), by_name: vec![[NONE; 2]; trace.strings().len()], others: HashMap::default() };
    let mut row_of = vec![NONE; slices.len()];
    // All steps share the row of the first.
    let mut step_name = None;
    let mut folded_calls = 0;
    let mut durations = Durations::default();
    for &id in &tree.order {
        let bytes = memory.bytes_of(trace, id);
        if tree.shown(id) != Some(id) {
            folded_calls += u64::from(query.selection.contains(trace, id));
            continue;
        }
        let ns = slices.dur(id).0;
        // A caller's self time loses all it called, whether the called has a row or not.
        let caller = tree.parent(id).map_or(NONE, |p| row_of[p.index()]);
        if let Some(caller) = rows.sums.get_mut(caller as usize) {
            caller.host[1] = caller.host[1].saturating_sub(ns);
            caller.memory_self = subtract(caller.memory_self, bytes);
        }
        if !query.selection.contains(trace, id) {
            continue;
        }
        let mut name = slices.name(id);
        let facts = names.facts(name);
        let kind = match slices.kind(id) {
            Kind::HostAnnotation => OpKind::Annotation,
            Kind::HostOp if facts.annotation => OpKind::Annotation,
            Kind::HostOp => OpKind::Op,
            Kind::Driver => OpKind::Driver,
            Kind::Overhead => OpKind::Overhead,
            _ => OpKind::Runtime,
        };
        if facts.step {
            name = *step_name.get_or_insert(name);
        }
        let number = if matches!(kind, OpKind::Op | OpKind::Annotation) { extra.number(id) } else { 0 };
        let row = rows.find(kind, name, number);
        row_of[id.index()] = row;
        durations.add(row, ns);
        let sums = &mut rows.sums[row as usize];
        sums.calls += 1;
        sums.host[0] = sums.host[0].saturating_add(ns);
        sums.memory = add(sums.memory, bytes);
        if !(facts.asynchronous && kind == OpKind::Annotation) {
            sums.host[1] = sums.host[1].saturating_add(ns);
            sums.memory_self = add(sums.memory_self, bytes);
        }
        sums.device[0] = add(sums.device[0], device.total[id.index()]);
        sums.device[1] = add(sums.device[1], device.own[id.index()]);
        sums.eligible |= device.eligible[id.index()];
        if kind == OpKind::Op
            && let Some(formula) = facts.formula
        {
            sums.flops = sums.flops.saturating_add(flops.count_call(id, formula));
        }
    }
    add_device_rows(trace, query, &mut rows);
    let (calls, bytes) = memory.uncovered(|at| query.selection.contains_time(at));
    let memory_outside = (calls > 0).then(|| memory_row(calls, bytes));
    let mut report = OpsReport {
        memory_outside,
        total_device_self_ns: device.all_ns,
        device_time_unlinked_ns: device.unlinked_ns,
        device_time_overlap_ns: device.overlap_ns,
        device_time_by_launch_ns: device.by_launch_ns,
        folded_calls,
        ..OpsReport::default()
    };
    for (sums, spread) in rows.sums.iter().zip(durations.spreads(rows.sums.len())) {
        place(trace, &mut names, &extra, sums, spread, &mut report);
    }
    report.device_time_elsewhere_ns = report
        .total_device_self_ns
        .saturating_sub(report.device_time_unlinked_ns)
        .saturating_sub(report.device_time_in_ops_ns)
        .saturating_sub(report.device_time_in_annotations_ns);
    for list in [&mut report.ops, &mut report.annotations, &mut report.calls, &mut report.device] {
        list.order_by(|a, b| {
            (b.device_self_ns, b.host_self_ns)
                .cmp(&(a.device_self_ns, a.host_self_ns))
                .then_with(|| (&a.name, a.kind, &a.input_shapes).cmp(&(&b.name, b.kind, &b.input_shapes)))
                .then_with(|| (&a.stack, &a.overload).cmp(&(&b.stack, &b.overload)))
        });
    }
    report
}

fn add_device_rows(trace: &Trace, query: &OpsQuery, rows: &mut Rows) {
    let slices = trace.slices();
    let mut on_tensor_cores = ByName::new(trace, kernel_uses_tensor_cores);
    let mut last = (OpKind::Op, StrId::EMPTY, NONE);
    for id in slices.ids() {
        let kind = match slices.kind(id) {
            Kind::Kernel => OpKind::Kernel,
            Kind::Memcpy => OpKind::Memcpy,
            Kind::Memset => OpKind::Memset,
            _ => continue,
        };
        if !query.selection.contains(trace, id) {
            continue;
        }
        let name = slices.name(id);
        if (last.0, last.1) != (kind, name) {
            last = (kind, name, rows.find(kind, name, 0));
        }
        let sums = &mut rows.sums[last.2 as usize];
        let ns = slices.dur(id).0;
        let time = [ns, if on_tensor_cores.get(name) { ns } else { 0 }];
        sums.calls += 1;
        sums.device = [add(sums.device[0], time), add(sums.device[1], time)];
        sums.eligible |= time[1] > 0;
    }
}

fn place(
    trace: &Trace,
    names: &mut Names<'_>,
    extra: &Extra<'_>,
    sums: &OpTotals,
    spread: Option<Spread>,
    report: &mut OpsReport,
) {
    let mut row = OpRow {
        name: trace.text(sums.name).to_owned(),
        kind: sums.kind,
        calls: sums.calls,
        host_total_ns: sums.host[0],
        host_self_ns: sums.host[1],
        device_total_ns: sums.device[0][0],
        device_self_ns: sums.device[1][0],
        host_mean_ns: mean(sums.host[0], sums.calls),
        device_mean_ns: mean(sums.device[0][0], sums.calls),
        host_p50_ns: spread.map(|s| s.p50_ns),
        host_p95_ns: spread.map(|s| s.p95_ns),
        host_p99_ns: spread.map(|s| s.p99_ns),
        host_max_ns: spread.map(|s| s.max_ns),
        host_cv: spread.and_then(|s| s.cv),
        host_memory_bytes: sums.memory[0],
        host_self_memory_bytes: sums.memory_self[0],
        device_memory_bytes: sums.memory[1],
        device_self_memory_bytes: sums.memory_self[1],
        flops: sums.flops,
        tc_eligible: sums.eligible,
        tc_total_share: share(sums.device[0]),
        tc_self_share: share(sums.device[1]),
        ..memory_row(0, [0; 2])
    };
    report.total_host_self_ns = report.total_host_self_ns.saturating_add(row.host_self_ns);
    match sums.kind {
        OpKind::Op => {
            report.device_time_in_ops_ns = report.device_time_in_ops_ns.saturating_add(row.device_self_ns);
            extra.describe(sums.extra, &mut row);
            report.ops.push(row);
        }
        OpKind::Annotation => {
            report.device_time_in_annotations_ns =
                report.device_time_in_annotations_ns.saturating_add(row.device_self_ns);
            extra.describe(sums.extra, &mut row);
            if names.facts(sums.name).step {
                // Steps of JAX and TensorFlow are called `train (step 7)`.
                row.name = match row.name.rsplit_once(" (step ") {
                    Some((range, _)) => format!("{range} (step *)"),
                    None => "ProfilerStep*".to_owned(),
                };
            }
            report.annotations.push(row);
        }
        OpKind::Runtime | OpKind::Driver | OpKind::Overhead => report.calls.push(row),
        OpKind::Kernel | OpKind::Memcpy | OpKind::Memset => report.device.push(row),
        // Never made from slices.
        OpKind::Memory => {}
    }
}

fn mean(total: i64, calls: u64) -> f64 {
    total as f64 / calls.max(1) as f64
}

fn share([all, part]: [i64; 2]) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

/// Allocations at moments nothing else ran; also the row with nothing in it.
fn memory_row(calls: u64, bytes: Bytes) -> OpRow {
    OpRow {
        name: "[memory]".to_owned(),
        input_shapes: None,
        stack: None,
        overload: None,
        kind: OpKind::Memory,
        calls,
        host_total_ns: 0,
        host_self_ns: 0,
        device_total_ns: 0,
        device_self_ns: 0,
        host_mean_ns: 0.0,
        device_mean_ns: 0.0,
        host_p50_ns: None,
        host_p95_ns: None,
        host_p99_ns: None,
        host_max_ns: None,
        host_cv: None,
        host_memory_bytes: bytes[0],
        host_self_memory_bytes: bytes[0],
        device_memory_bytes: bytes[1],
        device_self_memory_bytes: bytes[1],
        flops: 0,
        tc_eligible: false,
        tc_self_share: None,
        tc_total_share: None,
    }
}
