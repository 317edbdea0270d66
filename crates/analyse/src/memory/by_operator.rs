//! Memory of operators: what was allocated and freed while they ran.
//!
//! The profiler records each allocation (bytes above zero) and each release (below). An
//! operator's share is the sum over its time, whichever thread allocated: PyTorch counts so, and on the backward
//! pass it is the only way to see what a waiting `backward()` caused.

use stepscope_model::{Allocation, Ns, SliceId, Trace};

use crate::memory::device::{device_counts, is_host};
use crate::scope::selection::Selection;

/// Host and device bytes.
pub(crate) type Bytes = [i64; 2];

/// All records of the selected device and the host in the order of time, with running sums: an operator's memory is two look-ups.
pub(crate) struct MemoryRecords {
    at: Vec<Ns>,
    /// `sums[i]`: bytes of the first `i` records.
    sums: Vec<Bytes>,
    /// How many slices cover each record, as differences; the last entry is the end.
    cover: Vec<i64>,
    /// The first record of the slice asked about last. Slices come in the order of their starts, thread by thread,
    /// so the next one's is near.
    last: usize,
}

impl MemoryRecords {
    pub(crate) fn new(trace: &Trace, selection: &Selection) -> MemoryRecords {
        let mut records: Vec<(Ns, Bytes)> = Vec::new();
        for id in trace.allocations().ids() {
            let Allocation { at, bytes, device_kind, device, .. } = trace.allocation(id);
            let bytes = bytes.unwrap_or(0);
            if device_counts(device_kind, device, selection) {
                records.push((at, if is_host(device_kind) { [bytes, 0] } else { [0, bytes] }));
            }
        }
        records.sort_by_key(|r| r.0);
        let mut sums = Vec::with_capacity(records.len() + 1);
        let mut sum = [0, 0];
        sums.push(sum);
        for (_, bytes) in &records {
            sum = add(sum, *bytes);
            sums.push(sum);
        }
        MemoryRecords {
            at: records.iter().map(|r| r.0).collect(),
            cover: vec![0; records.len() + 1],
            sums,
            last: 0,
        }
    }

    /// The bytes of a slice: records from its start to its end, both included.
    pub(crate) fn bytes_of(&mut self, trace: &Trace, id: SliceId) -> Bytes {
        if self.at.is_empty() {
            return [0, 0];
        }
        let (start, end) = (trace.slices().start(id), trace.slices().end(id));
        let from = match self.last.checked_sub(1) {
            Some(before) if self.at[before] >= start => self.at.partition_point(|&at| at < start),
            _ => first(&self.at, self.last, |at| at >= start),
        };
        let to = first(&self.at, from, |at| at > end);
        self.last = from;
        self.cover[from] += 1;
        self.cover[to] -= 1;
        subtract(self.sums[to], self.sums[from])
    }

    /// Records that no slice asked about covers: how many, and their bytes.
    pub(crate) fn uncovered(&self, counts: impl Fn(Ns) -> bool) -> (u64, Bytes) {
        let (mut depth, mut calls, mut bytes) = (0, 0, [0, 0]);
        for (i, &at) in self.at.iter().enumerate() {
            depth += self.cover[i];
            if depth == 0 && counts(at) {
                calls += 1;
                bytes = add(bytes, subtract(self.sums[i + 1], self.sums[i]));
            }
        }
        (calls, bytes)
    }
}

/// The first record from a position on that is late enough: looked for nearby, then by halves.
fn first(at: &[Ns], from: usize, late: impl Fn(Ns) -> bool) -> usize {
    let near = at.len().min(from + 16);
    match at[from..near].iter().position(|&at| late(at)) {
        Some(found) => from + found,
        None => near + at[near..].partition_point(|&at| !late(at)),
    }
}

pub(crate) fn add(a: Bytes, b: Bytes) -> Bytes {
    [a[0].saturating_add(b[0]), a[1].saturating_add(b[1])]
}

pub(crate) fn subtract(a: Bytes, b: Bytes) -> Bytes {
    [a[0].saturating_sub(b[0]), a[1].saturating_sub(b[1])]
}
