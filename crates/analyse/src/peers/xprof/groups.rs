//! Which step each event belongs to, by XProf's rules.
//!
//! A group begins at a root: an event with a mark of its own (`_r`). What is nested in it on its thread belongs to it, then
//! what arrows between threads lead to, and the device work that was launched. Whoever is reached by two groups belongs to
//! the one that began first.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::{Attr, Domain, FlowSide, Kind, LaneId, Ns, SliceId, Tag, Trace};

use super::recorded_name::recorded_name;
use crate::scope::NONE;

/// Arrows of one number with this many beginnings and as many ends tie nothing.
const MAX_BOTH_SIDES: usize = 64;
/// Marks of a step are looked for in no more events around its root.
const MAX_NESTING: usize = 256;
/// Roots of more levels than that count as if nothing were around them.
const MAX_LEVELS: usize = 16;
/// The kind of arrows from whoever hands work to a thread pool to the thread that takes it on.
const THREAD_POOL_ARROW: i64 = 15;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The event it begins with.
    pub root: SliceId,
    /// What XProf calls it: `train 3`, or a number if the framework itself opened it.
    pub name: String,
    /// Whether the program marked it, not the framework.
    pub is_marked: bool,
}

/// Groups, and which of them each slice is in.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    pub groups: Vec<Group>,
    /// Moments at which a thread pool took on work of a group: marks without a length, which are not slices.
    pub marks: Vec<(usize, Ns)>,
    of: Vec<u32>,
}

impl Groups {
    pub fn group_of(&self, id: SliceId) -> Option<usize> {
        self.of.get(id.index()).filter(|&&group| group != NONE).map(|&group| group as usize)
    }
}

#[derive(Clone, Copy, Default)]
struct EventMarks {
    root: Option<i64>,
    run: Option<i64>,
    iteration: Option<i64>,
    correlation: Option<i64>,
    producer: (Option<i64>, Option<i64>),
    consumer: (Option<i64>, Option<i64>),
    is_async: bool,
}

impl EventMarks {
    fn read(trace: &Trace, id: SliceId) -> EventMarks {
        let mut marks = EventMarks::default();
        for (attr, value) in trace.args(id).attrs() {
            let int = value.as_int();
            match attr {
                Attr::Root => marks.root = int,
                Attr::GraphRun => marks.run = int,
                Attr::Iteration => marks.iteration = int,
                Attr::Correlation => marks.correlation = int,
                Attr::ProducerKind => marks.producer.0 = int,
                Attr::Producer => marks.producer.1 = int,
                Attr::ConsumerKind => marks.consumer.0 = int,
                Attr::Consumer => marks.consumer.1 = int,
                Attr::Asynchronous => marks.is_async = int.is_some_and(|value| value != 0),
                _ => {}
            }
        }
        marks
    }
}

/// Arrows between threads of one kind and number.
#[derive(Default)]
struct Arrows {
    from: Vec<u32>,
    to: Vec<u32>,
}

/// Everything that ties events, while it is collected.
#[derive(Default)]
struct EventLinks {
    /// From an event to one that belongs to it.
    edges: Vec<(u32, u32)>,
    arrows: HashMap<(Tag, i64, i64), Arrows, RandomState>,
    launches: HashMap<i64, u32, RandomState>,
    launched: Vec<(i64, u32)>,
    /// Runs of the executor, and who asks for input in them.
    executors: Vec<(i64, i64, u32)>,
    readers: Vec<(i64, i64, u32)>,
    /// Runs of functions of the input pipeline.
    data_runs: HashSet<i64, RandomState>,
    roots: Vec<(i64, u32, Option<i64>)>,
    has_loops: bool,
}

