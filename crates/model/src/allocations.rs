//! Allocations: what memory was taken and given back, when, where and by whom.
//!
//! The numbers stay in the event's arguments, which take fewer bytes than a column each and can be written back as they
//! were; a row is decoded in one pass.

use crate::args::ArgsId;
use crate::kind::CatId;
use crate::lanes::LaneId;
use crate::strings::StrId;
use crate::time::Ns;

/// Names one allocation or release.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllocationId(u32);

impl AllocationId {
    /// The position of this allocation in the columns.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The allocation at a position of the columns.
    pub fn from_index(index: usize) -> AllocationId {
        AllocationId(index as u32)
    }
}

/// The allocation columns, in file order.
#[derive(Debug, Clone, Default)]
pub struct Allocations {
    pub(crate) at: Vec<Ns>,
    pub(crate) lane: Vec<LaneId>,
    pub(crate) cat: Vec<CatId>,
    pub(crate) args: Vec<ArgsId>,
    pub(crate) name: StrId,
}

/// One change of an allocator's level. What the producer did not say is `None`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// When, since the trace's first event.
    pub at: Ns,
    /// The thread that asked.
    pub lane: LaneId,
    /// The kind of its device, as PyTorch numbers them: 0 is the host.
    pub device_kind: Option<i64>,
    pub device: Option<i64>,
    pub address: Option<i64>,
    /// How many bytes; under zero is a release.
    pub bytes: Option<i64>,
    /// Bytes in use after it.
    pub allocated: Option<i64>,
    /// Bytes the allocator holds after it.
    pub reserved: Option<i64>,
}

impl Allocations {
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Every one, in file order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = AllocationId> + use<> {
        (0..self.len() as u32).map(AllocationId)
    }

    /// Its time since the trace's first event.
    pub fn at(&self, id: AllocationId) -> Ns {
        self.at[id.index()]
    }

    /// The thread that asked.
    pub fn lane(&self, id: AllocationId) -> LaneId {
        self.lane[id.index()]
    }

    /// Its category as the producer spelled it.
    pub fn cat(&self, id: AllocationId) -> CatId {
        self.cat[id.index()]
    }

    pub fn args(&self, id: AllocationId) -> ArgsId {
        self.args[id.index()]
    }

    /// What the producer calls them all.
    pub fn name(&self) -> StrId {
        self.name
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.len() * (8 + 4 + 2 + 4)
    }
}
