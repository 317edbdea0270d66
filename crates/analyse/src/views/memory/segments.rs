//! Segments over time: when each stretch of the device's memory was taken and given back.
//!
//! An expandable segment grows and shrinks in stretches; each is a piece of its own here, so that there are at most three
//! pieces per entry of the history, whatever it says. Pieces that touch are one segment again when they are shown.

use std::collections::BTreeMap;

use stepscope_model::{Action, Segment, Snapshot, StackId};

use crate::memory::history::DeviceEntries;
use crate::memory::replay::segments_before;

/// Memory taken from the device at once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// The first state it is in, and the first it is not.
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) expandable: bool,
    /// The stream it is for; none where that was not recorded.
    pub(super) stream: Option<u64>,
    pub(super) stack: StackId,
}

impl Piece {
    pub(super) fn lives_at(&self, state: u32) -> bool {
        self.start <= state && state < self.end
    }

    pub(super) fn stop(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }
}

/// The pieces of a device, by start. `states` is how many states its history has.
pub(super) fn pieces(of: &DeviceEntries<'_>, states: u32) -> Vec<Piece> {
    let finals = FinalSegments::new(of.segments.clone());
    let changes = of.changes();
    let at_start = segments_before(of, &changes);
    let mut made = SegmentBuilder { pieces: Vec::new(), live: BTreeMap::new(), states };
    for (address, bytes) in at_start {
        let known = finals.at(address);
        made.begin(Piece {
            address,
            bytes,
            start: 0,
            end: states,
            expandable: known.is_some_and(|segment| segment.expandable),
            stream: known.map(|segment| segment.stream),
            stack: known.map_or(StackId::EMPTY, |segment| segment.stack),
        });
    }
    for (moment, entry) in &changes {
        let state = moment + 1;
        let piece = |expandable| Piece {
            address: entry.address,
            bytes: entry.bytes,
            start: state,
            end: states,
            expandable,
            stream: Some(entry.stream),
            stack: entry.stack,
        };
        match entry.action {
            Action::SegmentAlloc => made.begin(piece(false)),
            Action::SegmentMap => made.begin(piece(true)),
            Action::SegmentFree => {
                if let Some(at) = made.live.remove(&entry.address) {
                    made.pieces[at].end = state;
                }
            }
            Action::SegmentUnmap => made.cut(entry.address, entry.bytes, state),
            _ => {}
        }
    }
    made.pieces
}

/// The segments of a device when the snapshot was taken, by address.
pub(super) struct FinalSegments<'a>(Vec<&'a Segment>);

impl<'a> FinalSegments<'a> {
    pub(super) fn new(mut segments: Vec<&'a Segment>) -> FinalSegments<'a> {
        segments.sort_by_key(|segment| segment.address);
        FinalSegments(segments)
    }

    pub(super) fn on_device(snapshot: &'a Snapshot, device: i64) -> FinalSegments<'a> {
        FinalSegments::new(snapshot.segments.iter().filter(|segment| segment.device == device).collect())
    }

    /// The one that holds an address.
    pub(super) fn at(&self, address: u64) -> Option<&'a Segment> {
        let after = self.0.partition_point(|segment| segment.address <= address);
        let segment = self.0.get(after.checked_sub(1)?)?;
        (address < segment.address.saturating_add(segment.bytes)).then_some(*segment)
    }
}

struct SegmentBuilder {
    pieces: Vec<Piece>,
    /// By address: the number of the piece that is there.
    live: BTreeMap<u64, usize>,
    states: u32,
}

impl SegmentBuilder {
    fn begin(&mut self, piece: Piece) {
        let start = piece.start;
        self.pieces.push(piece);
        if let Some(there) = self.live.insert(piece.address, self.pieces.len() - 1) {
            // Its end was not recorded.
            self.pieces[there].end = start;
        }
    }

    /// Takes a stretch out of whatever lies there; what is left on both sides goes on.
    fn cut(&mut self, address: u64, bytes: u64, state: u32) {
        let end = address.saturating_add(bytes);
        while let Some((&at, &number)) = self.live.range(..end).next_back() {
            let piece = self.pieces[number];
            if piece.stop() <= address {
                return;
            }
            self.live.remove(&at);
            self.pieces[number].end = state;
            let rest = |address: u64, stop: u64| Piece {
                address,
                bytes: stop - address,
                start: state,
                end: self.states,
                ..piece
            };
            let (above, below) = (rest(end, piece.stop().max(end)), rest(at, address.max(at)));
            for rest in [above, below].into_iter().filter(|rest| rest.bytes > 0) {
                self.begin(rest);
            }
            if piece.address < address {
                return;
            }
        }
    }
}

/// By allocation: the number of the piece it was made in, [`u32::MAX`] if there is none. Both come by rising start, given as
/// `(start, address)`.
pub(super) fn piece_of(pieces: &[Piece], allocations: impl Iterator<Item = (u32, u64)>) -> Vec<u32> {
    let mut live: BTreeMap<u64, u32> = BTreeMap::new();
    let mut begun = 0;
    let find = |(start, address): (u32, u64)| {
        while pieces.get(begun).is_some_and(|piece| piece.start <= start) {
            live.insert(pieces[begun].address, begun as u32);
            begun += 1;
        }
        let found = live.range(..=address).next_back().map(|(_, &number)| number);
        let holds = |number: &u32| {
            let piece = &pieces[*number as usize];
            piece.lives_at(start) && address < piece.stop()
        };
        found.filter(holds).unwrap_or(u32::MAX)
    };
    allocations.map(find).collect()
}