pub fn groups(trace: &Trace) -> Groups {
    let slices = trace.slices();
    let mut ties = EventLinks::default();
    let marks = marks(trace);
    let mut next_mark = 0;
    for (lane, described) in trace.lanes().iter() {
        let mut open: Vec<SliceId> = Vec::new();
        // Marks are nested as slices are, in what is open around them.
        let mut mark = |before: Option<Ns>, open: &mut Vec<SliceId>, ties: &mut EventLinks| {
            while let Some(mark) = marks.get(next_mark).filter(|mark| mark.lane == lane) {
                if before.is_some_and(|before| mark.at >= before) {
                    break;
                }
                while open.last().is_some_and(|&around| slices.end(around) < mark.at) {
                    open.pop();
                }
                let node = (slices.len() + next_mark) as u32;
                ties.edges.extend(open.last().map(|around| (around.index() as u32, node)));
                let arrows =
                    ties.arrows.entry((described.key.process, THREAD_POOL_ARROW, mark.arrow)).or_default();
                if mark.begins {
                    arrows.from.push(node)
                } else {
                    arrows.to.push(node)
                }
                next_mark += 1;
            }
        };
        for id in slices.of_lane(lane) {
            if slices.kind(id) == Kind::DeviceAnnotation {
                continue;
            }
            mark(Some(slices.start(id)), &mut open, &mut ties);
            let marks = EventMarks::read(trace, id);
            ties.take(trace, id, marks, described.key.domain == Domain::Host, described.key.process);
            if marks.is_async {
                continue;
            }
            while let Some(&around) = open.last() {
                if slices.end(around) >= slices.end(id) {
                    ties.edges.push((around.index() as u32, id.index() as u32));
                    break;
                }
                open.pop();
            }
            open.push(id);
        }
        mark(None, &mut open, &mut ties);
    }
    let mut groups = Groups { of: vec![NONE; slices.len()], ..Groups::default() };
    // XProf groups nothing in profiles of another runtime's loops; and without roots there is nothing to group.
    if ties.has_loops || (ties.roots.is_empty() && ties.executors.is_empty()) {
        return groups;
    }
    let loops = ties.loops(trace);
    let (roots, graph) = ties.into_graph(trace, slices.len() + marks.len());
    let below = if loops.is_empty() { graph.below(&roots) } else { Vec::new() };
    let mut of = vec![NONE; graph.nodes()];
    let mut queue = Vec::new();
    let in_order = match loops.is_empty() {
        false => loops,
        true => {
            let needs = roots.iter().zip(&below).filter(|(_, below)| !**below);
            needs.map(|(&(_, root), _)| root).collect()
        }
    };
    for root in in_order {
        if of[root as usize] != NONE {
            continue;
        }
        let id = SliceId::from_index(root as usize);
        graph.spread(root, groups.groups.len() as u32, &mut of, &mut queue);
        groups.groups.push(described(trace, &graph, id, groups.groups.len()));
    }
    let of_marks = marks.iter().zip(&of[slices.len()..]).filter(|(mark, of)| !mark.begins && **of != NONE);
    groups.marks = of_marks.map(|(mark, &group)| (group as usize, mark.at)).collect();
    of.truncate(slices.len());
    groups.of = of;
    groups.follow(trace);
    groups
}

/// The slices of each device, in the order of time.
pub(super) fn device_slices(trace: &Trace) -> Vec<Vec<SliceId>> {
    let slices = trace.slices();
    let mut devices: BTreeMap<Option<i64>, Vec<SliceId>> = BTreeMap::new();
    for (lane, described) in trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Device) {
        let work = slices.of_lane(lane).filter(|&id| slices.kind(id) != Kind::DeviceAnnotation);
        devices.entry(described.key.process.as_int()).or_default().extend(work);
    }
    let mut devices: Vec<Vec<SliceId>> = devices.into_values().collect();
    for work in &mut devices {
        work.sort_by_key(|&id| (slices.start(id), -slices.dur(id)));
    }
    devices
}

impl Groups {
    /// Device work that nothing ties to a group belongs to that of the work before it.
    fn follow(&mut self, trace: &Trace) {
        for work in device_slices(trace) {
            let mut last = NONE;
            for id in work {
                let of = &mut self.of[id.index()];
                if *of == NONE {
                    *of = last;
                }
                last = *of;
            }
        }
    }
}

/// A mark that a thread pool leaves: where work is handed over, and where it is taken on.
struct PoolMark {
    lane: LaneId,
    at: Ns,
    arrow: i64,
    begins: bool,
}

