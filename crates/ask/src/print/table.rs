//! What a table says, without a word on how it is drawn.

use super::measure::middle_ellipsis;
use super::role::Role;
use super::units;

/// Shown instead of zero, so that the numbers that matter are easier to find.
const NOTHING: &str = "–";
/// A name shorter than this tells too little.
const MIN_NAME_COLUMNS: usize = 24;
/// What a column matters unless said otherwise.
pub(super) const USUAL_PRIORITY: u8 = 100;
/// The priority of a column that is never dropped.
pub const KEEP: u8 = u8::MAX;

/// The side on which the texts of a column line up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// Makes a text at most so many columns wide. A result that is still too wide gets an ellipsis.
pub type Shorten = fn(&str, usize) -> String;

/// One column of a [`Table`].
#[derive(Debug, Clone)]
pub struct Column {
    pub(super) header: String,
    pub(super) align: Align,
    pub(super) flexible: Option<(usize, Shorten)>,
    pub(super) priority: u8,
    pub(super) group: Option<String>,
}

impl Column {
    /// Numbers: right-aligned, never shortened, dropped on a narrow screen.
    pub fn number(header: impl Into<String>) -> Self {
        Self {
            header: header.into(),
            align: Align::Right,
            flexible: None,
            priority: USUAL_PRIORITY,
            group: None,
        }
    }

    /// Short words: left-aligned, never shortened, dropped on a narrow screen.
    pub fn text(header: impl Into<String>) -> Self {
        Self { align: Align::Left, ..Self::number(header) }
    }

    /// Long names: left-aligned, shortened in the middle, never dropped.
    ///
    /// At least 24 columns remain, and more on screens of more than 80 columns.
    pub fn name(header: impl Into<String>) -> Self {
        Self::text(header).flexible(MIN_NAME_COLUMNS, middle_ellipsis).keep()
    }

    /// Lets the column be shortened by `shorten`, down to `least` columns on a screen of 80 and in
    /// proportion on wider ones.
    pub fn flexible(mut self, least: usize, shorten: Shorten) -> Self {
        self.flexible = Some((least.max(1), shorten));
        self
    }

    /// The other alignment.
    pub fn align(mut self, align: Align) -> Self {
        self.align = align;
        self
    }

    /// How much the column matters: the lowest is dropped first, of equals the rightmost. The usual is 100;
    /// columns below that are dropped rather than a bar.
    ///
    /// The first column of a table is never dropped.
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// Never to be dropped.
    pub fn keep(self) -> Self {
        self.priority(KEEP)
    }

    /// Columns of one group are dropped together, as soon as one of them is.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }
}

/// One cell of a [`Table`].
#[derive(Debug, Clone, Default)]
pub struct Cell {
    pub(super) prefix: String,
    pub(super) text: String,
    pub(super) role: Option<Role>,
    pub(super) share: Option<f64>,
    pub(super) nothing: bool,
}

impl Cell {
    /// Any text; it is cleaned when it is printed.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A dim dash: nothing, or zero.
    pub fn nothing() -> Self {
        Self { nothing: true, ..Self::text(NOTHING) }
    }

    /// A duration in nanoseconds.
    pub fn time(ns: i64) -> Self {
        Self::unless(ns == 0, || units::time(ns))
    }

    pub fn bytes(size: i64) -> Self {
        Self::unless(size == 0, || units::bytes(size))
    }

    pub fn count(n: u64) -> Self {
        Self::unless(n == 0, || units::count(n))
    }

    /// A fraction as a percentage.
    pub fn percent(fraction: f64) -> Self {
        Self::unless(fraction == 0.0, || units::percent(fraction))
    }

    /// A fraction as a percentage with a bar beside it.
    pub fn share(fraction: f64) -> Self {
        Self::percent(fraction).bar(fraction)
    }

    /// A bandwidth in bytes per second.
    pub fn rate_bytes(bytes_per_s: f64) -> Self {
        Self::unless(bytes_per_s == 0.0, || units::rate_bytes(bytes_per_s))
    }

    /// An amount of arithmetic.
    pub fn flops(flop: f64) -> Self {
        Self::unless(flop == 0.0, || units::flops(flop))
    }

    /// A value that may be missing.
    pub fn maybe<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or_else(Self::nothing, cell)
    }

    /// Colors the text, or where there is a bar, the bar.
    pub fn role(mut self, role: Role) -> Self {
        self.role = Some(role);
        self
    }

    /// Draws a bar for `fraction` beside the text.
    pub fn bar(mut self, fraction: f64) -> Self {
        self.share = Some(fraction);
        self
    }

    /// Puts the branches of a tree (`"│  ├─ "`) or an indent before the text; it is dim and never shortened.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    fn unless(zero: bool, text: impl FnOnce() -> String) -> Self {
        if zero { Self::nothing() } else { Self::text(text()) }
    }
}

/// Rows and columns, with a title above and remarks below.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub(super) title: String,
    pub(super) subtitle: String,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Cell>>,
    pub(super) total: Option<Vec<Cell>>,
    pub(super) notes: Vec<String>,
    pub(super) when_empty: String,
    pub(super) compact: bool,
}

impl Table {
    /// An empty table.
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, when_empty: "nothing to show".to_owned(), ..Self::default() }
    }

    /// Sets a heading.
    pub fn title(mut self, title: impl Into<String>, subtitle: impl Into<String>) -> Self {
        self.title = title.into();
        self.subtitle = subtitle.into();
        self
    }

    /// What to say in place of a table without rows.
    pub fn when_empty(mut self, text: impl Into<String>) -> Self {
        self.when_empty = text.into();
        self
    }

    /// Fewer lines: headers are dim and without a rule, and nothing is said about columns that do not fit.
    pub fn compact(mut self) -> Self {
        self.compact = true;
        self
    }

    /// Adds a row. Missing cells stay empty; cells without a column are not shown.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Sets the last row, in bold under a rule of its own.
    pub fn total(&mut self, cells: Vec<Cell>) {
        self.total = Some(cells);
    }

    /// Adds a dim remark below the table.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Adds dim remarks below the table, if there are any.
    pub fn notes<'t>(&mut self, texts: impl IntoIterator<Item = &'t String>) {
        self.notes.extend(texts.into_iter().cloned());
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_a_dash() {
        for cell in [Cell::time(0), Cell::bytes(0), Cell::count(0), Cell::percent(0.0), Cell::flops(0.0)] {
            assert_eq!((cell.text.as_str(), cell.nothing), ("–", true));
        }
        assert_eq!(Cell::maybe(None::<i64>, Cell::time).text, "–");
        assert_eq!(Cell::maybe(Some(12), Cell::time).text, "12 ns");
    }

    #[test]
    fn a_share_has_a_bar() {
        let cell = Cell::share(0.5).role(Role::Device);
        assert_eq!((cell.text.as_str(), cell.share, cell.role), ("50.0%", Some(0.5), Some(Role::Device)));
    }
}
