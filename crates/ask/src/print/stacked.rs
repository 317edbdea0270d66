//! A whole divided into parts, as one line of blocks and a legend.

use std::io::{self, Write};

use super::line::Line;
use super::measure::{end_ellipsis, width};
use super::role::Role;
use super::screen::Screen;
use super::units;

/// What separates two entries of a legend.
const LEGEND_GAP: usize = 3;
/// Fills for all but idle parts. All are block elements, which fill their cell in every font.
const FILLS: [char; 7] = ['█', '▓', '▒', '▚', '▞', '▄', '▀'];
const ASCII_FILLS: [char; 7] = ['#', '=', '+', 'o', '*', 'x', '~'];

/// A line of exactly `width` blocks in proportion to `parts`, and a legend below it.
///
/// Each part has a fill of its own, so that the bar can be read without colors. Parts without a
/// value (or with a negative one) are left out of both.
pub fn stacked_bar(
    out: &mut dyn Write,
    screen: &Screen,
    parts: &[(&str, i64, Role)],
    width: usize,
) -> io::Result<()> {
    writeln!(out, "{}", stacked_line(screen, parts, width))?;
    stacked_legend(out, screen, parts, width)
}

/// The line of blocks alone, for several bars with the same parts above one legend.
pub fn stacked_line(screen: &Screen, parts: &[(&str, i64, Role)], width: usize) -> String {
    let values: Vec<i64> = parts.iter().map(|part| part.1).collect();
    let mut line = Line::new(screen);
    let cells = split_cells(&values, width);
    if cells.iter().all(|&cells| cells == 0) {
        line.push(Some(Role::Dim), &screen.text("·").repeat(width));
        return line.into_text();
    }
    for ((part, fill), cells) in parts.iter().zip(fills(screen, parts)).zip(cells) {
        line.push(Some(part.2), &fill.to_string().repeat(cells));
    }
    line.into_text()
}

/// The legend alone: fill, label and share of each part, wrapped to `width`.
pub fn stacked_legend(
    out: &mut dyn Write,
    screen: &Screen,
    parts: &[(&str, i64, Role)],
    room: usize,
) -> io::Result<()> {
    let total: i128 = parts.iter().map(|part| i128::from(part.1.max(0))).sum();
    if total == 0 {
        return writeln!(out, "{}", screen.paint(Role::Dim, &end_ellipsis("nothing measured", room)));
    }
    let mut line = Line::new(screen);
    let mut used = 0;
    for (&(label, value, role), fill) in parts.iter().zip(fills(screen, parts)) {
        if value <= 0 {
            continue;
        }
        let share = units::percent(value as f64 / total as f64);
        let label = screen.text(label);
        let label = end_ellipsis(&label, room.saturating_sub(width(&share) + 3).max(1));
        let label = screen.text(&label);
        let size = 3 + width(&label) + width(&share);
        if used > 0 && used + LEGEND_GAP + size > room {
            std::mem::replace(&mut line, Line::new(screen)).end(out)?;
            used = 0;
        }
        if used > 0 {
            line.gap(LEGEND_GAP);
            used += LEGEND_GAP;
        }
        line.push(Some(role), &fill.to_string());
        line.gap(1);
        line.push(None, &label);
        line.gap(1);
        line.push(None, &share);
        used += size;
    }
    line.end(out)
}

/// How many of `cells` cells each value gets, in proportion: they sum to `cells` unless all values are zero.
///
/// A value worth half a cell or more gets at least one, as far as there are cells enough.
pub fn split_cells(values: &[i64], cells: usize) -> Vec<usize> {
    let sizes: Vec<u128> = values.iter().map(|&value| value.max(0) as u128).collect();
    let total: u128 = sizes.iter().sum();
    if total == 0 {
        return vec![0; values.len()];
    }
    let quota = |size: u128| size * cells as u128;
    let mut split: Vec<usize> = sizes
        .iter()
        .map(|&size| {
            let whole = quota(size) / total;
            let lifted = whole == 0 && quota(size) * 2 >= total && size > 0;
            (whole as usize).max(usize::from(lifted))
        })
        .collect();
    // By how much a part is short of its due; negative where it got more.
    let short = |at: usize, split: &[usize]| quota(sizes[at]) as i128 - (split[at] as u128 * total) as i128;
    let mut given: usize = split.iter().sum();
    while given < cells {
        let Some(at) = (0..split.len()).rev().max_by_key(|&at| short(at, &split)) else { break };
        split[at] += 1;
        given += 1;
    }
    while given > cells {
        let richest = (0..split.len()).filter(|&at| split[at] > 1).min_by_key(|&at| short(at, &split));
        let smallest = || (0..split.len()).filter(|&at| split[at] > 0).min_by_key(|&at| sizes[at]);
        let Some(at) = richest.or_else(smallest) else { break };
        split[at] -= 1;
        given -= 1;
    }
    split
}

