//! Building the tree of stacks and giving each node its time.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{CallTree, Domain, Kind, LaneId, Ns, SliceId, Trace};

use super::{Frame, Options, Report, Row, Weight, folded_text};

const NONE: u32 = u32::MAX;

/// A frame in its place.
#[derive(Debug)]
struct Node {
    parent: u32,
    depth: usize,
    frame: Frame,
    value: Ns,
    count: u64,
    /// Child asked for last: calls repeat, and this saves looking it up.
    recent: u32,
}

/// All stacks as a tree: stacks that begin alike share their nodes.
#[derive(Debug)]
pub struct Stacks {
    weight: Weight,
    max_depth: usize,
    nodes: Vec<Node>,
    children: HashMap<(u32, Frame), u32, RandomState>,
}

impl Stacks {
    /// Folds a trace.
    pub fn build(trace: &Trace, options: &Options) -> Stacks {
        let mut stacks = Stacks {
            weight: options.weight,
            max_depth: options.max_depth,
            nodes: Vec::new(),
            children: HashMap::default(),
        };
        let shown = |kind: Kind| match kind {
            Kind::HostOp => true,
            Kind::PythonFunction => options.python,
            Kind::HostAnnotation => options.annotations,
            Kind::Runtime | Kind::Driver => options.runtime,
            _ => false,
        };
        match options.weight {
            Weight::HostSelf => stacks.host(trace, options, &shown),
            Weight::DeviceSelf => stacks.device(trace, options, &shown),
        }
        stacks
    }

    /// Sum of all values.
    pub fn total(&self) -> Ns {
        self.nodes.iter().map(|n| n.value).sum()
    }

    /// Every stack with time of its own, outermost frame first, in the order of first appearance; what an
    /// exporter of another format needs.
    pub fn iter(&self) -> impl Iterator<Item = (Vec<Frame>, Ns)> {
        self.worth().map(|node| (self.frames(node), node.value))
    }

    /// The stacks as text.
    pub fn report(&self, trace: &Trace) -> Report {
        let mut rows: Vec<Row> = Vec::new();
        let mut unlinked = Ns::ZERO;
        for node in self.worth() {
            let frames = self.frames(node);
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
        rows.sort_by(|a, b| a.stack.cmp(&b.stack));
        // Two threads may bear one name, and folding may make two texts one.
        rows.dedup_by(|later, first| {
            let same = later.stack == first.stack;
            if same {
                first.value_ns = first.value_ns.saturating_add(later.value_ns);
                first.count += later.count;
            }
            same
        });
        Report { weight: self.weight, total_ns: self.total().0, unlinked_ns: unlinked.0, rows }
    }

    fn worth(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|n| n.value > Ns::ZERO)
    }

    fn frames(&self, leaf: &Node) -> Vec<Frame> {
        let mut frames = vec![leaf.frame];
        let mut at = leaf.parent;
        while let Some(node) = self.nodes.get(at as usize) {
            frames.push(node.frame);
            at = node.parent;
        }
        frames.reverse();
        frames
    }

    fn child(&mut self, parent: u32, frame: Frame) -> u32 {
        if let Some(around) = self.nodes.get(parent as usize)
            && let Some(recent) = self.nodes.get(around.recent as usize)
            && recent.frame == frame
        {
            return around.recent;
        }
        let depth = self.nodes.get(parent as usize).map_or(0, |around| around.depth + 1);
        if depth > 0 && depth >= self.max_depth {
            return parent;
        }
        let next = self.nodes.len() as u32;
        let node = *self.children.entry((parent, frame)).or_insert(next);
        if node == next {
            self.nodes.push(Node { parent, depth, frame, value: Ns::ZERO, count: 0, recent: NONE });
        }
        if let Some(around) = self.nodes.get_mut(parent as usize) {
            around.recent = node;
        }
        node
    }

    fn root(&mut self, lane: LaneId, options: &Options) -> u32 {
        if options.threads { self.child(NONE, Frame::Thread(lane)) } else { NONE }
    }

    fn add(&mut self, node: u32, value: Ns) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.value += value;
        }
    }

    /// The node of every host slice shown, and of every other the node of the nearest one around it.
    fn place(&mut self, trace: &Trace, options: &Options, shown: &impl Fn(Kind) -> bool) -> Vec<u32> {
        let slices = trace.slices();
        // Calls that are not shown still launch device work, so they need a place when that is asked for.
        let whole = options.weight == Weight::DeviceSelf;
        let placed = |kind: Kind| shown(kind) || (whole && kind.is_runtime());
        let tree = CallTree::build(trace, placed);
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
                places[id.index()] =
                    if shown(kind) { self.child(around, Frame::Name(slices.name(id))) } else { around };
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
            if options.selection.contains(trace, inner)
                && let Some(node) = self.nodes.get_mut(places[inner.index()] as usize)
            {
                node.count += 1;
            }
            open.pop();
        }
    }

    fn give(&mut self, trace: &Trace, options: &Options, places: &[u32], to: SliceId, value: Ns) {
        if options.selection.contains(trace, to) {
            self.add(places[to.index()], value);
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
                None => self.child(NONE, Frame::Unlinked),
            };
            let leaf = self.child(around, Frame::Name(slices.name(id)));
            self.add(leaf, slices.dur(id));
            self.nodes[leaf as usize].count += 1;
        }
    }
}
