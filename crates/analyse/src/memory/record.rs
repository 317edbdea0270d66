//! Reading the allocations: one record each, in order of time.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use rayon::prelude::*;
use stepscope_model::{AllocationId, LaneId, Ns, Trace};

use super::device::DeviceKey;
use crate::scope::selection::Selection;

/// Real runs have a handful; a file made to hold a million would otherwise cost a table for each.
const MAX_DEVICES: usize = 64;

/// One change of an allocator's level.
#[derive(Copy, Clone, Debug)]
pub(super) struct Record {
    pub(super) at: Ns,
    pub(super) lane: LaneId,
    /// Position in [`Records::devices`].
    pub(super) device: u8,
    /// Under zero is a release.
    pub(super) bytes: i64,
    pub(super) address: Option<i64>,
    /// Bytes in use after it: the file's total, or the running sum.
    pub(super) level: i64,
    /// The level is the file's.
    pub(super) level_given: bool,
    /// The level is not the one before plus these bytes.
    pub(super) gap: bool,
    pub(super) reserved: Option<i64>,
}

/// All of them, ordered by time; marks of the same time keep the order of the file.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) all: Vec<Record>,
    /// In order of type and number.
    pub(super) devices: Vec<DeviceKey>,
    pub(super) unreadable: u64,
    pub(super) merged: u64,
}

impl Records {
    /// For each device the positions of the records that count.
    pub(super) fn selected(&self, selection: &Selection) -> Vec<Vec<u32>> {
        let mut selected = vec![Vec::new(); self.devices.len()];
        for (i, record) in self.all.iter().enumerate() {
            if self.counts(record, selection) {
                selected[usize::from(record.device)].push(i as u32);
            }
        }
        selected
    }

    /// Whether a record counts: by its time, and by its device unless it is the host's.
    pub(super) fn counts(&self, record: &Record, selection: &Selection) -> bool {
        let device = self.devices[usize::from(record.device)];
        device.counts(selection) && selection.contains_time(record.at)
    }
}

pub(super) fn read(trace: &Trace) -> Records {
    let mut records = Records::default();
    let mut ids: HashMap<DeviceKey, u8, RandomState> = HashMap::default();
    // Decoding the arguments is a third of the whole analysis, and each mark's stand alone.
    let marks = (0..trace.allocations().len()).into_par_iter().with_min_len(4_096);
    let parsed: Vec<_> = marks.map(|at| parse(trace, AllocationId::from_index(at))).collect();
    records.all.reserve_exact(parsed.len());
    let mut last: Option<(DeviceKey, u8)> = None;
    for mark in parsed {
        let Some((mut key, mut record)) = mark else {
            records.unreadable += 1;
            continue;
        };
        if records.devices.len() >= MAX_DEVICES && !ids.contains_key(&key) {
            key = DeviceKey::REST;
        }
        records.merged += u64::from(key.rest);
        // Neighbors mostly speak of one device, which saves the look-up.
        record.device = match last {
            Some((before, device)) if before == key => device,
            _ => *ids.entry(key).or_insert_with(|| {
                records.devices.push(key);
                records.devices.len() as u8 - 1
            }),
        };
        last = Some((key, record.device));
        records.all.push(record);
    }
    records.all.sort_by_key(|r| r.at);
    sort_devices(&mut records);
    fill_levels(&mut records);
    records
}

/// Completes the levels the file does not give and finds those that do not follow from the one before.
fn fill_levels(records: &mut Records) {
    let mut last: Vec<Option<i64>> = vec![None; records.devices.len()];
    for r in &mut records.all {
        let before = &mut last[usize::from(r.device)];
        let sum = before.unwrap_or(0).saturating_add(r.bytes);
        if !r.level_given {
            r.level = sum;
        }
        r.gap = before.is_some() && sum != r.level;
        *before = Some(r.level);
    }
}

/// One mark; `None` without a byte count.
fn parse(trace: &Trace, id: AllocationId) -> Option<(DeviceKey, Record)> {
    let found = trace.allocation(id);
    let record = Record {
        at: found.at,
        lane: found.lane,
        device: 0,
        bytes: found.bytes?,
        address: found.address,
        level: found.allocated.unwrap_or(0),
        level_given: found.allocated.is_some(),
        gap: false,
        reserved: found.reserved,
    };
    Some((DeviceKey { kind: found.device_kind, id: found.device, rest: false }, record))
}

/// The order in the file depends on which thread was written first; the report must not.
fn sort_devices(records: &mut Records) {
    let mut sorted = records.devices.clone();
    sorted.sort_unstable_by_key(|d| (d.rest, *d));
    let place: Vec<u8> =
        records.devices.iter().map(|d| sorted.iter().position(|s| s == d).unwrap_or(0) as u8).collect();
    for record in &mut records.all {
        record.device = place[usize::from(record.device)];
    }
    records.devices = sorted;
}