/// The marks of thread pools, lane by lane in the order of time.
fn marks(trace: &Trace) -> Vec<PoolMark> {
    let named = |name| trace.strings().find(name);
    let (record, start) = (named("ThreadpoolListener::Record"), named("ThreadpoolListener::StartRegion"));
    if start.is_none() {
        return Vec::new();
    }
    let ends = trace.flows().iter().filter(|flow| Some(flow.name) == record || Some(flow.name) == start);
    let mut marks: Vec<PoolMark> = ends
        .map(|flow| PoolMark {
            lane: flow.lane,
            at: flow.at,
            arrow: flow.id,
            begins: flow.side == FlowSide::Start,
        })
        .collect();
    marks.sort_by_key(|mark| (mark.lane, mark.at));
    marks
}

fn described(trace: &Trace, graph: &Graph, root: SliceId, number: usize) -> Group {
    let name = recorded_name(trace, root);
    let is_marked = !matches!(&*name, "FunctionRun" | "SessionRun" | "RunGraph" | "ExecutorState::Process");
    let of = |attr| graph.nesting(root).find_map(|id| trace.args(id).int(attr));
    let step = of(Attr::Iteration).or_else(|| of(Attr::StepNumber)).unwrap_or(number as i64);
    let name = if is_marked { format!("{name} {step}") } else { step.to_string() };
    Group { root, name, is_marked }
}

impl EventLinks {
    fn take(&mut self, trace: &Trace, id: SliceId, marks: EventMarks, on_host: bool, process: Tag) {
        let node = id.index() as u32;
        if let Some(correlation) = marks.correlation {
            if on_host {
                self.launches.insert(correlation, node);
            } else {
                self.launched.push((correlation, node));
            }
        }
        if let (Some(kind), Some(number)) = marks.producer {
            self.arrows.entry((process, kind, number)).or_default().from.push(node);
        }
        if let (Some(kind), Some(number)) = marks.consumer {
            self.arrows.entry((process, kind, number)).or_default().to.push(node);
        }
        if !on_host {
            return;
        }
        let mut root = marks.root;
        // Only events of TensorFlow's runtime are recognized by their names; they have no other.
        match trace.name(id) {
            "TraceContext" => root = root.or(Some(1)),
            "WhileOp-EvalCond" | "WhileOp-StartBody" | "ForOp" | "ParallelForOp" | "ForeverOp" => {
                self.has_loops = true;
            }
            "ExecutorState::Process" => {
                if let (Some(run), Some(iteration)) = (marks.run, marks.iteration) {
                    self.executors.push((run, iteration, node));
                }
            }
            "IteratorGetNextOp::DoCompute" | "IteratorGetNextAsOptionalOp::DoCompute" => {
                if let (Some(run), Some(iteration)) = (marks.run, marks.iteration) {
                    self.readers.push((run, iteration, node));
                }
            }
            name if name.starts_with("InstantiatedCapturedFunction::Run") => self.data_runs.extend(marks.run),
            _ => {}
        }
        if let Some(level) = root.filter(|&level| level > 0) {
            self.roots.push((level, node, marks.run));
        }
    }

    /// The first event of each iteration of a graph that loops; the others of the iteration are tied to it.
    fn loops(&mut self, trace: &Trace) -> Vec<u32> {
        let slices = trace.slices();
        let starts = |node: u32| {
            let id = SliceId::from_index(node as usize);
            (slices.start(id), -slices.dur(id))
        };
        let mut runs: BTreeMap<i64, BTreeMap<i64, Vec<u32>>> = BTreeMap::new();
        for &(run, iteration, node) in &self.executors {
            if !self.data_runs.contains(&run) {
                runs.entry(run).or_default().entry(iteration).or_default().push(node);
            }
        }
        let mut firsts = Vec::new();
        for iterations in runs.values().filter(|of| !(of.len() == 1 && of.contains_key(&0))) {
            for events in iterations.values() {
                let Some(&first) = events.iter().min_by_key(|&&node| starts(node)) else { continue };
                firsts.push(first);
                self.edges.extend(events.iter().filter(|&&node| node != first).map(|&node| (first, node)));
            }
        }
        firsts.sort_by_key(|&node| starts(node));
        firsts
    }

