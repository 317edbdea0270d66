//! From a stream of events to a trace: the one door that readers and recorders come through.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::allocations::Allocations;
use crate::args::{ArgValue, ArgWriter, ArgsId, Decimal};
use crate::attr::Attr;
use crate::counters::{Counters, Series, SeriesId};
use crate::kind::{CatId, Kind};
use crate::lanes::{Domain, Lane, LaneId, LaneKey, Lanes};
use crate::link;
use crate::links::Links;
use crate::meta::Meta;
use crate::notes::{NoteKind, Notes};
use crate::origin;
use crate::points::{FlowKind, FlowSide, Flows, PointKind, Points};
use crate::programs::{Program, Programs};
use crate::slices::{SliceId, Slices};
use crate::stack_tree::StackId;
use crate::stacks::Stacks;
use crate::strings::{StrId, Strings};
use crate::time::Ns;
use crate::trace::Trace;

/// A slice to add.
#[derive(Copy, Clone, Default, Debug)]
pub struct NewSlice {
    /// When it began, on the producer's clock; the finished trace counts from its first event.
    pub start: Ns,
    pub dur: Ns,
    pub name: StrId,
    pub cat: CatId,
    pub kind: Kind,
    pub lane: LaneId,
    pub args: ArgsId,
    /// Ties device work to the call that launched it.
    pub correlation: Option<i64>,
    /// Ties calls and device work to their operator; an operator's own id.
    pub external: Option<i64>,
}

/// A slice that began and has no end yet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OpenSlice(u32);

/// A point to add.
#[derive(Copy, Clone, Default, Debug)]
pub struct NewPoint {
    /// Its time on the producer's clock; the finished trace counts from its first event.
    pub at: Ns,
    pub name: StrId,
    pub cat: CatId,
    pub lane: LaneId,
    pub args: ArgsId,
    pub kind: PointKind,
}

/// An allocation or a release to add. Its numbers are attributes of its arguments.
#[derive(Copy, Clone, Default, Debug)]
pub struct NewAllocation {
    /// Its time on the producer's clock; the finished trace counts from its first event.
    pub at: Ns,
    /// The thread that asked.
    pub lane: LaneId,
    pub cat: CatId,
    pub args: ArgsId,
}

/// One end of an arrow to add.
#[derive(Copy, Clone, Default, Debug)]
pub struct NewFlow {
    /// Its time on the producer's clock; the finished trace counts from its first event.
    pub at: Ns,
    /// Ends with the same category and id belong together.
    pub id: i64,
    pub name: StrId,
    pub cat: CatId,
    pub lane: LaneId,
    pub kind: FlowKind,
    pub side: FlowSide,
}

/// Handles are 32-bit numbers, and the largest represents "none".
const MAX_EVENTS: usize = u32::MAX as usize - 1;

/// Collects events and turns them into a [`Trace`]. It holds 4,294,967,294 slices, as many points, counter values,
/// allocations and flow ends; what comes after is set aside, counted and noted.
#[derive(Debug)]
pub struct TraceBuilder {
    slices: Slices,
    points: Points,
    counters: Counters,
    allocations: Allocations,
    flows: Flows,
    lanes: Lanes,
    strings: Strings,
    categories: Vec<StrId>,
    category_ids: HashMap<StrId, CatId, RandomState>,
    args: ArgWriter,
    stacks: Stacks,
    correlations: Vec<(u32, i64)>,
    externals: Vec<(u32, i64)>,
    programs: Programs,
    notes: Notes,
    meta: Meta,
    /// How many slices, points and flow ends each are taken.
    most: usize,
    /// Whether device work without an operator of its own has that of its launch.
    inherits: bool,
}

impl Default for TraceBuilder {
    fn default() -> Self {
        TraceBuilder::new()
    }
}

impl TraceBuilder {
    pub fn new() -> TraceBuilder {
        TraceBuilder::with_limit(MAX_EVENTS)
    }

    fn with_limit(most: usize) -> TraceBuilder {
        let mut builder = TraceBuilder {
            slices: Slices::default(),
            points: Points::default(),
            counters: Counters::default(),
            allocations: Allocations::default(),
            flows: Flows::default(),
            lanes: Lanes::default(),
            strings: Strings::default(),
            categories: Vec::new(),
            category_ids: HashMap::default(),
            args: ArgWriter::default(),
            stacks: Stacks::default(),
            correlations: Vec::new(),
            externals: Vec::new(),
            programs: Programs::default(),
            notes: Notes::default(),
            meta: Meta::default(),
            most,
            inherits: false,
        };
        // Category 0 is "none given".
        builder.category("");
        builder
    }

