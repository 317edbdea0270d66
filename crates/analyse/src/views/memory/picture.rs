//! A window of stacked bands as pixels, whatever the number of bands.
//!
//! A column of pixels shows the stack of one state: of those that begin in the column, the one with the highest sum, so
//! no peak is lost however far away one looks. A pixel shows the band at its middle. What is alive in the window but in no
//! pixel is thinner than one or shorter than a column, and is counted. What a picture costs is bounded by its pixels and the
//! number of bands.

use super::bands::{Band, Bands};

/// Most columns and rows of a picture.
pub const MAX_COLUMNS: u32 = 2_048;
/// Most rows.
pub const MAX_ROWS: u32 = 1_024;

/// From where to where, and in how many pixels.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bytes at the lower edge.
    pub low: u64,
    /// Bytes at the upper edge.
    pub high: u64,
    /// Pixels from below to above.
    pub rows: u32,
}

/// One state of a picture.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub state: u32,
    /// The sum of what is alive in it.
    pub total: u64,
    pub first_run: u32,
}

/// Pixels of one band in one column.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The band's place among the drawn ones.
    pub drawn: u32,
    /// The first row above it.
    pub end_row: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// By column of pixels: which of `columns` it shows.
    pub shows: Vec<u32>,
    /// By column of pixels: the lowest sum of the states that begin in it.
    pub lowest: Vec<u64>,
    /// States that are shown, rising.
    pub columns: Vec<Column>,
    /// Their runs from below to above.
    pub runs: Vec<Run>,
    /// Bands in at least one pixel.
    pub drawn: Vec<Band>,
    /// By drawn band: how many pixels it has.
    pub pixels: Vec<u64>,
    /// Bands alive in some state of the window.
    pub alive: u64,
}

/// A band that is in a column.
#[derive(Copy, Clone)]
struct VisibleBand {
    band: Band,
    /// The first column it is in, and the one after its last.
    from: u32,
    to: u32,
}

/// Draws a window. `stretches` are the states of each column of pixels, the first and the one after the last, rising.
pub fn picture(bands: &Bands, stretches: &[(u32, u32)], frame: Frame) -> Picture {
    let mut made = Picture::default();
    for &(first, end) in stretches {
        let found = bands.extremes(first, end.max(first + 1));
        let (state, total) = (found.state, found.highest);
        made.lowest.push(found.lowest);
        // Columns within one state show it together.
        if made.columns.last().is_none_or(|last| last.state < state) {
            made.columns.push(Column { state, total, first_run: 0 });
        }
        made.shows.push(made.columns.len() as u32 - 1);
    }
    let (Some(window_first), Some(window_end)) =
        (stretches.first().map(|s| s.0), stretches.iter().map(|s| s.1).max())
    else {
        return made;
    };
    let window_end = window_end.max(window_first + 1);
    let states: Vec<u32> = made.columns.iter().map(|column| column.state).collect();
    let mut seen: Vec<VisibleBand> = Vec::new();
    let mut from = 0;
    for &band in bands.all().iter().take_while(|band| band.start < window_end) {
        if band.end <= window_first {
            continue;
        }
        made.alive += 1;
        while states.get(from).is_some_and(|&state| state < band.start) {
            from += 1;
        }
        // Most end before the next column's state.
        if states.get(from).is_some_and(|&state| state < band.end) {
            let to = from + states[from..].partition_point(|&state| state < band.end);
            seen.push(VisibleBand { band, from: from as u32, to: to as u32 });
        }
    }
    draw(&mut made, &seen, frame);
    made
}

/// The runs of every column.
fn draw(made: &mut Picture, seen: &[VisibleBand], frame: Frame) {
    let rows = frame.rows.clamp(1, MAX_ROWS);
    let unit = (frame.high.saturating_sub(frame.low)).max(1) as f64 / f64::from(rows);
    let mut ends: Vec<u32> = (0..seen.len() as u32).collect();
    ends.sort_unstable_by_key(|&at| seen[at as usize].to);
    let mut weights = vec![0u64; made.columns.len()];
    made.shows.iter().for_each(|&column| weights[column as usize] += 1);
    let mut stack = PrefixSums::new(seen.len());
    let (mut begun, mut ended) = (0, 0);
    let mut place_of = vec![u32::MAX; seen.len()];
    for (column, &weight) in weights.iter().enumerate() {
        while let Some(next) = seen.get(begun).filter(|next| next.from as usize == column) {
            stack.add(begun, next.band.bytes);
            begun += 1;
        }
        while let Some(&at) = ends.get(ended).filter(|&&at| seen[at as usize].to as usize == column) {
            stack.take(at as usize, seen[at as usize].band.bytes);
            ended += 1;
        }
        made.columns[column].first_run = made.runs.len() as u32;
        let total = made.columns[column].total;
        let mut row = 0;
        while row < rows {
            let y = frame.low.saturating_add(((f64::from(row) + 0.5) * unit) as u64);
            if y >= total {
                break;
            }
            let (at, below) = stack.at(y);
            let Some(band) = seen.get(at).map(|seen| seen.band) else { break };
            let top = below.saturating_add(band.bytes).saturating_sub(frame.low);
            // The first row whose middle is not below the top.
            let end = ((top as f64 / unit - 0.5).ceil().max(0.0) as u32).clamp(row + 1, rows);
            if place_of[at] == u32::MAX {
                place_of[at] = made.drawn.len() as u32;
                made.drawn.push(band);
                made.pixels.push(0);
            }
            made.pixels[place_of[at] as usize] += u64::from(end - row) * weight;
            made.runs.push(Run { drawn: place_of[at], end_row: end as u16 });
            row = end;
        }
    }
}

