//! Moments that a picture shows: points that are neither counters nor metadata.

use stepscope_model::{LaneId, PointId, Trace};

/// The moments of each lane, by time.
pub(super) struct Instants {
    by_lane: Vec<Vec<PointId>>,
}

impl Instants {
    pub(super) fn new(trace: &Trace) -> Instants {
        let points = trace.points();
        let mut by_lane = vec![Vec::new(); trace.lanes().len()];
        for id in points.ids().filter(|&id| points.kind(id).is_moment()) {
            by_lane[points.lane(id).index()].push(id);
        }
        for of_lane in by_lane.iter_mut().filter(|l| !l.is_sorted_by_key(|&id| points.at(id))) {
            of_lane.sort_by_key(|&id| points.at(id));
        }
        Instants { by_lane }
    }

    pub(super) fn count(&self, lane: LaneId) -> usize {
        self.by_lane[lane.index()].len()
    }

    pub(super) fn take(&mut self, lane: LaneId) -> Vec<PointId> {
        std::mem::take(&mut self.by_lane[lane.index()])
    }
}
