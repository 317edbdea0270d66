//! Device time of operators: the kernels, copies and memsets that carry an operator's id.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{SliceId, Trace};

use super::names::Names;
use super::tree::HostTree;
use super::{Attribution, OpsQuery};
use crate::names::by_name::ByName;
use crate::names::tensor_core::kernel_uses_tensor_cores;
use crate::scope::intervals::Collector;
use crate::scope::selection::device_of;

/// Nanoseconds of device time, and those of them on tensor cores.
pub(crate) type DeviceTime = [i64; 2];

/// Device time by slice, and where the rest of it went.
pub(crate) struct DeviceTimes {
    /// Of the slice alone.
    pub own: Vec<DeviceTime>,
    /// With its children's.
    pub total: Vec<DeviceTime>,
    /// The slice, or something below it, can use tensor cores.
    pub eligible: Vec<bool>,
    /// All selected device work, each slice once.
    pub all_ns: i64,
    /// Device work that names no operator, after what [`Attribution::Launch`] found.
    pub unlinked_ns: i64,
    /// What the launching call's operator would account for, or does.
    pub by_launch_ns: i64,
    /// Device work at moments at which other work of its device runs as well.
    pub overlap_ns: i64,
}

/// The operator a device slice belongs to.
pub(crate) fn owner(trace: &Trace, id: SliceId, tree: &HostTree, rule: Attribution) -> Option<SliceId> {
    trace.links().op(id).or_else(|| match rule {
        Attribution::PyTorch => None,
        Attribution::Launch => tree.op_around(trace, trace.links().launch(id)?),
    })
}

impl DeviceTimes {
    pub(crate) fn new(trace: &Trace, tree: &HostTree, names: &mut Names<'_>, query: &OpsQuery) -> DeviceTimes {
        let slices = trace.slices();
        let mut at = DeviceTimes {
            own: vec![[0; 2]; slices.len()],
            total: Vec::new(),
            eligible: vec![false; slices.len()],
            all_ns: 0,
            unlinked_ns: 0,
            by_launch_ns: 0,
            overlap_ns: 0,
        };
        let mut on_tensor_cores = ByName::new(trace, kernel_uses_tensor_cores);
        for id in slices.ids() {
            let kind = slices.kind(id);
            if !kind.is_device_work() || !query.selection.contains(trace, id) {
                continue;
            }
            let ns = slices.dur(id).0;
            at.all_ns = at.all_ns.saturating_add(ns);
            let named = trace.links().op(id);
            let found = named.or_else(|| owner(trace, id, tree, Attribution::Launch));
            if named.is_none() && found.is_some() {
                at.by_launch_ns = at.by_launch_ns.saturating_add(ns);
            }
            let op = if query.attribution == Attribution::Launch { found } else { named };
            let Some(op) = op else {
                at.unlinked_ns = at.unlinked_ns.saturating_add(ns);
                continue;
            };
            if let Some(shown) = tree.shown(op) {
                let tensor = if on_tensor_cores.get(slices.name(id)) { ns } else { 0 };
                let own = &mut at.own[shown.index()];
                *own = add(*own, [ns, tensor]);
            }
        }
        at.overlap_ns = overlap(trace, query);
        at.sum_up(trace, tree, names);
        at
    }

    /// Children before their parents: the order backwards.
    fn sum_up(&mut self, trace: &Trace, tree: &HostTree, names: &mut Names<'_>) {
        self.total = self.own.clone();
        for &id in tree.order.iter().rev() {
            if tree.shown(id) != Some(id) {
                continue;
            }
            let i = id.index();
            self.eligible[i] |= self.own[i][1] > 0 || names.facts(trace.slices().name(id)).eligible;
            if let Some(parent) = tree.parent(id) {
                let sum = add(self.total[parent.index()], self.total[i]);
                self.total[parent.index()] = sum;
                self.eligible[parent.index()] |= self.eligible[i];
            }
        }
    }
}

/// Work on one device, less the time at least one slice of it runs.
fn overlap(trace: &Trace, query: &OpsQuery) -> i64 {
    let slices = trace.slices();
    let mut devices: HashMap<Option<i64>, (i64, Collector), RandomState> = HashMap::default();
    for (lane, _) in trace.lanes().iter() {
        let counts = |&id: &SliceId| slices.kind(id).is_device_work() && query.selection.contains(trace, id);
        let mut work = slices.of_lane(lane).filter(counts).peekable();
        // A lane has one device, so it is looked up once.
        let Some(device) = work.peek().map(|&id| device_of(trace, id)) else { continue };
        let (sum, busy) = devices.entry(device).or_default();
        for id in work {
            *sum = sum.saturating_add(slices.dur(id).0);
            busy.add(slices.start(id), slices.end(id));
        }
    }
    let overlaps = devices.into_values().map(|(sum, busy)| sum.saturating_sub(busy.finish().length().0));
    overlaps.fold(0, i64::saturating_add)
}

fn add(a: DeviceTime, b: DeviceTime) -> DeviceTime {
    [a[0].saturating_add(b[0]), a[1].saturating_add(b[1])]
}
