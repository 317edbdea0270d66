//! Reading the `[memory]` marks: one record each, in order of time.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{LaneId, Ns, SliceId, Trace, Value};

use super::device::DeviceKey;
use crate::selection::Selection;

/// Real runs have a handful; a file made to hold a million would otherwise cost a table for each.
const MAX_DEVICES: usize = 64;

/// One change of an allocator's level.
#[derive(Copy, Clone, Debug)]
pub(super) struct Record {
    pub(super) at: Ns,
    pub(super) lane: LaneId,
    /// Position in [`Records::devices`].
    pub(super) device: usize,
    /// Under zero is a release.
    pub(super) bytes: i64,
    pub(super) address: Option<i64>,
    pub(super) allocated: Option<i64>,
    pub(super) reserved: Option<i64>,
    /// Innermost operator of the thread at that time.
    pub(super) operator: Option<SliceId>,
    /// Innermost Python call of the thread at that time.
    pub(super) python: Option<SliceId>,
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
                selected[record.device].push(i as u32);
            }
        }
        selected
    }

    /// Whether a record counts: by its time, and by its device unless it is the host's.
    pub(super) fn counts(&self, record: &Record, selection: &Selection) -> bool {
        let device = self.devices[record.device];
        let here = device.is_host() || selection.device.is_none_or(|wanted| device.id == Some(wanted));
        here && selection.contains_time(record.at)
    }
}

pub(super) fn read(trace: &Trace) -> Records {
    let mut records = Records::default();
    let Some(name) = trace.strings().find("[memory]") else {
        return records;
    };
    let points = trace.points();
    let mut ids: HashMap<DeviceKey, usize, RandomState> = HashMap::default();
    for id in points.ids().filter(|&id| points.name(id) == name) {
        let mut bytes = None;
        let mut key = DeviceKey { kind: None, id: None, rest: false };
        let (mut address, mut allocated, mut reserved) = (None, None, None);
        // One walk over the arguments: looking each key up alone would decode them six times.
        for (arg, value) in trace.point_args(id).iter() {
            match arg {
                "Bytes" => bytes = Value::as_int(value),
                "Addr" => address = Value::as_int(value),
                "Total Allocated" => allocated = Value::as_int(value),
                "Total Reserved" => reserved = Value::as_int(value),
                "Device Id" => key.id = Value::as_int(value),
                "Device Type" => key.kind = Value::as_int(value),
                _ => {}
            }
        }
        let Some(bytes) = bytes else {
            records.unreadable += 1;
            continue;
        };
        if records.devices.len() >= MAX_DEVICES && !ids.contains_key(&key) {
            key = DeviceKey::REST;
        }
        records.merged += u64::from(key.rest);
        let device = *ids.entry(key).or_insert_with(|| {
            records.devices.push(key);
            records.devices.len() - 1
        });
        let (at, lane) = (points.at(id), points.lane(id));
        records.all.push(Record {
            at,
            lane,
            device,
            bytes,
            address,
            allocated,
            reserved,
            operator: None,
            python: None,
        });
    }
    records.all.sort_by_key(|r| r.at);
    sort_devices(&mut records);
    records
}

/// The order in the file depends on which thread was written first; the report must not.
fn sort_devices(records: &mut Records) {
    let mut sorted = records.devices.clone();
    sorted.sort_unstable_by_key(|d| (d.rest, *d));
    let place: Vec<usize> =
        records.devices.iter().map(|d| sorted.iter().position(|s| s == d).unwrap_or(0)).collect();
    for record in &mut records.all {
        record.device = place[record.device];
    }
    records.devices = sorted;
}