/// Sums of everything before a place, and the place at a sum: a binary indexed tree.
struct PrefixSums {
    tree: Vec<u64>,
    highest_bit: usize,
}

impl PrefixSums {
    fn new(len: usize) -> PrefixSums {
        let highest_bit = if len == 0 { 0 } else { 1 << len.ilog2() };
        PrefixSums { tree: vec![0; len + 1], highest_bit }
    }

    fn add(&mut self, at: usize, bytes: u64) {
        let mut at = at + 1;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].saturating_add(bytes);
            at += at & at.wrapping_neg();
        }
    }

    fn take(&mut self, at: usize, bytes: u64) {
        let mut at = at + 1;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].saturating_sub(bytes);
            at += at & at.wrapping_neg();
        }
    }

    /// The place in which a sum lies, and the sum of all before it.
    fn at(&self, sum: u64) -> (usize, u64) {
        let (mut at, mut below, mut bit) = (0, 0u64, self.highest_bit);
        while bit > 0 {
            let next = at + bit;
            if let Some(&more) = self.tree.get(next)
                && below.saturating_add(more) <= sum
            {
                at = next;
                below = below.saturating_add(more);
            }
            bit >>= 1;
        }
        (at, below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(id: u32, start: u32, end: u32, bytes: u64) -> Band {
        Band { id, start, end, bytes }
    }

    fn ids(picture: &Picture, column: usize, rows: u32) -> Vec<Option<u32>> {
        let first = picture.columns[column].first_run as usize;
        let last = picture.columns.get(column + 1).map_or(picture.runs.len(), |c| c.first_run as usize);
        let mut pixels = Vec::new();
        for run in &picture.runs[first..last] {
            pixels.resize(usize::from(run.end_row), Some(picture.drawn[run.drawn as usize].id));
        }
        pixels.resize(rows as usize, None);
        pixels
    }

    #[test]
    fn what_is_above_a_band_that_ends_comes_down() {
        // 0 below 1 below 2; 1 ends at state 3.
        let bands = Bands::new([band(0, 0, 5, 2), band(1, 1, 3, 1), band(2, 2, 5, 2)].into_iter());
        let each: Vec<(u32, u32)> = (0..5).map(|state| (state, state + 1)).collect();
        let picture = picture(&bands, &each, Frame { low: 0, high: 6, rows: 6 });
        let columns: Vec<Vec<Option<u32>>> = (0..5).map(|column| ids(&picture, column, 6)).collect();
        let (a, b, c) = (Some(0), Some(1), Some(2));
        assert_eq!(columns[0], [a, a, None, None, None, None]);
        assert_eq!(columns[1], [a, a, b, None, None, None]);
        assert_eq!(columns[2], [a, a, b, c, c, None]);
        assert_eq!(columns[3], [a, a, c, c, None, None]);
        assert_eq!((picture.alive, picture.drawn.len()), (3, 3));
        assert_eq!(picture.pixels, [10, 2, 6]);
        let totals: Vec<u64> = picture.columns.iter().map(|column| column.total).collect();
        assert_eq!(totals, [2, 3, 5, 4, 4]);
    }

    #[test]
    fn a_column_shows_its_highest_state_and_counts_the_rest() {
        let bands = [band(0, 0, 8, 10), band(1, 2, 3, 30), band(2, 4, 5, 20), band(3, 6, 7, 1)];
        let bands = Bands::new(bands.into_iter());
        let frame = Frame { low: 0, high: 40, rows: 4 };
        let picture = picture(&bands, &[(0, 4), (4, 8)], frame);
        assert_eq!(picture.columns.iter().map(|c| (c.state, c.total)).collect::<Vec<_>>(), [(2, 40), (4, 30)]);
        assert_eq!(picture.lowest, [10, 10]);
        assert_eq!(ids(&picture, 0, 4), [Some(0), Some(1), Some(1), Some(1)]);
        assert_eq!(ids(&picture, 1, 4), [Some(0), Some(2), Some(2), None]);
        assert_eq!((picture.alive, picture.drawn.len()), (4, 3));
    }

    #[test]
    fn a_part_of_the_bytes_is_drawn_from_its_lower_edge() {
        let bands = Bands::new([band(0, 0, 1, 10), band(1, 0, 1, 10), band(2, 0, 1, 10)].into_iter());
        let drawn = picture(&bands, &[(0, 1)], Frame { low: 5, high: 25, rows: 4 });
        assert_eq!(ids(&drawn, 0, 4), [Some(0), Some(1), Some(1), Some(2)]);
        // Beyond what there is, nothing.
        let above = picture(&bands, &[(0, 1)], Frame { low: 30, high: 40, rows: 4 });
        assert_eq!(ids(&above, 0, 4), [None; 4]);
    }
}
