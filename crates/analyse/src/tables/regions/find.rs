//! The named ranges of a trace, which of them holds which, and whose a piece of device work is.

use stepscope_model::{CallTree, Kind, LaneId, Ns, SliceId, StrId, Trace};

use crate::scope::NONE;
use crate::tables::ops::names::Names;
use crate::threads::host_time::HostTime;

/// Whose device work is.
pub(super) enum Owner {
    /// Neither its launch nor its operator is known.
    Unlinked,
    None,
    /// A range's, by position; and whether the main thread waited in it while another thread launched the work.
    Region {
        region: usize,
        handed_over: bool,
    },
}

/// All ranges, in column order.
pub(super) struct Ranges {
    slices: Vec<SliceId>,
    /// By range: the one around it.
    parent: Vec<u32>,
    /// By range: whether it is on a thread of the backward pass.
    on_backward: Vec<bool>,
    /// By slice: the innermost range at or around it on its thread.
    at: Vec<u32>,
    /// By slice: the range whose forward operator the nearest backward operator at or around it belongs to.
    forward: Vec<u32>,
    main: Option<LaneId>,
}

impl Ranges {
    pub(super) fn find(trace: &Trace, host: &HostTime, tree: &CallTree) -> Ranges {
        let slices = trace.slices();
        let mut names = Names::new(trace);
        let mut ranges = Ranges {
            slices: Vec::new(),
            parent: Vec::new(),
            on_backward: Vec::new(),
            at: vec![NONE; slices.len()],
            forward: vec![NONE; slices.len()],
            main: host.main(),
        };
        // Parents stand before their children in the columns.
        for id in slices.ids().filter(|&id| slices.kind(id).is_host()) {
            let around = tree.parent(id).map_or(NONE, |parent| ranges.at[parent.index()]);
            let facts = names.facts(slices.name(id));
            let named = match slices.kind(id) {
                Kind::HostAnnotation => !facts.asynchronous && !facts.hidden,
                Kind::HostOp => facts.annotation,
                _ => false,
            };
            ranges.at[id.index()] = if named && !facts.step {
                ranges.slices.push(id);
                ranges.parent.push(around);
                ranges.on_backward.push(is_backward(host, slices.lane(id)));
                (ranges.slices.len() - 1) as u32
            } else {
                around
            };
        }
        for region in 0..ranges.len() {
            if ranges.parent[region] == NONE && ranges.on_backward[region] {
                let start = slices.start(ranges.slices[region]);
                ranges.parent[region] = ranges.waited_in(trace, host, start);
            }
        }
        ranges.find_forward(trace, tree);
        ranges
    }

    /// Brings backward operators home to the ranges of their forward operators.
    fn find_forward(&mut self, trace: &Trace, tree: &CallTree) {
        let slices = trace.slices();
        if trace.links().backward_links() == 0 || self.slices.is_empty() {
            return;
        }
        for id in slices.ids().filter(|&id| slices.kind(id).is_host()) {
            let home = |forward: SliceId| Some(self.at[forward.index()]).filter(|&region| region != NONE);
            let own = match slices.kind(id) {
                Kind::HostOp => trace.links().forward_of(id).find_map(home),
                _ => None,
            };
            let around = || tree.parent(id).map_or(NONE, |parent| self.forward[parent.index()]);
            self.forward[id.index()] = own.unwrap_or_else(around);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slices.len()
    }

    pub(super) fn slices(&self) -> &[SliceId] {
        &self.slices
    }

    /// The range in which the main thread waited at a moment: the innermost, outside of operators and calls.
    fn waited_in(&self, trace: &Trace, host: &HostTime, at: Ns) -> u32 {
        let innermost = self.main.and_then(|main| host.at(main, at)?.slice);
        let Some(innermost) = innermost else { return NONE };
        let region = self.at[innermost.index()];
        let is_region = self.slices.get(region as usize) == Some(&innermost);
        match trace.slices().kind(innermost) {
            Kind::HostAnnotation | Kind::PythonFunction => region,
            _ if is_region => region,
            _ => NONE,
        }
    }

    /// Whose a piece of device work is.
    pub(super) fn owner(&self, trace: &Trace, host: &HostTime, work: SliceId) -> Owner {
        let known = [trace.links().launch(work), trace.links().op(work)];
        let found = known.into_iter().flatten().map(|id| self.at[id.index()]).find(|&region| region != NONE);
        if let Some(region) = found {
            let region = region as usize;
            return Owner::Region { region, handed_over: false };
        }
        let Some(asks) = known.into_iter().flatten().next() else { return Owner::Unlinked };
        if !is_backward(host, host.home(trace, asks)) {
            return Owner::None;
        }
        match self.waited_in(trace, host, trace.slices().start(asks)) {
            NONE => Owner::None,
            region => Owner::Region { region: region as usize, handed_over: true },
        }
    }

    /// The range of the forward operator whose backward launched a piece of work.
    pub(super) fn forward_of(&self, trace: &Trace, work: SliceId) -> Option<usize> {
        let known = [trace.links().launch(work), trace.links().op(work)];
        let mut found = known.into_iter().flatten().map(|id| self.forward[id.index()]);
        found.find(|&region| region != NONE).map(|region| region as usize)
    }

    /// Calls for each range and the one around it, inner ones first.
    pub(super) fn sum_up(&self, mut add: impl FnMut(usize, usize)) {
        // Column order has parents first on each thread; those of other threads are on the main one.
        for backward in [true, false] {
            for child in (0..self.len()).rev().filter(|&r| self.on_backward[r] == backward) {
                if self.parent[child] != NONE {
                    add(child, self.parent[child] as usize);
                }
            }
        }
    }

    /// By range: whether none of those around it has its name.
    pub(super) fn outermost_of_name(&self, trace: &Trace) -> Vec<bool> {
        // The children of each range follow each other in `inner`, so that no list is made for each.
        let mut first = vec![0u32; self.len() + 1];
        for &parent in self.parent.iter().filter(|&&parent| parent != NONE) {
            first[parent as usize + 1] += 1;
        }
        for region in 0..self.len() {
            first[region + 1] += first[region];
        }
        let (mut inner, mut next) = (vec![0u32; first[self.len()] as usize], first.clone());
        for (region, &parent) in self.parent.iter().enumerate().filter(|(_, parent)| **parent != NONE) {
            inner[next[parent as usize] as usize] = region as u32;
            next[parent as usize] += 1;
        }
        let name = |region: u32| trace.slices().name(self.slices[region as usize]);
        let mut open: Vec<u32> = vec![0; trace.strings().len()];
        let mut outermost = vec![false; self.len()];
        let roots = (0..self.len() as u32).filter(|&r| self.parent[r as usize] == NONE);
        let mut todo: Vec<(u32, bool)> = Vec::new();
        for root in roots {
            todo.push((root, false));
            while let Some((region, left)) = todo.pop() {
                let of_name: StrId = name(region);
                if left {
                    open[of_name.index()] -= 1;
                    continue;
                }
                outermost[region as usize] = open[of_name.index()] == 0;
                open[of_name.index()] += 1;
                todo.push((region, true));
                let (from, to) = (first[region as usize] as usize, first[region as usize + 1] as usize);
                todo.extend(inner[from..to].iter().map(|&child| (child, false)));
            }
        }
        outermost
    }
}

fn is_backward(host: &HostTime, lane: LaneId) -> bool {
    host.backward().binary_search(&lane).is_ok()
}
