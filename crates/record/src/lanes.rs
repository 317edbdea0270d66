//! Regions of tasks that take turns on one thread, spread over lanes so that on each lane a region lies in another only
//! if it ran in that one's task.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::regions::{NO_TASK, Region};

/// The number of each region's lane among those of its thread; 0 is the thread's own. There are as many lanes as tasks
/// have regions open at once, not as many as there are tasks.
///
/// Regions without a task are on the thread's own lane, unless they ended out of order. So does a task that nothing
/// else took turns with, if `apart` does not forbid it.
pub(crate) fn lanes_of(regions: &[Region], apart: bool) -> Vec<u32> {
    let mut lanes = vec![0; regions.len()];
    let mut order: Vec<usize> = (0..regions.len()).filter(|&at| moves(&regions[at])).collect();
    if order.is_empty() {
        return lanes;
    }
    // Regions are written when they end: of two with the same times, the later one is around the other.
    order.sort_by_key(|&at| {
        let region = &regions[at];
        (region.thread, region.start_ns, Reverse(region.dur_ns), Reverse(at))
    });
    let own = starts_on_own_lanes(regions);
    for of_thread in order.chunk_by(|&a, &b| regions[a].thread == regions[b].thread) {
        let starts = own.get(&regions[of_thread[0]].thread).map_or(&[][..], Vec::as_slice);
        let mut room = ThreadLanes::default();
        for &at in of_thread {
            let region = &regions[at];
            let (start, end) = (region.start_ns, region.start_ns + region.dur_ns);
            // Something without a task that begins meanwhile is not the task's, and would lie in it.
            let alone = !apart && region.task != NO_TASK && {
                let next = starts.partition_point(|&other| other < start);
                starts.get(next).is_none_or(|&other| other >= end)
            };
            lanes[at] = room.take(region.task, start, end, alone);
        }
    }
    lanes
}

fn moves(region: &Region) -> bool {
    region.task != NO_TASK || region.interleaved
}

/// When the regions begin that stay on their thread's own lane, in order.
fn starts_on_own_lanes(regions: &[Region]) -> HashMap<u32, Vec<i64>, RandomState> {
    let mut found: HashMap<u32, Vec<i64>, RandomState> = HashMap::default();
    for region in regions.iter().filter(|region| !moves(region)) {
        found.entry(region.thread).or_default().push(region.start_ns);
    }
    for starts in found.values_mut() {
        starts.sort_unstable();
    }
    found
}

/// The lanes of one thread, as time goes by.
#[derive(Default)]
struct ThreadLanes {
    /// When the outermost region of each lane that is in use ends.
    taken: BinaryHeap<Reverse<(i64, u32)>>,
    free: BTreeSet<u32>,
    /// How many lanes there are beside the thread's own.
    made: u32,
    own_taken: bool,
    /// What is open of each task: its end and its lane, the innermost last.
    open: HashMap<u64, Vec<(i64, u32)>, RandomState>,
}

impl ThreadLanes {
    fn take(&mut self, task: u64, start: i64, end: i64, alone: bool) -> u32 {
        while let Some(&Reverse((_, lane))) = self.taken.peek().filter(|Reverse((ended, _))| *ended <= start) {
            self.taken.pop();
            match lane {
                0 => self.own_taken = false,
                _ => drop(self.free.insert(lane)),
            }
        }
        if task == NO_TASK {
            return self.lane_for(end, false);
        }
        let open = self.open.entry(task).or_default();
        while open.last().is_some_and(|&(ended, _)| ended <= start) {
            open.pop();
        }
        let lane = match open.last() {
            // In the one that is open.
            Some(&(around, lane)) if around >= end => lane,
            // Of the same task and yet not inside: a generator that gave a value in the middle of a region.
            Some(_) => self.lane_for(end, false),
            None => self.lane_for(end, alone),
        };
        self.open.entry(task).or_default().push((end, lane));
        lane
    }

    fn lane_for(&mut self, end: i64, own: bool) -> u32 {
        let lane = if own && !self.own_taken {
            self.own_taken = true;
            0
        } else {
            self.free.pop_first().unwrap_or_else(|| {
                self.made += 1;
                self.made
            })
        };
        self.taken.push(Reverse((end, lane)));
        lane
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regions::NO_STACK;

    fn region(task: u64, start_ns: i64, end_ns: i64) -> Region {
        let dur_ns = end_ns - start_ns;
        Region { name: 0, thread: 1, start_ns, dur_ns, stack: NO_STACK, task, interleaved: false }
    }

    #[test]
    fn tasks_that_take_turns_have_lanes_of_their_own() {
        // a: 0-40 with 10-30 in it; b: 5-50 with 12-20 in it; around both, of no task: 0-60.
        let regions =
            [region(8, 12, 20), region(7, 10, 30), region(7, 0, 40), region(8, 5, 50), region(NO_TASK, 0, 60)];
        assert_eq!(lanes_of(&regions, true), [2, 1, 1, 2, 0]);
    }

    #[test]
    fn one_task_after_another_needs_no_further_lane() {
        let regions: Vec<Region> = (0..1000).map(|at| region(at as u64 + 1, 10 * at, 10 * at + 10)).collect();
        assert!(lanes_of(&regions, false).iter().all(|&lane| lane == 0));
        assert!(lanes_of(&regions, true).iter().all(|&lane| lane == 1));
    }

    #[test]
    fn what_begins_meanwhile_without_a_task_does_not_lie_in_a_task() {
        assert_eq!(lanes_of(&[region(NO_TASK, 5, 6), region(7, 0, 10)], false), [0, 1]);
        assert_eq!(lanes_of(&[region(NO_TASK, 0, 10), region(7, 5, 6)], false), [0, 0]);
    }

    #[test]
    fn regions_of_one_task_that_overlap_do_not_share_a_lane() {
        assert_eq!(lanes_of(&[region(7, 0, 10), region(7, 5, 15), region(7, 6, 7)], false), [0, 1, 1]);
    }

    #[test]
    fn regions_that_ended_out_of_order_stand_alone() {
        let out = |start, end| Region { interleaved: true, ..region(NO_TASK, start, end) };
        assert_eq!(lanes_of(&[out(0, 10), out(5, 15), out(12, 13)], false), [1, 2, 1]);
    }

    #[test]
    fn as_many_lanes_as_there_are_tasks_at_once() {
        let regions: Vec<Region> = (0..20_000i64).map(|at| region(at as u64 + 1, at, at + 100)).collect();
        assert_eq!(lanes_of(&regions, true).into_iter().max(), Some(100));
    }
}
