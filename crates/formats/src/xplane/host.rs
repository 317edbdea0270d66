//! Host planes: the events of threads become operators, ranges, Python calls, calls of the device's runtime and
//! allocations.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{
    ArgValue, Domain, FlowKind, FlowSide, Kind, LaneId, LaneKey, NewAllocation, NewFlow, NewSlice, Ns, StrId,
    Tag,
};

use super::facts::Facts;
use super::guests::{self, is_guest};
use super::known::{Described, Known};
use super::line::{Event, Line};
use super::making::Making;
use super::names::{Named, call_name};
use super::notes;

/// What an event lies in, as far as that decides what it is itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    /// Something of the user's.
    Program,
    /// Something of the framework's.
    Framework,
    /// A module's list of operators.
    Module,
}

/// An event that has begun and not ended.
struct Open {
    end: Ns,
    inside: Inside,
    /// The number of the innermost operator around.
    operator: Option<i64>,
    is_step: bool,
}

/// Takes in the lines of a host plane.
pub(super) fn take(making: &mut Making<'_>, known: &mut Known<'_>, lines: Vec<Vec<u8>>, process: Tag) {
    let homes = guests::homes(&lines, known, making.events_left());
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
        let mut line = making.line(&message);
        for guest in guests.remove(&at).unwrap_or_default() {
            let Some(other) = waiting[guest].take() else { continue };
            let moved = making.line(&other);
            making.builder.notes().add_count(notes::MOVED_CALLS, moved.events.len() as u64);
            merge(&mut line, moved, message.len());
            message.extend_from_slice(&other);
        }
        thread(making, known, &message, &line, process);
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
fn thread(making: &mut Making<'_>, known: &mut Known<'_>, message: &[u8], line: &Line, process: Tag) {
    if line.events.is_empty() {
        return;
    }
    let lane = making.builder.lane(LaneKey { domain: Domain::Host, process, thread: Tag::Int(line.id) });
    let name = line.name.split('/').next().unwrap_or_default();
    let name = if is_guest(&line.name) { line.name.as_str() } else { name };
    let name = making.builder.intern(name);
    making.builder.lane_mut(lane).thread_name = name;
    let runs_python = line.name.starts_with("python")
        || line.events.iter().any(|e| matches!(known.named(e.is), Some(Named::Python | Named::Batch)));
    let mut thread = Thread { lane, runs_python, open: Vec::new(), roots: 0 };
    for event in &line.events {
        thread.event(making, known, event, &message[event.message.clone()]);
    }
}

struct Thread {
    lane: LaneId,
    /// Whether the user's ranges may be on it.
    runs_python: bool,
    open: Vec<Open>,
    /// Steps that have no number of their own.
    roots: i64,
}

impl Thread {
    fn event(&mut self, making: &mut Making<'_>, known: &mut Known<'_>, event: &Event, message: &[u8]) {
        while self.open.last().is_some_and(|open| open.end <= event.start) {
            self.open.pop();
        }
        let described = known.event(event.is, &mut making.builder, making.at);
        let facts = Facts::read(message, &described, known, &making.keys, &mut making.builder);
        self.arrows(making, event, &facts, described.name);
        match described.named {
            Named::Mark => return making.set_aside(notes::MARKS),
            Named::Memory { allocates } if facts.allocator.is_some() => {
                return self.allocation(making, event, &facts, allocates);
            }
            _ => {}
        }
        let step = self.step(making, known, &described, &facts);
        let kind = if step.is_some() { Kind::HostAnnotation } else { self.kind(&described, &facts) };
        let name = match (step, kind) {
            (Some(step), _) => {
                let recorded = making.builder.text(described.name);
                let named = format!("{recorded} (step {step})");
                making.builder.intern(&named)
            }
            (None, Kind::Runtime) => call(making, &described, &facts),
            _ => described.name,
        };
        let external = match kind {
            Kind::HostOp => Some(making.next_operator()),
            Kind::Runtime => self.open.last().and_then(|open| open.operator),
            _ => None,
        };
        making.saw(kind, &described);
        let args = making.builder.commit_args();
        making.slice(NewSlice {
            start: event.start,
            dur: event.dur,
            name,
            cat: making.category(kind),
            kind,
            lane: self.lane,
            args,
            correlation: facts.correlation,
            external,
        });
        self.begin(event, kind, described.named, external, step.is_some());
    }

    fn begin(&mut self, event: &Event, kind: Kind, named: Named, external: Option<i64>, is_step: bool) {
        let around = self.open.last();
        let operator = match kind {
            Kind::HostOp => external,
            // What Python calls inside of an operator is not the operator's.
            Kind::PythonFunction => None,
            _ => around.and_then(|open| open.operator),
        };
        let inside = match kind {
            _ if named == Named::Module => Inside::Module,
            Kind::HostAnnotation | Kind::PythonFunction => Inside::Program,
            _ => Inside::Framework,
        };
        let is_step = is_step || around.is_some_and(|open| open.is_step);
        self.open.push(Open { end: event.end(), inside, operator, is_step });
    }

    /// What an event is that is no step.
    fn kind(&self, described: &Described<'_>, facts: &Facts) -> Kind {
        let around = self.open.last().map(|open| open.inside);
        match described.named {
            _ if facts.correlation.is_some() => Kind::Runtime,
            Named::Python => Kind::PythonFunction,
            Named::Call => Kind::Runtime,
            Named::Overhead => Kind::Overhead,
            _ if facts.runs_instruction => Kind::HostOp,
            Named::Operator => Kind::HostOp,
            Named::Range if around == Some(Inside::Module) => Kind::HostOp,
            Named::Range | Named::Batch => match around {
                _ if facts.tensorflow || !self.runs_python => Kind::FrameworkCall,
                None | Some(Inside::Program) => Kind::HostAnnotation,
                Some(_) => Kind::FrameworkCall,
            },
            _ => Kind::FrameworkCall,
        }
    }

    /// The number of the step that an event is. A step inside of another is a range like any other.
    fn step(
        &mut self,
        making: &mut Making<'_>,
        known: &Known<'_>,
        described: &Described<'_>,
        facts: &Facts,
    ) -> Option<i64> {
        if self.open.last().is_some_and(|open| open.is_step) {
            return None;
        }
        if let Some(number) = facts.step {
            making.steps_by.number += 1;
            return Some(number);
        }
        if described.named == Named::Batch {
            making.steps_by.batch += 1;
            let last =
                making.builder.text(described.name).rsplit(' ').next().and_then(|word| word.parse().ok());
            return Some(last.unwrap_or_else(|| self.next_root()));
        }
        // Roots without a number are steps only where no event has one; those that hand work to others are
        // TensorFlow's own.
        let is_root = facts.root && !known.numbers_steps && facts.begins.is_none() && facts.ends.is_none();
        if is_root && matches!(described.named, Named::Range) {
            making.steps_by.root += 1;
            return Some(self.next_root());
        }
        None
    }

    fn next_root(&mut self) -> i64 {
        self.roots += 1;
        self.roots - 1
    }

    /// The ends of arrows to other threads.
    fn arrows(&self, making: &mut Making<'_>, event: &Event, facts: &Facts, name: StrId) {
        for (arrow, side) in [(facts.begins, FlowSide::Start), (facts.ends, FlowSide::Finish)] {
            let Some((kind, id)) = arrow else { continue };
            let cat = making.arrow_category(kind);
            let flow = NewFlow { at: event.start, id, name, cat, lane: self.lane, kind: FlowKind::Other, side };
            making.flow(flow);
        }
    }

    /// A change of an allocator's level.
    fn allocation(&self, making: &mut Making<'_>, event: &Event, facts: &Facts, allocates: bool) {
        let allocator = facts.allocator.map_or("", |name| making.builder.text(name));
        let (kind, device) = memory_of(allocator);
        let keys = &making.keys;
        if let Some(bytes) = facts.allocation_bytes {
            let signed = if allocates { bytes } else { bytes.saturating_neg() };
            making.builder.push_arg(keys.allocated, ArgValue::Int(signed));
        }
        making.builder.push_arg(keys.device, ArgValue::Int(device));
        making.builder.push_arg(keys.device_kind, ArgValue::Int(kind));
        let args = making.builder.commit_args();
        making.allocation(NewAllocation { at: event.start, lane: self.lane, cat: making.memory, args });
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
fn call(making: &mut Making<'_>, described: &Described<'_>, facts: &Facts) -> StrId {
    let recorded = making.builder.text(described.name).to_owned();
    let name = call_name(&recorded, facts.asynchronous);
    if name == recorded {
        return described.name;
    }
    making.builder.push_arg(making.keys.recorded_name, ArgValue::Str(described.name));
    making.builder.intern(name)
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
