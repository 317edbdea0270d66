//! A curve over time as a filled area: the memory in use.

use std::io::{self, Write};

use super::axis::{Axis, peak};
use super::heading::note;
use super::line::Line;
use super::measure::{end_ellipsis, width};
use super::role::Role;
use super::screen::Screen;
use super::units;

/// Fewer columns than this are not a curve.
const MIN_PLOT_COLUMNS: usize = 10;

/// How to draw a curve.
#[derive(Debug, Clone, Copy)]
pub struct Plot {
    /// Columns in total, labels included.
    pub width: usize,
    /// Rows of the area, without the axis and its labels.
    pub height: usize,
    /// The color of the area.
    pub role: Role,
    /// The part of the time axis to draw; without it, from the first to the last point.
    pub range: Option<(i64, i64)>,
    /// The time that is called zero; without it, the left end.
    pub origin: Option<i64>,
    pub unit: fn(i64) -> String,
}

impl Plot {
    /// A plot of everything, in bytes, in the color of the device.
    pub fn new(width: usize, height: usize) -> Self {
        Self { width, height, role: Role::Device, range: None, origin: None, unit: units::bytes }
    }
}

/// Draws `points` of (nanoseconds, value), each of which holds until the next.
///
/// A column shows the highest value within it, so that no peak is lost, however short.
pub fn area_plot(out: &mut dyn Write, screen: &Screen, points: &[(i64, i64)], plot: &Plot) -> io::Result<()> {
    let mut sorted = points.to_vec();
    // Points of one instant keep their order: the last of them holds.
    sorted.sort_by_key(|point| point.0);
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return note(out, screen, "nothing measured");
    };
    let (start, end) = plot.range.unwrap_or((first.0, last.0));
    let Some(peak) = peak(&sorted, start, end) else {
        return note(out, screen, "nothing measured in this range");
    };
    let height = plot.height.max(1);
    let labels: Vec<String> = (0..=height).map(|row| label(screen, plot, peak.1, row)).collect();
    let margin = labels.iter().map(|label| width(label)).max().unwrap_or(0);
    let columns = plot.width.saturating_sub(margin + 2);
    let axis = Axis { start, end, columns, origin: plot.origin.unwrap_or(start) };
    let mark = screen.text(&format!("{} at {}", (plot.unit)(peak.1), axis.label(peak.0))).into_owned();
    if columns < MIN_PLOT_COLUMNS {
        return note(out, screen, &format!("peak {mark}"));
    }

    if peak.1 > 0 {
        write_mark(out, screen, margin + 2, &axis, axis.column(peak.0), &format!("peak {mark}"))?;
    }
    let levels = axis.levels(&sorted, peak.1, height * 8);
    for (row, label) in labels.iter().take(height).enumerate() {
        let mut line = Line::new(screen);
        line.right(Some(Role::Dim), label, margin);
        line.gap(1);
        let side = if screen.unicode { if label.is_empty() { "│" } else { "┤" } } else { "|" };
        line.push(Some(Role::Dim), side);
        let floor = (height - 1 - row) * 8;
        let cells: String =
            levels.iter().map(|&level| block(screen, level.saturating_sub(floor).min(8))).collect();
        let lead = cells.len() - cells.trim_start_matches(' ').len();
        line.gap(lead);
        line.push(Some(plot.role), &cells[lead..]);
        line.end(out)?;
    }
    write_time_axis(out, screen, margin, labels.last().map_or("", String::as_str), &axis)
}

fn label(screen: &Screen, plot: &Plot, peak: i64, row: usize) -> String {
    let (peak, height) = (peak.max(0), plot.height.max(1));
    let middle = height >= 4 && row * 2 == height - height % 2;
    let value = match row {
        _ if row == height => 0,
        0 => peak,
        _ if middle => (i128::from(peak) * (height - row) as i128 / height as i128) as i64,
        _ => return String::new(),
    };
    screen.text(&if value == 0 { "0".to_owned() } else { (plot.unit)(value) }).into_owned()
}

fn block(screen: &Screen, eighths: usize) -> char {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const ASCII: [char; 9] = [' ', '.', '.', '.', ':', ':', '#', '#', '#'];
    let blocks = if screen.unicode { BLOCKS } else { ASCII };
    blocks.get(eighths).copied().unwrap_or(' ')
}

fn write_mark(
    out: &mut dyn Write,
    screen: &Screen,
    margin: usize,
    axis: &Axis,
    column: usize,
    text: &str,
) -> io::Result<()> {
    let size = width(text) + 1;
    let mut line = Line::new(screen);
    line.gap(margin);
    let arrow = screen.text("▼");
    if column + 1 + size <= axis.columns {
        line.gap(column);
        line.push(Some(Role::Bad), &arrow);
        line.gap(1);
        line.push(None, text);
    } else if size <= column {
        line.gap(column - size);
        line.push(None, text);
        line.gap(1);
        line.push(Some(Role::Bad), &arrow);
    } else {
        // No room on either side: the words stand above the arrow.
        let all = margin + axis.columns;
        let text = end_ellipsis(text, all);
        let mut above = Line::new(screen);
        above.gap((margin + column).saturating_sub(width(&text) / 2).min(all - width(&text)));
        above.push(None, &screen.text(&text));
        above.end(out)?;
        line = Line::new(screen);
        line.gap(margin + column);
        line.push(Some(Role::Bad), &arrow);
    }
    line.end(out)
}

