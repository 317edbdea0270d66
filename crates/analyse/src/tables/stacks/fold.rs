//! Giving each node of the tree of stacks its time.

use stepscope_model::{CallTree, Domain, Kind, LaneId, Ns, Order, SliceId, Trace};

use super::tree::{NONE, Node, Tree};
use super::{Frame, Options, Row, StacksReport, Weight, folded_text};
use crate::names::by_name::ByName;
use crate::names::ranges::step_number;

/// All stacks as a tree: stacks that begin alike share their nodes.
#[derive(Debug)]
pub struct Stacks {
    weight: Weight,
    tree: Tree,
}

impl Stacks {
    pub fn build(trace: &Trace, options: &Options) -> Stacks {
        let mut stacks = Stacks { weight: options.weight, tree: Tree::new(options.max_depth) };
        let shown = |kind: Kind| match kind {
            Kind::HostOp => true,
            Kind::PythonFunction => options.python,
            Kind::HostAnnotation => options.annotations,
            Kind::Runtime | Kind::Driver | Kind::FrameworkCall => options.runtime,
            _ => false,
        };
        match options.weight {
            Weight::HostSelf => stacks.host(trace, options, &shown),
            Weight::DeviceSelf => stacks.device(trace, options, &shown),
        }
        stacks
    }

    /// The nodes; a parent comes before its children.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.tree.nodes
    }

    /// How many frames were deeper than allowed; their time counts in the last frame that was not.
    pub(crate) fn deeper(&self) -> u64 {
        self.tree.deeper
    }

    /// Sum of all values.
    pub fn total(&self) -> Ns {
        self.nodes().iter().map(|n| n.value).sum()
    }

    /// Every stack with time of its own, outermost frame first, in the order of first appearance; what an
    /// exporter of another format needs.
    pub fn iter(&self) -> impl Iterator<Item = (Vec<Frame>, Ns)> {
        self.worth().map(|node| (self.tree.frames(node), node.value))
    }

    pub fn report(&self, trace: &Trace) -> StacksReport {
        let mut rows: Vec<Row> = Vec::new();
        let mut unlinked = Ns::ZERO;
        for node in self.worth() {
            let frames = self.tree.frames(node);
            if frames.first() == Some(&Frame::Unlinked) {
                unlinked += node.value;
            }
            let mut stack = String::new();
            for (i, frame) in frames.iter().enumerate() {
                stack.push_str(if i == 0 { "" } else { ";" });
                stack.push_str(&folded_text(&frame.text(trace)));
            }
            rows.push(Row { stack, value_ns: node.value.0, count: node.count });
        }
        rows.order_by(|a, b| a.stack.cmp(&b.stack));
        // Two threads may bear one name, and folding may make two texts one.
        rows.dedup_by(|later, first| {
            let same = later.stack == first.stack;
            if same {
                first.value_ns = first.value_ns.saturating_add(later.value_ns);
                first.count += later.count;
            }
            same
        });
        StacksReport { weight: self.weight, total_ns: self.total().0, unlinked_ns: unlinked.0, rows }
    }

    fn worth(&self) -> impl Iterator<Item = &Node> {
        self.nodes().iter().filter(|n| n.value > Ns::ZERO)
    }

    fn root(&mut self, lane: LaneId, options: &Options) -> u32 {
        if options.threads { self.tree.child(NONE, Frame::Thread(lane), None) } else { NONE }
    }

    /// The node of every host slice shown, and of every other the node of the nearest one around it.
    fn place(&mut self, trace: &Trace, options: &Options, shown: &impl Fn(Kind) -> bool) -> Vec<u32> {
        let slices = trace.slices();
        // Calls that are not shown still launch device work, so they need a place when that is asked for.
        let whole = options.weight == Weight::DeviceSelf;
        let placed = |kind: Kind| shown(kind) || (whole && kind.is_runtime());
        let tree = CallTree::build(trace, placed);
        let mut is_step = ByName::new(trace, |name| step_number(name).is_some());
        let mut places = vec![NONE; slices.len()];
        for (lane, info) in trace.lanes().iter() {
            if info.key.domain == Domain::Device {
                continue;
            }
            for id in slices.of_lane(lane) {
                let kind = slices.kind(id);
                if !placed(kind) {
                    continue;
                }
                let around = match tree.parent(id) {
                    Some(parent) => places[parent.index()],
                    None => self.root(lane, options),
                };
                let name = slices.name(id);
                let frame = match options.merge_steps && is_step.get(name) {
                    true => Frame::Steps,
                    false => Frame::Name(name),
                };
                places[id.index()] =
                    if shown(kind) { self.tree.child(around, frame, Some(kind)) } else { around };
            }
        }
        places
    }

    fn host(&mut self, trace: &Trace, options: &Options, shown: &impl Fn(Kind) -> bool) {
        let slices = trace.slices();
        let places = self.place(trace, options, shown);
        let mut open: Vec<SliceId> = Vec::new();
        for (lane, info) in trace.lanes().iter() {
            if info.key.domain == Domain::Device {
                continue;
            }
            let mut now = Ns::MIN;
            for id in slices.of_lane(lane).filter(|&id| shown(slices.kind(id))) {
                let start = slices.start(id);
                self.close(trace, options, &places, &mut open, &mut now, start);
                if let Some(&inner) = open.last() {
                    self.give(trace, options, &places, inner, start - now);
                }
                now = start;
                open.push(id);
            }
            self.close(trace, options, &places, &mut open, &mut now, Ns::MAX);
            open.clear();
        }
    }

    /// Ends the open slices that end by `until`; each gets the time since `now`, as it was the innermost.
    fn close(
        &mut self,
        trace: &Trace,
        options: &Options,
        places: &[u32],
        open: &mut Vec<SliceId>,
        now: &mut Ns,
        until: Ns,
    ) {
        while let Some(&inner) = open.last()
            && trace.slices().end(inner) <= until
        {
            let end = trace.slices().end(inner);
            if end > *now {
                self.give(trace, options, places, inner, end - *now);
                *now = end;
            }
            if options.selection.contains(trace, inner) {
                self.tree.count(places[inner.index()]);
            }
            open.pop();
        }
    }

    fn give(&mut self, trace: &Trace, options: &Options, places: &[u32], to: SliceId, value: Ns) {
        if options.selection.contains(trace, to) {
            self.tree.add(places[to.index()], value);
        }
    }

    fn device(&mut self, trace: &Trace, options: &Options, shown: &impl Fn(Kind) -> bool) {
        let slices = trace.slices();
        let places = self.place(trace, options, shown);
        for id in slices.ids().filter(|&id| slices.kind(id).is_device_work()) {
            if !options.selection.contains(trace, id) {
                continue;
            }
            let (launch, op) = (trace.links().launch(id), trace.links().op(id));
            let host = [launch, op].into_iter().flatten();
            let around = match host.map(|h| places[h.index()]).find(|&p| p != NONE) {
                Some(place) => place,
                // Launched by a call with nothing shown around it.
                None if launch.is_some() || op.is_some() => NONE,
                None => self.tree.child(NONE, Frame::Unlinked, None),
            };
            let leaf = self.tree.child(around, Frame::Name(slices.name(id)), Some(slices.kind(id)));
            self.tree.add(leaf, slices.dur(id));
            self.tree.count(leaf);
        }
    }
}
