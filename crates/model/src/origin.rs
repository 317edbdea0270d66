//! Times count from the trace's first event: nanoseconds since 1970 fit neither a browser's numbers nor a reader's eye.

use crate::points::{Flows, Points};
use crate::slices::Slices;
use crate::time::Ns;

/// Moves everything so that the first slice, counter, allocation or point that is not metadata is at zero. Gives what was
/// taken off: nothing where times lie so far apart that one would not fit any more.
pub(crate) fn count_from_first(
    slices: &mut Slices,
    points: &mut Points,
    timed: [&mut Vec<Ns>; 2],
    flows: &mut Flows,
) -> Ns {
    let points_timed = points.ids().filter(|&id| points.is_timed(id)).map(|id| points.at(id));
    let firsts = slices.start.iter().chain(timed.iter().flat_map(|column| column.iter()));
    let Some(first) = firsts.copied().chain(points_timed).min() else { return Ns::ZERO };
    let moved = |at: i64| at.checked_sub(first.0);
    // An end past the last number is held there, and would be held elsewhere once moved.
    let mut ends = slices.start.iter().zip(&slices.dur).map(|(start, dur)| start.0.checked_add(dur.0));
    let columns =
        || [&slices.start, &points.at, &flows.at].into_iter().chain(timed.iter().map(|column| &**column));
    let fits = first.0.checked_neg().is_some()
        && columns().flatten().all(|at| moved(at.0).is_some())
        && ends.all(|end| end.and_then(moved).is_some());
    if !fits || first == Ns::ZERO {
        return Ns::ZERO;
    }
    let columns = [&mut slices.start, &mut points.at, &mut flows.at].into_iter().chain(timed);
    columns.flatten().for_each(|at| *at -= first);
    first
}

#[cfg(test)]
mod tests {
    use crate::PointKind::{self, Counter, Metadata};
    use crate::{NewFlow, NewPoint, NewSlice, Ns, TraceBuilder};

    fn builder(slices: &[(i64, i64)], points: &[(PointKind, i64)]) -> TraceBuilder {
        let mut b = TraceBuilder::new();
        let lane = b.lane(Default::default());
        for &(start, dur) in slices {
            b.slice(NewSlice { start: Ns(start), dur: Ns(dur), lane, ..NewSlice::default() });
        }
        for &(kind, at) in points {
            b.point(NewPoint { at: Ns(at), kind, lane, ..NewPoint::default() });
        }
        b
    }

    #[test]
    fn the_first_event_that_is_no_metadata_is_at_zero() {
        let mut b = builder(&[(70, 5), (60, 1)], &[(Metadata, 0), (Counter, 55)]);
        let lane = b.lane(Default::default());
        b.flow(NewFlow { at: Ns(50), lane, ..NewFlow::default() });
        let trace = b.finish();
        assert_eq!(trace.origin(), Ns(55));
        assert_eq!(trace.slices().starts(), [Ns(5), Ns(15)]);
        assert_eq!(trace.points().ids().map(|id| trace.points().at(id)).collect::<Vec<_>>(), [Ns(-55), Ns(0)]);
        assert_eq!(trace.flows().iter().next().map(|flow| flow.at), Some(Ns(-5)));
    }

    #[test]
    fn times_too_far_apart_stay() {
        for (slices, points) in [
            (vec![(i64::MIN, 1), (5, 1)], vec![]),
            (vec![(-2, 1), (1, i64::MAX - 1)], vec![]),
            (vec![(-2, 1)], vec![(Metadata, i64::MAX)]),
            (vec![(i64::MAX - 5, 10)], vec![]),
        ] {
            let trace = builder(&slices, &points).finish();
            assert_eq!(trace.origin(), Ns::ZERO);
            assert!(slices.iter().all(|slice| trace.slices().starts().contains(&Ns(slice.0))));
        }
        assert_eq!(TraceBuilder::new().finish().origin(), Ns::ZERO);
        assert_eq!(builder(&[], &[(Metadata, 7)]).finish().origin(), Ns::ZERO);
    }
}
