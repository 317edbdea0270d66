//! What becomes of a parsed event: a slice, a point, an arrow's end; or it is set aside and counted.

use std::collections::HashMap;

use stepscope_model::{
    ArgValue, ArgsId, CatId, Domain, FlowKind, FlowSide, Kind, LaneId, LaneKey, NewAllocation, NewFlow,
    NewPoint, NewSlice, NoteKind, Notes, Ns, PointKind, Series, StrId, Tag, TraceBuilder, Unit,
};

use super::category::{flow_kind_of, is_step, kind_of, point_kind_of, split_overload, stream_number};
use super::event::{Event, EventParser};
use super::notes;
use super::open_events::OpenEvents;
use super::scan::{Cursor, ScanError, ScanResult};
use super::time::Time;
use crate::argument_keys::{ALLOCATION_NAME, OVERLOAD_KEY};

/// What a category turned out to be.
#[derive(Copy, Clone, Default)]
struct Category {
    text: StrId,
    cat: CatId,
    kind: Kind,
    flow: FlowKind,
}

/// What an operator's name turned out to be.
#[derive(Copy, Clone)]
enum OpName {
    Plain,
    /// A step mark among the operators.
    Step,
    /// The name without its overload, and the overload.
    Overload(StrId, StrId),
}

/// Takes events in.
pub(super) struct EventSink {
    parser: EventParser,
    categories: HashMap<StrId, Category>,
    op_names: Vec<Option<OpName>>,
    last_category: Category,
    last_lane: [(LaneKey, Option<LaneId>); 2],
    /// Begin events that wait for their end.
    open: OpenEvents,
    /// The latest time seen on each lane.
    latest: Vec<Ns>,
    process_names: HashMap<Tag, StrId>,
    thread_names: HashMap<(Tag, Tag), StrId>,
    process_name: StrId,
    thread_name: StrId,
    overload: StrId,
    memory: StrId,
}

impl EventSink {
    pub(super) fn new() -> EventSink {
        let mut parser = EventParser::new();
        EventSink {
            process_name: parser.builder.intern("process_name"),
            thread_name: parser.builder.intern("thread_name"),
            overload: parser.builder.intern(OVERLOAD_KEY),
            memory: parser.builder.intern(ALLOCATION_NAME),
            parser,
            categories: HashMap::new(),
            op_names: Vec::new(),
            last_category: Category::default(),
            last_lane: [(LaneKey::default(), None); 2],
            open: OpenEvents::new(),
            latest: Vec::new(),
            process_names: HashMap::new(),
            thread_names: HashMap::new(),
        }
    }

    pub(super) fn notes(&mut self) -> &mut Notes {
        self.parser.builder.notes()
    }

