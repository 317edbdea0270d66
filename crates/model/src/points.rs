//! Points: everything with a time but no length (instants, counters, metadata, phases we do not interpret), and
//! flows, the ends of arrows between slices.

use crate::args::ArgsId;
use crate::kind::CatId;
use crate::lanes::LaneId;
use crate::strings::StrId;
use crate::time::Ns;

/// Names one point.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PointId(pub(crate) u32);

impl PointId {
    /// The position of this point in the columns.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The point at a position of the columns.
    pub fn from_index(index: usize) -> PointId {
        PointId(index as u32)
    }
}

/// The point columns, in file order.
#[derive(Debug, Clone, Default)]
pub struct Points {
    pub(crate) at: Vec<Ns>,
    pub(crate) name: Vec<StrId>,
    pub(crate) lane: Vec<LaneId>,
    pub(crate) args: Vec<ArgsId>,
    pub(crate) cat: Vec<CatId>,
    pub(crate) phase: Vec<u8>,
}

impl Points {
    /// How many points there are.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Every point, in file order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = PointId> + use<> {
        (0..self.len() as u32).map(PointId)
    }

    /// Its time since the trace's first event.
    pub fn at(&self, id: PointId) -> Ns {
        self.at[id.index()]
    }

    /// Its name.
    pub fn name(&self, id: PointId) -> StrId {
        self.name[id.index()]
    }

    /// Its lane.
    pub fn lane(&self, id: PointId) -> LaneId {
        self.lane[id.index()]
    }

    /// Its arguments.
    pub fn args(&self, id: PointId) -> ArgsId {
        self.args[id.index()]
    }

    /// Its category as the file spelled it.
    pub fn cat(&self, id: PointId) -> CatId {
        self.cat[id.index()]
    }

    /// Its Chrome phase letter: `i` instant, `C` counter, `M` metadata, or another.
    pub fn phase(&self, id: PointId) -> u8 {
        self.phase[id.index()]
    }

    /// Whether it happened at its time: metadata does not, whatever time it carries.
    pub fn is_timed(&self, id: PointId) -> bool {
        self.phase(id) != b'M'
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.len() * (8 + 4 + 4 + 4 + 2 + 1)
    }
}

/// The flow columns, in file order: each row is one end of an arrow.
#[derive(Debug, Clone, Default)]
pub struct Flows {
    pub(crate) at: Vec<Ns>,
    pub(crate) id: Vec<i64>,
    pub(crate) name: Vec<StrId>,
    pub(crate) lane: Vec<LaneId>,
    pub(crate) cat: Vec<CatId>,
    pub(crate) phase: Vec<u8>,
}

/// One end of an arrow.
#[derive(Copy, Clone, Debug)]
pub struct FlowEnd {
    /// When, since the trace's first event.
    pub at: Ns,
    /// Ends with the same category and id belong together.
    pub id: i64,
    /// Its name.
    pub name: StrId,
    /// Its lane.
    pub lane: LaneId,
    /// Its category as the file spelled it.
    pub cat: CatId,
    /// `s` start, `t` step, `f` finish.
    pub phase: u8,
}

impl Flows {
    /// How many ends there are.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Every end, in file order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = FlowEnd> {
        (0..self.len()).map(|i| FlowEnd {
            at: self.at[i],
            id: self.id[i],
            name: self.name[i],
            lane: self.lane[i],
            cat: self.cat[i],
            phase: self.phase[i],
        })
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.len() * (8 + 8 + 4 + 4 + 2 + 1)
    }
}
