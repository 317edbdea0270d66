//! The memory that the compiler gave to a program, and what is live when it needs most.
//!
//! An allocation is shared by buffers that never live together. Most live as long as the program runs; for those that do
//! not, the compiler wrote down in which order they are taken and given back, and that is followed here to the peak.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::{
    BufferAllocation, HeapAction, HeapEvent, HeapSimulation, Program, ProgramBuffer, ResultShape,
};

/// As many of the buffers that are live at the peak are kept.
const MAX_LIVE_BUFFERS: usize = 100;

/// What a buffer of a program is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BufferUse {
    Argument,
    /// A result, with memory of its own.
    Result,
    Constant,
    /// What lives only while the program runs.
    Temporary,
}

impl BufferUse {
    fn of_allocation(allocation: &BufferAllocation) -> BufferUse {
        match (allocation.is_argument, allocation.is_constant, allocation.is_result) {
            (true, _, _) => BufferUse::Argument,
            (_, true, _) => BufferUse::Constant,
            (_, _, true) => BufferUse::Result,
            _ => BufferUse::Temporary,
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            BufferUse::Argument => "argument",
            BufferUse::Result => "result",
            BufferUse::Constant => "constant",
            BufferUse::Temporary => "temporary",
        }
    }
}

/// A buffer that is live when a program needs most memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveBuffer {
    /// The instruction that fills it, in the program's graph.
    pub node: u32,
    /// Its shape: that of the result, or of one of several.
    pub shape: String,
    pub bytes: u64,
    pub usage: BufferUse,
}

/// Memory that a program was given when it was compiled, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramMemory {
    pub arguments: u64,
    pub results: u64,
    /// Of its arguments, what results take over: donated.
    pub aliased: u64,
    pub constants: u64,
    /// For what lives only while it runs.
    pub temporary: u64,
    /// The most that is live at one time; none if the file does not say when buffers live.
    pub peak: Option<u64>,
    /// The instruction at which that is, in the program's graph.
    pub peak_node: Option<u32>,
    /// The largest buffers that are live then, the largest first.
    pub live: Vec<LiveBuffer>,
    /// How many are live then, those that are not kept included.
    pub live_count: u64,
}

impl ProgramMemory {
    /// All memory that it was given.
    pub fn total(&self) -> u64 {
        [self.arguments, self.results, self.constants, self.temporary].into_iter().fold(0, u64::saturating_add)
    }
}

