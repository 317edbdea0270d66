//! Host planes: the events of threads become operators, ranges, Python calls, calls of the device's runtime and
//! allocations.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{
    ArgValue, Domain, FlowKind, FlowSide, Kind, LaneId, LaneKey, NewAllocation, NewFlow, NewSlice, Ns, StrId,
    Tag,
};

use super::facts::Facts;
use super::foreign_lines::{self, is_foreign};
use super::line::{Event, Line};
use super::names::{NameKind, call_name};
use super::notes;
use super::plane_names::{EventDescription, PlaneNames};
use super::trace_builder::XplaneBuilder;

/// The name of a mark that says which thread it is on.
const THREAD_MARK: &str = "stepscope thread";

const MAX_THREAD: i64 = 1 << 30;

/// What an event lies in, as far as that decides what it is itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventContext {
    /// Something of the user's.
    Program,
    /// Something of the framework's.
    Framework,
    /// A module's list of operators.
    Module,
}

/// An event that has begun and not ended.
struct OpenEvent {
    end: Ns,
    inside: EventContext,
    /// The number of the innermost operator around.
    operator: Option<i64>,
    is_step: bool,
}

/// Takes in the lines of a host plane.
pub(super) fn read_lines(
    out: &mut XplaneBuilder<'_>,
    known: &mut PlaneNames<'_>,
    lines: Vec<Vec<u8>>,
    process: Tag,
) {
    let homes = foreign_lines::homes(&lines, known, out.events_left());
    let mut guests: HashMap<usize, Vec<usize>, RandomState> = HashMap::default();
    for (guest, home) in homes.iter().enumerate() {
        if let Some(home) = home {
            guests.entry(*home).or_default().push(guest);
        }
    }
    let mut waiting: Vec<Option<Vec<u8>>> = lines.into_iter().map(Some).collect();
    for at in 0..waiting.len() {
        if homes[at].is_some() {
            continue;
        }
        let Some(mut message) = waiting[at].take() else { continue };
        let mut line = out.line(&message);
        for guest in guests.remove(&at).unwrap_or_default() {
            let Some(other) = waiting[guest].take() else { continue };
            let moved = out.line(&other);
            out.builder.notes().add_count(notes::MOVED_CALLS, moved.events.len() as u64);
            merge(&mut line, moved, message.len());
            message.extend_from_slice(&other);
        }
        thread(out, known, &message, &line, process);
    }
}

/// Puts the events of a line among those of another, whose bytes the first one's come behind.
fn merge(line: &mut Line, other: Line, behind: usize) {
    line.events.extend(
        other
            .events
            .into_iter()
            .map(|event| Event { message: event.message.start + behind..event.message.end + behind, ..event }),
    );
    line.events.sort_by_key(|event| (event.start, std::cmp::Reverse(event.end())));
}

/// Takes in one thread.
fn thread(out: &mut XplaneBuilder<'_>, known: &mut PlaneNames<'_>, message: &[u8], line: &Line, process: Tag) {
    if line.events.is_empty() {
        return;
    }
    let id = match out.beside {
        Some(_) => marked_thread(out, known, message, line).unwrap_or_else(|| short_number(line.id)),
        None => line.id,
    };
    let lane = out.builder.lane(LaneKey { domain: Domain::Host, process, thread: Tag::Int(id) });
    let name = line.name.split('/').next().unwrap_or_default();
    let name = if is_foreign(&line.name) { line.name.as_str() } else { name };
    let name = out.builder.intern(name);
    out.builder.lane_mut(lane).thread_name = name;
    let runs_python = line.name.starts_with("python")
        || line.events.iter().any(|e| matches!(known.named(e.is), Some(NameKind::Python | NameKind::Batch)));
    let mut thread = Thread { lane, runs_python, open: Vec::new(), roots: 0 };
    for event in &line.events {
        thread.event(out, known, event, &message[event.message.clone()]);
    }
}

/// The system's number of a thread, where our own recorder has marked it: XLA numbers threads by hashes.
fn marked_thread(
    out: &mut XplaneBuilder<'_>,
    known: &mut PlaneNames<'_>,
    message: &[u8],
    line: &Line,
) -> Option<i64> {
    let mark = out.builder.intern(THREAD_MARK);
    line.events.iter().find_map(|event| {
        let described = known.event(event.is, &mut out.builder, out.at);
        if described.name != mark {
            return None;
        }
        let bytes = &message[event.message.clone()];
        let facts = Facts::read(bytes, &described, known, &out.keys, &mut out.builder);
        out.builder.discard_args();
        facts.thread
    })
}

