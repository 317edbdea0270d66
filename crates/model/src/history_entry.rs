//! One moment of an allocator's history.

use crate::stack_tree::StackId;
use crate::time::Ns;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A block was allocated.
    Alloc,
    /// The program gave a block back.
    FreeRequested,
    /// The block can be used again, since every stream is done with it.
    FreeCompleted,
    /// A segment was taken from the device.
    SegmentAlloc,
    /// A segment was given back to the device.
    SegmentFree,
    /// An expandable segment grew.
    SegmentMap,
    /// An expandable segment shrank.
    SegmentUnmap,
    /// The device had no memory left.
    OutOfMemory,
    /// A snapshot was taken.
    Snapshot,
    /// Something that later versions may have; the notes name it.
    Other,
}

/// One moment of the history.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    pub device: i64,
    pub action: Action,
    /// Where; for [`Action::OutOfMemory`], what the device had left.
    pub address: u64,
    pub bytes: u64,
    pub stream: u64,
    /// When, since the Unix epoch, if the history has times.
    pub at: Option<Ns>,
    /// On whose behalf; empty where stacks were not recorded.
    pub stack: StackId,
}
