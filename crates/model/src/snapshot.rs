//! A snapshot of a GPU allocator's memory: what it holds from the device, what is allocated within, and the history
//! that led there, as `torch.cuda.memory._snapshot()` records it.

use crate::history_table::HistoryTable;
use crate::meta::Source;
use crate::notes::Notes;
use crate::stack_table::StackTable;
use crate::stack_tree::StackId;
use crate::strings::StrId;
use crate::time::Ns;

/// Memory taken from a device in one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub device: i64,
    pub address: u64,
    pub bytes: u64,
    /// The stream it was taken for.
    pub stream: u64,
    /// Whether it is of the pool for small blocks.
    pub small: bool,
    pub expandable: bool,
    /// The pool it belongs to; `(0, 0)` is the one that everything shares, CUDA graphs have pools of their own.
    pub pool: (i64, i64),
    /// Who asked for it; empty where stacks were not recorded.
    pub stack: StackId,
    /// What it is made of, by rising address.
    pub blocks: Vec<Block>,
}

/// What a block is used for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// In use.
    Allocated,
    /// Freed, but another stream may still use it.
    AwaitingFree,
    /// Free to be used again.
    Free,
}

/// A stretch of a segment.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub address: u64,
    pub bytes: u64,
    /// How much was asked for; the rest is rounding.
    pub requested_bytes: u64,
    /// What it is used for.
    pub state: BlockState,
    /// Who asked for it; empty where stacks were not recorded.
    pub stack: StackId,
}

/// A moment at which a named range of the program begins or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub name: StrId,
    /// Whether it begins; otherwise it ends.
    pub begins: bool,
    pub device: i64,
    /// When, since the Unix epoch.
    pub at: Ns,
}

/// The memory of all devices of a process at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub source: Source,
    pub stacks: StackTable,
    /// What the allocator holds, in the order of the file.
    pub segments: Vec<Segment>,
    /// What led there, oldest first on each device.
    pub history: HistoryTable,
    /// Where named ranges (`record_function`) begin and end, in the order of the file.
    pub marks: Vec<Mark>,
    /// The allocator's settings, as `name` and value.
    pub settings: Vec<(String, String)>,
    /// What was kept, repaired and set aside.
    pub notes: Notes,
}

impl Snapshot {
    /// The number of the device whose memory is the host's: pinned memory has an allocator too.
    pub const HOST: i64 = -1;

    /// The numbers of the devices that have a segment or a history, rising.
    pub fn devices(&self) -> Vec<i64> {
        let segments = self.segments.iter().map(|segment| segment.device);
        let mut devices: Vec<i64> =
            segments.chain(self.history.of_devices().map(|(_, device)| device)).collect();
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    /// Bytes that the segments, the history and the stacks hold.
    pub fn heap_bytes(&self) -> usize {
        let blocks: usize = self.segments.iter().map(|segment| segment.blocks.len()).sum();
        self.stacks.heap_bytes()
            + self.segments.len() * size_of::<Segment>()
            + blocks * size_of::<Block>()
            + self.history.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history_entry::{Action, HistoryEntry};

    #[test]
    fn devices_are_those_with_memory_or_a_history() {
        let segment = |device| Segment {
            device,
            address: 0,
            bytes: 2 << 20,
            stream: 0,
            small: true,
            expandable: false,
            pool: (0, 0),
            stack: StackId::EMPTY,
            blocks: Vec::new(),
        };
        let entry = HistoryEntry {
            device: 3,
            action: Action::Alloc,
            address: 0,
            bytes: 512,
            stream: 0,
            at: None,
            stack: StackId::EMPTY,
        };
        let snapshot = Snapshot {
            segments: vec![segment(1), segment(0), segment(1)],
            history: std::iter::once(entry).collect(),
            ..Snapshot::default()
        };
        assert_eq!(snapshot.devices(), [0, 1, 3]);
    }
}
