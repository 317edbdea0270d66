//! Begin events that wait for their end: a stack per lane, eight bytes per event. The slices themselves are in the
//! builder already, so a file of begins without ends costs hardly more than one of whole slices.

use stepscope_model::{LaneId, OpenSlice};

const NO_EVENT: u32 = u32::MAX;

struct OpenEvent {
    slice: OpenSlice,
    /// The one that began before it on the same lane; for a free place, the next free place.
    below: u32,
}

/// The stacks of all lanes.
pub(super) struct OpenEvents {
    /// The top of each lane's stack.
    tops: Vec<u32>,
    held: Vec<OpenEvent>,
    free: u32,
}

impl OpenEvents {
    pub(super) fn new() -> OpenEvents {
        OpenEvents { tops: Vec::new(), held: Vec::new(), free: NO_EVENT }
    }

    /// Whether something waits on this lane.
    pub(super) fn any(&self, lane: LaneId) -> bool {
        self.tops.get(lane.index()).is_some_and(|&top| top != NO_EVENT)
    }

    /// Holds a slice that began.
    pub(super) fn push(&mut self, lane: LaneId, slice: OpenSlice) {
        if self.tops.len() <= lane.index() {
            self.tops.resize(lane.index() + 1, NO_EVENT);
        }
        let top = &mut self.tops[lane.index()];
        let held = OpenEvent { slice, below: *top };
        match self.held.get_mut(self.free as usize) {
            Some(place) => {
                *top = std::mem::replace(&mut self.free, place.below);
                *place = held;
            }
            None => {
                *top = self.held.len() as u32;
                self.held.push(held);
            }
        }
    }

    /// Takes back the slice that began last on this lane.
    pub(super) fn pop(&mut self, lane: LaneId) -> Option<OpenSlice> {
        let top = self.tops.get_mut(lane.index())?;
        let place = self.held.get_mut(*top as usize)?;
        let freed = std::mem::replace(top, place.below);
        place.below = std::mem::replace(&mut self.free, freed);
        Some(place.slice)
    }

    /// Takes back any slice that still waits, with the position of its lane.
    pub(super) fn pop_any(&mut self) -> Option<(usize, OpenSlice)> {
        while let Some(&top) = self.tops.last() {
            if let Some(held) = self.held.get(top as usize) {
                let lane = self.tops.len() - 1;
                self.tops[lane] = held.below;
                return Some((lane, held.slice));
            }
            self.tops.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use stepscope_model::{LaneKey, NewSlice, Ns, Tag, TraceBuilder};

    use super::*;

    #[test]
    fn the_last_begin_of_a_lane_ends_first_and_places_are_used_again() {
        let mut b = TraceBuilder::new();
        let lanes = [1, 2].map(|n| b.lane(LaneKey { thread: Tag::Int(n), ..LaneKey::default() }));
        let mut slice = |at| b.begin(NewSlice { start: Ns(at), ..NewSlice::default() }).unwrap();
        let (first, second, third, fourth) = (slice(1), slice(2), slice(3), slice(4));
        let mut waiting = OpenEvents::new();
        waiting.push(lanes[0], first);
        waiting.push(lanes[1], second);
        waiting.push(lanes[0], third);
        assert_eq!(waiting.pop(lanes[0]), Some(third));
        waiting.push(lanes[1], fourth);
        assert_eq!(waiting.held.len(), 3);
        assert_eq!(waiting.pop(lanes[1]), Some(fourth));
        assert_eq!(waiting.pop(lanes[0]), Some(first));
        assert_eq!((waiting.any(lanes[0]), waiting.pop(lanes[0])), (false, None));
        assert_eq!(waiting.pop_any(), Some((lanes[1].index(), second)));
        assert_eq!(waiting.pop_any(), None);
    }
}
