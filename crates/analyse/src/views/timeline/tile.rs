//! A stretch of a row in 512 buckets.

use stepscope_model::Trace;

use super::Timeline;
use super::blocks::Blocks;
use super::item::{RowItem, TileKey};
use super::spans::{Content, RowSpans, Spans};
use super::wire::{UNITS, encode};

/// Buckets in a tile.
pub const BUCKETS: u32 = 512;
/// The highest level: one tile of it holds all of time.
pub const MAX_LEVEL: u32 = 54;

const FROM_LEFT: u8 = 1;
const BEYOND_RIGHT: u8 = 2;
const IS_INSTANT: u8 = 4;

/// The same as positions of the row.
struct Stretch {
    start: i64,
    end: i64,
    longest: usize,
    count: usize,
    /// Time that its slices take.
    covered: i64,
    flags: u8,
}

impl Timeline {
    /// Appends one tile. A row or level that there is none of gives a tile without items.
    pub fn tile(&self, trace: &Trace, key: TileKey, out: &mut Vec<u8>) {
        let window = Window::new(key);
        let items = window.as_ref().map(|window| self.items(trace, key.row, window)).unwrap_or_default();
        let units = |at: i64| window.as_ref().map_or(0, |window| window.units(at));
        encode(key, &items, units, out);
    }

    /// A whole row in buckets of 2^level nanoseconds.
    pub fn row_items(&self, trace: &Trace, row: u32, level: u32) -> Vec<RowItem> {
        self.items(trace, row, &Window { level: level.min(MAX_LEVEL), begin: 0, end: None })
    }

    fn items(&self, trace: &Trace, row: u32, window: &Window) -> Vec<RowItem> {
        let Some(row) = self.row(row) else { return Vec::new() };
        let spans = self.spans(trace, &row.content);
        let instant = if matches!(row.content, Content::Points(_)) { IS_INSTANT } else { 0 };
        let item = |s: Stretch| RowItem {
            start: s.start,
            end: s.end,
            id: spans.id(s.longest),
            name: spans.name(s.longest),
            count: s.count as u32,
            busy: busy(&s),
            category: self.category_of(trace, &row.content, s.longest),
            flags: s.flags | instant,
        };
        stretches(&spans, &row.blocks, window).into_iter().map(item).collect()
    }
}

/// The time of a tile.
struct Window {
    level: u32,
    begin: i64,
    /// Where it ends; the end of time if that is later than a number can say.
    end: Option<i64>,
}

impl Window {
    fn new(key: TileKey) -> Option<Window> {
        if key.level > MAX_LEVEL {
            return None;
        }
        let width = u64::from(BUCKETS) << key.level;
        let begin = key.index.checked_mul(width).and_then(|begin| i64::try_from(begin).ok())?;
        Some(Window { level: key.level, begin, end: begin.checked_add_unsigned(width) })
    }

    /// Where the bucket of a time ends, if not at the end of time.
    fn bucket_end(&self, at: i64) -> Option<i64> {
        let buckets = ((at - self.begin) >> self.level) as u64 + 1;
        self.begin.checked_add_unsigned(buckets << self.level)
    }

    fn units(&self, at: i64) -> u32 {
        let within = (at - self.begin).max(0) as u64;
        let shift = UNITS.trailing_zeros();
        let units =
            if self.level < shift { within << (shift - self.level) } else { within >> (self.level - shift) };
        units.min(u64::from(BUCKETS * UNITS)) as u32
    }
}

fn stretches(spans: &RowSpans<'_>, blocks: &Blocks, window: &Window) -> Vec<Stretch> {
    let position = |from: usize, at: Option<i64>| at.map_or(spans.len(), |at| blocks.position(spans, from, at));
    let begin = position(0, Some(window.begin));
    let end = position(begin, window.end);
    let mut found: Vec<Stretch> = Vec::with_capacity((end - begin + 1).min(BUCKETS as usize + 1));
    if let Some(left) = blocks.reaching_before(spans, begin).filter(|&at| spans.end(at) > window.begin) {
        found.push(clipped(window, window.begin, spans.end(left), left, 0));
    }
    let mut at = begin;
    while at < end {
        let start = spans.start(at);
        let next = position(at, window.bucket_end(start)).min(end);
        if let Some(before) = found.last_mut() {
            // Only where slices overlap does one reach behind the next one's start.
            before.end = before.end.min(start);
            before.covered = before.covered.min(before.end - before.start);
        }
        let longest = blocks.longest(spans, at, next);
        // The last of those that do not overlap ends last; of others it may be one that began long before.
        let last = blocks.reaching_before(spans, next).unwrap_or(longest);
        let mut stretch = clipped(window, start, spans.end(last), longest, next - at);
        let over = spans.end(last).saturating_sub(stretch.end);
        let inside = blocks.sum(spans, at, next).saturating_sub(over);
        // Covered all along by one from before.
        stretch.covered = if last < at { stretch.end - start } else { inside.min(stretch.end - start) };
        found.push(stretch);
        at = next;
    }
    found
}

fn clipped(window: &Window, start: i64, end: i64, longest: usize, count: usize) -> Stretch {
    let beyond = window.end.is_some_and(|right| end > right);
    let end = window.end.map_or(end, |right| end.min(right)).max(start);
    let left = if count == 0 { FROM_LEFT } else { 0 };
    let flags = left | if beyond { BEYOND_RIGHT } else { 0 };
    Stretch { start, end, longest, count, covered: end - start, flags }
}

/// The covered share of 255: nothing at all only if nothing is covered.
fn busy(stretch: &Stretch) -> u8 {
    let length = stretch.end - stretch.start;
    if length <= 0 || stretch.covered >= length {
        return u8::MAX;
    }
    let share = stretch.covered.max(0) as f64 / length as f64;
    ((share * 255.0).round() as u8).clamp(u8::from(stretch.covered > 0), 254)
}
