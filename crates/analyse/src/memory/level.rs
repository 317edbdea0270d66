//! Levels over time: the peak, and a curve small enough to draw that never loses it.

use serde::Serialize;
use stepscope_model::Ns;

use super::DeviceMemory;
use super::record::Records;

/// An allocator's state after one record.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Level {
    pub(super) allocated: i64,
    pub(super) reserved: Option<i64>,
    /// The state is not the one before plus this record's bytes.
    pub(super) gap: bool,
}

/// A point of a curve.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CurvePoint {
    /// When.
    pub at_ns: i64,
    /// Bytes in use after this mark.
    pub allocated_bytes: i64,
    /// Bytes held from the device, if the file says.
    pub reserved_bytes: Option<i64>,
}

/// The highest level.
#[derive(Copy, Clone, Debug)]
pub(super) struct Peak {
    pub(super) bytes: i64,
    pub(super) at: Ns,
    /// The peak is the state before the record at this position and after all earlier ones.
    pub(super) before: u32,
}

/// The state after every record: the file's total, or the running sum where it gives none.
pub(super) fn levels(records: &Records) -> Vec<Level> {
    let mut last: Vec<Option<i64>> = vec![None; records.devices.len()];
    let mut levels = Vec::with_capacity(records.all.len());
    for r in &records.all {
        let before = last[r.device];
        let sum = before.unwrap_or(0).saturating_add(r.bytes);
        let allocated = r.allocated.unwrap_or(sum);
        last[r.device] = Some(allocated);
        levels.push(Level { allocated, reserved: r.reserved, gap: before.is_some() && sum != allocated });
    }
    levels
}

/// The state before a record.
fn opening(records: &Records, levels: &[Level], i: u32) -> i64 {
    levels[i as usize].allocated.saturating_sub(records.all[i as usize].bytes)
}

/// The highest level of the selected records and of the state they start from; of equals, the first.
pub(super) fn peak(records: &Records, selected: &[u32], levels: &[Level]) -> Peak {
    let first = selected.first().copied().unwrap_or(0);
    let at = |i: u32| records.all[i as usize].at;
    let mut peak = Peak { bytes: opening(records, levels, first), at: at(first), before: first };
    for &i in selected {
        let bytes = levels[i as usize].allocated;
        if bytes > peak.bytes {
            peak = Peak { bytes, at: at(i), before: i + 1 };
        }
    }
    peak
}

/// The figures that need only records and levels.
pub(super) fn fill(part: &mut DeviceMemory, records: &Records, selected: &[u32], levels: &[Level]) {
    part.totals_from_file = true;
    part.lifetimes_from_file = true;
    if let (Some(&first), Some(&last)) = (selected.first(), selected.last()) {
        part.opening_allocated_bytes = opening(records, levels, first);
        part.closing_allocated_bytes = levels[last as usize].allocated;
    }
    for &i in selected {
        let (record, level) = (&records.all[i as usize], &levels[i as usize]);
        part.totals_from_file &= record.allocated.is_some();
        part.lifetimes_from_file &= record.address.is_some();
        part.level_gaps += u64::from(level.gap);
        if record.bytes > 0 {
            part.allocation_count += 1;
            part.allocated_bytes = part.allocated_bytes.saturating_add(record.bytes);
        } else if record.bytes < 0 {
            part.free_count += 1;
            part.freed_bytes = part.freed_bytes.saturating_sub(record.bytes);
        }
        if level.reserved.is_some() && level.reserved > part.peak_reserved_bytes {
            part.peak_reserved_bytes = level.reserved;
            part.peak_reserved_at_ns = Some(record.at.0);
        }
    }
}

/// At most about `limit` of the selected records, and whether any was left out. Time is cut into equal buckets;
/// each keeps its lowest and its highest level and its highest reserve, all real records, so no peak is lost.
pub(super) fn curve(
    records: &Records,
    selected: &[u32],
    levels: &[Level],
    limit: usize,
) -> (Vec<CurvePoint>, bool) {
    let point = |i: u32| {
        let level = &levels[i as usize];
        let at_ns = records.all[i as usize].at.0;
        CurvePoint { at_ns, allocated_bytes: level.allocated, reserved_bytes: level.reserved }
    };
    if limit == 0 || selected.len() <= limit {
        return (selected.iter().map(|&i| point(i)).collect(), false);
    }
    let at = |i: u32| i128::from(records.all[i as usize].at.0);
    let (Some(&first), Some(&last)) = (selected.first(), selected.last()) else {
        return (Vec::new(), false);
    };
    let buckets = (limit / 3).max(1) as i128;
    let (start, length) = (at(first), at(last) - at(first) + 1);
    let bucket = |i: u32| (at(i) - start) * buckets / length;
    let mut kept = vec![first];
    for run in selected.chunk_by(|&a, &b| bucket(a) == bucket(b)) {
        let (mut low, mut high, mut held) = (run[0], run[0], run[0]);
        for &i in run {
            let level = &levels[i as usize];
            if level.allocated < levels[low as usize].allocated {
                low = i;
            }
            if level.allocated > levels[high as usize].allocated {
                high = i;
            }
            if level.reserved > levels[held as usize].reserved {
                held = i;
            }
        }
        kept.extend([low, high, held]);
    }
    kept.push(last);
    kept.sort_unstable();
    kept.dedup();
    let sampled = kept.len() < selected.len();
    (kept.into_iter().map(point).collect(), sampled)
}
