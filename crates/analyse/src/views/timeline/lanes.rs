//! Which lanes have a group of their own, in which order, and how many rows each may have.

use std::cmp::Reverse;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Domain, LaneId, Order, Tag, Trace};

use super::instants::Instants;
use crate::threads::lock::{is_states, thread_of};

/// Most lanes that have a group of their own. A file may name a million threads; no one looks at as many.
pub const MAX_LANES: usize = 4_000;
/// Most rows of one lane.
pub const MAX_ROWS_PER_LANE: usize = 512;
/// About how many rows all lanes may have together.
const MAX_ROWS: usize = 65_536;
/// Rows that every lane may have, however many lanes there are.
const MIN_ROWS_PER_LANE: usize = 16;

/// The lanes that have anything to show.
pub(super) struct Lanes {
    /// Streams, by device and number.
    pub(super) device: Vec<LaneId>,
    /// Threads, the busiest first.
    pub(super) host: Vec<LaneId>,
    pub(super) other: Vec<LaneId>,
    /// Those past the limit, the busiest not among them.
    pub(super) rest: Vec<LaneId>,
    /// By lane: whether it has a group of its own.
    pub(super) is_shown: Vec<bool>,
    pub(super) rows_a_lane: usize,
}

impl Lanes {
    pub(super) fn new(trace: &Trace, instants: &Instants) -> Lanes {
        let slices = trace.slices();
        let events = |lane: LaneId| slices.lane_range(lane).len() + instants.count(lane);
        let mut all: Vec<LaneId> =
            trace.lanes().iter().map(|(id, _)| id).filter(|&id| events(id) > 0).collect();
        let mut rest = Vec::new();
        if all.len() > MAX_LANES {
            all.order_by_key(|&lane| (Reverse(events(lane)), lane));
            rest = all.split_off(MAX_LANES);
        }
        let mut lanes = Lanes {
            device: Vec::new(),
            host: Vec::new(),
            other: Vec::new(),
            rest,
            is_shown: vec![false; trace.lanes().len()],
            rows_a_lane: (MAX_ROWS / all.len().max(1)).clamp(MIN_ROWS_PER_LANE, MAX_ROWS_PER_LANE),
        };
        for lane in all {
            lanes.is_shown[lane.index()] = true;
            let device = trace.lanes().get(lane).key.domain == Domain::Device;
            let of_kind = match device {
                true => &mut lanes.device,
                false if slices.of_lane(lane).any(|id| slices.kind(id).is_host()) => &mut lanes.host,
                false => &mut lanes.other,
            };
            of_kind.push(lane);
        }
        let key = |lane: LaneId| trace.lanes().get(lane).key;
        lanes.device.order_by_key(|&lane| (key(lane), lane));
        for of_kind in [&mut lanes.host, &mut lanes.other] {
            of_kind.order_by_key(|&lane| (Reverse(slices.lane_range(lane).len()), key(lane), lane));
        }
        lanes.put_states_beside(trace);
        lanes
    }

    /// What a thread did with the interpreter's lock, and the tasks it ran, stand above what it called.
    fn put_states_beside(&mut self, trace: &Trace) {
        let mut states: HashMap<(Tag, i64), Vec<LaneId>, RandomState> = HashMap::default();
        self.other.retain(|&lane| {
            let thread = is_states(trace, lane).then(|| thread_of(trace, lane)).flatten();
            thread.inspect(|thread| states.entry(*thread).or_default().push(lane)).is_none()
        });
        let host = std::mem::take(&mut self.host);
        for lane in host {
            let above = thread_of(trace, lane).and_then(|thread| states.remove(&thread));
            self.host.extend(above.into_iter().flatten());
            self.host.push(lane);
        }
        // Of threads that have nothing else to show.
        let mut left: Vec<LaneId> = states.into_values().flatten().collect();
        left.sort_unstable();
        self.other.extend(left);
    }
}
