//! What `stepscope.memory` writes beside PyTorch's own settings of the allocator: how much memory the devices have, how
//! often the allocator had to try again, and the batch. Snapshots of PyTorch itself say none of it.

use stepscope_model::Snapshot;

use super::history::History;

/// The memory that a device has.
pub const CAPACITY_SETTING: &str = "stepscope.capacity_bytes";
/// What of it this process could have: the rest is taken by the context, by others or by a limit.
pub const USABLE_SETTING: &str = "stepscope.usable_bytes";
/// PyTorch's `num_alloc_retries`.
pub const RETRIES_SETTING: &str = "stepscope.num_alloc_retries";
pub const BATCH_SETTING: &str = "stepscope.batch";

fn setting(snapshot: &Snapshot, name: &str) -> Option<u64> {
    let (_, value) = snapshot.settings.iter().find(|(known, _)| known == name)?;
    value.parse().ok().filter(|&number| number > 0)
}

fn of_device(snapshot: &Snapshot, name: &str, device: i64) -> Option<u64> {
    setting(snapshot, &format!("{name}.{device}"))
}

/// The memory that a device has.
pub fn capacity(snapshot: &Snapshot, device: i64) -> Option<u64> {
    of_device(snapshot, CAPACITY_SETTING, device)
}

/// The memory that the process can have on a device: as recorded, or as a refused request shows it.
pub fn usable(snapshot: &Snapshot, history: &History) -> Option<u64> {
    // A request that the device had room for was refused by a limit on the process, which PyTorch does not name.
    let told = || {
        let full = history.refusals.iter().filter(|refusal| !refusal.is_limited());
        full.map(|refusal| refusal.level.reserved.saturating_add(refusal.device_free)).max()
    };
    of_device(snapshot, USABLE_SETTING, history.device).or_else(told)
}

/// How often the allocator had to give back its cache since the process began, by PyTorch's own count.
pub fn counted_retries(snapshot: &Snapshot, device: i64) -> Option<u64> {
    of_device(snapshot, RETRIES_SETTING, device)
}

pub fn batch(snapshot: &Snapshot) -> Option<u64> {
    setting(snapshot, BATCH_SETTING)
}
