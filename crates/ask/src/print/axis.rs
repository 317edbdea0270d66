//! The time axis of a plot, and what a column of it shows.

use super::units;

/// The time axis: which column represents which time.
pub(super) struct Axis {
    pub(super) start: i64,
    pub(super) end: i64,
    /// Columns of the plot.
    pub(super) columns: usize,
    /// The time that is called zero.
    pub(super) origin: i64,
}

impl Axis {
    /// The column for a time; times outside the axis fall on its ends.
    pub(super) fn column(&self, time: i64) -> usize {
        let span = (i128::from(self.end) - i128::from(self.start)).max(1);
        let passed = (i128::from(time) - i128::from(self.start)).clamp(0, span);
        ((passed * self.columns as i128 / span) as usize).min(self.columns.saturating_sub(1))
    }

    /// The height of each column in eighths of a row; anything above zero is at least one of them.
    pub(super) fn levels(&self, points: &[(i64, i64)], peak: i64, steps: usize) -> Vec<usize> {
        let mut highest = vec![0_i64; self.columns];
        let mut held = 0;
        let mut at = 0;
        for &(time, value) in points.iter().filter(|point| point.0 <= self.end) {
            // A value holds up to the instant before the next one.
            if time > self.start {
                let until = self.column(time - 1);
                raise(&mut highest, at, until, held);
            }
            held = value;
            at = self.column(time);
            if time >= self.start {
                raise(&mut highest, at, at, value);
            }
        }
        raise(&mut highest, at, self.columns.saturating_sub(1), held);
        let level = |value: i64| {
            let exact = i128::from(value.max(0)) * steps as i128;
            let rounded = (exact + i128::from(peak / 2)) / i128::from(peak.max(1));
            (rounded as usize).clamp(usize::from(value > 0), steps)
        };
        highest.into_iter().map(level).collect()
    }

    /// A time in words, counted from the origin.
    pub(super) fn label(&self, time: i64) -> String {
        match time.saturating_sub(self.origin) {
            0 => "0".to_owned(),
            passed => units::time(passed),
        }
    }
}

/// The highest point between `start` and `end`, a value that holds at the start included.
pub(super) fn peak(points: &[(i64, i64)], start: i64, end: i64) -> Option<(i64, i64)> {
    let replaced = points.iter().any(|point| point.0 == start);
    let held = points.iter().rev().find(|point| point.0 < start && !replaced).map(|point| (start, point.1));
    let within = points.iter().copied().filter(|point| (start..=end).contains(&point.0));
    // The first of equal peaks is the one to look at.
    held.into_iter().chain(within).reduce(|best, point| if point.1 > best.1 { point } else { best })
}

fn raise(highest: &mut [i64], from: usize, to: usize, value: i64) {
    for column in highest.iter_mut().take(to + 1).skip(from) {
        *column = value.max(*column);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_into_columns() {
        let axis = Axis { start: 100, end: 200, columns: 10, origin: 50 };
        let columns = [0, 100, 109, 110, 199, 200, 999].map(|time| axis.column(time));
        assert_eq!(columns, [0, 0, 0, 1, 9, 9, 9]);
        assert_eq!(
            (axis.label(50), axis.label(150), axis.label(20)),
            ("0".into(), "100 ns".into(), "-30 ns".into())
        );
    }

    #[test]
    fn a_column_shows_its_highest_value() {
        let axis = Axis { start: 0, end: 100, columns: 5, origin: 0 };
        let points = [(-9, 80), (0, 10), (45, 80), (45, 1), (60, 0)];
        assert_eq!(axis.levels(&points, 80, 8), [1, 1, 8, 0, 0]);
        assert_eq!(peak(&points, 0, 100), Some((45, 80)));
        assert_eq!(peak(&points, -5, 20), Some((-5, 80)));
        assert_eq!(peak(&points, -50, -20), None);
    }
}
