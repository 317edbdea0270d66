//! What a browser asks to draw a GPU's memory: the stack of allocations over time, what one of them is, and what lay
//! where in a state. For histories of millions of entries.
//!
//! Everything is made of three things per device: bands (see [`bands`]), segments over time, and the history itself. A
//! question looks at each of them once at most, and what it answers is bounded by pixels or by a number of rows that it says.

pub mod bands;
mod definitions;
mod details;
mod instant;
mod lines;
mod map;
pub mod picture;
mod segments;
mod wire;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Order, Snapshot};

use crate::memory::history::{DeviceEntries, History, by_device};
use crate::memory::places::Places;
use crate::scope::definition::Definition;
use crate::views::flame::{Flame, FlameQuery, profile_flame};
use bands::{Band, Bands};
use lines::Lines;
use map::states;
use picture::{Frame, MAX_COLUMNS, MAX_ROWS, Picture, picture};
use segments::{FinalSegments, Piece};

pub use definitions::DEFINITIONS;
pub use details::{AllocationDetails, FrameText};
pub use instant::{Instant, LiveLine};
pub use lines::MemoryPlace;
pub use map::{AllocatorMap, BlockUse, MapBlock, MapSegment};
pub use wire::{DrawnPlace, PictureHead};

/// Most devices, pools of one and refused requests that are listed.
const MAX_LISTED: usize = 64;

/// What the horizontal axis counts.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryAxis {
    /// Entries of the history: every change has the same width.
    #[default]
    Entry,
    /// Nanoseconds since the first entry.
    Time,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stacked {
    #[default]
    Allocations,
    OfPool(i64, i64),
    /// What the allocator took from the device.
    Segments,
}

/// A window of the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureQuery {
    pub device: i64,
    pub stacked: Stacked,
    /// What the horizontal axis counts.
    pub axis: MemoryAxis,
    pub from: f64,
    pub to: f64,
    pub columns: u32,
    pub frame: Frame,
}

impl PictureQuery {
    /// The same, with no more pixels than a screen has.
    fn bounded(&self) -> PictureQuery {
        let mut query = self.clone();
        query.frame.rows = query.frame.rows.clamp(1, MAX_ROWS);
        query.columns = query.columns.clamp(1, MAX_COLUMNS);
        query
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryDevice {
    /// Its number; pinned memory of the host is -1.
    pub device: i64,
    /// Entries of its history and the state before the first.
    pub states: u32,
    /// From the first entry to the last; none where the history has no times.
    pub duration_ns: Option<i64>,
    /// The state in which most was in use.
    pub peak_state: u32,
    pub peak_bytes: u64,
    /// The most that was reserved.
    pub peak_reserved_bytes: u64,
    /// Allocations of the history, and those that were there before it.
    pub allocations: u64,
    pub before: u64,
    /// Segments of the history.
    pub segments: u64,
    /// Entries that do not fit the others.
    pub unmatched: u64,
    /// Pools other than the one everything shares, as `a.b`, the largest first.
    pub pools: Vec<String>,
    pub pool_count: u64,
    /// Requests that could not be met.
    pub refusals: Vec<RefusalAt>,
    pub refusal_count: u64,
}

/// A request that could not be met.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RefusalAt {
    /// The state that it left.
    pub state: u32,
    /// When, since the first entry.
    pub at_ns: Option<i64>,
    pub asked_bytes: u64,
}

/// What there is to draw.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryAbout {
    /// Devices, the one with the highest peak first.
    pub devices: Vec<MemoryDevice>,
    pub device_count: u64,
    pub definitions: Vec<Definition>,
}

/// The index behind the pictures of a snapshot; every question also takes the snapshot and its histories.
#[derive(Debug)]
pub struct MemoryView {
    devices: Vec<Device>,
    lines: Lines,
}

#[derive(Debug)]
struct Device {
    /// By state: when it began, since the first entry; never falling.
    times: Vec<i64>,
    has_times: bool,
    allocations: Bands,
    segments: Bands,
    pieces: Vec<Piece>,
    /// By allocation: its piece.
    piece_of: Vec<u32>,
    /// By piece: a place in `pools`; 0 is for those that are not known.
    pool_of: Vec<u32>,
    pools: Vec<Option<(i64, i64)>>,
}

impl MemoryView {
    /// The index of a snapshot.
    pub fn new(snapshot: &Snapshot, histories: &[History], places: &Places) -> MemoryView {
        let of_devices = by_device(snapshot);
        let devices = histories.iter().zip(&of_devices).map(|(history, of)| Device::new(history, of));
        MemoryView { devices: devices.collect(), lines: Lines::new(places) }
    }

