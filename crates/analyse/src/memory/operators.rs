//! Which operators take and give back memory.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{CallTree, Kind, Order, SliceId, Trace};

use super::NO_OPERATOR;
use super::innermost::EnclosingSlices;
use super::record::Records;
use crate::scope::selection::Selection;

/// One kind of operator on one device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperatorMemory {
    pub name: String,
    pub device: String,
    /// How often it ran, with or without allocating.
    pub calls: u64,
    /// Allocations by it and everything it called.
    pub allocation_count: u64,
    pub allocated_bytes: i64,
    /// Bytes released by it and everything it called.
    pub freed_bytes: i64,
    pub increase_bytes: i64,
    pub self_allocation_count: u64,
    pub self_allocated_bytes: i64,
    /// Bytes released by itself.
    pub self_freed_bytes: i64,
    /// Allocated less freed by itself.
    pub self_increase_bytes: i64,
}

#[derive(Copy, Clone, Default)]
struct Sum {
    count: u64,
    allocated: i64,
    freed: i64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.count += other.count;
        self.allocated = self.allocated.saturating_add(other.allocated);
        self.freed = self.freed.saturating_add(other.freed);
    }

    fn new(bytes: i64) -> Sum {
        match bytes {
            1.. => Sum { count: 1, allocated: bytes, freed: 0 },
            _ => Sum { count: 0, allocated: 0, freed: bytes.saturating_neg() },
        }
    }

    fn is_zero(&self) -> bool {
        self.count == 0 && self.freed == 0
    }
}

/// Sums by slice, for the few slices that have one: a slot number by slice, and marks, 64 to a word, by which
/// they are found again.
struct Column {
    /// 0: none yet; otherwise one more than the place in `sums`.
    slots: Vec<u32>,
    sums: Vec<Sum>,
    touched: Vec<u64>,
}

impl Column {
    fn new(len: usize) -> Column {
        Column { slots: vec![0; len], sums: Vec::new(), touched: vec![0; len.div_ceil(64)] }
    }

    fn add(&mut self, id: SliceId, sum: Sum) {
        let slot = &mut self.slots[id.index()];
        if *slot == 0 {
            self.sums.push(Sum::default());
            *slot = self.sums.len() as u32;
        }
        self.sums[*slot as usize - 1].add(sum);
        self.touched[id.index() / 64] |= 1 << (id.index() % 64);
    }

    /// Takes every sum out, the last slice first. A parent comes before its children, so its sum is complete
    /// when its turn comes.
    fn hand_up(&mut self, tree: &CallTree, mut take: impl FnMut(SliceId, Sum)) {
        for word in (0..self.touched.len()).rev() {
            while let Some(bit) = self.touched[word].checked_ilog2() {
                self.touched[word] &= !(1 << bit);
                let id = SliceId::from_index(word * 64 + bit as usize);
                let slot = self.slots[id.index()] as usize;
                let sum = std::mem::take(&mut self.sums[slot - 1]);
                take(id, sum);
                if let Some(parent) = tree.parent(id) {
                    self.add(parent, sum);
                }
            }
        }
    }
}

/// The table: device by device, the largest sum of allocations first.
pub(super) fn table(
    trace: &Trace,
    records: &Records,
    selected: &[Vec<u32>],
    operators: &EnclosingSlices,
    selection: &Selection,
) -> Vec<OperatorMemory> {
    let slices = trace.slices();
    let is_operator = |id: &SliceId| slices.kind(*id) == Kind::HostOp;
    // Columns by text and by slice: a few megabytes, and no hashing.
    let mut calls = vec![0u64; trace.strings().len()];
    for id in slices.ids().filter(is_operator) {
        calls[slices.name(id).index()] += u64::from(selection.contains_time(slices.start(id)));
    }
    let mut column = Column::new(slices.len());
    let mut table = Vec::new();
    for (device, positions) in selected.iter().enumerate().filter(|(_, p)| !p.is_empty()) {
        let mut own = vec![Sum::default(); calls.len()];
        let mut total = vec![Sum::default(); calls.len()];
        let mut nowhere = Sum::default();
        for &i in positions {
            let sum = Sum::new(records.all[i as usize].bytes);
            let Some(op) = operators.at(i) else {
                nowhere.add(sum);
                continue;
            };
            column.add(op, sum);
            own[slices.name(op).index()].add(sum);
        }
        column.hand_up(&operators.tree, |id, sum| total[slices.name(id).index()].add(sum));
        let label = records.devices[device].label();
        let row = |name: &str, calls: u64, own: Sum, total: Sum| OperatorMemory {
            name: name.to_owned(),
            device: label.clone(),
            calls,
            allocation_count: total.count,
            allocated_bytes: total.allocated,
            freed_bytes: total.freed,
            increase_bytes: total.allocated.saturating_sub(total.freed),
            self_allocation_count: own.count,
            self_allocated_bytes: own.allocated,
            self_freed_bytes: own.freed,
            self_increase_bytes: own.allocated.saturating_sub(own.freed),
        };
        let mut rows: Vec<OperatorMemory> = trace
            .strings()
            .iter()
            .filter(|(id, _)| !total[id.index()].is_zero())
            .map(|(id, name)| row(name, calls[id.index()], own[id.index()], total[id.index()]))
            .collect();
        if !nowhere.is_zero() {
            rows.push(row(NO_OPERATOR, 0, nowhere, nowhere));
        }
        rows.order_by(|a, b| b.allocated_bytes.cmp(&a.allocated_bytes).then_with(|| a.name.cmp(&b.name)));
        table.append(&mut rows);
    }
    table
}
