//! Slices: everything with a start and a length, as columns sorted by lane, start and falling end.

use std::ops::Range;

use crate::args::ArgsId;
use crate::kind::{CatId, Kind};
use crate::lanes::LaneId;
use crate::strings::StrId;
use crate::time::Ns;

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SliceId(pub(crate) u32);

impl SliceId {
    /// The position of this slice in the columns; its number in machine output. The same for every reading of one
    /// file.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The slice at a position of the columns.
    pub fn from_index(index: usize) -> SliceId {
        SliceId(index as u32)
    }
}

/// The slice columns. Slices of one lane are neighbors; of two that start together the longer comes first, so
/// a parent always precedes its children.
#[derive(Debug, Clone, Default)]
pub struct Slices {
    pub(crate) start: Vec<Ns>,
    pub(crate) dur: Vec<Ns>,
    pub(crate) name: Vec<StrId>,
    pub(crate) lane: Vec<LaneId>,
    pub(crate) args: Vec<ArgsId>,
    pub(crate) cat: Vec<CatId>,
    pub(crate) kind: Vec<Kind>,
    /// `lane_ends[i]`: where the slices of lane `i` end.
    pub(crate) lane_ends: Vec<u32>,
}

impl Slices {
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// Every slice, lane by lane.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = SliceId> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(SliceId)
    }

    /// The positions of one lane's slices, ordered by start.
    pub fn lane_range(&self, lane: LaneId) -> Range<usize> {
        let end = self.lane_ends.get(lane.index()).copied().unwrap_or(0) as usize;
        let start = match lane.index() {
            0 => 0,
            i => self.lane_ends.get(i - 1).copied().unwrap_or(0) as usize,
        };
        start..end
    }

    /// One lane's slices, ordered by start.
    pub fn of_lane(
        &self,
        lane: LaneId,
    ) -> impl DoubleEndedIterator<Item = SliceId> + ExactSizeIterator + use<> {
        let range = self.lane_range(lane);
        (range.start as u32..range.end as u32).map(SliceId)
    }

    /// When it began, since the trace's first event.
    pub fn start(&self, id: SliceId) -> Ns {
        self.start[id.index()]
    }

    /// How long it took; never negative.
    pub fn dur(&self, id: SliceId) -> Ns {
        self.dur[id.index()]
    }

    pub fn end(&self, id: SliceId) -> Ns {
        self.start[id.index()] + self.dur[id.index()]
    }

    pub fn name(&self, id: SliceId) -> StrId {
        self.name[id.index()]
    }

    pub fn lane(&self, id: SliceId) -> LaneId {
        self.lane[id.index()]
    }

    pub fn kind(&self, id: SliceId) -> Kind {
        self.kind[id.index()]
    }

    /// Its category as the file spelled it.
    pub fn cat(&self, id: SliceId) -> CatId {
        self.cat[id.index()]
    }

    pub fn args(&self, id: SliceId) -> ArgsId {
        self.args[id.index()]
    }

    /// All starts, in column order.
    pub fn starts(&self) -> &[Ns] {
        &self.start
    }

    /// All lengths, in column order.
    pub fn durs(&self) -> &[Ns] {
        &self.dur
    }

    /// All kinds, in column order.
    pub fn kinds(&self) -> &[Kind] {
        &self.kind
    }

    /// Sorts the columns by lane, start and falling end; ties keep the order of the file. Returns for each old
    /// position the new one.
    pub(crate) fn sort(&mut self, lanes: usize) -> Vec<u32> {
        let mut ends = vec![0u32; lanes];
        for lane in &self.lane {
            ends[lane.index()] += 1;
        }
        let mut next = Vec::with_capacity(lanes);
        let mut total = 0;
        for end in &mut ends {
            next.push(total);
            total += *end;
            *end = total;
        }
        let mut order = vec![0u32; self.len()];
        for (old, lane) in self.lane.iter().enumerate() {
            let slot = &mut next[lane.index()];
            order[*slot as usize] = old as u32;
            *slot += 1;
        }
        drop(next);
        let key = |&old: &u32| {
            let old = old as usize;
            // Equal starts: the later end first. `!` reverses the order of an integer without overflow.
            (self.start[old], !(self.start[old] + self.dur[old]).0)
        };
        let mut begin = 0usize;
        for &end in &ends {
            let run = &mut order[begin..end as usize];
            // Files come nearly sorted: checking first is cheaper than sorting.
            if !run.is_sorted_by_key(key) {
                run.sort_by_key(key);
            }
            begin = end as usize;
        }
        permute(&mut self.start, &order);
        permute(&mut self.dur, &order);
        permute(&mut self.name, &order);
        permute(&mut self.lane, &order);
        permute(&mut self.args, &order);
        permute(&mut self.cat, &order);
        permute(&mut self.kind, &order);
        self.lane_ends = ends;
        let mut new_of_old = vec![0u32; order.len()];
        for (new, &old) in order.iter().enumerate() {
            new_of_old[old as usize] = new as u32;
        }
        new_of_old
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.len() * (8 + 8 + 4 + 4 + 4 + 2 + 1) + self.lane_ends.len() * 4
    }
}

fn permute<T: Copy>(column: &mut Vec<T>, order: &[u32]) {
    *column = order.iter().map(|&old| column[old as usize]).collect();
}
