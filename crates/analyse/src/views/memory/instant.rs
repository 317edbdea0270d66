//! What was alive in one state: by line, as a profile for a flame graph, and where it lay.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Frame, Order, Profile, Sample, Snapshot, StackId, ValueKind, ValueUnit};

use super::lines::{Lines, MemoryPlace};
use super::map::{AllocatorMap, map, states};
use super::segments::Piece;
use crate::memory::history::History;
use crate::memory::places::{NO_PYTHON, Places};

/// Most lines that are listed, the largest.
const MAX_LINES: usize = 500;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LiveLine {
    pub place: MemoryPlace,
    /// Bytes that it held.
    pub bytes: u64,
    /// Their share of all that were in use.
    pub share: f64,
    pub allocations: u64,
    /// The largest of them, to be shown.
    pub largest: u32,
}

/// One state of a device's memory.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Instant {
    pub state: u32,
    /// When it began, since the first entry; none where the history has no times.
    pub at_ns: Option<i64>,
    /// In use by the program.
    pub allocated_bytes: u64,
    pub requested_bytes: u64,
    /// Given back, but not yet free.
    pub pending_bytes: u64,
    /// Taken from the device.
    pub reserved_bytes: u64,
    pub free_bytes: u64,
    pub allocations: u64,
    /// Lines by what they held, the largest first.
    pub lines: Vec<LiveLine>,
    /// How many lines held something.
    pub line_count: u64,
    pub map: AllocatorMap,
}

/// Looks at a state. `at_ns` is when it began.
pub(super) fn instant(
    (snapshot, history): (&Snapshot, &History),
    (of_program, pieces): (&Lines, &[Piece]),
    state: u32,
    at_ns: Option<i64>,
) -> Instant {
    let level = match state.checked_sub(1) {
        Some(moment) => history.levels.get(moment as usize).unwrap_or_default(),
        None => history.at_start,
    };
    let mut lines: HashMap<u32, LiveLine, RandomState> = HashMap::default();
    let mut allocations = 0;
    for (number, allocation) in alive(history, state) {
        allocations += 1;
        let place = of_program.number(allocation.stack);
        let line = lines.entry(place).or_insert_with(|| LiveLine {
            place: of_program.place(place).clone(),
            bytes: 0,
            share: 0.0,
            allocations: 0,
            largest: number,
        });
        line.bytes = line.bytes.saturating_add(allocation.bytes);
        line.allocations += 1;
        if allocation.bytes > history.allocations[line.largest as usize].bytes {
            line.largest = number;
        }
    }
    let mut lines: Vec<LiveLine> = lines.into_values().collect();
    let name = |line: &LiveLine| (line.place.file.clone(), line.place.line, line.place.function.clone());
    lines.order_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| name(a).cmp(&name(b))));
    let line_count = lines.len() as u64;
    lines.truncate(MAX_LINES);
    for line in &mut lines {
        line.share = line.bytes as f64 / level.allocated.max(1) as f64;
    }
    Instant {
        state,
        at_ns,
        allocated_bytes: level.allocated,
        requested_bytes: level.requested,
        pending_bytes: level.active.saturating_sub(level.allocated),
        reserved_bytes: level.reserved,
        free_bytes: level.reserved.saturating_sub(level.active),
        allocations,
        lines,
        line_count,
        map: map(snapshot, history, pieces, state),
    }
}

fn alive(
    history: &History,
    state: u32,
) -> impl Iterator<Item = (u32, &crate::memory::history::Allocation)> + '_ {
    history.allocations.iter().enumerate().map(|(number, allocation)| (number as u32, allocation)).filter(
        move |(_, allocation)| {
            let (start, end, _) = states(allocation);
            start <= state && state < end
        },
    )
}

/// The bytes in use in a state by stack of Python, to be drawn.
pub(super) fn profile(history: &History, places: &Places, state: u32) -> Profile {
    let mut profile = Profile::new(vec![ValueKind { name: "live".to_owned(), unit: ValueUnit::Bytes }]);
    profile.stacks = places.stacks().clone();
    // A stack without Python has a frame that says so: a flame graph shows all bytes.
    let name = profile.stacks.intern(NO_PYTHON);
    let none = profile.stacks.frame(Frame { name, ..Frame::default() });
    let none = profile.stacks.push(StackId::EMPTY, none);
    let mut sums: HashMap<StackId, i64, RandomState> = HashMap::default();
    for (_, allocation) in alive(history, state) {
        let stack =
            Some(places.python(allocation.stack)).filter(|&stack| stack != StackId::EMPTY).unwrap_or(none);
        let sum = sums.entry(stack).or_default();
        *sum = sum.saturating_add(i64::try_from(allocation.bytes).unwrap_or(i64::MAX));
    }
    let mut sums: Vec<(StackId, i64)> = sums.into_iter().collect();
    sums.sort_by_key(|sum| sum.0.index());
    for (stack, bytes) in sums {
        profile.add(Sample::new(0, stack, &[bytes]));
    }
    profile
}