    pub fn intern(&mut self, text: &str) -> StrId {
        self.strings.intern(text)
    }

    /// The table of texts.
    pub fn strings(&mut self) -> &mut Strings {
        &mut self.strings
    }

    /// The text behind an id.
    pub fn text(&self, id: StrId) -> &str {
        self.strings.get(id)
    }

    /// The category of this text. After 65,536 different ones the rest share the empty category, which is noted.
    pub fn category(&mut self, text: &str) -> CatId {
        let id = self.strings.intern(text);
        if let Some(&cat) = self.category_ids.get(&id) {
            return cat;
        }
        let cat = match u16::try_from(self.categories.len()) {
            Ok(index) => {
                self.categories.push(id);
                CatId(index)
            }
            Err(_) => {
                self.notes.add_count(NoteKind::TOO_MANY_CATEGORIES, 1);
                CatId::default()
            }
        };
        // Also where there is no room: each text is noted once.
        self.category_ids.insert(id, cat);
        cat
    }

    /// The lane of this key. Past four billion lanes the rest share the first, which is noted.
    pub fn lane(&mut self, key: LaneKey) -> LaneId {
        self.lanes.find_or_add(key).unwrap_or_else(|| {
            self.notes.add_count(NoteKind::LIMIT_REACHED, 1);
            LaneId::default()
        })
    }

    /// The lane of this key, if there is one already.
    pub fn find_lane(&self, key: LaneKey) -> Option<LaneId> {
        self.lanes.find(key)
    }

    pub fn lane_mut(&mut self, id: LaneId) -> &mut Lane {
        self.lanes.get_mut(id)
    }

