//! The allocator's map in one state: segments by address, and within each what is in use, pending and free.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Order, Snapshot};

use super::segments::{FinalSegments, Piece};
use crate::memory::history::{Allocation, History};

/// Most segments that are shown, the largest.
const MAX_SEGMENTS: usize = 1_000;
/// About how many blocks all segments may show together.
const MAX_BLOCKS: usize = 30_000;
/// Fewest blocks that a segment may show, and most.
const BLOCKS_PER_SEGMENT: (usize, usize) = (8, 400);

/// What a stretch of a segment is used for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockUse {
    /// In use by the program.
    Active,
    /// The program gave it back, but another stream may still use it.
    Pending,
    Free,
    /// Neighbors that are too short to be shown one by one.
    Mixed,
}

/// A stretch of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MapBlock {
    /// What it is used for.
    pub state: BlockUse,
    pub bytes: u64,
    /// The allocation in it; none where it is free or mixed.
    pub allocation: Option<u32>,
    /// How many blocks it represents.
    pub blocks: u32,
    /// Of a mixed one: bytes that are not free.
    pub used_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MapSegment {
    /// Where it begins, in hexadecimal.
    pub address: String,
    pub bytes: u64,
    /// In use by the program.
    pub allocated_bytes: u64,
    /// Given back, but not yet free.
    pub pending_bytes: u64,
    pub largest_free_bytes: u64,
    /// Blocks that are not free.
    pub blocks_in_use: u64,
    /// The stream it is for; none if that was not recorded.
    pub stream: Option<u64>,
    pub expandable: bool,
    /// Whether it is for small blocks; none if it was gone when the snapshot was taken.
    pub small: Option<bool>,
    /// The pool it belongs to, as `a.b`; none if it was gone when the snapshot was taken.
    pub pool: Option<String>,
    /// What it is made of, by rising address.
    pub blocks: Vec<MapBlock>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AllocatorMap {
    /// The largest segments, by falling size.
    pub segments: Vec<MapSegment>,
    pub segment_count: u64,
    /// The longest free stretch of all.
    pub largest_free_bytes: u64,
    /// Allocations that lie in no segment: the history does not say where they are.
    pub outside: u64,
}

/// A block that is not free.
struct OccupiedBlock {
    address: u64,
    bytes: u64,
    number: u32,
    pending: bool,
}

/// What lies where in a state.
pub(super) fn map(snapshot: &Snapshot, history: &History, pieces: &[Piece], state: u32) -> AllocatorMap {
    let mut live: Vec<Piece> = pieces.iter().filter(|piece| piece.lives_at(state)).copied().collect();
    live.sort_by_key(|piece| piece.address);
    live.dedup_by(|next, before| joined(before, next));
    let mut held: Vec<OccupiedBlock> = Vec::new();
    for (number, allocation) in history.allocations.iter().enumerate() {
        let (start, end, done) = states(allocation);
        if start <= state && state < done {
            held.push(OccupiedBlock {
                address: allocation.address,
                bytes: allocation.bytes,
                number: number as u32,
                pending: state >= end,
            });
        }
    }
    held.sort_by_key(|block| block.address);
    let finals = FinalSegments::on_device(snapshot, history.device);
    let mut map = AllocatorMap { segment_count: live.len() as u64, ..AllocatorMap::default() };
    let budget =
        (MAX_BLOCKS / live.len().clamp(1, MAX_SEGMENTS)).clamp(BLOCKS_PER_SEGMENT.0, BLOCKS_PER_SEGMENT.1);
    let (mut at, mut inside) = (0, 0);
    // The largest are kept: which those are is known before their blocks are made.
    let mut sizes: Vec<u64> = live.iter().map(|piece| piece.bytes).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let least = sizes.get(MAX_SEGMENTS - 1).copied().unwrap_or(0);
    let mut of_least = MAX_SEGMENTS - sizes.partition_point(|&bytes| bytes > least).min(MAX_SEGMENTS);
    for piece in &live {
        while held.get(at).is_some_and(|block| block.address < piece.address) {
            at += 1;
        }
        let first = at;
        while held.get(at).is_some_and(|block| block.address < piece.stop()) {
            at += 1;
        }
        inside += at - first;
        let all = blocks(piece, &held[first..at]);
        let largest = all.iter().filter(|b| b.state == BlockUse::Free).map(|b| b.bytes).max().unwrap_or(0);
        map.largest_free_bytes = map.largest_free_bytes.max(largest);
        if piece.bytes < least || piece.bytes == least && of_least == 0 {
            continue;
        }
        of_least -= usize::from(piece.bytes == least);
        let of = |state: BlockUse| {
            all.iter().filter(|b| b.state == state).fold(0u64, |sum, b| sum.saturating_add(b.bytes))
        };
        let lasts = piece.end > history.levels.len() as u32;
        let known = finals.at(piece.address).filter(|_| lasts);
        map.segments.push(MapSegment {
            address: format!("{:#x}", piece.address),
            bytes: piece.bytes,
            allocated_bytes: of(BlockUse::Active),
            pending_bytes: of(BlockUse::Pending),
            largest_free_bytes: largest,
            blocks_in_use: (at - first) as u64,
            stream: piece.stream,
            expandable: piece.expandable,
            small: known.map(|segment| segment.small),
            pool: known.map(|segment| format!("{}.{}", segment.pool.0, segment.pool.1)),
            blocks: fewer(all, piece.bytes, budget),
        });
    }
    map.segments.order_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.address.cmp(&b.address)));
    map.outside = (held.len() - inside) as u64;
    map
}