    fn device<'a>(&'a self, histories: &'a [History], device: i64) -> Option<(&'a Device, &'a History)> {
        let at = histories.iter().position(|history| history.device == device)?;
        Some((self.devices.get(at)?, &histories[at]))
    }

    /// What there is to draw.
    pub fn about(&self, histories: &[History]) -> MemoryAbout {
        let mut devices: Vec<(&Device, &History)> = self.devices.iter().zip(histories).collect();
        devices.order_by_key(|(_, history)| (std::cmp::Reverse(history.peak.allocated), history.device));
        let listed = devices.iter().take(MAX_LISTED).map(|(device, history)| device.about(history));
        MemoryAbout {
            devices: listed.collect(),
            device_count: devices.len() as u64,
            definitions: DEFINITIONS.to_vec(),
        }
    }

    /// A window of the stack, as `wire.rs` writes it; none if there is no such device.
    pub fn picture(&self, histories: &[History], query: &PictureQuery) -> Option<Vec<u8>> {
        let (device, history) = self.device(histories, query.device)?;
        let query = query.bounded();
        let drawn = device.picture(&query);
        let place_of = |id: u32| {
            let stack = match query.stacked {
                Stacked::Segments => device.pieces[id as usize].stack,
                _ => history.allocations[id as usize].stack,
            };
            self.lines.number(stack)
        };
        let moment = |state: u32| wire::Moment {
            at_ns: device.times[state as usize],
            reserved: match state.checked_sub(1) {
                Some(moment) => history.levels.get(moment as usize).unwrap_or_default().reserved,
                None => history.at_start.reserved,
            },
        };
        Some(wire::write(&drawn, &query, &self.lines, place_of, moment))
    }

    /// The numbers of what a window shows, those with most pixels first.
    pub fn drawn(&self, histories: &[History], query: &PictureQuery) -> Vec<u32> {
        let Some((device, _)) = self.device(histories, query.device) else { return Vec::new() };
        let made = device.picture(&query.bounded());
        let mut drawn: Vec<(u64, u32)> =
            made.pixels.iter().zip(&made.drawn).map(|(&pixels, band)| (pixels, band.id)).collect();
        drawn.sort_by_key(|&(pixels, id)| (std::cmp::Reverse(pixels), id));
        drawn.into_iter().map(|(_, id)| id).collect()
    }

    /// One state; none if there is no such device.
    pub fn instant(
        &self,
        (snapshot, histories): (&Snapshot, &[History]),
        device: i64,
        state: u32,
    ) -> Option<Instant> {
        let (device, history) = self.device(histories, device)?;
        let state = device.within(state);
        let at_ns = device.has_times.then(|| device.times[state as usize]);
        Some(instant::instant((snapshot, history), (&self.lines, &device.pieces), state, at_ns))
    }

    /// What was in use in a state by stack, as a flame graph; none if there is no such device.
    pub fn flame(&self, histories: &[History], places: &Places, device: i64, state: u32) -> Option<Flame> {
        let (device, history) = self.device(histories, device)?;
        let profile = instant::profile(history, places, device.within(state));
        Some(profile_flame(&profile, 0, &FlameQuery::default()))
    }

    /// One allocation; none if there is no such one.
    pub fn allocation(
        &self,
        (snapshot, histories): (&Snapshot, &[History]),
        device: i64,
        number: u32,
    ) -> Option<AllocationDetails> {
        let (device, history) = self.device(histories, device)?;
        details::allocation(snapshot, history, device, &self.lines, number)
    }

    /// One segment as a band; none if there is no such one.
    pub fn segment(
        &self,
        (snapshot, histories): (&Snapshot, &[History]),
        device: i64,
        number: u32,
    ) -> Option<AllocationDetails> {
        let (device, history) = self.device(histories, device)?;
        details::segment(snapshot, history, device, &self.lines, number)
    }

    /// The sum of what is in use in a state, as the picture has it.
    pub fn total(&self, histories: &[History], device: i64, state: u32) -> Option<u64> {
        Some(self.device(histories, device)?.0.allocations.total(state))
    }

    /// Bytes held for the pictures.
    pub fn heap_bytes(&self) -> usize {
        let of = |device: &Device| {
            device.times.len() * 8
                + device.allocations.heap_bytes()
                + device.segments.heap_bytes()
                + device.pieces.len() * (size_of::<Piece>() + 4)
                + device.piece_of.len() * 4
        };
        self.devices.iter().map(of).sum::<usize>() + self.lines.heap_bytes()
    }
}