/// A number for a thread that no one marked: no system numbers its threads so high, and every viewer can read it.
fn short_number(hash: i64) -> i64 {
    if (0..=MAX_THREAD).contains(&hash) {
        return hash;
    }
    (hash ^ hash >> 32) & (MAX_THREAD - 1) | MAX_THREAD
}

struct Thread {
    lane: LaneId,
    /// Whether the user's ranges may be on it.
    runs_python: bool,
    open: Vec<OpenEvent>,
    /// Steps that have no number of their own.
    roots: i64,
}

impl Thread {
    fn event(
        &mut self,
        out: &mut XplaneBuilder<'_>,
        known: &mut PlaneNames<'_>,
        event: &Event,
        message: &[u8],
    ) {
        while self.open.last().is_some_and(|open| open.end <= event.start) {
            self.open.pop();
        }
        let described = known.event(event.is, &mut out.builder, out.at);
        let facts = Facts::read(message, &described, known, &out.keys, &mut out.builder);
        self.arrows(out, event, &facts, described.name);
        match described.named {
            NameKind::Mark => return out.set_aside(notes::MARKS),
            NameKind::Memory { allocates } if facts.allocator.is_some() => {
                return self.allocation(out, event, &facts, allocates);
            }
            _ => {}
        }
        if out.beside.is_some() && facts.ours {
            // A region or a step of our own: the other recording has it too.
            out.builder.discard_args();
            return;
        }
        let step = self.step(out, known, &described, &facts);
        let kind = if step.is_some() { Kind::HostAnnotation } else { self.kind(&described, &facts) };
        let name = match (step, kind) {
            (Some(step), _) if !out.beside.is_some_and(|beside| beside.marks_steps) => {
                let recorded = out.builder.text(described.name);
                let named = format!("{recorded} (step {step})");
                out.builder.intern(&named)
            }
            (_, Kind::Runtime) => call(out, &described, &facts),
            _ => described.name,
        };
        let external = match kind {
            Kind::HostOp => Some(out.next_operator()),
            Kind::Runtime => self.open.last().and_then(|open| open.operator),
            _ => None,
        };
        out.saw(kind, &described);
        if let (Some(_), Some(operator)) = (out.beside, external) {
            out.builder.push_arg(out.keys.external, ArgValue::Int(operator));
        }
        let args = out.builder.commit_args();
        out.slice(NewSlice {
            start: event.start,
            dur: event.dur,
            name,
            cat: out.category(kind),
            kind,
            lane: self.lane,
            args,
            correlation: facts.correlation,
            external,
        });
        self.begin(event, kind, described.named, external, step.is_some());
    }

    fn begin(&mut self, event: &Event, kind: Kind, named: NameKind, external: Option<i64>, is_step: bool) {
        let around = self.open.last();
        let operator = match kind {
            Kind::HostOp => external,
            // What Python calls inside of an operator is not the operator's.
            Kind::PythonFunction => None,
            _ => around.and_then(|open| open.operator),
        };
        let inside = match kind {
            _ if named == NameKind::Module => EventContext::Module,
            Kind::HostAnnotation | Kind::PythonFunction => EventContext::Program,
            _ => EventContext::Framework,
        };
        let is_step = is_step || around.is_some_and(|open| open.is_step);
        self.open.push(OpenEvent { end: event.end(), inside, operator, is_step });
    }

    /// What an event is that is not a step.
    fn kind(&self, described: &EventDescription<'_>, facts: &Facts) -> Kind {
        let around = self.open.last().map(|open| open.inside);
        match described.named {
            _ if facts.correlation.is_some() => Kind::Runtime,
            NameKind::Python => Kind::PythonFunction,
            NameKind::Call => Kind::Runtime,
            NameKind::Overhead => Kind::Overhead,
            _ if facts.runs_instruction => Kind::HostOp,
            NameKind::Operator => Kind::HostOp,
            NameKind::Range if around == Some(EventContext::Module) => Kind::HostOp,
            NameKind::Range | NameKind::Batch => match around {
                _ if facts.tensorflow || !self.runs_python => Kind::FrameworkCall,
                None | Some(EventContext::Program) => Kind::HostAnnotation,
                Some(_) => Kind::FrameworkCall,
            },
            _ => Kind::FrameworkCall,
        }
    }