    /// What a top-level entry announces about the events after it.
    pub(super) fn expect(&mut self, entry: &str) {
        if self.is_empty() {
            super::xla::expect(entry, &mut self.parser.builder);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parser.builder.is_empty()
    }

    /// Events found so far.
    pub(super) fn events(&mut self) -> u64 {
        self.parser.builder.meta().events_in_file
    }

    /// Counts bytes that belong to no event.
    pub(super) fn skipped(&mut self, bytes: u64) {
        self.parser.builder.meta().skipped_bytes += bytes;
    }

    /// Whether there was not one event, but something else.
    pub(super) fn found_nothing(&mut self) -> bool {
        self.parser.builder.meta().events_in_file == 0 && self.notes().count(notes::GARBAGE) > 0
    }

    /// An event that cannot be kept.
    pub(super) fn set_aside(&mut self, why: &'static NoteKind, at: u64) {
        self.parser.builder.discard_args();
        let meta = self.parser.builder.meta();
        meta.events_in_file += 1;
        meta.events_set_aside += 1;
        self.notes().add(why, at);
    }

    /// Reads the event at the cursor and takes it in.
    pub(super) fn event<const LENIENT: bool>(&mut self, c: &mut Cursor<'_>, offset: u64) -> ScanResult<()> {
        let at = offset + c.pos as u64;
        let event = self.parser.event::<LENIENT>(c)?;
        if event.empty {
            // `{}` closes the list in some writers; it says nothing, so nothing is lost.
            return Ok(());
        }
        // A guess that yields no event was a wrong guess: where it ended means nothing.
        if LENIENT && (event.phase == 0 || event.at == Time::Nothing) {
            return Err(ScanError::Bad);
        }
        self.take_in(event, at);
        self.parser.commit_notes(offset);
        Ok(())
    }

    fn take_in(&mut self, mut event: Event, at: u64) {
        let start = match event.at {
            Time::Exact(ns) | Time::Rounded(ns) => ns,
            Time::Nothing if event.phase == b'M' => Ns::ZERO,
            Time::Nothing => return self.set_aside(notes::NO_TIME, at),
            Time::OutOfRange => return self.set_aside(notes::TIME_OUT_OF_RANGE, at),
        };
        if event.phase == 0 {
            return self.set_aside(notes::BROKEN_EVENT, at);
        }
        let Category { cat, mut kind, flow, .. } = self.category(event.cat);
        if kind == Kind::HostOp && matches!(event.phase, b'X' | b'B') {
            match self.op_name(event.name) {
                OpName::Plain => {}
                OpName::Step => kind = Kind::HostAnnotation,
                OpName::Overload(base, overload) => {
                    event.name = base;
                    self.parser.builder.push_arg(self.overload, ArgValue::Str(overload));
                }
            }
        }
        match event.phase {
            b'X' => match self.duration(&event, start, at) {
                Some(dur) => self.complete(event, start, dur, cat, kind),
                None => return self.set_aside(notes::TIME_OUT_OF_RANGE, at),
            },
            b'B' => self.begin(event, start, cat, kind),
            b'E' => self.end(event, start, cat, kind, at),
            b's' | b't' | b'f' => {
                if self.parser.builder.discard_args() {
                    self.notes().add(notes::ARGS_DROPPED, at);
                }
                let side = match event.phase {
                    b's' => FlowSide::Start,
                    b't' => FlowSide::Step,
                    _ => FlowSide::Finish,
                };
                let lane = self.arrow_lane(&event, flow, side);
                let (id, name) = (event.id, event.name);
                self.parser.builder.flow(NewFlow { at: start, id, name, cat, lane, kind: flow, side });
            }
            phase => {
                if phase == b'M' {
                    self.metadata(&event);
                }
                let lane = self.lane(&event, kind);
                if phase != b'C' || !self.counter(event.name, start, cat, lane) {
                    self.point(event.name, phase, start, cat, lane);
                }
            }
        }
        self.parser.builder.meta().events_in_file += 1;
    }

    /// Takes in the values of a counter; false, and nothing done, if one of them is not a number.
    fn counter(&mut self, name: StrId, at: Ns, cat: CatId, lane: LaneId) -> bool {
        let builder = &mut self.parser.builder;
        let Some(values) = builder.pushed_numbers() else { return false };
        let mut counted = Vec::with_capacity(values.len());
        for (part, value) in values {
            // Recorders that know the unit name the value by it.
            let unit = Unit::of_symbol(builder.text(part));
            let Some(series) = builder.series(Series { name, part, unit, lane, cat }) else { return false };
            counted.push((series, value));
        }
        builder.discard_args();
        builder.count(at, &counted);
        true
    }

    /// An event without a length that is not a counter.
    fn point(&mut self, name: StrId, phase: u8, at: Ns, cat: CatId, lane: LaneId) {
        let builder = &mut self.parser.builder;
        let args = builder.commit_args();
        match point_kind_of(phase) {
            PointKind::Instant if name == self.memory => {
                builder.allocation(name, NewAllocation { at, lane, cat, args });
            }
            kind => builder.point(NewPoint { at, name, cat, lane, args, kind }),
        }
    }

    /// How long a complete event took; `None` where its end is out of range.
    fn duration(&mut self, event: &Event, start: Ns, at: u64) -> Option<Ns> {
        let dur = match event.dur {
            Some(Time::Exact(dur) | Time::Rounded(dur)) if dur >= Ns::ZERO => dur,
            Some(Time::Exact(_) | Time::Rounded(_)) => {
                self.notes().add(notes::NEGATIVE_DURATION, at);
                Ns::ZERO
            }
            Some(Time::OutOfRange) => return None,
            Some(Time::Nothing) | None => {
                self.notes().add(notes::MISSING_DURATION, at);
                Ns::ZERO
            }
        };
        start.0.checked_add(dur.0).map(|_| dur)
    }

    fn complete(&mut self, event: Event, start: Ns, dur: Ns, cat: CatId, kind: Kind) {
        let lane = self.lane(&event, kind);
        self.saw(lane, start + dur);
        let args = self.parser.builder.commit_args();
        self.parser.builder.slice(new_slice(&event, start, dur, cat, kind, lane, args));
    }

    fn begin(&mut self, event: Event, start: Ns, cat: CatId, kind: Kind) {
        let lane = self.lane(&event, kind);
        let args = self.parser.builder.commit_args();
        self.saw(lane, start);
        let slice = new_slice(&event, start, Ns::ZERO, cat, kind, lane, args);
        if let Some(open) = self.parser.builder.begin(slice) {
            self.open.push(lane, open);
        }
    }

    fn saw(&mut self, lane: LaneId, at: Ns) {
        if self.latest.len() <= lane.index() {
            self.latest.resize(lane.index() + 1, Ns::MIN);
        }
        let latest = &mut self.latest[lane.index()];
        *latest = (*latest).max(at);
    }

    fn end(&mut self, event: Event, end: Ns, cat: CatId, kind: Kind, at: u64) {
        // An end need not repeat its category: without one it may belong to either side.
        let mut lane = self.lane(&event, kind);
        if !self.open.any(lane) {
            let other = self.lane(&event, if kind.is_device() { Kind::Other } else { Kind::Kernel });
            if self.open.any(other) {
                lane = other;
            }
        }
        let args = self.parser.builder.commit_args();
        if let Some(slice) = self.open.pop(lane) {
            if !self.parser.builder.end(slice, end) {
                self.notes().add(notes::NEGATIVE_DURATION, at);
            }
            if args != ArgsId::default() {
                self.notes().add(notes::ARGS_DROPPED, at);
            }
            self.saw(lane, end);
            self.parser.builder.meta().joined_pairs += 1;
        } else {
            self.notes().add(notes::UNMATCHED_END, at);
            let (name, kind) = (event.name, point_kind_of(event.phase));
            self.parser.builder.point(NewPoint { at: end, name, cat, lane, args, kind });
        }
    }

    fn metadata(&mut self, event: &Event) {
        let Some(name) = event.arg_name else { return };
        if event.name == self.process_name {
            self.process_names.insert(event.process, name);
        } else if event.name == self.thread_name {
            self.thread_names.insert((event.process, event.thread), name);
        }
    }

    fn category(&mut self, text: StrId) -> Category {
        if self.last_category.text != text {
            let builder = &mut self.parser.builder;
            self.last_category = *self.categories.entry(text).or_insert_with(|| {
                let name = builder.text(text).to_owned();
                Category { text, cat: builder.category(&name), kind: kind_of(&name), flow: flow_kind_of(&name) }
            });
        }
        self.last_category
    }

    fn op_name(&mut self, name: StrId) -> OpName {
        if let Some(Some(known)) = self.op_names.get(name.index()) {
            return *known;
        }
        let builder = &mut self.parser.builder;
        let text = builder.text(name).to_owned();
        let found = match split_overload(&text) {
            _ if is_step(&text) => OpName::Step,
            Some((base, overload)) => OpName::Overload(builder.intern(base), builder.intern(overload)),
            None => OpName::Plain,
        };
        if self.op_names.len() <= name.index() {
            self.op_names.resize(name.index() + 1, None);
        }
        self.op_names[name.index()] = Some(found);
        found
    }

    fn lane(&mut self, event: &Event, kind: Kind) -> LaneId {
        let device = kind.is_device();
        let mut key = LaneKey { domain: Domain::Host, process: event.process, thread: event.thread };
        if device {
            key.domain = Domain::Device;
            if let Tag::Str(text) = event.thread
                && let Some(stream) = stream_number(self.parser.builder.text(text))
            {
                key.thread = Tag::Int(stream);
            }
        }
        let last = &mut self.last_lane[usize::from(device)];
        if last.0 == key
            && let Some(id) = last.1
        {
            return id;
        }
        let id = self.parser.builder.lane(key);
        *last = (key, Some(id));
        id
    }

    /// The finish of a launch arrow lies on a stream, everything else on a thread.
    fn arrow_lane(&mut self, event: &Event, kind: FlowKind, side: FlowSide) -> LaneId {
        if side == FlowSide::Finish && kind == FlowKind::Launch {
            let key = LaneKey { domain: Domain::Device, process: event.process, thread: event.thread };
            if let Some(lane) = self.parser.builder.find_lane(key) {
                return lane;
            }
        }
        self.lane(event, Kind::Other)
    }

    /// The builder, with open begins closed and lanes named.
    pub(super) fn finish(mut self) -> TraceBuilder {
        while let Some((lane, slice)) = self.open.pop_any() {
            self.parser.builder.notes().add_count(notes::UNMATCHED_BEGIN, 1);
            // A lane on which something began was seen then.
            let end = self.latest.get(lane).copied().unwrap_or(Ns::MIN);
            self.parser.builder.end(slice, end);
        }
        for lane in self.parser.builder.lanes_mut() {
            let LaneKey { process, thread, .. } = lane.key;
            if let Some(&name) = self.process_names.get(&process) {
                lane.process_name = name;
            }
            if let Some(&name) = self.thread_names.get(&(process, thread)) {
                lane.thread_name = name;
            }
        }
        self.parser.builder
    }
}

fn new_slice(
    event: &Event,
    start: Ns,
    dur: Ns,
    cat: CatId,
    kind: Kind,
    lane: LaneId,
    args: ArgsId,
) -> NewSlice {
    let Event { name, correlation, external, .. } = *event;
    NewSlice { start, dur, name, cat, kind, lane, args, correlation, external }
}
