//! Memory of operators: what was allocated and freed while they ran.
//!
//! The profiler writes one `[memory]` point for each allocation (bytes above zero) and each release (below). An
//! operator's share is the sum over its time, whichever thread allocated: PyTorch counts so, and on the backward
//! pass it is the only way to see what a waiting `backward()` caused.

use stepscope_model::{Ns, SliceId, Trace};

/// Host and device bytes.
pub(crate) type Bytes = [i64; 2];

/// All records in the order of time, with running sums: an operator's memory is two look-ups.
pub(crate) struct MemoryRecords {
    at: Vec<Ns>,
    /// `sums[i]`: bytes of the first `i` records.
    sums: Vec<Bytes>,
    /// How many slices cover each record, as differences; the last entry is the end.
    cover: Vec<i64>,
}

impl MemoryRecords {
    pub(crate) fn new(trace: &Trace) -> MemoryRecords {
        let mut records: Vec<(Ns, Bytes)> = Vec::new();
        let points = trace.points();
        let find = |key| trace.strings().find(key);
        if let (Some(memory), Some(bytes_key)) = (find("[memory]"), find("Bytes")) {
            let device_key = find("Device Type");
            for id in points.ids().filter(|&id| points.name(id) == memory) {
                let args = trace.point_args(id);
                let bytes = args.int(Some(bytes_key)).unwrap_or(0);
                let on_host = is_host(args.int(device_key).unwrap_or(0));
                records.push((points.at(id), if on_host { [bytes, 0] } else { [0, bytes] }));
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
        MemoryRecords { at: records.iter().map(|r| r.0).collect(), cover: vec![0; records.len() + 1], sums }
    }

    /// The bytes of a slice: records from its start to its end, both included.
    pub(crate) fn of(&mut self, trace: &Trace, id: SliceId) -> Bytes {
        if self.at.is_empty() {
            return [0, 0];
        }
        let (start, end) = (trace.slices().start(id), trace.slices().end(id));
        let from = self.at.partition_point(|&at| at < start);
        // Most slices are short: looking on from their start beats a second search.
        let near = &self.at[from..self.at.len().min(from + 16)];
        let to = match near.iter().position(|&at| at > end) {
            Some(found) => from + found,
            None => from + self.at[from..].partition_point(|&at| at <= end),
        };
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

/// PyTorch's numbers of device types that mean host memory: CPU, MKLDNN and IDEEP.
fn is_host(device_type: i64) -> bool {
    matches!(device_type, 0 | 2 | 5)
}

pub(crate) fn add(a: Bytes, b: Bytes) -> Bytes {
    [a[0].saturating_add(b[0]), a[1].saturating_add(b[1])]
}

pub(crate) fn subtract(a: Bytes, b: Bytes) -> Bytes {
    [a[0].saturating_sub(b[0]), a[1].saturating_sub(b[1])]
}
