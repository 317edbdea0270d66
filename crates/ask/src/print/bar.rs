//! A horizontal bar for one share.

/// A bar of `width` columns, filled to `fraction` with a resolution of an eighth of a column.
///
/// A share that is not zero leaves at least a sliver; the rest is spaces.
pub fn bar(fraction: f64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = filled(fraction, width * 8);
    let part = PARTS.get(eighths % 8).copied().unwrap_or("");
    let used = eighths / 8 + usize::from(!part.is_empty());
    format!("{}{part}{}", "█".repeat(eighths / 8), " ".repeat(width.saturating_sub(used)))
}

/// The same in ASCII: whole columns of `#`.
pub fn ascii_bar(fraction: f64, width: usize) -> String {
    let cells = filled(fraction, width);
    format!("{}{}", "#".repeat(cells), " ".repeat(width - cells))
}

fn filled(fraction: f64, steps: usize) -> usize {
    if fraction.is_nan() || fraction <= 0.0 {
        return 0;
    }
    let exact = fraction.min(1.0) * steps as f64;
    (exact.round() as usize).clamp(usize::from(steps > 0), steps)
}

#[cfg(test)]
mod tests {
    use super::super::measure::width;
    use super::*;

    #[test]
    fn eighths_are_drawn() {
        assert_eq!(bar(0.0, 4), "    ");
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 4), "██  ");
        assert_eq!(bar(17.0 / 32.0, 4), "██▏ ");
        assert_eq!(bar(31.0 / 32.0, 4), "███▉");
        assert_eq!(bar(1e-12, 4), "▏   ");
    }

    #[test]
    fn odd_fractions_are_clamped() {
        assert_eq!(bar(7.0, 2), "██");
        assert_eq!(bar(-1.0, 2), "  ");
        assert_eq!(bar(f64::NAN, 2), "  ");
        assert_eq!(bar(f64::INFINITY, 2), "██");
        assert_eq!(bar(0.5, 0), "");
        assert_eq!(ascii_bar(0.5, 0), "");
    }

    #[test]
    fn width_is_exact() {
        for step in 0..=1000 {
            assert_eq!(width(&bar(f64::from(step) / 1000.0, 7)), 7);
            assert_eq!(ascii_bar(f64::from(step) / 1000.0, 7).len(), 7);
        }
    }

    #[test]
    fn ascii_bar_is_whole_columns() {
        assert_eq!(ascii_bar(0.01, 4), "#   ");
        assert_eq!(ascii_bar(0.6, 4), "##  ");
        assert_eq!(ascii_bar(1.0, 4), "####");
    }
}
