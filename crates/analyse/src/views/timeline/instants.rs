//! Moments that a picture shows: allocations, and points that are neither counters nor metadata.

use stepscope_model::{AllocationId, Args, CatId, LaneId, Ns, PointId, StrId, Trace};

/// Names one moment. The numbers of allocations follow those of points.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(u32);

enum MomentKind {
    Point(PointId),
    Allocation(AllocationId),
}

impl Moment {
    /// How many numbers there are; some are points that are not moments.
    pub(super) fn count(trace: &Trace) -> usize {
        trace.points().len() + trace.allocations().len()
    }

    /// The moment of a number, if there is one that is drawn.
    pub(super) fn drawn(trace: &Trace, number: usize) -> Option<Moment> {
        let moment = Moment(u32::try_from(number).ok().filter(|_| number < Moment::count(trace))?);
        match moment.kind(trace) {
            MomentKind::Point(id) => trace.points().kind(id).is_moment().then_some(moment),
            MomentKind::Allocation(_) => Some(moment),
        }
    }

    pub(super) fn number(self) -> u32 {
        self.0
    }

    fn kind(self, trace: &Trace) -> MomentKind {
        let number = self.0 as usize;
        match number.checked_sub(trace.points().len()) {
            None => MomentKind::Point(PointId::from_index(number)),
            Some(number) => MomentKind::Allocation(AllocationId::from_index(number)),
        }
    }

    pub(super) fn at(self, trace: &Trace) -> Ns {
        match self.kind(trace) {
            MomentKind::Point(id) => trace.points().at(id),
            MomentKind::Allocation(id) => trace.allocations().at(id),
        }
    }

    pub(super) fn name(self, trace: &Trace) -> StrId {
        match self.kind(trace) {
            MomentKind::Point(id) => trace.points().name(id),
            MomentKind::Allocation(_) => trace.allocations().name(),
        }
    }

    pub(super) fn lane(self, trace: &Trace) -> LaneId {
        match self.kind(trace) {
            MomentKind::Point(id) => trace.points().lane(id),
            MomentKind::Allocation(id) => trace.allocations().lane(id),
        }
    }

    pub(super) fn cat(self, trace: &Trace) -> CatId {
        match self.kind(trace) {
            MomentKind::Point(id) => trace.points().cat(id),
            MomentKind::Allocation(id) => trace.allocations().cat(id),
        }
    }

    pub(super) fn args(self, trace: &Trace) -> Args<'_> {
        match self.kind(trace) {
            MomentKind::Point(id) => trace.point_args(id),
            MomentKind::Allocation(id) => trace.allocation_args(id),
        }
    }
}

/// The moments of each lane, by time.
pub(super) struct Instants {
    by_lane: Vec<Vec<Moment>>,
}

impl Instants {
    pub(super) fn new(trace: &Trace) -> Instants {
        let mut by_lane = vec![Vec::new(); trace.lanes().len()];
        for moment in (0..Moment::count(trace)).filter_map(|number| Moment::drawn(trace, number)) {
            by_lane[moment.lane(trace).index()].push(moment);
        }
        for of_lane in by_lane.iter_mut().filter(|l| !l.is_sorted_by_key(|moment| moment.at(trace))) {
            of_lane.sort_by_key(|moment| moment.at(trace));
        }
        Instants { by_lane }
    }

    pub(super) fn count(&self, lane: LaneId) -> usize {
        self.by_lane[lane.index()].len()
    }

    pub(super) fn take(&mut self, lane: LaneId) -> Vec<Moment> {
        std::mem::take(&mut self.by_lane[lane.index()])
    }
}
