//! XProf's table of kernels (`kernel_stats`): a row for each way in which a kernel was launched.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Attr, Kind, Order, SliceId, StrId, Trace};

use super::hlo::{framework_op, instruction};
use super::op_name;
use super::saturating::add;

/// XProf shows no more kernels.
const MAX_ROWS: usize = 1000;

/// One kernel, launched one way.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct XprofKernelRow {
    pub kernel: String,
    /// Registers of a thread.
    pub registers: Option<i64>,
    /// Shared memory of a block.
    pub shared_bytes: Option<i64>,
    /// Threads of a block.
    pub block: String,
    pub grid: String,
    /// The most warps that its resources allow, as a share of what the device can hold.
    pub occupancy: Option<f64>,
    /// Whether its operator is expected to be able to use tensor cores.
    pub tensor_core_eligible: bool,
    /// Whether it is taken to use them.
    pub uses_tensor_cores: bool,
    pub op: String,
    pub occurrences: u64,
    pub total_ns: i64,
    /// The same, for one time, in whole nanoseconds.
    pub mean_ns: i64,
    pub min_ns: i64,
    pub max_ns: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    name: StrId,
    grid: Option<StrId>,
    block: Option<StrId>,
    registers: Option<i64>,
    shared: Option<i64>,
    op: String,
}

#[derive(Clone, Copy)]
struct KernelTotals {
    first: SliceId,
    occurrences: u64,
    total: i64,
    min: i64,
    max: i64,
}

/// XProf's table, the most time first.
pub fn kernels(trace: &Trace) -> Vec<XprofKernelRow> {
    let slices = trace.slices();
    let mut sums: BTreeMap<Key, KernelTotals> = BTreeMap::new();
    for id in slices.ids() {
        let dur = slices.dur(id).0;
        if slices.kind(id) != Kind::Kernel || dur <= 0 {
            continue;
        }
        let args = trace.args(id);
        let (grid, block) = (args.text_id(Attr::Grid), args.text_id(Attr::Block));
        if grid.is_none() && block.is_none() {
            continue;
        }
        let registers = args.int(Attr::RegistersPerThread);
        let key = Key {
            name: slices.name(id),
            grid,
            block,
            registers,
            // AMD's profiler has other words for both, which XProf does not read.
            shared: registers.and(args.int(Attr::SharedMemory)),
            op: op(trace, id),
        };
        let of =
            sums.entry(key).or_insert(KernelTotals { first: id, occurrences: 0, total: 0, min: dur, max: dur });
        of.occurrences += 1;
        add(&mut of.total, dur);
        (of.min, of.max) = (of.min.min(dur), of.max.max(dur));
    }
    let mut rows: Vec<XprofKernelRow> = sums.into_iter().map(|(key, of)| row(trace, key, of)).collect();
    rows.order_by(|a, b| {
        let key = |row: &XprofKernelRow| (three(&row.grid), three(&row.block), row.registers, row.shared_bytes);
        let names = || a.kernel.cmp(&b.kernel).then_with(|| key(a).cmp(&key(b)));
        b.total_ns.cmp(&a.total_ns).then_with(names).then_with(|| a.op.cmp(&b.op))
    });
    rows.truncate(MAX_ROWS);
    rows
}

/// The operator that a kernel belongs to: its instruction's, else what the profiler wrote beside it.
fn op(trace: &Trace, id: SliceId) -> String {
    let args = trace.args(id);
    if let (Some(program), Some(hlo)) = (args.int(Attr::Program), args.text(Attr::Instruction)) {
        let name = hlo.rsplit("::").next().unwrap_or_default();
        if let Some(found) = instruction(trace, program, name) {
            return plain_op(&framework_op(found));
        }
    }
    plain_op(args.text(Attr::FrameworkOp).unwrap_or_default())
}

/// An operator without its type.
fn plain_op(full: &str) -> String {
    op_name::parse(full).map_or(full, |op| op.name).to_owned()
}

fn row(trace: &Trace, key: Key, of: KernelTotals) -> XprofKernelRow {
    let dims = |id: Option<StrId>| id.map_or_else(|| "1,1,1".to_owned(), |id| plain(trace.text(id)));
    let kernel = trace.text(key.name).to_owned();
    let uses_tensor_cores = op_name::uses_tensor_cores(&kernel);
    let args = trace.args(of.first);
    let has_op = args.text(Attr::FrameworkOp).is_some_and(|op| !op.is_empty());
    XprofKernelRow {
        registers: key.registers,
        shared_bytes: key.shared,
        block: dims(key.block),
        grid: dims(key.grid),
        occupancy: args.float(Attr::TheoreticalOccupancy).map(|percent| percent / 100.0),
        tensor_core_eligible: op_name::may_use_tensor_cores(&key.op) || (has_op && uses_tensor_cores),
        uses_tensor_cores,
        kernel,
        op: key.op,
        occurrences: of.occurrences,
        total_ns: of.total,
        mean_ns: of.total / of.occurrences as i64,
        min_ns: of.min,
        max_ns: of.max,
    }
}

/// `8,1,1` of `[8, 1, 1]`.
fn plain(list: &str) -> String {
    list.chars().filter(|c| c.is_ascii_digit() || *c == ',').collect()
}

fn three(list: &str) -> Vec<i64> {
    list.split(',').map(|number| number.parse().unwrap_or(0)).collect()
}
