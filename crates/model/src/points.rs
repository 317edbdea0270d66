//! Points: everything with a time but no length (instants, counters, metadata, and what no one interprets), and
//! flows, the ends of arrows between slices.

use crate::args::ArgsId;
use crate::kind::CatId;
use crate::lanes::LaneId;
use crate::strings::StrId;
use crate::time::Ns;

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

#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, Hash)]
pub enum PointKind {
    #[default]
    Instant,
    Counter,
    /// Something about the trace, such as the name of a thread; its time means nothing.
    Metadata,
    /// Another moment, by its producer's code.
    Other(u8),
}

impl PointKind {
    /// Whether something happened at its time, and not just a value changed.
    pub fn is_moment(self) -> bool {
        !matches!(self, PointKind::Counter | PointKind::Metadata)
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
    pub(crate) kind: Vec<PointKind>,
}

impl Points {
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

    pub fn name(&self, id: PointId) -> StrId {
        self.name[id.index()]
    }

    pub fn lane(&self, id: PointId) -> LaneId {
        self.lane[id.index()]
    }

    pub fn args(&self, id: PointId) -> ArgsId {
        self.args[id.index()]
    }

    /// Its category as the file spelled it.
    pub fn cat(&self, id: PointId) -> CatId {
        self.cat[id.index()]
    }

    pub fn kind(&self, id: PointId) -> PointKind {
        self.kind[id.index()]
    }

    /// Whether it happened at its time: metadata does not, whatever time it carries.
    pub fn is_timed(&self, id: PointId) -> bool {
        self.kind(id) != PointKind::Metadata
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.len() * (8 + 4 + 4 + 4 + 2 + 2)
    }
}

#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FlowKind {
    /// From a forward operator to its backward one.
    ForwardBackward,
    /// From a call to the device work it launched.
    Launch,
    /// Something else; its category text says what.
    #[default]
    Other,
}

/// Which end of an arrow.
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FlowSide {
    #[default]
    Start,
    Step,
    Finish,
}

/// The flow columns, in file order: each row is one end of an arrow.
#[derive(Debug, Clone, Default)]
pub struct Flows {
    pub(crate) at: Vec<Ns>,
    pub(crate) id: Vec<i64>,
    pub(crate) name: Vec<StrId>,
    pub(crate) lane: Vec<LaneId>,
    pub(crate) cat: Vec<CatId>,
    /// Kind and side: there is one for every kernel, so they share a byte.
    role: Vec<u8>,
}

/// One end of an arrow.
#[derive(Copy, Clone, Debug)]
pub struct FlowEnd {
    /// When, since the trace's first event.
    pub at: Ns,
    /// Ends with the same category and id belong together.
    pub id: i64,
    pub name: StrId,
    pub lane: LaneId,
    /// Its category as the file spelled it.
    pub cat: CatId,
    pub kind: FlowKind,
    pub side: FlowSide,
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
            kind: kind_of(self.role[i]),
            side: side_of(self.role[i]),
        })
    }

    pub(crate) fn push_role(&mut self, kind: FlowKind, side: FlowSide) {
        self.role.push((kind as u8) << 2 | side as u8);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.len() * (8 + 8 + 4 + 4 + 2 + 1)
    }
}

fn kind_of(role: u8) -> FlowKind {
    match role >> 2 {
        0 => FlowKind::ForwardBackward,
        1 => FlowKind::Launch,
        _ => FlowKind::Other,
    }
}

fn side_of(role: u8) -> FlowSide {
    match role & 3 {
        0 => FlowSide::Start,
        1 => FlowSide::Step,
        _ => FlowSide::Finish,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_and_side_share_a_byte() {
        for kind in [FlowKind::ForwardBackward, FlowKind::Launch, FlowKind::Other] {
            for side in [FlowSide::Start, FlowSide::Step, FlowSide::Finish] {
                let mut flows = Flows::default();
                flows.push_role(kind, side);
                assert_eq!((kind_of(flows.role[0]), side_of(flows.role[0])), (kind, side));
            }
        }
    }
}