fn write_time_axis(
    out: &mut dyn Write,
    screen: &Screen,
    margin: usize,
    zero: &str,
    axis: &Axis,
) -> io::Result<()> {
    let (corner, rule) = if screen.unicode { ("└", "─") } else { ("+", "-") };
    let mut line = Line::new(screen);
    line.right(Some(Role::Dim), zero, margin);
    line.gap(1);
    line.push(Some(Role::Dim), &format!("{corner}{}", rule.repeat(axis.columns)));
    line.end(out)?;

    let middle = ((i128::from(axis.start) + i128::from(axis.end)) / 2) as i64;
    let [left, center, right] =
        [axis.start, middle, axis.end].map(|time| screen.text(&axis.label(time)).into_owned());
    let mut line = Line::new(screen);
    line.gap(margin + 2);
    line.push(Some(Role::Dim), &left);
    let mut used = width(&left);
    let at = (axis.columns / 2).saturating_sub(width(&center) / 2);
    let last = axis.columns.saturating_sub(width(&right));
    if axis.end > axis.start && at > used + 1 && at + width(&center) + 1 < last {
        line.gap(at - used);
        line.push(Some(Role::Dim), &center);
        used = at + width(&center);
    }
    if axis.end > axis.start && last > used {
        line.gap(last - used);
        line.push(Some(Role::Dim), &right);
    }
    line.end(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(points: &[(i64, i64)], plot: Plot, screen: &Screen) -> String {
        let mut out = Vec::new();
        area_plot(&mut out, screen, points, &plot).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn plain(points: &[(i64, i64)], plot: Plot) -> String {
        shown(points, plot, &Screen::plain(80))
    }

    const MIB: i64 = 1 << 20;

    const STAIRS: [(i64, i64); 5] = [(0, MIB), (1_000, 2 * MIB), (2_000, 4 * MIB), (3_000, 0), (4_000, MIB)];

    #[test]
    fn values_hold_until_the_next() {
        let golden = r"                  peak 4.00 MiB at 2.000 µs
                              ▼
4.00 MiB ┤                    ██████████
         │                    ██████████
2.00 MiB ┤          ████████████████████
         │██████████████████████████████         █
       0 └────────────────────────────────────────
          0               2.000 µs        4.000 µs
";
        assert_eq!(plain(&STAIRS, Plot::new(50, 4)), golden);
        let ascii = shown(&STAIRS, Plot::new(50, 4), &Screen::plain(80).with_unicode(false));
        assert!(ascii.is_ascii());
        assert_eq!(ascii.lines().nth(5), Some("         |##############################         #"));
    }

    #[test]
    fn a_range_begins_with_what_held_before() {
        let golden = r"                    ▼ peak 4.00 MiB at 2.000 µs
4.00 MiB ┤          ████████████████████
         │██████████████████████████████
       0 └────────────────────────────────────────
          1.500 µs        2.500 µs        3.500 µs
";
        let plot = Plot { range: Some((1_500, 3_500)), origin: Some(0), ..Plot::new(50, 2) };
        assert_eq!(plain(&STAIRS, plot), golden);
        let after = Plot { range: Some((3_000, 3_900)), ..Plot::new(50, 2) };
        assert!(!plain(&STAIRS, after).contains('█'));
    }

    #[test]
    fn a_peak_of_one_point_is_seen_at_every_width() {
        let mut points: Vec<(i64, i64)> = (0..100_000).map(|at| (at, MIB)).collect();
        points[77_777].1 = 64 * MIB;
        for width in (24..140).step_by(5) {
            let text = plain(&points, Plot::new(width, 6));
            let top = text.lines().find(|line| line.starts_with("64.0 MiB")).unwrap();
            assert_eq!(top.matches('█').count(), 1, "{text}");
            assert!(text.lines().all(|line| super::width(line) <= width), "{text}");
            assert!(text.contains("peak 64.0 MiB at 77.78 µs") || width < 30, "{text}");
        }
    }

    #[test]
    fn odd_input_does_no_harm() {
        assert_eq!(plain(&[], Plot::new(60, 4)), "nothing measured\n");
        let late = Plot { range: Some((-5, -1)), ..Plot::new(60, 4) };
        assert_eq!(plain(&[(0, 1)], late), "nothing measured in this range\n");
        assert_eq!(plain(&[(0, 5 * MIB)], Plot::new(12, 4)), "peak 5.00 MiB at 0\n");
        for points in [
            vec![(5, 7)],
            vec![(0, 0), (9, 0)],
            vec![(0, -4), (9, -2)],
            vec![(i64::MIN, i64::MAX), (i64::MAX, 1)],
        ] {
            for height in 0..6 {
                let text = plain(&points, Plot::new(60, height));
                assert!(text.lines().all(|line| super::width(line) <= 60), "{text}");
            }
        }
    }

    #[test]
    fn order_of_points_does_not_matter() {
        let sorted = [(0, MIB), (10, 3 * MIB), (20, 2 * MIB)];
        let mixed = [sorted[2], sorted[0], sorted[1]];
        assert_eq!(plain(&sorted, Plot::new(60, 4)), plain(&mixed, Plot::new(60, 4)));
    }
}
