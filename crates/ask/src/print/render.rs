//! Draws a table on a screen.

use std::io::{self, Write};

use super::bar::{ascii_bar, bar};
use super::heading::{heading, note};
use super::layout::{COLUMN_GAP, ColumnWidth, Slot, fit};
use super::line::Line;
use super::measure::{middle_ellipsis, width};
use super::role::Role;
use super::screen::Screen;
use super::table::{Align, Cell, Column, Table};

pub(crate) type Drawing = dyn Fn(&mut dyn Write, &Screen) -> io::Result<()> + Send + Sync;

/// A cell whose texts are safe to print.
#[derive(Default)]
struct PrintableCell {
    prefix: String,
    text: String,
    role: Option<Role>,
    share: Option<f64>,
    nothing: bool,
}

impl PrintableCell {
    fn new(screen: &Screen, cell: &Cell) -> Self {
        Self {
            prefix: screen.text(&cell.prefix).into_owned(),
            text: screen.text(&cell.text).into_owned(),
            role: cell.role,
            share: cell.share,
            nothing: cell.nothing,
        }
    }

    fn width(&self) -> usize {
        width(&self.prefix) + width(&self.text)
    }
}

impl Table {
    /// Writes the table, fitted to the screen.
    pub fn write(&self, out: &mut dyn Write, screen: &Screen) -> io::Result<()> {
        self.write_with(out, screen, None)
    }

    /// The same, with something drawn between the title and the rows.
    pub fn write_with(&self, out: &mut dyn Write, screen: &Screen, bar: Option<&Drawing>) -> io::Result<()> {
        if !self.title.is_empty() {
            heading(out, screen, &self.title, &self.subtitle)?;
        }
        if let Some(bar) = bar {
            bar(out, screen)?;
        }
        if self.rows.is_empty() || self.columns.is_empty() {
            note(out, screen, &self.when_empty)?;
        } else {
            if !self.title.is_empty() && bar.is_none() {
                writeln!(out)?;
            }
            self.write_grid(out, screen)?;
        }
        for text in &self.notes {
            note(out, screen, text)?;
        }
        Ok(())
    }

    fn write_grid(&self, out: &mut dyn Write, screen: &Screen) -> io::Result<()> {
        let ready =
            |cells: &Vec<Cell>| cells.iter().map(|cell| PrintableCell::new(screen, cell)).collect::<Vec<_>>();
        let rows: Vec<Vec<PrintableCell>> = self.rows.iter().map(ready).collect();
        let total: Option<Vec<PrintableCell>> = self.total.as_ref().map(ready);
        let headers: Vec<String> =
            self.columns.iter().map(|column| screen.text(&column.header).into_owned()).collect();

        let wishes: Vec<ColumnWidth<'_>> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                let cells = || rows.iter().chain(&total).filter_map(|row| row.get(at));
                ColumnWidth {
                    natural: cells().map(PrintableCell::width).max().unwrap_or(0).max(width(&headers[at])),
                    least: column.flexible.map(|(least, _)| least),
                    bar: cells().any(|cell| cell.share.is_some()),
                    priority: column.priority,
                    group: column.group.as_deref(),
                }
            })
            .collect();
        let slots = fit(&wishes, (!screen.wide).then_some(screen.width));
        let rule = slots.iter().map(Slot::width).sum::<usize>() + COLUMN_GAP * slots.len().saturating_sub(1);
        let rule = screen.text("─").repeat(rule);

        let header = |text: &String| PrintableCell { text: text.clone(), ..PrintableCell::default() };
        let header: Vec<PrintableCell> = headers.iter().map(header).collect();
        // A list of facts has no headers: its first column says what each line is.
        if headers.iter().any(|header| !header.is_empty()) {
            let role = if self.compact { Role::Dim } else { Role::Heading };
            self.write_row(out, screen, &slots, &header, Some(role))?;
            if !self.compact {
                writeln!(out, "{}", screen.paint(Role::Dim, &rule))?;
            }
        }
        for row in &rows {
            self.write_row(out, screen, &slots, row, None)?;
        }
        if let Some(total) = &total {
            writeln!(out, "{}", screen.paint(Role::Dim, &rule))?;
            self.write_row(out, screen, &slots, total, Some(Role::Heading))?;
        }
        if self.compact { Ok(()) } else { write_left_out(out, screen, &headers, &slots) }
    }

    fn write_row(
        &self,
        out: &mut dyn Write,
        screen: &Screen,
        slots: &[Slot],
        row: &[PrintableCell],
        role: Option<Role>,
    ) -> io::Result<()> {
        let empty = PrintableCell::default();
        let mut line = Line::new(screen);
        for slot in slots {
            let cell = row.get(slot.column).unwrap_or(&empty);
            self.columns[slot.column].write(&mut line, screen, slot, cell, role);
        }
        line.end(out)
    }
}