    pub fn lanes_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        self.lanes.iter_mut()
    }

    /// The id of a key under which arguments mean this attribute. To be called before the first event: arguments
    /// that came before mean nothing.
    pub fn key(&mut self, text: &str, attr: Attr) -> StrId {
        let key = self.strings.intern(text);
        self.args.mean(key, attr);
        key
    }

    /// Adds an argument to the event being built.
    pub fn push_arg(&mut self, key: StrId, value: ArgValue) {
        self.args.push(key, value);
    }

    /// Forgets the arguments pushed since the last commit, and says whether there were any.
    pub fn discard_args(&mut self) -> bool {
        self.args.discard()
    }

    /// Closes the argument list of the event being built.
    pub fn commit_args(&mut self) -> ArgsId {
        self.args.commit().unwrap_or_else(|| {
            self.notes.add_count(NoteKind::ARGS_DROPPED, 1);
            ArgsId::default()
        })
    }

    /// The stack of these frames, the outermost first. Past four billion stacks the rest lack their inner frames, which
    /// is noted.
    pub fn stack(&mut self, frames: impl IntoIterator<Item = StrId>) -> StackId {
        let mut stack = StackId::EMPTY;
        for frame in frames {
            match self.stacks.called_from(stack, frame) {
                Some(next) => stack = next,
                None => {
                    self.notes.add_count(NoteKind::LIMIT_REACHED, 1);
                    break;
                }
            }
        }
        stack
    }

    /// Events whose [`Attr::CallStack`] is this text were called from this stack.
    pub fn name_stack(&mut self, text: StrId, stack: StackId) {
        self.stacks.name(text, stack);
    }

    /// Whether a text is known to be a stack.
    pub fn is_stack(&self, text: StrId) -> bool {
        self.stacks.of_text(text).is_some()
    }

    /// Adds a compiled program.
    pub fn program(&mut self, program: Program) {
        self.programs.add(program);
    }

    /// From now on, device work whose operator no one tells belongs to the operator of the call that launched it.
    pub fn inherit_operators(&mut self) {
        self.inherits = true;
    }

    /// Adds a slice. A duration under zero is read as zero.
    pub fn slice(&mut self, new: NewSlice) {
        if self.slices.len() >= self.most {
            return self.refuse();
        }
        let index = self.slices.len() as u32;
        if let Some(correlation) = new.correlation {
            self.correlations.push((index, correlation));
        }
        if let Some(external) = new.external {
            self.externals.push((index, external));
        }
        let s = &mut self.slices;
        s.start.push(new.start);
        s.dur.push(new.dur.max(Ns::ZERO));
        s.name.push(new.name);
        s.lane.push(new.lane);
        s.args.push(new.args);
        s.cat.push(new.cat);
        s.kind.push(new.kind);
    }

    /// Adds a slice whose end is not known yet; until [`TraceBuilder::end`] it has no length. `None` where there is no
    /// room for it.
    pub fn begin(&mut self, new: NewSlice) -> Option<OpenSlice> {
        let index = self.slices.len();
        self.slice(NewSlice { dur: Ns::ZERO, ..new });
        (self.slices.len() > index).then_some(OpenSlice(index as u32))
    }

    /// Ends a slice, and says whether it had begun by then. One that ends before it begins gets no length.
    pub fn end(&mut self, open: OpenSlice, at: Ns) -> bool {
        let start = self.slices.start[open.0 as usize];
        self.slices.dur[open.0 as usize] = (at - start).max(Ns::ZERO);
        start <= at
    }

    pub fn point(&mut self, new: NewPoint) {
        if self.points.len() >= self.most {
            return self.refuse();
        }
        let p = &mut self.points;
        p.at.push(new.at);
        p.name.push(new.name);
        p.lane.push(new.lane);
        p.args.push(new.args);
        p.cat.push(new.cat);
        p.kind.push(new.kind);
    }

    /// The values of the arguments pushed since the last commit, if all are numbers that a counter can hold and there
    /// is at least one.
    pub fn pushed_numbers(&self) -> Option<Vec<(StrId, Decimal)>> {
        self.args.numbers().filter(|all| !all.is_empty() && all.iter().all(|number| Counters::holds(number.1)))
    }

    /// The series that is this; `None`, and noted, past four billion of them.
    pub fn series(&mut self, series: Series) -> Option<SeriesId> {
        let found = self.counters.find_or_add(series);
        if found.is_none() {
            self.notes.add_count(NoteKind::LIMIT_REACHED, 1);
        }
        found
    }

    /// Adds the values that one event gives its series, as [`TraceBuilder::pushed_numbers`] tells them.
    pub fn count(&mut self, at: Ns, values: &[(SeriesId, Decimal)]) {
        if values.is_empty() || self.counters.len().saturating_add(values.len()) > self.most {
            return self.refuse();
        }
        for (number, &(series, value)) in values.iter().enumerate() {
            self.counters.push(at, series, value, number > 0);
        }
    }

    /// Adds an allocation or a release. All of a trace's have one name.
    pub fn allocation(&mut self, name: StrId, new: NewAllocation) {
        if self.allocations.len() >= self.most {
            return self.refuse();
        }
        let a = &mut self.allocations;
        a.name = name;
        a.at.push(new.at);
        a.lane.push(new.lane);
        a.cat.push(new.cat);
        a.args.push(new.args);
    }

    /// Adds one end of an arrow.
    pub fn flow(&mut self, new: NewFlow) {
        if self.flows.len() >= self.most {
            return self.refuse();
        }
        let f = &mut self.flows;
        f.at.push(new.at);
        f.id.push(new.id);
        f.name.push(new.name);
        f.lane.push(new.lane);
        f.cat.push(new.cat);
        f.push_role(new.kind, new.side);
    }

    /// An event for which there is no handle left.
    fn refuse(&mut self) {
        self.meta.events_set_aside = self.meta.events_set_aside.saturating_add(1);
        self.notes.add_count(NoteKind::LIMIT_REACHED, 1);
    }

    /// How many events were added.
    pub fn len(&self) -> usize {
        let points = self.points.len() + self.counters.events() + self.allocations.len();
        self.slices.len() + points + self.flows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn notes(&mut self) -> &mut Notes {
        &mut self.notes
    }

    /// What the file says about its run.
    pub fn meta(&mut self) -> &mut Meta {
        &mut self.meta
    }

    /// Sorts, links and checks.
    pub fn finish(mut self) -> Trace {
        self.notes.add_count(NoteKind::LIMIT_REACHED, self.strings.refused());
        let origin = origin::count_from_first(
            &mut self.slices,
            &mut self.points,
            [&mut self.counters.at, &mut self.allocations.at],
            &mut self.flows,
        );
        let new_of_old = self.slices.sort(self.lanes.len());
        let mut trace = Trace {
            links: Links {
                launch: Links::none(self.slices.len()),
                op: Links::none(self.slices.len()),
                ..Links::default()
            },
            slices: self.slices,
            points: self.points,
            counters: self.counters,
            allocations: self.allocations,
            flows: self.flows,
            lanes: self.lanes,
            strings: self.strings,
            categories: self.categories,
            args: self.args.finish(),
            stacks: self.stacks.finish(),
            programs: self.programs,
            notes: self.notes,
            meta: self.meta,
            tried: Vec::new(),
            origin,
        };
        let place = |pairs: Vec<(u32, i64)>| {
            pairs.into_iter().map(|(old, id)| (new_of_old[old as usize] as usize, id)).collect::<Vec<_>>()
        };
        let (correlations, externals) = (place(self.correlations), place(self.externals));
        drop(new_of_old);
        link::launches(&mut trace, &correlations);
        link::ops(&mut trace, &externals);
        if self.inherits {
            link::inherit(&mut trace, &correlations);
        }
        link_backward(&mut trace);
        flag(&mut trace);
        trace
    }
}

