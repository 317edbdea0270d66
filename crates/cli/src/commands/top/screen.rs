//! The screen of `stepscope top`.

use std::io::{self, Write};

use stepscope_ask::print::{Role, Screen, end_ellipsis, middle_ellipsis, units, width};

use super::counts::{Row, SortBy};
use super::keys::Key;
use crate::terminal;

/// Columns of numbers before the function.
const NUMBERS: [(&str, usize); 4] = [("Own", 7), ("Total", 7), ("Own time", 11), ("Total time", 11)];
/// A terminal that does not say how high it is.
const USUAL_HEIGHT: usize = 24;

/// What is on the screen.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) command: String,
    pub(super) headline: String,
    pub(super) rows: Vec<Row>,
    pub(super) sort: SortBy,
    pub(super) filter: String,
    pub(super) filtering: bool,
    pub(super) paused: bool,
}

impl Shown {
    /// A key while a filter is typed.
    pub(super) fn type_filter(&mut self, key: Key) {
        match key {
            Key::Char(c) => self.filter.push(c),
            Key::Backspace => {
                self.filter.pop();
            }
            Key::Enter | Key::End => self.filtering = false,
            Key::Escape => {
                self.filter.clear();
                self.filtering = false;
            }
        }
    }
}

/// Another screen, without a cursor.
pub(super) fn begin(out: &mut dyn Write) -> io::Result<()> {
    write!(out, "\u{1b}[?1049h\u{1b}[?25l")?;
    out.flush()
}

/// What was there before.
pub(super) fn end(out: &mut dyn Write) -> io::Result<()> {
    write!(out, "\u{1b}[?25h\u{1b}[?1049l")?;
    out.flush()
}

/// Draws all of it.
pub(super) fn draw(shown: &Shown, out: &mut dyn Write) -> io::Result<()> {
    let screen = terminal::detect(&io::stdout());
    let height = terminal_size::terminal_size().map_or(USUAL_HEIGHT, |(_, height)| usize::from(height.0));
    write!(out, "\u{1b}[H")?;
    let lines = lines(shown, &screen, height.max(6));
    let last = lines.len().saturating_sub(1);
    for (at, line) in lines.iter().enumerate() {
        write!(out, "{line}\u{1b}[K{}", if at == last { "" } else { "\r\n" })?;
    }
    write!(out, "\u{1b}[J")?;
    out.flush()
}

/// The lines of the screen, as many as fit.
pub(super) fn lines(shown: &Shown, screen: &Screen, height: usize) -> Vec<String> {
    let fit = |text: &str| end_ellipsis(&screen.text(text), screen.width);
    let mut lines =
        vec![screen.paint(Role::Heading, &fit(&shown.command)), fit(&shown.headline), String::new()];
    let mut head = String::new();
    for (name, room) in NUMBERS {
        head.push_str(&format!("{name:>room$}"));
    }
    lines.push(screen.paint(Role::Heading, &fit(&format!("{head}  Function"))));
    let numbers: usize = NUMBERS.iter().map(|(_, room)| room).sum();
    for row in shown.rows.iter().take(height.saturating_sub(6)) {
        lines.push(row_line(row, screen, numbers));
    }
    if shown.rows.is_empty() {
        lines.push(screen.paint(Role::Dim, &fit("  no thread runs Python code")));
    }
    while lines.len() < height - 1 {
        lines.push(String::new());
    }
    lines.truncate(height - 1);
    let paused = if shown.paused { "paused · " } else { "" };
    let keys = match (shown.filtering, shown.filter.is_empty()) {
        (true, _) => format!("filter: {}_   Enter keeps it, Esc clears it", shown.filter),
        (false, true) => {
            format!("{paused}q quit · p pause · s sort ({}) · / filter · r reset", shown.sort.words())
        }
        (false, false) => {
            format!("{paused}filter '{}' (Esc clears) · q quit · s sort ({})", shown.filter, shown.sort.words())
        }
    };
    lines.push(screen.paint(Role::Dim, &fit(&keys)));
    lines
}

fn row_line(row: &Row, screen: &Screen, numbers: usize) -> String {
    let nothing = screen.text("–").into_owned();
    let share = |share: f64| if share == 0.0 { nothing.clone() } else { units::percent(share) };
    let time = |ns: i64| if ns == 0 { nothing.clone() } else { units::time(ns) };
    let cells = [share(row.own), share(row.total), time(row.own_ns), time(row.total_ns)];
    let mut line = String::new();
    for (cell, (_, room)) in cells.iter().zip(NUMBERS) {
        line.push_str(&" ".repeat(room.saturating_sub(width(cell))));
        line.push_str(cell);
    }
    let text = format!("{} ({})", row.function, row.place);
    let text = middle_ellipsis(&screen.text(&text), screen.width.saturating_sub(numbers + 2).max(10));
    let line = match row.own {
        own if own >= 0.1 => screen.paint(Role::Warn, &line),
        _ if row.total == 0.0 => screen.paint(Role::Dim, &line),
        _ => line,
    };
    format!("{line}  {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_screen_fits_and_says_what_keys_do() {
        let row = |n: usize| Row {
            function: format!("function_{n}"),
            place: "a/long/path/to/some/module/of/a/package.py:12".to_owned(),
            own: 0.5,
            total: 0.75,
            own_ns: 1_500_000_000,
            total_ns: 2_000_000_000,
        };
        let shown = Shown {
            command: "python train.py".to_owned(),
            headline: "Python 3.11.7 · GIL held 93.0%".to_owned(),
            rows: (0..50).map(row).collect(),
            ..Shown::default()
        };
        let lines = lines(&shown, &Screen::plain(60), 12);
        assert_eq!(lines.len(), 12);
        assert!(lines.iter().all(|line| width(line) <= 60), "{lines:#?}");
        assert!(lines[4].starts_with("  50.0%  75.0%    1.500 s    2.000 s  function_0"), "{}", lines[4]);
        assert!(lines[11].starts_with("q quit"));
    }

    #[test]
    fn a_filter_is_typed() {
        let mut shown = Shown { filtering: true, ..Shown::default() };
        for key in [Key::Char('a'), Key::Char('b'), Key::Backspace, Key::Enter] {
            shown.type_filter(key);
        }
        assert_eq!((shown.filter.as_str(), shown.filtering), ("a", false));
    }
}
