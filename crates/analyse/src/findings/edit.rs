//! A change to the run, slice by slice: what the rules replay.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::{LaneId, Ns, SliceId, Trace};

use crate::host_time::Segment;
use crate::replay::{HostPiece, Scenario};

/// Host work that is gone, device work of another length, calls that no longer wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edit {
    gone: HashSet<SliceId, RandomState>,
    /// Pieces of slices, by where they begin.
    gone_pieces: HashSet<(SliceId, Ns), RandomState>,
    lengths: HashMap<SliceId, i64, RandomState>,
    host_lengths: HashMap<SliceId, i64, RandomState>,
    no_wait: HashSet<SliceId, RandomState>,
}

impl Edit {
    /// The host no longer does this, nor anything called from it.
    pub(crate) fn remove_host(&mut self, trace: &Trace, id: SliceId) {
        let slices = trace.slices();
        let (lane, end) = (slices.lane(id), slices.end(id));
        self.gone.insert(id);
        let after = slices.lane_range(lane).end;
        let inside = (id.index() + 1..after).map(SliceId::from_index);
        self.gone.extend(
            inside.take_while(|&next| slices.start(next) < end).filter(|&next| slices.end(next) <= end),
        );
    }

    /// The host no longer does what lies wholly inside a window of a thread and is chosen by its start and end.
    pub(crate) fn remove_between(
        &mut self,
        trace: &Trace,
        lane: LaneId,
        (from, to): (Ns, Ns),
        chosen: impl Fn(Ns, Ns) -> bool,
    ) {
        let slices = trace.slices();
        let range = slices.lane_range(lane);
        let first = range.start + slices.starts()[range.clone()].partition_point(|&s| s < from);
        let inside = (first..range.end).map(SliceId::from_index).take_while(|&id| slices.start(id) < to);
        self.gone.extend(inside.filter(|&id| slices.end(id) <= to && chosen(slices.start(id), slices.end(id))));
    }

    /// The host no longer spends this piece of a slice's own time.
    pub(crate) fn remove_piece(&mut self, piece: &Segment) {
        self.gone_pieces.extend(piece.slice.map(|slice| (slice, piece.start)));
    }

    /// A host slice takes so long, what it calls left out.
    pub(crate) fn host_length(&mut self, id: SliceId, ns: i64) {
        self.host_lengths.insert(id, ns);
    }

    /// Device work takes so long; 0 removes it from its stream.
    pub(crate) fn device_length(&mut self, work: SliceId, ns: i64) {
        self.lengths.insert(work, ns);
    }

    /// A call no longer waits for the device.
    pub(crate) fn no_wait(&mut self, call: SliceId) {
        self.no_wait.insert(call);
    }
}

impl Scenario for Edit {
    fn host(&self, piece: &HostPiece) -> i64 {
        match piece.slice {
            Some(slice) if self.gone.contains(&slice) || self.gone_pieces.contains(&(slice, piece.start)) => 0,
            Some(slice) => self.host_lengths.get(&slice).map_or(piece.ns, |&shorter| piece.ns.min(shorter)),
            None => piece.ns,
        }
    }

    fn device(&self, work: SliceId, ns: i64) -> i64 {
        self.lengths.get(&work).copied().unwrap_or(ns)
    }

    fn waits(&self, call: SliceId) -> bool {
        !self.no_wait.contains(&call)
    }
}