/// The memory of a program; none if the file says nothing about it.
pub fn program_memory(program: &Program) -> Option<ProgramMemory> {
    let assignment = program.buffers.as_ref()?;
    let buffers: Buffers<'_> = assignment.buffers.iter().map(|buffer| (buffer.id, buffer)).collect();
    // What lives on the stack of a thread is not the program's memory.
    let allocations: Vec<_> = assignment.allocations.iter().filter(|a| !a.is_local).collect();
    let mut memory = ProgramMemory::default();
    for allocation in &allocations {
        let sum = match BufferUse::of_allocation(allocation) {
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
    let whole = assignment.simulations.iter().filter(|s| s.is_whole).max_by_key(|s| s.events.len());
    let events = whole.or(match assignment.simulations.as_slice() {
        [only] => Some(only),
        _ => None,
    });
    let events = events.map(|HeapSimulation { events, .. }| events);
    let is_timed: HashSet<u64, RandomState> = events.into_iter().flatten().map(|event| event.buffer).collect();
    let mut live: Vec<(BufferUse, u64, u64)> = Vec::new();
    let (mut always, mut known) = (0u64, true);
    for allocation in &allocations {
        let timed = allocation.buffers.iter().any(|(id, _)| is_timed.contains(id));
        if timed {
            continue;
        }
        // Temporary memory without times is all there is to say about its peak.
        known &= BufferUse::of_allocation(allocation) != BufferUse::Temporary || allocation.buffers.len() <= 1;
        always = always.saturating_add(allocation.bytes);
        if let Some(&(id, _)) =
            allocation.buffers.iter().max_by_key(|(id, bytes)| (*bytes, std::cmp::Reverse(*id)))
        {
            live.push((BufferUse::of_allocation(allocation), id, allocation.bytes));
        }
    }
    let mut timed_peak = 0;
    if let Some(events) = events {
        let peak = peak(events, &buffers);
        timed_peak = peak.bytes;
        memory.peak_node = peak.node;
        let used: HashMap<u64, BufferUse, RandomState> = allocations
            .iter()
            .flat_map(|allocation| {
                allocation.buffers.iter().map(|&(id, _)| (id, BufferUse::of_allocation(allocation)))
            })
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
    live.truncate(MAX_LIVE_BUFFERS);
    memory.live = live
        .into_iter()
        .filter_map(|(usage, id, bytes)| {
            let buffer = buffers.get(&id)?;
            let (at, node) = (buffer.node?, program.graph.node(buffer.node?)?);
            let shape = node.shape.at(&buffer.part).map(ResultShape::text).unwrap_or_default();
            Some(LiveBuffer { node: at, shape, bytes, usage })
        })
        .collect();
    Some(memory)
}

type Buffers<'p> = HashMap<u64, &'p ProgramBuffer, RandomState>;

/// When most is live.
#[derive(Debug, Default)]
struct Peak {
    bytes: u64,
    node: Option<u32>,
    /// The buffers, with their sizes.
    live: Vec<(u64, u64)>,
}

/// Follows what happens to buffers twice: to find the peak, and to see what is live then.
fn peak(events: &[HeapEvent], buffers: &Buffers<'_>) -> Peak {
    let size = |id: u64| buffers.get(&id).map_or(0, |buffer| buffer.bytes);
    let mut top = (0, 0);
    replay(events, size, |turn, bytes, _| {
        if bytes > top.0 {
            top = (bytes, turn + 1);
        }
    });
    let mut peak = Peak { bytes: top.0, node: None, live: Vec::new() };
    if top.1 > 0 {
        peak.node = events[top.1 - 1].node;
        replay(&events[..top.1], size, |turn, _, holders| {
            if turn + 1 == top.1 {
                peak.live = holders.iter().map(|(&id, _)| (id, size(id))).collect();
            }
        });
    }
    peak
}

/// Says after each event how many bytes are live, and which buffers hold them with how many users.
fn replay(
    events: &[HeapEvent],
    size: impl Fn(u64) -> u64,
    mut after: impl FnMut(usize, u64, &HashMap<u64, u32, RandomState>),
) {
    let mut holders: HashMap<u64, u32, RandomState> = HashMap::default();
    // The buffer whose memory another one took.
    let mut shares: HashMap<u64, u64, RandomState> = HashMap::default();
    let mut bytes = 0u64;
    for (turn, event) in events.iter().enumerate() {
        match event.action {
            HeapAction::Allocate => {
                if holders.insert(event.buffer, 1).is_none() {
                    bytes = bytes.saturating_add(size(event.buffer));
                }
            }
            HeapAction::Share(with) => {
                let owner = shares.get(&with).copied().unwrap_or(with);
                shares.insert(event.buffer, owner);
                // Taken anew if its owner had already given it back.
                let users = holders.entry(owner).or_insert_with(|| {
                    bytes = bytes.saturating_add(size(owner));
                    0
                });
                *users = users.saturating_add(1);
            }
            HeapAction::Free => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_followed_through_shared_buffers() {
        let event = |buffer, action, node| HeapEvent { buffer, action, node: Some(node) };
        let events = [
            event(1, HeapAction::Allocate, 0),
            event(2, HeapAction::Allocate, 1),
            event(3, HeapAction::Share(1), 2),
            // Its memory is still held by 3.
            event(1, HeapAction::Free, 2),
            event(4, HeapAction::Allocate, 3),
            event(2, HeapAction::Free, 4),
            event(3, HeapAction::Free, 4),
            event(5, HeapAction::Allocate, 5),
        ];
        let sizes = [(1, 100), (2, 30), (3, 100), (4, 50), (5, 120)];
        let buffers = sizes.map(|(id, bytes)| ProgramBuffer { id, bytes, ..ProgramBuffer::default() });
        let buffers = buffers.iter().map(|buffer| (buffer.id, buffer)).collect();
        let mut found = peak(&events, &buffers);
        found.live.sort_unstable();
        assert_eq!((found.bytes, found.node), (180, Some(3)));
        assert_eq!(found.live, [(1, 100), (2, 30), (4, 50)]);
    }

    #[test]
    fn what_was_never_taken_can_be_given_back() {
        let events = [HeapEvent { buffer: 1, action: HeapAction::Free, node: None }];
        let found = peak(&events, &HashMap::default());
        assert_eq!((found.bytes, found.live.len()), (0, 0));
    }
}
