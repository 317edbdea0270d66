//! Levels over time: the peak, and a curve small enough to draw that never loses it.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::Ns;

use super::DeviceMemory;
use super::record::{Record, Records};

#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CurvePoint {
    pub at_ns: i64,
    /// Bytes in use after this mark.
    pub allocated_bytes: i64,
    /// Bytes held from the device, if the file says.
    pub reserved_bytes: Option<i64>,
}

#[derive(Copy, Clone, Debug)]
pub(super) struct Peak {
    pub(super) bytes: i64,
    pub(super) at: Ns,
    /// The peak is the state before the record at this position and after all earlier ones.
    pub(super) before: u32,
}

/// The state that the selected records of a device start from.
#[derive(Copy, Clone, Debug)]
pub(super) struct OpeningState {
    bytes: i64,
    at: Ns,
    /// Position of the first record after it.
    before: u32,
    /// What the record before it says of the reserve; none where there is no such record.
    carried: Option<Option<i64>>,
    /// The level is the file's.
    given: bool,
}

impl OpeningState {
    /// As a point of the curve, where a record before the selected ones tells the level.
    pub(super) fn point(&self) -> Option<CurvePoint> {
        let (at_ns, allocated_bytes) = (self.at.0, self.bytes);
        self.carried.map(|reserved_bytes| CurvePoint { at_ns, allocated_bytes, reserved_bytes })
    }
}

/// The state at the beginning of a window: what the last record before it left, else what the first one after it
/// found. Without a window, what the first selected record found.
pub(super) fn opening(
    records: &Records,
    device: usize,
    selected: &[u32],
    begin: Option<Ns>,
) -> Option<OpeningState> {
    let found_by = |record: &Record, at: Ns, before: u32| OpeningState {
        bytes: record.level.saturating_sub(record.bytes),
        at,
        before,
        carried: None,
        given: record.level_given,
    };
    let begin_at = begin.map(|begin| (begin, records.all.partition_point(|r| r.at < begin)));
    let of_device = |r: &&Record| usize::from(r.device) == device;
    if let Some((at, before)) = begin_at
        && let Some(last) = records.all[..before].iter().rfind(of_device)
    {
        let (bytes, given) = (last.level, last.level_given);
        return Some(OpeningState { bytes, at, before: before as u32, carried: Some(last.reserved), given });
    }
    if let Some(&before) = selected.first() {
        let first = &records.all[before as usize];
        return Some(found_by(first, first.at, before));
    }
    let (at, before) = begin_at?;
    records.all[before..].iter().find(of_device).map(|next| found_by(next, at, before as u32))
}

/// The highest level of the selected records and of the state they start from; of equals, the first.
pub(super) fn peak(records: &Records, selected: &[u32], opening: &OpeningState) -> Peak {
    let mut peak = Peak { bytes: opening.bytes, at: opening.at, before: opening.before };
    for &i in selected {
        let record = &records.all[i as usize];
        if record.level > peak.bytes {
            peak = Peak { bytes: record.level, at: record.at, before: i + 1 };
        }
    }
    peak
}

/// The numbers that need only records and levels.
pub(super) fn fill(part: &mut DeviceMemory, records: &Records, selected: &[u32], opening: &OpeningState) {
    part.totals_from_file = opening.given;
    part.lifetimes_from_file = true;
    part.opening_allocated_bytes = opening.bytes;
    part.closing_allocated_bytes = selected.last().map_or(opening.bytes, |&i| records.all[i as usize].level);
    if let Some(Some(reserved)) = opening.carried {
        part.peak_reserved_bytes = Some(reserved);
        part.peak_reserved_at_ns = Some(opening.at.0);
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
