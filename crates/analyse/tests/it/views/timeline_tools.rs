//! Small traces, and tiles read as a browser reads them.

use stepscope_analyse::steps::Steps;
use stepscope_analyse::views::timeline::{TileKey, Timeline, wire_header};
use stepscope_model::Trace;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tile {
    pub row: u32,
    pub level: u32,
    pub index: u64,
    pub start: Vec<u32>,
    pub end: Vec<u32>,
    pub id: Vec<u32>,
    pub name: Vec<u32>,
    pub count: Vec<u32>,
    pub busy: Vec<u8>,
    pub category: Vec<u8>,
    pub flags: Vec<u8>,
}

impl Tile {
    pub fn counted(&self) -> u64 {
        self.count.iter().map(|&count| u64::from(count)).sum()
    }

    /// Items in order, none over another, within the tile.
    pub fn assert_in_order(&self) {
        assert!(
            self.start.iter().zip(&self.end).all(|(start, end)| start <= end && *end <= 512 * 4096),
            "{self:?}"
        );
        let next = self.start.iter().skip(1);
        assert!(self.end.iter().zip(next).all(|(end, next)| end <= next), "{self:?}");
        assert!(self.count.iter().zip(&self.flags).all(|(&count, flags)| (count == 0) == (flags & 1 == 1)));
        assert!(
            self.count.iter().skip(1).all(|&count| count > 0),
            "only the first may come from the left: {self:?}"
        );
    }
}

pub fn decode(bytes: &[u8]) -> Vec<Tile> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(word(0), 0x5354_4C31);
    let mut at = 8;
    let mut tiles = Vec::new();
    for _ in 0..word(4) {
        assert_eq!(at % 8, 0);
        let index = f64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap());
        let n = word(at + 16) as usize;
        assert_eq!(word(at + 20), 0);
        let column = |number: usize| (0..n).map(|i| word(at + 24 + 4 * (number * n + i))).collect();
        let byte = |number: usize| bytes[at + 24 + 20 * n + number * n..][..n].to_vec();
        tiles.push(Tile {
            row: word(at),
            level: word(at + 4),
            index: index as u64,
            start: column(0),
            end: column(1),
            id: column(2),
            name: column(3),
            count: column(4),
            busy: byte(0),
            category: byte(1),
            flags: byte(2),
        });
        at += (24 + 23 * n).next_multiple_of(8);
    }
    assert_eq!(at, bytes.len());
    tiles
}

pub fn tile(timeline: &Timeline, trace: &Trace, row: u32, level: u32, index: u64) -> Tile {
    let mut bytes = wire_header(1).to_vec();
    timeline.tile(trace, TileKey { row, level, index }, &mut bytes);
    decode(&bytes).remove(0)
}

/// The lowest level at which one tile holds all of a trace.
pub fn top_level(extent: i64) -> u32 {
    (0..=54).find(|level| (512u128 << level) > extent as u128).unwrap()
}

pub fn timeline(trace: &Trace) -> Timeline {
    Timeline::new(trace, &Steps::find(trace))
}
