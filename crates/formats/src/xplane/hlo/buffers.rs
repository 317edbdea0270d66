//! The memory that the compiler gave to a program, and what is live when it needs most.
//!
//! An allocation is shared by buffers that never live together. Most live as long as the program runs; for those that do
//! not, the compiler wrote down in which order they are taken and given back, and that is followed here to the peak.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::{BufferUse, LiveBuffer, ProgramMemory};

use super::graph::Numbers;
use super::module::Module;
use stepscope_ground::protobuf::{Field, Fields, numbers};

/// As many of the buffers that are live at the peak are kept.
const KEPT: usize = 100;

/// A buffer: the result of an instruction, or a part of it.
#[derive(Clone, Debug, Default)]
struct Buffer {
    id: u64,
    bytes: u64,
    instruction: u64,
    place: Vec<u64>,
}

/// A piece of memory.
#[derive(Clone, Debug, Default)]
struct Allocation {
    bytes: u64,
    is_local: bool,
    is_argument: bool,
    is_constant: bool,
    is_result: bool,
    is_aliased: bool,
    /// Its buffers, each with its size.
    buffers: Vec<(u64, u64)>,
}

impl Allocation {
    fn is(&self) -> BufferUse {
        match (self.is_argument, self.is_constant, self.is_result) {
            (true, _, _) => BufferUse::Argument,
            (_, true, _) => BufferUse::Constant,
            (_, _, true) => BufferUse::Result,
            _ => BufferUse::Temporary,
        }
    }
}

/// What happens to a buffer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Happens {
    Taken,
    GivenBack,
    /// It takes the memory of another one.
    Shared(u64),
}

/// What happens to which buffer, at which instruction.
#[derive(Copy, Clone, Debug)]
struct Event<'m> {
    buffer: u64,
    what: Happens,
    at: &'m str,
}

/// Reads a `BufferAssignmentProto`.
pub(super) fn read(message: &[u8], module: &Module<'_>, numbers: &Numbers) -> ProgramMemory {
    let mut buffers: HashMap<u64, Buffer, RandomState> = HashMap::default();
    let mut allocations: Vec<Allocation> = Vec::new();
    let mut traces: Vec<(bool, Vec<Event<'_>>)> = Vec::new();
    for field in Fields::new(message).flatten() {
        match field {
            (1, Field::Bytes(bytes)) => {
                let buffer = buffer(bytes);
                buffers.insert(buffer.id, buffer);
            }
            (3, Field::Bytes(bytes)) => allocations.push(allocation(bytes)),
            (4, Field::Bytes(bytes)) => traces.push(simulation(bytes)),
            _ => {}
        }
    }
    // What lives on the stack of a thread is no part of the program's memory.
    allocations.retain(|allocation| !allocation.is_local);
    let mut memory = ProgramMemory::default();
    for allocation in &allocations {
        let sum = match allocation.is() {
            BufferUse::Argument => &mut memory.arguments,
            BufferUse::Constant => &mut memory.constants,
            BufferUse::Result => &mut memory.results,
            BufferUse::Temporary => &mut memory.temporary,
        };
        *sum = sum.saturating_add(allocation.bytes);
        if allocation.is_argument && (allocation.is_aliased || allocation.is_result) {
            memory.aliased = memory.aliased.saturating_add(allocation.bytes);
        }
    }
    // One of the whole module if there is one: those of single computations would have to be nested.
    let whole = traces.iter().filter(|(whole, _)| *whole).max_by_key(|(_, events)| events.len());
    let events = whole.or(if traces.len() == 1 { traces.first() } else { None }).map(|(_, events)| events);
    let is_timed: HashSet<u64, RandomState> = events.into_iter().flatten().map(|event| event.buffer).collect();
    let mut live: Vec<(BufferUse, u64, u64)> = Vec::new();
    let (mut always, mut known) = (0u64, true);
    for allocation in &allocations {
        let timed = allocation.buffers.iter().any(|(id, _)| is_timed.contains(id));
        if timed {
            continue;
        }
        // Temporary memory without times is all there is to say about its peak.
        known &= allocation.is() != BufferUse::Temporary || allocation.buffers.len() <= 1;
        always = always.saturating_add(allocation.bytes);
        if let Some(&(id, _)) =
            allocation.buffers.iter().max_by_key(|(id, bytes)| (*bytes, std::cmp::Reverse(*id)))
        {
            live.push((allocation.is(), id, allocation.bytes));
        }
    }
    let mut timed_peak = 0;
    if let Some(events) = events {
        let peak = peak(events, &buffers);
        timed_peak = peak.bytes;
        memory.peak_node = peak.at.and_then(|at| numbers.named(module, at));
        let used: HashMap<u64, BufferUse, RandomState> = allocations
            .iter()
            .flat_map(|allocation| allocation.buffers.iter().map(|&(id, _)| (id, allocation.is())))
            .collect();
        live.extend(
            peak.live
                .into_iter()
                .map(|(id, bytes)| (used.get(&id).copied().unwrap_or(BufferUse::Temporary), id, bytes)),
        );
    }
    memory.peak = known.then(|| always.saturating_add(timed_peak));
    live.retain(|&(_, _, bytes)| bytes > 0);
    memory.live_count = live.len() as u64;
    live.sort_unstable_by(|a, b| b.2.cmp(&a.2).then_with(|| (a.0, a.1).cmp(&(b.0, b.1))));
    live.truncate(KEPT);
    memory.live = live
        .into_iter()
        .filter_map(|(is, id, bytes)| {
            let buffer = buffers.get(&id)?;
            let instruction = module.instruction(buffer.instruction);
            let shape = instruction.and_then(|instruction| instruction.shape.at(&buffer.place));
            let shape = shape.map(super::shape::Shape::text).unwrap_or_default();
            Some(LiveBuffer { node: numbers.of(buffer.instruction)?, shape, bytes, is })
        })
        .collect();
    memory
}

/// When most is live.
#[derive(Debug, Default)]
struct Peak<'m> {
    bytes: u64,
    at: Option<&'m str>,
    /// The buffers, with their sizes.
    live: Vec<(u64, u64)>,
}