// Idle time is always the lightest fill; the others take theirs in order, then letters.
fn fills(screen: &Screen, parts: &[(&str, i64, Role)]) -> Vec<char> {
    let (known, idle) = if screen.unicode { (FILLS, '░') } else { (ASCII_FILLS, '.') };
    let mut others = known.into_iter().chain('A'..='Z');
    let mut idle = Some(idle);
    let fill = |part: &(&str, i64, Role)| {
        let light = if part.2 == Role::Idle { idle.take() } else { None };
        light.or_else(|| others.next()).unwrap_or('?')
    };
    parts.iter().map(fill).collect()
}

#[cfg(test)]
mod tests {
    use super::super::role::Palette;
    use super::*;

    const STEP: [(&str, i64, Role); 5] = [
        ("Kernel", 525, Role::Device),
        ("Memcpy", 10, Role::Copy),
        ("Idle", 365, Role::Idle),
        ("Communication", 0, Role::Comm),
        ("DataLoader", 100, Role::DataLoad),
    ];

    fn shown(screen: &Screen, parts: &[(&str, i64, Role)], width: usize) -> String {
        let mut out = Vec::new();
        stacked_bar(&mut out, screen, parts, width).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn parts_and_legend() {
        let expected = format!(
            "{}▓{}{}\n█ Kernel 52.5%   ▓ Memcpy 1.0%   ░ Idle 36.5%\n▚ DataLoader 10.0%\n",
            "█".repeat(31),
            "░".repeat(22),
            "▚".repeat(6)
        );
        assert_eq!(shown(&Screen::plain(60), &STEP, 60), expected);
    }

    #[test]
    fn ascii_and_color() {
        let plain = Screen::plain(60).with_unicode(false);
        assert_eq!(
            shown(&plain, &STEP, 20).lines().collect::<Vec<_>>(),
            ["###########.......oo", "# Kernel 52.5%", "= Memcpy 1.0%", ". Idle 36.5%", "o DataLoader 10.0%"]
        );
        let colored = stacked_line(&Screen::plain(60).with_palette(Palette::Basic), &STEP, 4);
        assert_eq!(colored, "\u{1b}[32m██\u{1b}[0m\u{1b}[2m░░\u{1b}[0m");
    }

    #[test]
    fn nothing_to_divide() {
        assert_eq!(shown(&Screen::plain(60), &[("a", 0, Role::Host)], 5), "·····\nnoth…\n");
        assert_eq!(shown(&Screen::plain(60), &[], 20), format!("{}\nnothing measured\n", "·".repeat(20)));
        assert_eq!(shown(&Screen::plain(60), &[("a", -5, Role::Host)], 3).lines().next(), Some("···"));
    }

    #[test]
    fn labels_are_harmless_and_fit() {
        let text = shown(&Screen::plain(60), &[("a\u{1b}[2J\n日本語日本語日本語", 5, Role::Host)], 20);
        assert_eq!(text, format!("{}\n█ a␛[2J 日本… 100.0%\n", "█".repeat(20)));
    }

    #[test]
    fn cells_always_sum_to_the_width() {
        let cases: [&[i64]; 7] = [
            &[525, 10, 120, 50, 90, 80, 20, 105],
            &[1, 1, 1],
            &[i64::MAX, i64::MAX, 1],
            &[1_000_000, 1],
            &[5, -3, 0, 2],
            &[1; 50],
            &[996, 6, 6, 6, 6, 6, 6],
        ];
        for values in cases {
            let total: i128 = values.iter().map(|&value| i128::from(value.max(0))).sum();
            for width in 0..150 {
                let split = split_cells(values, width);
                assert_eq!(split.iter().sum::<usize>(), width, "{values:?} in {width}");
                let due = |value: i64| i128::from(value.max(0)) * width as i128 * 2 >= total && value > 0;
                let owed = values.iter().filter(|&&value| due(value)).count();
                for (&value, &cells) in values.iter().zip(&split) {
                    assert!(value > 0 || cells == 0);
                    assert!(!due(value) || cells > 0 || owed > width, "{values:?} in {width}: {split:?}");
                }
            }
        }
    }

    #[test]
    fn many_parts_keep_different_fills() {
        let parts: Vec<_> = (0..30).map(|_| ("x", 1, Role::Host)).collect();
        let fills: std::collections::HashSet<char> = fills(&Screen::plain(80), &parts).into_iter().collect();
        assert_eq!(fills.len(), 30);
    }
}