    /// The roots in the order in which groups are made of them, and what leads where.
    fn into_graph(mut self, trace: &Trace, events: usize) -> (Vec<(i64, u32)>, Graph) {
        let parents = nested(&self.edges, events);
        let executors: HashMap<(i64, i64), u32, RandomState> =
            self.executors.iter().map(|&(run, iteration, node)| ((run, iteration), node)).collect();
        for (run, iteration, node) in &self.readers {
            self.edges.extend(executors.get(&(*run, *iteration)).map(|&from| (from, *node)));
        }
        for (correlation, node) in &self.launched {
            self.edges.extend(self.launches.get(correlation).map(|&from| (from, *node)));
        }
        let mut nodes = events as u32;
        for Arrows { from, to } in self.arrows.into_values() {
            let too_many = from.len() >= MAX_BOTH_SIDES && to.len() >= MAX_BOTH_SIDES;
            if from.is_empty() || to.is_empty() || too_many {
                continue;
            }
            // A node of its own for the arrows: every beginning leads to every end.
            self.edges.extend(from.into_iter().map(|from| (from, nodes)));
            self.edges.extend(to.into_iter().map(|to| (nodes, to)));
            nodes += 1;
        }
        let columns = trace.slices();
        let data_runs = self.data_runs;
        self.roots.retain(|(_, _, run)| run.is_none_or(|run| !data_runs.contains(&run)));
        self.roots.sort_by_key(|&(level, node, _)| {
            let id = SliceId::from_index(node as usize);
            (-level, columns.start(id), -columns.dur(id))
        });
        let roots = self.roots.into_iter().map(|(level, node, _)| (level, node)).collect();
        (roots, Graph::new(&self.edges, nodes as usize, parents))
    }
}

fn nested(edges: &[(u32, u32)], events: usize) -> Vec<u32> {
    let mut parents = vec![NONE; events];
    for &(from, to) in edges {
        parents[to as usize] = from;
    }
    parents
}

/// Which nodes lead to which: slices, then marks, then arrows.
struct Graph {
    first: Vec<u32>,
    to: Vec<u32>,
    parents: Vec<u32>,
}

impl Graph {
    fn new(edges: &[(u32, u32)], nodes: usize, parents: Vec<u32>) -> Graph {
        let mut first = vec![0u32; nodes + 1];
        for &(from, _) in edges {
            first[from as usize + 1] += 1;
        }
        for at in 0..nodes {
            first[at + 1] += first[at];
        }
        let mut next = first.clone();
        let mut to = vec![0; edges.len()];
        for &(from, node) in edges {
            to[next[from as usize] as usize] = node;
            next[from as usize] += 1;
        }
        Graph { first, to, parents }
    }

    fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    fn after(&self, node: u32) -> &[u32] {
        &self.to[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// A slice and what it is nested in, the innermost first.
    fn nesting(&self, id: SliceId) -> impl Iterator<Item = SliceId> {
        let up = |&id: &SliceId| {
            let around = *self.parents.get(id.index())?;
            (around != NONE).then(|| SliceId::from_index(around as usize))
        };
        std::iter::successors(Some(id), up).take(MAX_NESTING)
    }

    /// Gives a group to all that a root leads to and that has none.
    fn spread(&self, root: u32, group: u32, of: &mut [u32], queue: &mut Vec<u32>) {
        of[root as usize] = group;
        queue.push(root);
        while let Some(node) = queue.pop() {
            for &next in self.after(node) {
                if of[next as usize] == NONE {
                    of[next as usize] = group;
                    queue.push(next);
                }
            }
        }
    }

    /// For each root whether another one of its level leads to it.
    fn below(&self, roots: &[(i64, u32)]) -> Vec<bool> {
        let mut below = vec![false; roots.len()];
        let mut levels: Vec<i64> = roots.iter().map(|root| root.0).collect();
        levels.dedup();
        for level in levels.into_iter().take(MAX_LEVELS) {
            let mut seen = vec![false; self.nodes()];
            let mut queue: Vec<u32> = roots.iter().filter(|root| root.0 == level).map(|root| root.1).collect();
            while let Some(node) = queue.pop() {
                for &next in self.after(node) {
                    if !seen[next as usize] {
                        seen[next as usize] = true;
                        queue.push(next);
                    }
                }
            }
            for (at, root) in roots.iter().enumerate().filter(|(_, root)| root.0 == level) {
                below[at] = seen[root.1 as usize];
            }
        }
        below
    }
}
