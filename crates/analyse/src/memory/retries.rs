//! Requests for which the allocator had to give its whole cache back to the device and try again: the device was full.
//!
//! PyTorch counts them as `num_alloc_retries`. In a history they are segments that are given back on behalf of the very
//! call that takes a segment, or is refused, right after. `empty_cache()` gives segments back too, but on its own behalf.

use stepscope_model::{Action, HistoryEntry, Snapshot, StackId};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The entry at which the request was met, or refused.
    pub moment: u32,
    /// Segments that were given back; of segments that grow, pieces of them.
    pub returned: u64,
    pub returned_bytes: u64,
    pub refused: bool,
    pub stack: StackId,
}

/// Finds them in the history of a device, in order.
pub fn retries(snapshot: &Snapshot, device: i64) -> Vec<Retry> {
    let entries = || snapshot.history.iter().filter(|entry| entry.device == device);
    // In the backward pass there is no Python on the stack. Where no free has any, nothing tells `empty_cache()` apart.
    let is_free = |entry: &HistoryEntry| matches!(entry.action, Action::FreeRequested | Action::FreeCompleted);
    let told_apart = entries().filter(is_free).any(|entry| entry.stack != StackId::EMPTY);
    let mut found = Vec::new();
    let (mut returned, mut returned_bytes, mut on_behalf) = (0, 0u64, None);
    for (moment, entry) in entries().enumerate() {
        match entry.action {
            Action::SegmentFree | Action::SegmentUnmap => {
                if on_behalf != Some(entry.stack) {
                    (returned, returned_bytes) = (0, 0);
                }
                on_behalf = Some(entry.stack);
                returned += 1;
                returned_bytes = returned_bytes.saturating_add(entry.bytes);
                continue;
            }
            Action::SegmentAlloc | Action::SegmentMap | Action::OutOfMemory => {
                let same = on_behalf == Some(entry.stack) && (told_apart || entry.stack != StackId::EMPTY);
                let refused = entry.action == Action::OutOfMemory;
                if same || refused {
                    let (returned, returned_bytes) = if same { (returned, returned_bytes) } else { (0, 0) };
                    let moment = u32::try_from(moment).unwrap_or(u32::MAX);
                    found.push(Retry { moment, returned, returned_bytes, refused, stack: entry.stack });
                }
            }
            _ => {}
        }
        on_behalf = None;
    }
    found
}