impl Device {
    fn new(history: &History, of: &DeviceEntries<'_>) -> Device {
        let count = history.levels.len() as u32 + 1;
        let has_times = history.times.first().is_some();
        let first = history.times.first().map_or(0, |at| at.0);
        let mut times = vec![0];
        let mut latest = 0;
        for (moment, at) in history.times.iter().enumerate() {
            latest = match (has_times, at) {
                (true, Some(at)) => latest.max(at.0.saturating_sub(first)),
                (true, None) => latest,
                (false, _) => moment as i64,
            };
            times.push(latest);
        }
        let band = |(number, allocation)| {
            let (start, end, _) = states(allocation);
            Band { id: number as u32, start, end: end.min(count), bytes: allocation.bytes }
        };
        let allocations = Bands::new(history.allocations.iter().enumerate().map(band));
        let pieces = segments::pieces(of, count);
        let band = |(number, piece): (usize, &Piece)| Band {
            id: number as u32,
            start: piece.start,
            end: piece.end,
            bytes: piece.bytes,
        };
        let segments = Bands::new(pieces.iter().enumerate().map(band));
        let starts = history.allocations.iter().map(|a| (states(a).0, a.address));
        let piece_of = segments::piece_of(&pieces, starts);
        let finals = FinalSegments::new(of.segments.clone());
        let mut pools = vec![None];
        let mut numbers = std::collections::BTreeMap::new();
        let pool_of = pieces.iter().map(|piece| {
            let known = finals.at(piece.address).filter(|_| piece.end == count)?.pool;
            Some(*numbers.entry(known).or_insert_with(|| {
                pools.push(Some(known));
                pools.len() as u32 - 1
            }))
        });
        let pool_of = pool_of.map(|pool: Option<u32>| pool.unwrap_or(0)).collect();
        Device { times, has_times, allocations, segments, pieces, piece_of, pool_of, pools }
    }

    /// Draws a window that is bounded.
    fn picture(&self, query: &PictureQuery) -> Picture {
        let stretches = self.stretches(query);
        match query.stacked {
            Stacked::Allocations => picture(&self.allocations, &stretches, query.frame),
            Stacked::Segments => picture(&self.segments, &stretches, query.frame),
            Stacked::OfPool(a, b) => picture(&self.of_pool((a, b)), &stretches, query.frame),
        }
    }

    fn states(&self) -> u32 {
        self.times.len() as u32
    }

    fn within(&self, state: u32) -> u32 {
        state.min(self.states() - 1)
    }

    fn about(&self, history: &History) -> MemoryDevice {
        let (peak_state, peak_bytes) = self.allocations.peak();
        let mut bytes = vec![0u64; self.pools.len()];
        for (piece, &pool) in self.pieces.iter().zip(&self.pool_of) {
            bytes[pool as usize] = bytes[pool as usize].saturating_add(piece.bytes);
        }
        let mut pools: Vec<usize> = (0..self.pools.len()).filter(|&at| self.pools[at].is_some()).collect();
        pools.order_by_key(|&at| std::cmp::Reverse(bytes[at]));
        let name = |&at: &usize| self.pools[at].map(|(a, b)| format!("{a}.{b}"));
        let refusal = |refusal: &crate::memory::history::FailedAllocation| RefusalAt {
            state: self.within(refusal.moment.saturating_add(1)),
            at_ns: self.has_times.then(|| self.times[self.within(refusal.moment.saturating_add(1)) as usize]),
            asked_bytes: refusal.bytes,
        };
        MemoryDevice {
            device: history.device,
            states: self.states(),
            duration_ns: self.has_times.then(|| self.times.last().copied().unwrap_or(0)),
            peak_state,
            peak_bytes,
            peak_reserved_bytes: history.peak.reserved,
            allocations: history.allocations.len() as u64,
            before: history.allocations.iter().filter(|allocation| allocation.before).count() as u64,
            segments: self.pieces.len() as u64,
            unmatched: history.unmatched,
            pool_count: pools.len() as u64,
            pools: pools.iter().take(MAX_LISTED).filter_map(name).collect(),
            refusals: history.refusals.iter().take(MAX_LISTED).map(refusal).collect(),
            refusal_count: history.refusals.len() as u64,
        }
    }

    /// The allocations of one pool.
    fn of_pool(&self, pool: (i64, i64)) -> Bands {
        let number = self.pools.iter().position(|&known| known == Some(pool));
        let of = |band: &&Band| {
            let piece = self.piece_of[band.id as usize];
            let pool = self.pool_of.get(piece as usize).copied().unwrap_or(0);
            number.is_some_and(|number| number as u32 == pool)
        };
        Bands::new(self.allocations.all().iter().filter(of).copied())
    }

    /// The states that begin in each column of pixels; where none does, the one that goes on.
    fn stretches(&self, query: &PictureQuery) -> Vec<(u32, u32)> {
        let (from, to) = (query.from.max(0.0), query.to);
        let span = if to > from { to - from } else { 1.0 };
        let last = self.states() - 1;
        let edge = |column: u32| from + span * f64::from(column) / f64::from(query.columns);
        let first_from = |x: f64| match query.axis {
            MemoryAxis::Entry => x.ceil().clamp(0.0, f64::from(u32::MAX)) as u32,
            MemoryAxis::Time => self.times.partition_point(|&at| (at as f64) < x) as u32,
        };
        let mut first = first_from(edge(0));
        (0..query.columns)
            .map(|column| {
                let end = first_from(edge(column + 1));
                let stretch = if end > first {
                    (first, end)
                } else {
                    let going_on = match query.axis {
                        MemoryAxis::Entry => edge(column).floor().clamp(0.0, f64::from(u32::MAX)) as u32,
                        MemoryAxis::Time => first.saturating_sub(1),
                    };
                    (going_on, going_on.saturating_add(1))
                };
                first = end;
                (stretch.0.min(last), stretch.1.min(last + 1))
            })
            .collect()
    }
}
