//! How deep each slice lies in its call stack, by HTA's rule, which hangs the stacks of the autograd thread under the
//! range of the main thread that waits for them.
//!
//! The main thread is the one with `ProfilerStep#` ranges, the autograd thread the one with names that contain
//! `autograd::`. Where there is one of each, what is lowest on the autograd thread and lies wholly inside a
//! `## backward ##` range of the main thread (inside a step, if there are no such ranges) becomes its child. Device
//! work is the child of its call.

use stepscope_model::{Domain, LaneId, Ns, SliceId, Trace};

use super::loading::{HtaTrace, Loading};
use crate::names::by_name::ByName;
use crate::scope::definition::{Definition, definitions};

pub const DEFINITIONS: &[Definition] = definitions! {
    "depth", "Depth (HTA)" =>
        "How many slices enclose this one on its thread, those of the main thread that wait for it included; for device \
         work, one more than its launching call.";
};

/// The parents and depths of slices.
#[derive(Clone, Debug)]
pub struct CallDepths {
    parent: Vec<Option<SliceId>>,
    depth: Vec<Option<u32>>,
}

impl CallDepths {
    /// What encloses or launched a slice.
    pub fn parent(&self, id: SliceId) -> Option<SliceId> {
        self.parent.get(id.index()).copied().flatten()
    }

    /// How deep it lies, from 0; `None` if it is on no stack (left out, or device work without a call).
    pub fn depth(&self, id: SliceId) -> Option<u32> {
        self.depth.get(id.index()).copied().flatten()
    }
}

pub fn call_depths(trace: &Trace, loading: Loading) -> CallDepths {
    let loaded = HtaTrace::new(trace, loading);
    let slices = trace.slices();
    let mut parent = vec![None; slices.len()];
    let threads = Threads::find(&loaded);
    let mut order = Vec::with_capacity(slices.len());
    // The main thread first, so that what hangs under it finds its depth.
    let host = trace.lanes().iter().filter(|(_, info)| info.key.domain == Domain::Host).map(|(lane, _)| lane);
    let rest = host.filter(|&lane| Some(lane) != threads.main);
    for lane in threads.main.into_iter().chain(rest) {
        let hooks = if threads.backward == Some(lane) { threads.hooks.as_slice() } else { &[] };
        stack(&loaded, lane, hooks, &mut parent, &mut order);
    }
    for id in slices.ids().filter(|&id| slices.kind(id).is_device_work()) {
        if let Some(call) = loaded.launch(id).filter(|_| loaded.keeps(id)) {
            parent[id.index()] = Some(call);
            order.push(id);
        }
    }
    let mut depth: Vec<Option<u32>> = vec![None; slices.len()];
    for id in order {
        let above = parent[id.index()].and_then(|p: SliceId| depth[p.index()]);
        depth[id.index()] = Some(above.map_or(0, |d| d + 1));
    }
    CallDepths { parent, depth }
}

/// The stacks of one thread. Every end closes what was opened last, as HTA does.
fn stack(
    loaded: &HtaTrace<'_>,
    lane: LaneId,
    hooks: &[(Ns, Ns, SliceId)],
    parent: &mut [Option<SliceId>],
    order: &mut Vec<SliceId>,
) {
    let kept = loaded.trace.slices().of_lane(lane).filter(|&id| loaded.keeps(id));
    let mut slices: Vec<(Ns, Ns, SliceId)> =
        kept.map(|id| (loaded.start(id), loaded.end(id).max(loaded.start(id)), id)).collect();
    slices.sort_by_key(|s| (s.0, !s.1.0));
    // Those without length close themselves; of the others, what ends when another starts is over before.
    let mut ends: Vec<Ns> = slices.iter().filter(|s| s.1 > s.0).map(|s| s.1).collect();
    ends.sort_unstable();
    let mut ends = ends.into_iter().peekable();
    let mut open: Vec<SliceId> = Vec::new();
    for (start, end, id) in slices {
        let is_over = |&at: &Ns| at < start || (at == start && end > start);
        while ends.next_if(is_over).is_some() {
            open.pop();
        }
        parent[id.index()] = open.last().copied().or_else(|| hook(hooks, start, end));
        order.push(id);
        if end > start {
            open.push(id);
        }
    }
}

/// The first range that holds this time wholly. Starts and ends of the ranges rise together.
fn hook(hooks: &[(Ns, Ns, SliceId)], start: Ns, end: Ns) -> Option<SliceId> {
    let first = hooks.get(hooks.partition_point(|h| h.1 < end))?;
    (first.0 <= start).then_some(first.2)
}

struct Threads {
    main: Option<LaneId>,
    backward: Option<LaneId>,
    /// Where the stacks of the backward thread hang.
    hooks: Vec<(Ns, Ns, SliceId)>,
}

#[derive(Copy, Clone)]
struct NameTraits {
    step: bool,
    backward: bool,
    autograd: bool,
}

impl Threads {
    fn find(loaded: &HtaTrace<'_>) -> Threads {
        let trace = loaded.trace;
        let slices = trace.slices();
        let mut names = ByName::new(trace, |name: &str| NameTraits {
            step: name.starts_with("ProfilerStep#"),
            backward: name.starts_with("## backward ##"),
            autograd: name.contains("autograd::"),
        });
        let (mut main, mut backward) = (Vec::new(), Vec::new());
        for (lane, _) in trace.lanes().iter().filter(|(_, info)| info.key.domain == Domain::Host) {
            let (mut is_main, mut is_backward) = (false, false);
            for id in slices.of_lane(lane).filter(|&id| loaded.keeps(id)) {
                let name = names.get(slices.name(id));
                is_main |= name.step;
                is_backward |= name.autograd;
            }
            match (is_main, is_backward) {
                (true, _) => main.push(lane),
                (false, true) => backward.push(lane),
                _ => {}
            }
        }
        let (&[main], &[backward]) = (main.as_slice(), backward.as_slice()) else {
            return Threads { main: None, backward: None, hooks: Vec::new() };
        };
        let mut ranges = |wanted: fn(NameTraits) -> bool| {
            let named =
                slices.of_lane(main).filter(|&id| loaded.keeps(id) && wanted(names.get(slices.name(id))));
            named.map(|id| (loaded.start(id), loaded.end(id), id)).collect::<Vec<_>>()
        };
        let mut hooks = ranges(|name| name.backward);
        if hooks.is_empty() {
            hooks = ranges(|name| name.step);
        }
        // A range inside an earlier one never comes first.
        let mut reach = Ns::MIN;
        hooks.retain(|h| {
            let reaches_on = h.1 > reach;
            reach = reach.max(h.1);
            reaches_on
        });
        Threads { main: Some(main), backward: Some(backward), hooks }
    }
}