/// Follows what happens to buffers twice: to find the peak, and to see what is live then.
fn peak<'m>(events: &[Event<'m>], buffers: &HashMap<u64, Buffer, RandomState>) -> Peak<'m> {
    let size = |id: u64| buffers.get(&id).map_or(0, |buffer| buffer.bytes);
    let mut top = (0, 0);
    replay(events, size, |turn, bytes, _| {
        if bytes > top.0 {
            top = (bytes, turn + 1);
        }
    });
    let mut peak = Peak { bytes: top.0, at: None, live: Vec::new() };
    if top.1 > 0 {
        peak.at = Some(events[top.1 - 1].at);
        replay(&events[..top.1], size, |turn, _, holders| {
            if turn + 1 == top.1 {
                peak.live = holders.iter().map(|(&id, _)| (id, size(id))).collect();
            }
        });
    }
    peak
}

/// Tells after each event how many bytes are live, and which buffers hold them with how many users.
fn replay(
    events: &[Event<'_>],
    size: impl Fn(u64) -> u64,
    mut after: impl FnMut(usize, u64, &HashMap<u64, u32, RandomState>),
) {
    let mut holders: HashMap<u64, u32, RandomState> = HashMap::default();
    // The buffer whose memory another one took.
    let mut shares: HashMap<u64, u64, RandomState> = HashMap::default();
    let mut bytes = 0u64;
    for (turn, event) in events.iter().enumerate() {
        match event.what {
            Happens::Taken => {
                if holders.insert(event.buffer, 1).is_none() {
                    bytes = bytes.saturating_add(size(event.buffer));
                }
            }
            Happens::Shared(with) => {
                let owner = shares.get(&with).copied().unwrap_or(with);
                shares.insert(event.buffer, owner);
                // Taken anew if its owner had already given it back.
                let users = holders.entry(owner).or_insert_with(|| {
                    bytes = bytes.saturating_add(size(owner));
                    0
                });
                *users = users.saturating_add(1);
            }
            Happens::GivenBack => {
                let owner = shares.get(&event.buffer).copied().unwrap_or(event.buffer);
                if let Some(users) = holders.get_mut(&owner) {
                    *users -= 1;
                    if *users == 0 {
                        holders.remove(&owner);
                        bytes = bytes.saturating_sub(size(owner));
                    }
                }
            }
        }
        after(turn, bytes, &holders);
    }
}

fn buffer(message: &[u8]) -> Buffer {
    let mut found = Buffer::default();
    for field in Fields::new(message).flatten() {
        match field {
            (1, Field::Number(id)) => found.id = id,
            (2, Field::Number(bytes)) => found.bytes = bytes,
            (3, Field::Bytes(place)) => {
                for field in Fields::new(place).flatten() {
                    match field {
                        (4, Field::Number(id)) => found.instruction = id,
                        // What came before the damage counts.
                        (3, list) => drop(numbers(list, &mut found.place)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    found
}

fn allocation(message: &[u8]) -> Allocation {
    let mut found = Allocation::default();
    for field in Fields::new(message).flatten() {
        match field {
            (2, Field::Number(bytes)) => found.bytes = bytes,
            (3, Field::Number(local)) => found.is_local = local != 0,
            (5, Field::Number(argument)) => found.is_argument = argument != 0,
            (7, Field::Number(live)) => found.is_result = live != 0,
            (9, Field::Bytes(part)) => {
                let (mut id, mut bytes) = (0, 0);
                for field in Fields::new(part).flatten() {
                    match field {
                        (1, Field::Number(number)) => id = number,
                        (3, Field::Number(number)) => bytes = number,
                        _ => {}
                    }
                }
                found.buffers.push((id, bytes));
            }
            (12, Field::Number(constant)) => found.is_constant = constant != 0,
            (13, Field::Number(aliased)) => found.is_aliased = aliased != 0,
            _ => {}
        }
    }
    found
}

/// A `HeapSimulatorTrace`: whether it is about the whole module, and what happens in it.
fn simulation(message: &[u8]) -> (bool, Vec<Event<'_>>) {
    let (mut whole, mut events) = (false, Vec::new());
    for field in Fields::new(message).flatten() {
        match field {
            (1, Field::Bytes(bytes)) => {
                let (mut kind, mut buffer, mut with, mut at) = (0, 0, 0, "");
                for field in Fields::new(bytes).flatten() {
                    match field {
                        (1, Field::Number(number)) => kind = number,
                        (2, Field::Number(number)) => buffer = number,
                        (4, Field::Bytes(name)) => at = std::str::from_utf8(name).unwrap_or_default(),
                        (5, Field::Number(number)) => with = number,
                        _ => {}
                    }
                }
                let what = match kind {
                    0 => Happens::Taken,
                    1 => Happens::GivenBack,
                    2 => Happens::Shared(with),
                    _ => continue,
                };
                events.push(Event { buffer, what, at });
            }
            (2, Field::Number(number)) => whole = number != 0,
            _ => {}
        }
    }
    (whole, events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_followed_through_shared_buffers() {
        let event = |buffer, what, at| Event { buffer, what, at };
        let events = [
            event(1, Happens::Taken, "a"),
            event(2, Happens::Taken, "b"),
            event(3, Happens::Shared(1), "c"),
            // Its memory is still held by 3.
            event(1, Happens::GivenBack, "c"),
            event(4, Happens::Taken, "d"),
            event(2, Happens::GivenBack, "e"),
            event(3, Happens::GivenBack, "e"),
            event(5, Happens::Taken, "f"),
        ];
        let sizes = [(1, 100), (2, 30), (3, 100), (4, 50), (5, 120)];
        let buffers: HashMap<u64, Buffer, RandomState> =
            sizes.into_iter().map(|(id, bytes)| (id, Buffer { id, bytes, ..Buffer::default() })).collect();
        let mut found = peak(&events, &buffers);
        found.live.sort_unstable();
        assert_eq!((found.bytes, found.at), (180, Some("d")));
        assert_eq!(found.live, [(1, 100), (2, 30), (4, 50)]);
    }

    #[test]
    fn what_was_never_taken_can_be_given_back() {
        let events = [Event { buffer: 1, what: Happens::GivenBack, at: "a" }];
        let found = peak(&events, &HashMap::default());
        assert_eq!((found.bytes, found.live.len()), (0, 0));
    }
}
