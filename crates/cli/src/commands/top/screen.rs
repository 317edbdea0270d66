//! The screen of `stepscope top`.

use std::io::{self, Write};

use stepscope_ask::print::{Role, Screen, end_ellipsis, middle_ellipsis, units, width};

use super::counts::{Row, SortBy};
use super::keys::Key;
use crate::terminal;

const FUNCTION: &str = "Function";
/// Between columns.
const COLUMN_GAP: usize = 2;
/// From this share of a processor on, a function's own time is highlighted.
const HOT_SHARE: f64 = 0.1;
/// Columns of numbers before the function.
const NUMBERS: [(&str, usize); 4] = [("Own", 7), ("Total", 7), ("Own time", 11), ("Total time", 11)];
/// The function's name is cut before its place is where both do not fit; it gets at most this share of the room.
const NAME_SHARE: (usize, usize) = (3, 5);
/// A terminal that does not say how high it is.
const USUAL_HEIGHT: usize = 24;

/// What is on the screen.
#[derive(Debug, Default)]
pub(super) struct TopView {
    pub(super) command: String,
    /// What is true of the whole process, in pieces.
    pub(super) headline: Vec<String>,
    /// What it uses of each GPU.
    pub(super) gpus: Vec<String>,
    pub(super) rows: Vec<Row>,
    pub(super) sort: SortBy,
    pub(super) filter: String,
    pub(super) filtering: bool,
    pub(super) paused: bool,
    pub(super) idle: bool,
    pub(super) gil_only: bool,
}

impl TopView {
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
pub(in crate::commands) fn begin(out: &mut dyn Write) -> io::Result<()> {
    write!(out, "\u{1b}[?1049h\u{1b}[?25l")?;
    out.flush()
}

pub(in crate::commands) fn end(out: &mut dyn Write) -> io::Result<()> {
    write!(out, "\u{1b}[?25h\u{1b}[?1049l")?;
    out.flush()
}

pub(super) fn draw(shown: &TopView, out: &mut dyn Write) -> io::Result<()> {
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
pub(super) fn lines(shown: &TopView, screen: &Screen, height: usize) -> Vec<String> {
    let fit = |text: &str| end_ellipsis(&screen.text(text), screen.width);
    let mut lines = vec![screen.paint(Role::Heading, &fit(&shown.command))];
    lines.extend(packed(&shown.headline, screen.width).iter().map(|line| fit(line)));
    lines.extend(shown.gpus.iter().map(|line| fit(line)));
    lines.push(String::new());
    let widest = shown.rows.iter().map(|row| width(&screen.text(&row.function))).max().unwrap_or(0);
    let numbers: usize = NUMBERS.iter().map(|(_, room)| room).sum::<usize>() + COLUMN_GAP;
    let room = screen.width.saturating_sub(numbers).max(10);
    let name_room = widest.max(width(FUNCTION)).min(room * NAME_SHARE.0 / NAME_SHARE.1);
    lines.push(head(shown.sort, screen, name_room));
    let free = height.saturating_sub(lines.len() + 2);
    for row in shown.rows.iter().take(free) {
        lines.push(row_line(row, screen, name_room, room));
    }
    if shown.rows.is_empty() {
        let why =
            if shown.filter.is_empty() { "no thread runs Python code" } else { "no function fits the filter" };
        lines.push(screen.paint(Role::Dim, &fit(&format!("  {why}"))));
    }
    lines.truncate(height.saturating_sub(2));
    lines.resize(height - 1, String::new());
    lines.push(
        screen.paint(if shown.filtering { Role::Accent } else { Role::Dim }, &fit(&help(shown, screen.width))),
    );
    lines
}

/// Pieces with dots between them, on as many lines as that takes.
fn packed(pieces: &[String], room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if width(line) + 3 + width(piece) <= room => {
                line.push_str(" · ");
                line.push_str(piece);
            }
            _ => lines.push(piece.clone()),
        }
    }
    lines
}

/// The headings; that of the column by which rows are sorted is highlighted.
fn head(sort: SortBy, screen: &Screen, name_room: usize) -> String {
    let sorted = match sort {
        SortBy::Own => 0,
        SortBy::Total => 1,
        SortBy::OwnTime => 2,
        SortBy::TotalTime => 3,
    };
    let mut line = String::new();
    for (at, (name, room)) in NUMBERS.into_iter().enumerate() {
        let role = if at == sorted { Role::Accent } else { Role::Heading };
        line.push_str(&" ".repeat(room - name.len()));
        line.push_str(&screen.paint(role, name));
    }
    let names = format!("{FUNCTION:<name_room$}{:COLUMN_GAP$}Place", "");
    let room = screen.width.saturating_sub(NUMBERS.iter().map(|(_, room)| room).sum::<usize>() + COLUMN_GAP);
    format!("{line}{:COLUMN_GAP$}{}", "", screen.paint(Role::Heading, &end_ellipsis(&names, room)))
}