impl Column {
    fn write(
        &self,
        line: &mut Line<'_>,
        screen: &Screen,
        slot: &Slot,
        cell: &PrintableCell,
        row_role: Option<Role>,
    ) {
        let text = self.shortened(screen, cell, slot.text);
        let prefix = width(&cell.prefix);
        let text_role = match cell.share {
            _ if cell.nothing => Some(Role::Dim),
            Some(_) => row_role,
            None => cell.role.or(row_role),
        };
        let room = slot.text.saturating_sub(prefix);
        if self.align == Align::Right {
            line.gap(room.saturating_sub(width(&text)));
        }
        if prefix > 0 {
            line.push(Some(Role::Dim), &cell.prefix);
        }
        line.push(text_role, &text);
        if self.align == Align::Left {
            line.gap(room.saturating_sub(width(&text)));
        }
        if slot.bar > 0 {
            line.gap(1);
            let share = cell.share.unwrap_or(0.0);
            let drawn = if screen.unicode { bar(share, slot.bar) } else { ascii_bar(share, slot.bar) };
            line.push(Some(cell.role.unwrap_or(Role::Accent)), &drawn);
        }
        line.gap(COLUMN_GAP);
    }

    fn shortened(&self, screen: &Screen, cell: &PrintableCell, room: usize) -> String {
        let room = room.saturating_sub(width(&cell.prefix)).max(1);
        if width(&cell.text) <= room {
            return cell.text.clone();
        }
        let shorter = match self.flexible {
            Some((_, shorten)) => shorten(&cell.text, room),
            None => cell.text.clone(),
        };
        // The caller's shortening is not trusted with the width, nor with the signs it adds.
        screen.text(&middle_ellipsis(&screen.text(&shorter), room)).into_owned()
    }
}

