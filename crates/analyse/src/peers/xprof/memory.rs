//! XProf's memory profile, in short: the highest level of each allocator.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{AllocationId, Attr, Trace};

/// One allocator at its highest level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct XprofMemoryRow {
    pub allocator: String,
    pub changes: u64,
    /// The most it ever had in use, before the recording too.
    pub lifetime_peak_bytes: i64,
    /// The most it had in use or set aside while recording.
    pub peak_bytes: i64,
    /// When that was, for the last time.
    pub peak_at_ns: i64,
    /// Bytes in use then.
    pub heap_bytes: i64,
    /// Bytes set aside then.
    pub stack_bytes: i64,
    /// Bytes it could still hand out then.
    pub free_bytes: i64,
    /// How far its free memory was scattered then, from 0 to 1; none if it had no free memory.
    pub fragmentation: Option<f64>,
    pub capacity_bytes: i64,
}

/// XProf's summary, allocators by name.
pub fn memory(trace: &Trace) -> Vec<XprofMemoryRow> {
    let mut rows: BTreeMap<&str, XprofMemoryRow> = BTreeMap::new();
    // In the order of the file, thread by thread, as XProf does.
    for at in 0..trace.allocations().len() {
        let id = AllocationId::from_index(at);
        let args = trace.allocation_args(id);
        let Some(allocator) = args.text(Attr::Allocator) else { continue };
        let bytes = |attr| args.int(attr).unwrap_or(0);
        let (heap, stack, free) =
            (bytes(Attr::TotalAllocated), bytes(Attr::StackBytes), bytes(Attr::FreeBytes));
        let row = rows.entry(allocator).or_default();
        row.changes += 1;
        row.lifetime_peak_bytes = bytes(Attr::PeakBytes);
        let in_use = heap.saturating_add(stack);
        if in_use >= row.peak_bytes {
            row.peak_bytes = in_use;
            row.peak_at_ns = trace.allocation(id).at.0;
            (row.heap_bytes, row.stack_bytes, row.free_bytes) = (heap, stack, free);
            row.fragmentation = args.float(Attr::Fragmentation);
            row.capacity_bytes = in_use.saturating_add(free);
        }
    }
    let named =
        rows.into_iter().map(|(allocator, row)| XprofMemoryRow { allocator: allocator.to_owned(), ..row });
    named.collect()
}
