//! What the lines of chosen functions did to the memory of the process, with their source.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::tables::heap::{HeapReport, LineMemoryRow};
use stepscope_ground::Problem;

use super::QUESTION;
use crate::answer::{Answer, Part};
use crate::ask::Ask;
use crate::form::{Member, rows};
use crate::print::{self, Cell, Column, Columns, KEEP, Role, Table, units};
use crate::rows::regex_of;

const NONE: &str = "no lines in this file; name functions: stepscope run --memory --lines load train.py";

/// One line and its text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SourceMemory {
    #[serde(flatten)]
    line: LineMemoryRow,
    /// The line's text, where the file could be read.
    source: Option<String>,
}

/// What such an answer holds.
pub(super) const MEMBERS: &[Member] = &[rows::<SourceMemory>("line_memory")];

pub(super) fn answer(ask: &Ask, report: &HeapReport, profile: &str) -> Result<Answer, Problem> {
    let mut lines = report.line_memory.clone();
    if let Some(pattern) = &ask.rows.filter {
        let regex = regex_of("filter", pattern)?;
        lines.retain(|line| regex.is_match(&line.function));
    }
    if let Some(top) = ask.rows.top.filter(|top| *top > 0) {
        lines.truncate(top);
    }
    let mut texts: Vec<(String, Option<Vec<String>>)> = Vec::new();
    let mut rows = Vec::with_capacity(lines.len());
    for line in lines {
        if texts.iter().all(|(file, _)| *file != line.file) {
            let text = ask.sources.text(profile, &line.file);
            texts.push((line.file.clone(), text.map(|text| text.lines().map(str::to_owned).collect())));
        }
        let text = texts.iter().find(|(file, _)| *file == line.file).and_then(|(_, text)| text.as_ref());
        let source = text.and_then(|text| text.get((line.line as usize).checked_sub(1)?)).cloned();
        rows.push(SourceMemory { line, source });
    }
    let shown = Arc::new(rows.clone());
    let drawn = shown.clone();
    let mut answer = Answer::new(vec![Part::new("line_memory", rows, |_| Table::default()).shown(false)]);
    answer.above = Some(Box::new(move |out, screen| {
        print::heading(out, screen, "Memory line by line", "of the process, as the system says")?;
        if drawn.is_empty() {
            return Table::new(vec![Column::number("Line"), Column::number("Mem usage")])
                .when_empty(NONE)
                .write(out, screen);
        }
        for function in blocks(&drawn) {
            writeln!(out)?;
            table(function).write(out, screen)?;
        }
        Ok(())
    }));
    answer.document = Some(Box::new(move || {
        let tables: Vec<String> = blocks(&shown).map(|rows| print::markdown(&table(rows))).collect();
        tables.join("\n")
    }));
    Ok(answer)
}

fn blocks(rows: &[SourceMemory]) -> impl Iterator<Item = &[SourceMemory]> {
    let key = |row: &SourceMemory| (row.line.function.clone(), row.line.file.clone(), row.line.function_line);
    rows.chunk_by(move |a, b| key(a) == key(b))
}

fn table(rows: &[SourceMemory]) -> Table {
    let allocates = rows.iter().any(|row| row.line.allocated_bytes != 0);
    let first = &rows[0].line;
    let place = match first.function_line {
        0 => first.file.clone(),
        line => format!("{}:{line}", first.file),
    };
    let largest = rows.iter().map(|row| row.line.increment_bytes).max().unwrap_or(0);
    let role = |grown: i64| if grown > 0 && grown >= largest / 2 { Role::Warn } else { Role::Dim };
    Columns::of(rows.iter().map(|row| (&row.line, &row.source)))
        .defined_by(QUESTION.definitions)
        .add(Column::number("Line").keep(), |(line, _)| {
            Cell::text(if line.line == 0 { String::new() } else { line.line.to_string() }).role(Role::Dim)
        })
        .metric("memory_bytes", KEEP, |(line, _)| {
            Cell::bytes(i64::try_from(line.memory_bytes).unwrap_or(i64::MAX))
        })
        .metric("increment_bytes", KEEP, |(line, _)| {
            Cell::text(units::delta_bytes(line.increment_bytes)).role(role(line.increment_bytes))
        })
        .metric("occurrences", 110, |(line, _)| Cell::count(line.occurrences))
        .metric_if(allocates, "allocated_bytes", 120, |(line, _)| Cell::bytes(line.allocated_bytes))
        .add(Column::text("Source").flexible(24, print::end_ellipsis).keep(), |(_, source)| {
            Cell::text(source.as_deref().unwrap_or_default())
        })
        .table()
        .title(&first.function, place)
}
