//! Levels over time: the peak, and a curve small enough to draw that never loses it.

use serde::Serialize;
use stepscope_model::Ns;

use super::DeviceMemory;
use super::record::{Record, Records};

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

/// The state before a record.
fn opening(record: &Record) -> i64 {
    record.level.saturating_sub(record.bytes)
}

/// The highest level of the selected records and of the state they start from; of equals, the first.
pub(super) fn peak(records: &Records, selected: &[u32]) -> Option<Peak> {
    let &before = selected.first()?;
    let first = &records.all[before as usize];
    let mut peak = Peak { bytes: opening(first), at: first.at, before };
    for &i in selected {
        let record = &records.all[i as usize];
        if record.level > peak.bytes {
            peak = Peak { bytes: record.level, at: record.at, before: i + 1 };
        }
    }
    Some(peak)
}

/// The figures that need only records and levels.
pub(super) fn fill(part: &mut DeviceMemory, records: &Records, selected: &[u32]) {
    part.totals_from_file = true;
    part.lifetimes_from_file = true;
    if let (Some(&first), Some(&last)) = (selected.first(), selected.last()) {
        part.opening_allocated_bytes = opening(&records.all[first as usize]);
        part.closing_allocated_bytes = records.all[last as usize].level;
    }
    for &i in selected {
        let record = &records.all[i as usize];
        part.totals_from_file &= record.level_given;
        part.lifetimes_from_file &= record.address.is_some();
        part.level_gaps += u64::from(record.gap);
        if record.bytes > 0 {
            part.allocation_count += 1;
            part.allocated_bytes = part.allocated_bytes.saturating_add(record.bytes);
        } else if record.bytes < 0 {
            part.free_count += 1;
            part.freed_bytes = part.freed_bytes.saturating_sub(record.bytes);
        }
        if record.reserved > part.peak_reserved_bytes {
            part.peak_reserved_bytes = record.reserved;
            part.peak_reserved_at_ns = Some(record.at.0);
        }
    }
}

/// At most about `limit` of the selected records, and whether any was left out. Time is cut into equal buckets;
/// each keeps its lowest and its highest level and its highest reserve, all real records, so no peak is lost.
pub(super) fn curve(records: &Records, selected: &[u32], limit: usize) -> (Vec<CurvePoint>, bool) {
    let record = |i: u32| &records.all[i as usize];
    let point = |i: u32| CurvePoint {
        at_ns: record(i).at.0,
        allocated_bytes: record(i).level,
        reserved_bytes: record(i).reserved,
    };
    if limit == 0 || selected.len() <= limit {
        return (selected.iter().map(|&i| point(i)).collect(), false);
    }
    let (Some(&first), Some(&last)) = (selected.first(), selected.last()) else {
        return (Vec::new(), false);
    };
    // Records are ordered by time, so the distance is never under zero and always fits.
    let since = |i: u32| record(i).at.0.wrapping_sub(record(first).at.0) as u64;
    let width = (since(last) / (limit / 3).max(1) as u64).saturating_add(1);
    let bucket = |i: u32| since(i) / width;
    let mut kept = vec![first];
    for run in selected.chunk_by(|&a, &b| bucket(a) == bucket(b)) {
        let (mut low, mut high, mut held) = (run[0], run[0], run[0]);
        for &i in run {
            if record(i).level < record(low).level {
                low = i;
            }
            if record(i).level > record(high).level {
                high = i;
            }
            if record(i).reserved > record(held).reserved {
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
