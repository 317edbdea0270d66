//! Joining each allocation with its release, by address.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::DeviceMemory;
use super::record::Records;
use crate::scope::selection::Selection;

/// One stretch of memory in use; the numbers are positions of records.
#[derive(Copy, Clone, Debug)]
pub(super) struct Lifetime {
    pub(super) device: u8,
    /// `None`: allocated before the recording.
    pub(super) allocated: Option<u32>,
    /// `None`: not released inside the recording.
    pub(super) released: Option<u32>,
    /// The address was given out again at this record, so it was released earlier without a mark.
    pub(super) replaced: Option<u32>,
}

impl Lifetime {
    /// Whether it was in use before the record at a position and after all earlier ones.
    pub(super) fn alive_before(&self, position: u32) -> bool {
        let ended = self.released.or(self.replaced).unwrap_or(u32::MAX);
        self.allocated.is_some_and(|a| a < position) && ended >= position
    }
}

/// All lifetimes, in the order of their first record. Marks without an address stand alone.
pub(super) fn find(records: &Records) -> Vec<Lifetime> {
    let mut lifetimes: Vec<Lifetime> = Vec::with_capacity(records.all.len() / 2 + 1);
    let mut open: HashMap<(u8, i64), usize, RandomState> = HashMap::default();
    for (i, record) in records.all.iter().enumerate() {
        let i = i as u32;
        let key = record.address.map(|address| (record.device, address));
        let device = record.device;
        if record.bytes > 0 {
            let before = key.and_then(|key| open.insert(key, lifetimes.len()));
            if let Some(before) = before {
                lifetimes[before].replaced = Some(i);
            }
            lifetimes.push(Lifetime { device, allocated: Some(i), released: None, replaced: None });
        } else if record.bytes < 0 {
            match key.and_then(|key| open.remove(&key)) {
                Some(alive) => lifetimes[alive].released = Some(i),
                None => {
                    lifetimes.push(Lifetime { device, allocated: None, released: Some(i), replaced: None });
                }
            }
        }
    }
    lifetimes
}

/// Counts what has only one end. Marks without an address cannot be joined and are not counted here.
pub(super) fn fill<'a>(
    part: &mut DeviceMemory,
    records: &Records,
    lifetimes: impl Iterator<Item = &'a Lifetime>,
    selection: &Selection,
) {
    for l in lifetimes {
        let Some(record) = l.allocated.or(l.released).map(|i| &records.all[i as usize]) else {
            continue;
        };
        if record.address.is_none() || !records.counts(record, selection) {
            continue;
        }
        if l.allocated.is_none() {
            part.unmatched_frees += 1;
            part.unmatched_free_bytes = part.unmatched_free_bytes.saturating_sub(record.bytes);
        } else if l.replaced.is_some() {
            part.unseen_releases += 1;
        } else if l.released.is_none() {
            part.still_live += 1;
            part.still_live_bytes = part.still_live_bytes.saturating_add(record.bytes);
        }
    }
}