fn write_left_out(out: &mut dyn Write, screen: &Screen, headers: &[String], slots: &[Slot]) -> io::Result<()> {
    let shown = |column: usize| slots.iter().any(|slot| slot.column == column);
    let absent = headers.iter().enumerate().filter(|(at, _)| !shown(*at));
    let names: Vec<&str> = absent.map(|(_, header)| header.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let what = if names.len() == 1 { "1 column" } else { &format!("{} columns", names.len()) };
    let them = if names.len() == 1 { "it" } else { "them" };
    note(out, screen, &format!("{what} hidden ({}); use --wide to show {them}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::role::Palette;
    use super::super::table::Shorten;
    use super::*;

    fn shown(table: &Table, screen: &Screen) -> String {
        let mut out = Vec::new();
        table.write(&mut out, screen).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn kernels() -> Table {
        let mut table = Table::new(vec![
            Column::name("Kernel"),
            Column::number("Total").keep(),
            Column::number("Share").priority(190),
            Column::number("Calls").priority(150),
            Column::number("Min").priority(30).group("spread"),
            Column::number("Max").priority(31).group("spread"),
            Column::text("Stream").priority(60),
        ])
        .title("Kernels", "3 of 9");
        let row = |name: &str, ns: i64, share: f64, calls: u64| {
            let spread = [Cell::time(ns / 100), Cell::time(ns / 10), Cell::text("7")];
            let cells =
                [Cell::text(name), Cell::time(ns), Cell::share(share).role(Role::Device), Cell::count(calls)];
            cells.into_iter().chain(spread).collect()
        };
        table.row(row(
            "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int, float*)",
            9_671_000,
            0.525,
            1_284,
        ));
        table.row(row("evil\u{1b}[2J\n\tname \u{202e}gnp 畳み込み", 2_210_000, 0.12, 24));
        table.row(row("", 0, 0.0, 0));
        table.total(vec![Cell::text("3 kernels"), Cell::time(11_881_000)]);
        table.note("6 more");
        table
    }

    #[test]
    fn fits_four_widths() {
        for (width, golden) in [
            (60, include_str!("golden/kernels_60.txt")),
            (80, include_str!("golden/kernels_80.txt")),
            (120, include_str!("golden/kernels_120.txt")),
            (200, include_str!("golden/kernels_200.txt")),
        ] {
            assert_eq!(shown(&kernels(), &Screen::plain(width)), golden, "{width}");
        }
    }

    #[test]
    fn no_line_is_too_wide_and_none_ends_in_spaces() {
        for columns in 50..220 {
            for screen in [Screen::plain(columns), Screen::plain(columns).with_unicode(false)] {
                for line in shown(&kernels(), &screen).lines() {
                    assert!(width(line) <= columns, "{columns}: {line}");
                    assert_eq!(line, line.trim_end());
                    assert!(!line.contains(super::super::clean::is_hostile));
                }
            }
        }
    }

    #[test]
    fn wide_shows_everything() {
        let text = shown(&kernels(), &Screen::plain(40).with_wide(true));
        assert!(text.contains("AddFunctor<float>>(int, float*)  9.671 ms"));
        assert!(!text.contains("wider terminal"));
    }

    #[test]
    fn colors_change_nothing_but_colors() {
        let colored = shown(&kernels(), &Screen::plain(80).with_palette(Palette::Full));
        let escapes = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
        assert!(escapes.is_match(&colored));
        assert_eq!(escapes.replace_all(&colored, ""), shown(&kernels(), &Screen::plain(80)));
    }

    #[test]
    fn roles_reach_text_and_bar() {
        let screen = Screen::plain(80).with_palette(Palette::Basic);
        let mut table = Table::new(vec![Column::text("a"), Column::number("b")]);
        table.row(vec![Cell::text("x").role(Role::Bad), Cell::share(0.5).role(Role::Host)]);
        table.row(vec![Cell::text("y"), Cell::share(0.0).role(Role::Host)]);
        let text = shown(&table, &screen);
        assert!(text.contains("\u{1b}[31mx\u{1b}[0m  50.0% \u{1b}[36m███\u{1b}[0m\n"));
        assert!(text.ends_with("y      \u{1b}[2m–\u{1b}[0m\n"));
    }

    #[test]
    fn an_empty_table_says_so() {
        let empty = Table::new(vec![Column::name("Kernel")]).title("Kernels", "").when_empty("no kernels ran");
        assert_eq!(shown(&empty, &Screen::plain(80)), "Kernels\nno kernels ran\n");
        let mut shapeless = Table::new(Vec::new());
        shapeless.row(vec![Cell::text("x")]);
        assert_eq!(shown(&shapeless, &Screen::plain(80)), "nothing to show\n");
    }

    #[test]
    fn one_row_with_too_few_or_too_many_cells() {
        let mut table = Table::new(vec![Column::name("Name"), Column::number("Total")]);
        table.row(vec![Cell::text("a")]);
        assert_eq!(shown(&table, &Screen::plain(80)), "Name  Total\n───────────\na\n");
        table.row(vec![Cell::text("b"), Cell::count(7), Cell::count(8)]);
        assert_eq!(shown(&table, &Screen::plain(80)), "Name  Total\n───────────\na\nb         7\n");
    }

    #[test]
    fn the_callers_shortening_is_used_but_not_trusted() {
        let tail: Shorten = |text, room| text.chars().skip(text.chars().count() - room).collect();
        let mut table = Table::new(vec![Column::name("Name").flexible(6, tail)]);
        table.row(vec![Cell::text("abcdefghijklmnopqrstuvwxyz").prefix("└─ ")]);
        assert_eq!(shown(&table, &Screen::plain(20)).lines().last(), Some("└─ jklmnopqrstuvwxyz"));
        let liar: Shorten = |text, _| format!("{text}\u{1b}\n");
        let mut table = Table::new(vec![Column::name("Name").flexible(6, liar)]);
        table.row(vec![Cell::text("abcdefghijklmnopqrstuvwxyz")]);
        assert_eq!(shown(&table, &Screen::plain(20)).lines().last(), Some("abcdefghij…tuvwxyz␛"));
    }
}