/// Joins the two ends of arrows from forward to backward and finds the operators that start where the ends are.
fn link_backward(trace: &mut Trace) {
    let mut starts: HashMap<i64, SliceId, RandomState> = HashMap::default();
    let mut ends: Vec<(i64, SliceId)> = Vec::new();
    // Looked up once a place: a file may put all its arrows where a million slices begin together.
    let mut ops: HashMap<(LaneId, Ns), Option<SliceId>, RandomState> = HashMap::default();
    for flow in trace.flows.iter().filter(|f| f.kind == FlowKind::ForwardBackward) {
        let op = ops.entry((flow.lane, flow.at)).or_insert_with(|| op_starting_at(trace, flow.lane, flow.at));
        if let Some(op) = *op {
            match flow.side {
                FlowSide::Start => drop(starts.insert(flow.id, op)),
                _ => ends.push((flow.id, op)),
            }
        }
    }
    let mut backward: Vec<_> =
        ends.iter().filter_map(|(id, bwd)| starts.get(id).map(|&fwd| (fwd, *bwd))).collect();
    backward.sort_unstable();
    let mut forward: Vec<_> = backward.iter().map(|&(f, b)| (b, f)).collect();
    forward.sort_unstable();
    trace.links.backward = backward;
    trace.links.forward = forward;
}

fn op_starting_at(trace: &Trace, lane: LaneId, at: Ns) -> Option<SliceId> {
    let range = trace.slices.lane_range(lane);
    let starts = &trace.slices.start[range.clone()];
    let first = range.start + starts.partition_point(|&s| s < at);
    (first..range.end)
        .take_while(|&i| trace.slices.start[i] == at)
        .find(|&i| trace.slices.kind[i] == Kind::HostOp)
        .map(SliceId::from_index)
}

/// Notes what a reader of the numbers must know: overlaps on streams and device work without a launch.
fn flag(trace: &mut Trace) {
    let (mut overlaps, mut unlinked) = (0, 0);
    let any_runtime = trace.slices.kinds().iter().any(|k| k.is_runtime());
    for (lane, info) in trace.lanes.iter() {
        if info.key.domain != Domain::Device {
            continue;
        }
        let mut busy_until = Ns::MIN;
        for id in trace.slices.of_lane(lane) {
            if !trace.slices.kind(id).is_device_work() {
                continue;
            }
            overlaps += u64::from(trace.slices.start(id) < busy_until);
            busy_until = busy_until.max(trace.slices.end(id));
            unlinked += u64::from(any_runtime && trace.links.launch(id).is_none());
        }
    }
    trace.notes.add_count(NoteKind::STREAM_OVERLAP, overlaps);
    trace.notes.add_count(NoteKind::UNLINKED, unlinked);
    // Ranges that a program marks may overlap: a step ends in the middle of the optimizer's.
    let misnested = crate::CallTree::build(trace, |kind| kind != Kind::HostAnnotation).misnested;
    trace.notes.add_count(NoteKind::MISNESTED, misnested);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_limit_events_are_set_aside_and_counted() {
        let mut b = TraceBuilder::with_limit(3);
        let lane = b.lane(LaneKey::default());
        for i in 0..5 {
            b.slice(NewSlice {
                start: Ns(i),
                lane,
                correlation: Some(i),
                external: Some(i),
                ..NewSlice::default()
            });
            b.point(NewPoint { at: Ns(i), lane, ..NewPoint::default() });
        }
        for i in 0..4 {
            b.flow(NewFlow { at: Ns(i), lane, ..NewFlow::default() });
        }
        let trace = b.finish();
        assert_eq!((trace.slices().len(), trace.points().len(), trace.flows().len()), (3, 3, 3));
        assert_eq!(trace.meta().events_set_aside, 5);
        assert_eq!(trace.notes().count(NoteKind::LIMIT_REACHED), 5);
    }

    #[test]
    fn categories_without_room_are_noted_once_each() {
        let mut b = TraceBuilder::new();
        // The empty one is there already.
        for i in 1..=65_535 {
            assert_eq!(b.category(&format!("c{i}")).index(), i);
        }
        for text in ["x", "y", "x"] {
            assert_eq!(b.category(text), CatId::default());
        }
        assert_eq!(b.category("c65535").index(), 65_535);
        assert_eq!(b.notes().count(NoteKind::TOO_MANY_CATEGORIES), 2);
    }
}
