//! A line of small bars: how a number goes on from step to step.

use super::screen::Screen;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII_BARS: [char; 8] = ['_', '.', '-', '~', '=', '+', '*', '#'];

/// One bar per value, from zero to the largest; where there are more values than columns, the largest of neighbors.
pub fn sparkline(screen: &Screen, values: &[i64], room: usize) -> String {
    let (Some(&most), true) = (values.iter().max(), room > 0) else { return String::new() };
    let bars = if screen.unicode { BARS } else { ASCII_BARS };
    let each = values.len().div_ceil(room).max(1);
    let bar = |value: i64| {
        let height = value.max(0) as f64 / most.max(1) as f64 * (bars.len() - 1) as f64;
        bars[(height.round() as usize).min(bars.len() - 1)]
    };
    values.chunks(each).filter_map(|some| some.iter().max()).map(|&value| bar(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion() {
        let screen = Screen::plain(80);
        assert_eq!(sparkline(&screen, &[0, 50, 100, 100], 8), "▁▅██");
        assert_eq!(sparkline(&screen.with_unicode(false), &[0, 50, 100], 8), "_=#");
        assert_eq!(sparkline(&screen, &[10, 100, 10, 10], 2), "█▂");
        assert_eq!(sparkline(&screen, &[-5, i64::MIN], 8), "▁▁");
        assert_eq!(sparkline(&screen, &[], 8), "");
        assert_eq!(sparkline(&screen, &[1], 0), "");
    }
}
