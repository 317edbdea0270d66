//! What a tile holds, and which tile it is.

#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileKey {
    pub row: u32,
    /// Buckets have 2^level nanoseconds.
    pub level: u32,
    /// Which one of the level, from the first event on.
    pub index: u64,
}

/// What starts in one bucket, or the one slice that reaches in from the left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowItem {
    pub start: i64,
    /// Last end; no later than the next item's start.
    pub end: i64,
    /// The longest: its number.
    pub id: u32,
    pub name: u32,
    /// How many start here; none of one that reaches in from the left.
    pub count: u32,
    /// Share of the time between start and end that is covered, of 255.
    pub busy: u8,
    /// The category of the longest.
    pub category: u8,
    pub(super) flags: u8,
}