/// What keys do; the shortest words that say it where there is little room.
fn help(shown: &TopView, room: usize) -> String {
    if shown.filtering {
        return format!("filter: {}_   Enter keeps it, Esc clears it", shown.filter);
    }
    let paused = if shown.paused { "PAUSED · " } else { "" };
    let filter = match shown.filter.as_str() {
        "" => "/ filter".to_owned(),
        filter => format!("/ filter '{filter}' (Esc clears)"),
    };
    let only = match (shown.gil_only, shown.idle) {
        (true, _) => " · g all threads",
        (false, true) => " · i without idle",
        (false, false) => " · i idle too · g GIL only",
    };
    let long = format!("{paused}q quit · p pause · s sort ({}) · {filter}{only} · r reset", shown.sort.words());
    match width(&long) <= room {
        true => long,
        false => format!("{paused}q quit · p pause · s sort · {filter}{only} · r reset"),
    }
}

fn row_line(row: &Row, screen: &Screen, name_room: usize, room: usize) -> String {
    let nothing = screen.text("–").into_owned();
    let share = |share: f64| if share == 0.0 { nothing.clone() } else { units::percent(share) };
    let time = |ns: i64| if ns == 0 { nothing.clone() } else { units::time(ns) };
    let cells = [share(row.own), share(row.total), time(row.own_ns), time(row.total_ns)];
    // Where time is spent now is highlighted; what was not seen lately steps back.
    let quiet = row.total == 0.0;
    let mut line = String::new();
    for (at, (cell, (_, room))) in cells.iter().zip(NUMBERS).enumerate() {
        line.push_str(&" ".repeat(room.saturating_sub(width(cell))));
        match at {
            0 if row.own >= HOT_SHARE => line.push_str(&screen.paint(Role::Warn, cell)),
            _ if quiet => line.push_str(&screen.paint(Role::Dim, cell)),
            _ => line.push_str(cell),
        }
    }
    let name = middle_ellipsis(&screen.text(&row.function), name_room);
    let gap = " ".repeat(name_room.saturating_sub(width(&name)) + COLUMN_GAP);
    let name = if quiet { screen.paint(Role::Dim, &name) } else { name };
    let left = room.saturating_sub(name_room + COLUMN_GAP);
    let place = if left < 8 { String::new() } else { start_ellipsis(&screen.text(&row.place), left) };
    format!("{line}{:COLUMN_GAP$}{name}{gap}{}", "", screen.paint(Role::Dim, &place))
}

/// The end of a path says more than its start.
fn start_ellipsis(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut taken = 1;
    for c in text.chars().rev() {
        taken += width(c.encode_utf8(&mut [0; 4]));
        if taken > room {
            break;
        }
        kept.push(c);
    }
    let rest: String = kept.iter().rev().collect();
    format!("…{rest}")
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
        let shown = TopView {
            command: "python train.py".to_owned(),
            headline: ["Python 3.11.7", "GIL held 93.0%", "threads 1 of 12 running", "memory 1.88 GiB"]
                .map(str::to_owned)
                .to_vec(),
            gpus: vec!["GPU 0 busy 75.0%".to_owned()],
            rows: (0..50).map(row).collect(),
            ..TopView::default()
        };
        for columns in [40, 60, 80, 200] {
            let lines = super::lines(&shown, &Screen::plain(columns), 14);
            assert_eq!(lines.len(), 14);
            assert!(lines.iter().all(|line| width(line) <= columns.max(48)), "{lines:#?}");
        }
        let narrow = lines(&shown, &Screen::plain(60), 14);
        assert_eq!(narrow[1], "Python 3.11.7 · GIL held 93.0% · threads 1 of 12 running");
        assert_eq!(narrow[2..5], ["memory 1.88 GiB", "GPU 0 busy 75.0%", ""]);
        assert_eq!(narrow[6], "  50.0%  75.0%    1.500 s    2.000 s  function_0   …ge.py:12");
        assert!(narrow[13].starts_with("q quit"));
        let wide = lines(&shown, &Screen::plain(200), 14);
        assert_eq!(
            wide[4..6],
            [
                "    Own  Total   Own time Total time  Function     Place",
                "  50.0%  75.0%    1.500 s    2.000 s  function_0   a/long/path/to/some/module/of/a/package.py:12"
            ]
        );
        // The smallest terminal has a row for nothing, and does not panic.
        assert_eq!(lines(&shown, &Screen::plain(20), 6).len(), 6);
    }

    #[test]
    fn a_filter_is_typed() {
        let mut shown = TopView { filtering: true, ..TopView::default() };
        for key in [Key::Char('a'), Key::Char('b'), Key::Backspace, Key::Enter] {
            shown.type_filter(key);
        }
        assert_eq!((shown.filter.as_str(), shown.filtering), ("a", false));
    }
}