/// The first state of an allocation, the first in which the program no longer uses it, and the first in which no one does.
pub(super) fn states(allocation: &Allocation) -> (u32, u32, u32) {
    let start = if allocation.before { 0 } else { allocation.from.saturating_add(1) };
    (start, allocation.to.saturating_add(1), allocation.done.saturating_add(1))
}

/// Takes a piece into the one before it if both are of one expandable segment.
fn joined(before: &mut Piece, next: &Piece) -> bool {
    let one = before.expandable
        && next.expandable
        && before.stop() == next.address
        && (before.stream == next.stream || before.stream.is_none() || next.stream.is_none());
    if one {
        before.bytes = next.stop() - before.address;
        before.stream = before.stream.or(next.stream);
        before.end = before.end.max(next.end);
    }
    one
}

/// Every block of a segment, what is free between them among them.
fn blocks(piece: &Piece, held: &[OccupiedBlock]) -> Vec<MapBlock> {
    let mut made = Vec::new();
    let free =
        |bytes: u64| MapBlock { state: BlockUse::Free, bytes, allocation: None, blocks: 1, used_bytes: 0 };
    let mut at = piece.address;
    for block in held {
        if block.address > at {
            made.push(free(block.address - at));
        }
        // What overlaps, or sticks out, is drawn as far as there is room.
        let stop = block.address.saturating_add(block.bytes).min(piece.stop());
        let bytes = stop.saturating_sub(at.max(block.address));
        if bytes > 0 {
            let state = if block.pending { BlockUse::Pending } else { BlockUse::Active };
            let allocation = Some(block.number);
            made.push(MapBlock { state, bytes, allocation, blocks: 1, used_bytes: bytes });
        }
        at = at.max(stop);
    }
    if piece.stop() > at {
        made.push(free(piece.stop() - at));
    }
    made
}

/// Neighbors shorter than a share of the segment are put together, where there are more than fit.
fn fewer(all: Vec<MapBlock>, bytes: u64, most: usize) -> Vec<MapBlock> {
    if all.len() <= most {
        return all;
    }
    // At most half of them are long, and between two long ones lies at most one that is put together.
    let long = bytes / (most as u64 / 2).max(1);
    let mut kept: Vec<MapBlock> = Vec::new();
    for block in all {
        match kept.last_mut() {
            Some(last) if block.bytes < long && last.bytes < long => {
                last.state = BlockUse::Mixed;
                last.allocation = None;
                last.bytes += block.bytes;
                last.blocks += 1;
                last.used_bytes += block.used_bytes;
            }
            _ => kept.push(block),
        }
    }
    kept
}
