//! Which row of its lane a slice is on.
//!
//! A slice is below the deepest slice that holds it wholly, on the first row from there on that is free. So nested
//! calls look as they nest, slices that overlap without nesting share as few rows as they can, and no row holds two
//! slices at once. Rows are limited: what would need more is on the last one, where slices may overlap.

use super::row_ends::RowEnds;

/// How the slices of one lane were put on rows.
#[derive(Debug, Default)]
pub(super) struct RowNesting {
    pub(super) rows: usize,
    /// Whether slices of the last row overlap.
    pub(super) overlaps: bool,
    /// Positions of slices that stand deeper than right below what holds them.
    pub(super) displaced: Vec<u32>,
}

/// The least end of what holds a slice of these times and started no later. One without length at the very end of
/// another is outside of it.
pub(super) fn least_end((start, end): (i64, i64)) -> i64 {
    end.max(start.saturating_add(1))
}

/// Puts slices on at most `most` rows, writing each one's row. They come by start, of equal starts the longer first.
pub(super) fn nest(times: impl Iterator<Item = (i64, i64)>, most: usize, rows: &mut [u16]) -> RowNesting {
    let mut nested = RowNesting::default();
    let mut ends = RowEnds::new();
    let last = most.clamp(1, usize::from(u16::MAX)) - 1;
    for (position, ((start, end), row)) in times.zip(rows).enumerate() {
        let holder = ends.deepest_reaching(least_end((start, end)));
        let below = holder.map_or(0, |holder| holder + 1);
        let free = ends.first_free(below, start);
        let place = free.min(last);
        if place != below {
            nested.displaced.push(position as u32);
        }
        if place < free {
            nested.overlaps = true;
            ends.set(place, ends.end(place).max(end));
        } else {
            ends.set(place, end);
        }
        *row = place as u16;
        nested.rows = nested.rows.max(place + 1);
    }
    nested
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(times: &[(i64, i64)], most: usize) -> (Vec<u16>, RowNesting) {
        let mut rows = vec![0; times.len()];
        let nested = nest(times.iter().copied(), most, &mut rows);
        (rows, nested)
    }

    #[test]
    fn nested_calls_stand_below_each_other() {
        let (rows, nested) =
            rows(&[(0, 100), (0, 50), (10, 20), (20, 50), (60, 100), (60, 60), (100, 120)], 512);
        assert_eq!(rows, [0, 1, 2, 2, 1, 2, 0]);
        assert!(nested.displaced.is_empty() && !nested.overlaps);
        assert_eq!(nested.rows, 3);
    }

    #[test]
    fn a_chain_of_overlaps_takes_two_rows() {
        let (rows, nested) = rows(&[(0, 10), (8, 20), (18, 30), (28, 40), (41, 42)], 512);
        assert_eq!(rows, [0, 1, 0, 1, 0]);
        assert_eq!(nested.displaced, [1, 3]);
    }

    #[test]
    fn what_needs_too_many_rows_shares_the_last() {
        let times: Vec<_> = (0..10).map(|i| (i, 100 + i)).collect();
        let (rows, nested) = rows(&times, 4);
        assert_eq!(rows, [0, 1, 2, 3, 3, 3, 3, 3, 3, 3]);
        assert!(nested.overlaps);
    }

    #[test]
    fn times_at_the_edge_do_no_harm() {
        let (rows, _) = rows(&[(i64::MIN, i64::MAX), (0, i64::MAX), (i64::MAX, i64::MAX)], 512);
        assert_eq!(rows[..2], [0, 1]);
    }
}
