//! One allocation or segment: how large, how long, where, and on whose behalf.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Snapshot, StackId};

use super::Device;
use super::lines::{Lines, MemoryPlace};
use super::map::states;
use crate::memory::history::History;
use crate::memory::places::is_python;

/// Most frames of a stack, the innermost.
const MAX_FRAMES: usize = 200;

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FrameText {
    pub function: String,
    pub file: String,
    /// The line, or 0.
    pub line: u32,
    /// Whether it is of Python; the others are of C++.
    pub python: bool,
}

/// One allocation, or one segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AllocationDetails {
    pub id: u32,
    /// Where it begins, in hexadecimal.
    pub address: String,
    /// Bytes that it takes.
    pub bytes: u64,
    /// Bytes that were asked for.
    pub requested_bytes: u64,
    /// The first state it is in.
    pub start_state: u32,
    /// The first state it is no longer in; none if it was in use when the snapshot was taken.
    pub end_state: Option<u32>,
    /// When it began, since the first entry; none if it was there before, or the history has no times.
    pub start_ns: Option<i64>,
    pub end_ns: Option<i64>,
    /// How long it was in use; until the snapshot was taken, if it still was.
    pub lifetime_ns: Option<i64>,
    /// How long other streams may have used it after the program gave it back.
    pub pending_ns: Option<i64>,
    /// Whether it was there before the history.
    pub before: bool,
    /// Where the segment begins that it is in, in hexadecimal; none if it is not known.
    pub segment: Option<String>,
    /// How long that was when it was taken.
    pub segment_bytes: Option<u64>,
    /// The stream of the segment.
    pub stream: Option<u64>,
    /// The segment's pool, as `a.b`; none if it was gone when the snapshot was taken.
    pub pool: Option<String>,
    /// The line it is charged to.
    pub place: MemoryPlace,
    /// Who asked for it, innermost first.
    pub frames: Vec<FrameText>,
    /// Frames that are not listed.
    pub more_frames: u64,
}

pub(super) fn allocation(
    snapshot: &Snapshot,
    history: &History,
    device: &Device,
    lines: &Lines,
    number: u32,
) -> Option<AllocationDetails> {
    let allocation = history.allocations.get(number as usize)?;
    let (start, end, done) = states(allocation);
    let piece = device.piece_of.get(number as usize).copied().unwrap_or(u32::MAX);
    let ended = (allocation.to != u32::MAX).then_some(end);
    let pending = ended
        .filter(|_| device.has_times && allocation.done != u32::MAX)
        .map(|end| device.times[device.within(done) as usize] - device.times[device.within(end) as usize]);
    let (address, bytes) = (allocation.address, allocation.bytes);
    let mut details = life(device, number, (address, bytes), (start, ended), allocation.before);
    details.requested_bytes = allocation.requested;
    details.pending_ns = pending.filter(|&pending| pending > 0);
    with_segment(&mut details, device, piece);
    with_stack(&mut details, snapshot, lines, allocation.stack);
    Some(details)
}

pub(super) fn segment(
    snapshot: &Snapshot,
    history: &History,
    device: &Device,
    lines: &Lines,
    number: u32,
) -> Option<AllocationDetails> {
    let piece = device.pieces.get(number as usize)?;
    let ended = (piece.end <= history.levels.len() as u32).then_some(piece.end);
    let mut details =
        life(device, number, (piece.address, piece.bytes), (piece.start, ended), piece.start == 0);
    details.requested_bytes = piece.bytes;
    with_segment(&mut details, device, number);
    with_stack(&mut details, snapshot, lines, piece.stack);
    Some(details)
}

fn life(
    device: &Device,
    id: u32,
    (address, bytes): (u64, u64),
    (start, end): (u32, Option<u32>),
    before: bool,
) -> AllocationDetails {
    let time = |state: u32| device.has_times.then(|| device.times[device.within(state) as usize]);
    let start_ns = time(start).filter(|_| !before);
    let stop = time(end.unwrap_or(u32::MAX));
    AllocationDetails {
        id,
        address: format!("{address:#x}"),
        bytes,
        requested_bytes: bytes,
        start_state: start,
        end_state: end,
        start_ns,
        end_ns: end.and_then(time),
        lifetime_ns: start_ns.zip(stop).map(|(start, stop)| stop - start),
        pending_ns: None,
        before,
        segment: None,
        segment_bytes: None,
        stream: None,
        pool: None,
        place: MemoryPlace::default(),
        frames: Vec::new(),
        more_frames: 0,
    }
}

fn with_segment(details: &mut AllocationDetails, device: &Device, piece: u32) {
    let Some(of) = device.pieces.get(piece as usize) else { return };
    details.segment = Some(format!("{:#x}", of.address));
    details.segment_bytes = Some(of.bytes);
    details.stream = of.stream;
    let pool = device.pool_of.get(piece as usize).and_then(|&pool| device.pools[pool as usize]);
    details.pool = pool.map(|(a, b)| format!("{a}.{b}"));
}

fn with_stack(details: &mut AllocationDetails, snapshot: &Snapshot, lines: &Lines, stack: StackId) {
    let stacks = &snapshot.stacks;
    details.place = lines.place(lines.number(stack)).clone();
    let mut at = stack;
    while let Some((below, frame)) = stacks.pop(at) {
        if details.frames.len() == MAX_FRAMES {
            details.more_frames += 1;
        } else {
            let place = stacks.get(frame);
            let file = stacks.text(place.file).to_owned();
            details.frames.push(FrameText {
                function: stacks.name(frame).to_owned(),
                python: is_python(&file),
                file,
                line: place.line,
            });
        }
        at = below;
    }
}
