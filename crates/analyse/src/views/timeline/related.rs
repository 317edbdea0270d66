//! Slices that belong to a slice: what it launched, what device work it asked for, its forward and backward.

use rayon::prelude::*;
use stepscope_model::{SliceId, Trace};

use super::Timeline;
use super::details::{Link, Relation};
use super::nesting::least_end;

/// Links listed; the rest are counted.
const MAX_LINKS: usize = 64;

/// Links in the direction that the trace does not hold: from the host to devices.
#[derive(Debug)]
pub(super) struct DeviceLinks {
    /// Call and device slice, sorted.
    launched: Vec<(u32, u32)>,
    /// Operator and device slice, sorted.
    asked_for: Vec<(u32, u32)>,
}

impl DeviceLinks {
    fn new(trace: &Trace) -> DeviceLinks {
        let (slices, links) = (trace.slices(), trace.links());
        let on_devices = || slices.ids().filter(|&id| slices.kind(id).is_device());
        let pair = |host: SliceId, id: SliceId| (host.index() as u32, id.index() as u32);
        let mut launched: Vec<_> = on_devices().filter_map(|id| Some(pair(links.launch(id)?, id))).collect();
        let mut asked_for: Vec<_> = on_devices().filter_map(|id| Some(pair(links.op(id)?, id))).collect();
        launched.par_sort_unstable();
        asked_for.par_sort_unstable();
        DeviceLinks { launched, asked_for }
    }
}

/// The pairs whose first is in a range.
fn of_range(pairs: &[(u32, u32)], from: u32, to: u32) -> &[(u32, u32)] {
    let begin = pairs.partition_point(|p| p.0 < from);
    &pairs[begin..begin + pairs[begin..].partition_point(|p| p.0 < to)]
}

impl Timeline {
    /// The first links of a slice, and how many more there are.
    pub(super) fn links(&self, trace: &Trace, id: SliceId) -> (Vec<Link>, u64) {
        let (links, kind) = (trace.links(), trace.slices().kind(id));
        let mut all = ListedLinks::default();
        all.extend(Relation::LaunchedBy, links.launch(id));
        all.extend(Relation::Operator, links.op(id));
        all.extend(Relation::Forward, links.forward_of(id));
        all.extend(Relation::Backward, links.backward_of(id));
        let related = self.related.get_or_init(|| DeviceLinks::new(trace));
        if kind.is_runtime() {
            let number = id.index() as u32;
            let launched = of_range(&related.launched, number, number + 1);
            all.extend(Relation::Launches, launched.iter().map(|p| SliceId::from_index(p.1 as usize)));
        } else if kind.is_host() {
            self.device_work(trace, id, related, &mut all);
        }
        let link = |&(relation, to): &(Relation, SliceId)| {
            Some(Link { relation, to: self.reference(trace, to.index() as u32)? })
        };
        (all.first.iter().filter_map(link).collect(), all.more)
    }

    /// Device work of a host slice: launched from inside it, or naming it or an operator inside it.
    fn device_work(&self, trace: &Trace, id: SliceId, related: &DeviceLinks, all: &mut ListedLinks) {
        let slices = trace.slices();
        let times = (slices.start(id), slices.end(id));
        let lane = slices.lane_range(slices.lane(id));
        // What is inside comes right after it.
        let inside = &slices.starts()[id.index() + 1..lane.end];
        let (from, to) =
            (id.index() as u32, (id.index() + 1 + inside.partition_point(|&s| s < times.1)) as u32);
        let is_inside = |host: u32| {
            let host = SliceId::from_index(host as usize);
            host == id || times.1.0 >= least_end((slices.start(host).0, slices.end(host).0))
        };
        let is_work = |device: u32| slices.kind(SliceId::from_index(device as usize)).is_device_work();
        let asked = of_range(&related.asked_for, from, to).iter().filter(|p| is_work(p.1) && is_inside(p.0));
        all.extend(Relation::DeviceWork, asked.map(|p| SliceId::from_index(p.1 as usize)));
        let counted = |device: SliceId| {
            let op = trace.links().op(device).map(|op| op.index() as u32);
            op.is_some_and(|op| (from..to).contains(&op) && is_inside(op))
        };
        let launched = of_range(&related.launched, from, to).iter().filter(|p| is_work(p.1) && is_inside(p.0));
        let launched = launched.map(|p| SliceId::from_index(p.1 as usize));
        all.extend(Relation::DeviceWork, launched.filter(|&device| !counted(device)));
    }
}

/// The first few links, and a count of the rest.
#[derive(Default)]
struct ListedLinks {
    first: Vec<(Relation, SliceId)>,
    more: u64,
}

impl ListedLinks {
    fn extend(&mut self, relation: Relation, to: impl IntoIterator<Item = SliceId>) {
        for id in to {
            if self.first.len() < MAX_LINKS {
                self.first.push((relation, id));
            } else {
                self.more += 1;
            }
        }
    }
}
