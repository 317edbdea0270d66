//! The lines of one function with the text around them.

use stepscope_analyse::tables::functions::AmountUnit;
use stepscope_analyse::tables::lines::LineRow;

use super::super::functions::{amount, amount_text};
use super::{QUESTION, SourceLine, amount_title, share_title};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, end_ellipsis};

/// Lines of one function that are shown at most: source files may be anything.
const MAX_LINES: u32 = 2_000;
/// A function with more lines is shown in parts, where lines were sampled and not counted: …
const MAX_WHOLE_LINES: u32 = 60;
/// … those that have rows, and so many around them. A module is always shown so.
const CONTEXT_LINES: u32 = 3;
const MODULE: &str = "<module>";
/// Represents lines that are left out.
const ELIDED_LINE: u32 = 0;
/// A line with this share of its function is hot, and one with that warm.
const HOT_SHARE: f64 = 0.20;
const WARM_SHARE: f64 = 0.05;
pub(super) struct Block {
    function: String,
    place: String,
    total: i64,
    /// Its lines; those without a row never ran, or were never seen.
    lines: Vec<(u32, Option<LineRow>, Option<String>)>,
    has_source: bool,
}

/// The rows function by function, with the source around them where it can be read.
pub(super) fn blocks(rows: &[LineRow], read: impl Fn(&str) -> Option<String>) -> Vec<Block> {
    let mut texts: Vec<(String, Option<Vec<String>>)> = Vec::new();
    let mut blocks = Vec::new();
    let same = |a: &LineRow, b: &LineRow| {
        (&a.function, &a.file, a.function_line) == (&b.function, &b.file, b.function_line)
    };
    for of_function in rows.chunk_by(same) {
        let first = &of_function[0];
        let file = first.file.clone().unwrap_or_default();
        if texts.iter().all(|(known, _)| *known != file) {
            let text = read(&file).map(|text| text.lines().map(str::to_owned).collect());
            texts.push((file.clone(), text));
        }
        let source = texts.iter().find(|(known, _)| *known == file).and_then(|(_, text)| text.as_deref());
        let place = match first.function_line {
            Some(line) => format!("{file}:{line}"),
            None => file,
        };
        blocks.push(Block {
            function: first.function.clone(),
            place,
            total: of_function.iter().map(LineRow::amount).fold(0, i64::saturating_add),
            lines: with_source(of_function, source),
            has_source: source.is_some(),
        });
    }
    blocks
}

/// The rows, and between them the lines of the function that have none.
fn with_source(rows: &[LineRow], source: Option<&[String]>) -> Vec<(u32, Option<LineRow>, Option<String>)> {
    let text = |line: u32| source.and_then(|text| text.get((line as usize).checked_sub(1)?)).cloned();
    let alone = |row: &LineRow| (row.line, Some(row.clone()), text(row.line));
    let (Some(source), Some(first)) = (source, rows.first().and_then(|row| row.function_line)) else {
        return rows.iter().map(alone).collect();
    };
    let last = rows.iter().map(|row| row.line).max().unwrap_or(first);
    let end = end_of_function(source, first).max(last);
    let begin = rows.iter().map(|row| row.line).min().unwrap_or(first).min(first);
    if end.saturating_sub(begin) > MAX_LINES || end as usize > source.len() {
        return rows.iter().map(alone).collect();
    }
    let row = |line| rows.iter().find(|row| row.line == line).cloned();
    // Of a long function or a whole module, only what is near a line with a row: the rest may be a thousand lines.
    let is_counted = rows.iter().any(|row| row.hits.is_some());
    let is_long = end - begin > MAX_WHOLE_LINES && !is_counted || rows.iter().any(|row| row.function == MODULE);
    let is_near = |line: u32| rows.iter().any(|row| row.line.abs_diff(line) <= CONTEXT_LINES);
    let mut shown = Vec::new();
    let mut skipped = false;
    for line in begin..=end {
        if is_long && !is_near(line) {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) && !shown.is_empty() {
            shown.push((ELIDED_LINE, None, Some("…".to_owned())));
        }
        shown.push((line, row(line), text(line)));
    }
    shown
}

/// The last line of the function that starts at a line: all that is indented more than its head.
fn end_of_function(source: &[String], start: u32) -> u32 {
    let indent = |text: &str| text.len() - text.trim_start().len();
    let from = (start as usize).saturating_sub(1);
    let Some(head) = source.get(from) else { return start };
    let base = indent(head);
    let mut last = start;
    let mut in_head = true;
    for (at, text) in source.iter().enumerate().skip(from).take(MAX_LINES as usize + 1) {
        if text.trim().is_empty() {
            continue;
        }
        let is_body = indent(text) > base;
        if !is_body && !in_head {
            break;
        }
        // Decorators, and a head over several lines that ends with a bracket, stand where the head does.
        in_head = in_head && !is_body;
        last = at as u32 + 1;
    }
    last
}

impl Block {
    /// Lines that ran or were seen, as programs get them.
    pub(super) fn lines(&self) -> impl Iterator<Item = SourceLine> + '_ {
        let seen = self.lines.iter().filter_map(|(_, row, text)| Some((row.clone()?, text.clone())));
        seen.map(|(line, source)| SourceLine { line, source })
    }

    pub(super) fn table(&self, unit: AmountUnit) -> Table {
        let hits = self.lines.iter().any(|(_, row, _)| row.as_ref().is_some_and(|row| row.hits.is_some()));
        let role = |share: f64| match share {
            share if share >= HOT_SHARE => Role::Bad,
            share if share >= WARM_SHARE => Role::Warn,
            _ => Role::Dim,
        };
        let lines = self.lines.iter().map(|(line, row, text)| (*line, row.as_ref(), text.as_deref()));
        let source = Column::text("Source").flexible(24, end_ellipsis).keep();
        let words = format!("{}, {}", self.place, amount_text(self.total, unit));
        Columns::of(lines)
            .defined_by(QUESTION.definitions)
            .add(Column::number("Line").keep(), |(line, ..)| {
                Cell::text(if line == ELIDED_LINE { String::new() } else { line.to_string() }).role(Role::Dim)
            })
            .metric_if(hits, "hits", KEEP, |(_, row, _)| {
                row.map_or_else(Cell::default, |row| Cell::maybe(row.hits, Cell::count))
            })
            .add(Column::number(amount_title(unit)).keep(), |(_, row, _)| {
                row.map_or_else(Cell::default, |row| amount(row.amount(), unit).role(role(row.share)))
            })
            .metric_if(hits, "per_hit_ns", 90, |(_, row, _)| {
                let time = |ns: f64| Cell::time(ns.round() as i64);
                row.map_or_else(Cell::default, |row| Cell::maybe(row.per_hit_ns, time))
            })
            .add(Column::number(share_title(unit)).keep(), |(_, row, _)| {
                row.map_or_else(Cell::default, |row| Cell::percent(row.share).role(role(row.share)))
            })
            .add_if(self.has_source, source, |(.., text)| Cell::text(text.unwrap_or_default()))
            .table()
            .title(&self.function, words)
    }
}
