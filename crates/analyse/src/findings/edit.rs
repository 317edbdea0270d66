//! A change to the run, slice by slice: what the rules replay.

use std::sync::OnceLock;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::{LaneId, Ns, SliceId, Trace};

use crate::replay::{HostPiece, Scenario};
use crate::threads::host_time::Segment;

/// Host work that is gone, device work of another length, calls that no longer wait.
pub(crate) struct Edit<'a> {
    trace: &'a Trace,
    /// Gone with all that is called from them.
    removed: Vec<SliceId>,
    /// The same with what is called from them, worked out once for all.
    called: OnceLock<HashSet<SliceId, RandomState>>,
    gone: HashSet<SliceId, RandomState>,
    /// Pieces of slices, by where they begin.
    gone_pieces: HashSet<(SliceId, Ns), RandomState>,
    lengths: HashMap<SliceId, i64, RandomState>,
    host_lengths: HashMap<SliceId, i64, RandomState>,
    no_wait: HashSet<SliceId, RandomState>,
}

impl<'a> Edit<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Self {
        Edit {
            trace,
            removed: Vec::new(),
            called: OnceLock::new(),
            gone: HashSet::default(),
            gone_pieces: HashSet::default(),
            lengths: HashMap::default(),
            host_lengths: HashMap::default(),
            no_wait: HashSet::default(),
        }
    }

    /// The host no longer does this, nor anything called from it.
    pub(crate) fn remove_host(&mut self, id: SliceId) {
        self.called.take();
        self.removed.push(id);
    }

    /// Slices removed with all that lies wholly inside them. One pass for all: they may stand inside each other.
    fn with_called(&self) -> HashSet<SliceId, RandomState> {
        let slices = self.trace.slices();
        let mut removed = self.removed.clone();
        removed.sort_unstable();
        let mut gone: HashSet<SliceId, RandomState> = removed.iter().copied().collect();
        let mut next = 0;
        for of_lane in removed.chunk_by(|a, b| slices.lane(*a) == slices.lane(*b)) {
            let after = slices.lane_range(slices.lane(of_lane[0])).end;
            for &id in of_lane {
                let mut reach = slices.end(id);
                next = next.max(id.index());
                // As far as the furthest end of what is removed: a slice that ends before it lies inside one of them.
                while next < after && slices.start(SliceId::from_index(next)) < reach {
                    let inside = SliceId::from_index(next);
                    if of_lane.binary_search(&inside).is_ok() {
                        reach = reach.max(slices.end(inside));
                    }
                    if slices.end(inside) <= reach {
                        gone.insert(inside);
                    }
                    next += 1;
                }
            }
        }
        gone
    }

    /// The host no longer does what lies wholly inside a window of a thread and is chosen by its start and end.
    pub(crate) fn remove_between(
        &mut self,
        lane: LaneId,
        (from, to): (Ns, Ns),
        chosen: impl Fn(Ns, Ns) -> bool,
    ) {
        let slices = self.trace.slices();
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

impl Scenario for Edit<'_> {
    fn host(&self, piece: &HostPiece) -> i64 {
        let called = self.called.get_or_init(|| self.with_called());
        match piece.slice {
            Some(slice)
                if called.contains(&slice)
                    || self.gone.contains(&slice)
                    || self.gone_pieces.contains(&(slice, piece.start)) =>
            {
                0
            }
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