    /// The number of the step that an event is. A step inside of another is a range like any other.
    fn step(
        &mut self,
        out: &mut XplaneBuilder<'_>,
        known: &PlaneNames<'_>,
        described: &EventDescription<'_>,
        facts: &Facts,
    ) -> Option<i64> {
        if self.open.last().is_some_and(|open| open.is_step) {
            return None;
        }
        if let Some(number) = facts.step {
            out.steps_by.number += 1;
            return Some(number);
        }
        if described.named == NameKind::Batch {
            out.steps_by.batch += 1;
            let last = out.builder.text(described.name).rsplit(' ').next().and_then(|word| word.parse().ok());
            return Some(last.unwrap_or_else(|| self.next_root()));
        }
        // Roots without a number are steps only where no event has one; those that hand work to others are
        // TensorFlow's own.
        let is_root = facts.root && !known.numbers_steps && facts.begins.is_none() && facts.ends.is_none();
        if is_root && matches!(described.named, NameKind::Range) {
            out.steps_by.root += 1;
            return Some(self.next_root());
        }
        None
    }

    fn next_root(&mut self) -> i64 {
        self.roots += 1;
        self.roots - 1
    }

    /// The ends of arrows to other threads.
    fn arrows(&self, out: &mut XplaneBuilder<'_>, event: &Event, facts: &Facts, name: StrId) {
        for (arrow, side) in [(facts.begins, FlowSide::Start), (facts.ends, FlowSide::Finish)] {
            let Some((kind, id)) = arrow else { continue };
            let cat = out.arrow_category(kind);
            let flow = NewFlow { at: event.start, id, name, cat, lane: self.lane, kind: FlowKind::Other, side };
            out.flow(flow);
        }
    }

    /// A change of an allocator's level.
    fn allocation(&self, out: &mut XplaneBuilder<'_>, event: &Event, facts: &Facts, allocates: bool) {
        let allocator = facts.allocator.map_or("", |name| out.builder.text(name));
        let (kind, device) = memory_of(allocator);
        let keys = &out.keys;
        if let Some(bytes) = facts.allocation_bytes {
            let signed = if allocates { bytes } else { bytes.saturating_neg() };
            out.builder.push_arg(keys.allocated, ArgValue::Int(signed));
        }
        out.builder.push_arg(keys.device, ArgValue::Int(device));
        out.builder.push_arg(keys.device_kind, ArgValue::Int(kind));
        let args = out.builder.commit_args();
        out.allocation(NewAllocation { at: event.start, lane: self.lane, cat: out.memory, args });
    }
}

/// The kind and the number of the device whose memory an allocator hands out: `GPU_0_bfc`.
fn memory_of(allocator: &str) -> (i64, i64) {
    const HOST: (i64, i64) = (0, -1);
    let Some(rest) = allocator.strip_prefix("GPU_").or_else(|| allocator.strip_prefix("TPU_")) else {
        return HOST;
    };
    let digits = rest.split('_').next().unwrap_or_default();
    digits.parse().map_or(HOST, |device| (1, device))
}

/// The name of a call; where it carries the name of what it launched, that is kept beside.
fn call(out: &mut XplaneBuilder<'_>, described: &EventDescription<'_>, facts: &Facts) -> StrId {
    let recorded = out.builder.text(described.name).to_owned();
    let name = call_name(&recorded, facts.asynchronous);
    if name == recorded {
        return described.name;
    }
    out.builder.push_arg(out.keys.recorded_name, ArgValue::Str(described.name));
    out.builder.intern(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_tell_their_device() {
        assert_eq!(memory_of("GPU_0_bfc"), (1, 0));
        assert_eq!(memory_of("GPU_13_bfc"), (1, 13));
        assert_eq!(memory_of("xla_gpu_host_bfc"), (0, -1));
        assert_eq!(memory_of("GPU_x"), (0, -1));
        assert_eq!(memory_of("cpu"), (0, -1));
    }
}
