//! Lines of a profile with their source, function by function.

mod blocks;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::run::Run;
use stepscope_analyse::tables::functions::AmountUnit;
use stepscope_analyse::tables::lines::{self, LineRow, lines};
use stepscope_ground::Problem;
use stepscope_model::Profile;

use super::functions::{amount_text, chosen_value};
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES_AND_PROFILES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{self, Column, Table};
use crate::rows::regex_of;
use blocks::Block;

pub(super) const QUESTION: Question = Question {
    name: "lines",
    about: "Lines by time and hits, with source, from stepscope's samples, line_profiler, py-spy, Austin, pprof \
            and other profilers that record lines.",
    examples: &["lines script.py.lprof", "lines out.raw --function '^train' --top 10"],
    group: Group::Time,
    options: &["function", "top", "value"],
    report_by: Some(&[]),
    definitions: &[lines::DEFINITIONS],
    forms: &[Form {
        name: "LinesAnswer",
        about: TRACES_AND_PROFILES,
        members: &[&[rows::<SourceLine>("lines"), fact::<AmountUnit>("unit"), fact::<i64>("total")]],
    }],
    answer,
    page_parts: &["lines"],
    ..USUAL
};

/// Lines shown of sampled stacks: of a line profile all are, since someone chose the functions.
const DEFAULT_TOP: usize = 40;
const NONE: &str = "this file has no lines: `stepscope record`, `stepscope run`, line_profiler, py-spy, Austin and pprof write some";

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SourceLine {
    #[serde(flatten)]
    line: LineRow,
    /// The line's text, where the file could be read.
    source: Option<String>,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let none = Profile::default();
    let profile = runs[0].profile().unwrap_or(&none);
    let mut report = lines(profile, chosen_value(profile, ask)?);
    let all = report.rows.len();
    if let Some(pattern) = &ask.function {
        let regex = regex_of("function", pattern)?;
        report.rows.retain(|row| regex.is_match(&row.function));
    }
    let empty = match (all > 0, &ask.function) {
        (true, Some(_)) => "no function matches --function",
        _ => NONE,
    };
    let matched = report.rows.len();
    let default = if profile.lines.iter().any(|line| line.hits > 0) { 0 } else { DEFAULT_TOP };
    keep_largest(&mut report.rows, ask.rows.top.unwrap_or(default));
    let left_out = matched - report.rows.len();
    let path = profile.source.path.clone();
    let blocks = blocks::blocks(&report.rows, |file| ask.sources.text(&path, file));
    let rows: Vec<SourceLine> = blocks.iter().flat_map(Block::lines).collect();
    let (unit, total) = (report.unit, report.total);
    let blocks = Arc::new(blocks);
    let drawn = blocks.clone();
    let mut answer = Answer::new(vec![Part::new("lines", rows, |_| Table::default()).shown(false)])
        .fact("unit", &unit)
        .fact("total", &total);
    answer.above = Some(Box::new(move |out, screen| {
        if drawn.is_empty() {
            return nothing(empty).write(out, screen);
        }
        let words = format!("{} in total", amount_text(total, unit));
        print::heading(out, screen, "Lines", &words)?;
        for block in drawn.iter() {
            writeln!(out)?;
            block.table(unit).write(out, screen)?;
        }
        if left_out > 0 {
            writeln!(out)?;
            print::note(out, screen, &left_out_text(left_out))?;
        }
        Ok(())
    }));
    answer.document = Some(Box::new(move || {
        let tables: Vec<String> = blocks.iter().map(|block| print::markdown(&block.table(unit))).collect();
        if tables.is_empty() { print::markdown(&nothing(empty)) } else { tables.join("\n") }
    }));
    Ok(answer)
}

/// A table that says why it has no rows.
fn nothing(why: &str) -> Table {
    Table::new(vec![Column::number("Line"), Column::number("Time")]).title("Lines", "").when_empty(why)
}

fn left_out_text(left_out: usize) -> String {
    format!("{} lines with less are left out; --top 0 shows all", print::units::count(left_out as u64))
}

/// Keeps the lines with the largest amounts, in the order they are in; 0 keeps all.
fn keep_largest(rows: &mut Vec<LineRow>, top: usize) {
    if top == 0 || rows.len() <= top {
        return;
    }
    let mut amounts: Vec<(i64, usize)> = rows.iter().enumerate().map(|(at, row)| (-row.amount(), at)).collect();
    amounts.sort_unstable();
    let mut kept = vec![false; rows.len()];
    amounts[..top].iter().for_each(|(_, at)| kept[*at] = true);
    let mut at = 0;
    rows.retain(|_| {
        at += 1;
        kept[at - 1]
    });
}

/// The column of amounts.
fn amount_title(unit: AmountUnit) -> &'static str {
    match unit {
        AmountUnit::Nanoseconds => "Time",
        AmountUnit::Samples => "Samples",
        AmountUnit::Bytes => "Memory",
    }
}

/// The column of shares.
fn share_title(unit: AmountUnit) -> &'static str {
    match unit {
        AmountUnit::Nanoseconds => "% Time",
        AmountUnit::Samples => "% Samples",
        AmountUnit::Bytes => "% Memory",
    }
}
