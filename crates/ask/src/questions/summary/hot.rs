//! The functions and lines that take most of the time of a program without device work.

use std::io;
use stepscope_model::Order;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::run::Hot;
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_analyse::tables::functions::{AmountUnit, FunctionRow};
use stepscope_analyse::tables::lines::{LineRow, Lines};

use super::super::functions::{amount, plain_name};
use super::QUESTION;
use crate::print::{self, Cell, Column, Columns, KEEP, Role, Screen, Table};

/// Functions on the first screen.
const MAX_FUNCTIONS: usize = 8;
/// Functions with the largest totals on the first screen.
const MAX_TOTALS: usize = 4;
/// Lines on the first screen.
const MAX_LINES: usize = 5;
/// Rows that programs get.
const MAX_ROWS: usize = 20;

/// A function with much time of its own.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct HotFunction {
    name: String,
    place: String,
    own: i64,
    own_share: f64,
    with_callees: i64,
    with_callees_share: f64,
    waited_ns: Option<i64>,
}

/// A line with much time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct HotLine {
    function: String,
    place: String,
    on_line: i64,
    on_line_share: f64,
}

/// What the numbers of both mean.
pub(super) const DEFINITIONS: &[Definition] = definitions! {
    "own", "Self" =>
        "Hot functions: `self` of `stepscope functions`, in the profile's unit: time, samples or memory of the function \
         itself, without what it called.";
    "own_share", "Self %" => "Hot functions: self time as a share of total self time, excluding waiting.";
    "with_callees", "Total" =>
        "Hot functions: `total` of `stepscope functions`: the function with all that it called, recursion counted once.";
    "with_callees_share", "Total %" => "Hot functions: the total divided by the sum of all own amounts.";
    "waited_ns", "Waiting" =>
        "Hot functions: time in which a sampled thread used less than a tenth of a processor while the function was \
         innermost; it is in no other number.";
    "on_line", "On the line" => "Hot lines: time, samples or memory of the line, as `stepscope lines` shows it.";
    "on_line_share", "Of all lines" => "Hot lines: the line's amount divided by the sum over all lines of the profile.";
};
pub(super) struct HotSpots {
    pub(super) functions: Vec<HotFunction>,
    /// Those with the largest totals, where they are others.
    pub(super) totals: Vec<HotFunction>,
    pub(super) lines: Vec<HotLine>,
    unit: AmountUnit,
}

impl HotSpots {
    pub(super) fn new(hot: &Hot, lines: &Lines) -> HotSpots {
        let rows = &hot.functions.rows;
        let busy = rows.iter().filter(|row| row.own() > 0 || row.waiting_ns.is_some_and(|ns| ns > 0));
        let mut by_total: Vec<&FunctionRow> = rows.iter().filter(|row| row.total() > 0).collect();
        by_total.order_by(|a, b| b.total().cmp(&a.total()).then_with(|| a.name.cmp(&b.name)));
        let mut functions: Vec<HotFunction> = busy.take(MAX_ROWS).map(function).collect();
        if functions.is_empty() {
            functions = by_total.iter().take(MAX_ROWS).map(|row| function(row)).collect();
        }
        let shown = |row: &&&FunctionRow| {
            functions.iter().take(MAX_FUNCTIONS).all(|f| f.name != row.name || f.place != row.place())
        };
        let totals = by_total.iter().filter(shown).take(MAX_TOTALS).map(|row| function(row)).collect();
        let mut by_amount: Vec<&LineRow> = lines.rows.iter().collect();
        by_amount.order_by_key(|row| std::cmp::Reverse(row.amount()));
        HotSpots {
            totals,
            functions,
            lines: by_amount.into_iter().take(MAX_ROWS).map(line).collect(),
            unit: hot.functions.unit,
        }
    }

    /// The functions with the most of their own, and those with the largest totals.
    pub(super) fn function_lines(&self, screen: &Screen) -> io::Result<Vec<String>> {
        let rows: Vec<HotFunction> =
            self.functions.iter().take(MAX_FUNCTIONS).chain(&self.totals).cloned().collect();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        print::lines_of(|out| functions_table(&rows, self.unit).compact().write(out, screen))
    }

    pub(super) fn line_lines(&self, screen: &Screen) -> io::Result<Vec<String>> {
        let rows = &self.lines[..self.lines.len().min(MAX_LINES)];
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        print::lines_of(|out| lines_table(rows, self.unit).compact().write(out, screen))
    }

    pub(super) fn unit(&self) -> AmountUnit {
        self.unit
    }
}

fn function(row: &FunctionRow) -> HotFunction {
    HotFunction {
        name: row.name.clone(),
        place: row.place(),
        own: row.own(),
        own_share: row.self_share,
        with_callees: row.total(),
        with_callees_share: row.total_share,
        waited_ns: row.waiting_ns,
    }
}

fn line(row: &LineRow) -> HotLine {
    HotLine {
        function: row.function.clone(),
        place: format!("{}:{}", row.file.as_deref().unwrap_or_default(), row.line),
        on_line: row.amount(),
        on_line_share: row.profile_share,
    }
}

pub(super) fn functions_table(rows: &[HotFunction], unit: AmountUnit) -> Table {
    let own = rows.iter().any(|r| r.own != 0);
    let waits = rows.iter().any(|r| r.waited_ns.is_some_and(|ns| ns != 0));
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Function"), |r| Cell::text(plain_name(&r.name)))
        .metric_if(own, "own", KEEP, |r| amount(r.own, unit))
        .metric_if(own, "own_share", KEEP, |r| Cell::share(r.own_share).role(Role::Host))
        .metric("with_callees", 110, |r| amount(r.with_callees, unit))
        .metric("with_callees_share", 120, |r| Cell::percent(r.with_callees_share))
        .metric_if(waits, "waited_ns", 130, |r| Cell::maybe(r.waited_ns, Cell::time))
        .add(Column::text("Where").flexible(14, print::middle_ellipsis).priority(140), |r| Cell::text(&r.place))
        .table()
}

pub(super) fn lines_table(rows: &[HotLine], unit: AmountUnit) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Line"), |r| Cell::text(&r.place))
        .metric("on_line", KEEP, |r| amount(r.on_line, unit))
        .metric("on_line_share", KEEP, |r| Cell::share(r.on_line_share).role(Role::Host))
        .add(Column::text("Function").flexible(14, print::middle_ellipsis).priority(120), |r| {
            Cell::text(plain_name(&r.function))
        })
        .table()
}
