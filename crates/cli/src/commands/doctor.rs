//! `stepscope doctor`: what this machine can and cannot capture.

use std::io::{self, Write};

use serde_json::{Value, json};
use stepscope_ask::print::{Cell, Column, Role, Screen, Table, end_ellipsis, wrap};
use stepscope_record::{Check, Roots, State, doctor};

use crate::failure::Failure;
use crate::format::{Format, emit};
use crate::terminal;

/// Room before the details.
const INDENT: usize = 4;

pub(super) fn run(format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    let checks = doctor(&Roots::default());
    let screen = terminal::detect(&io::stdout());
    if format == Format::Table {
        return Ok(write(&checks, &screen, out)?);
    }
    let mut table = Table::new(vec![
        Column::text("Area"),
        Column::name("What"),
        Column::text("State"),
        Column::text("Detail").flexible(20, end_ellipsis),
        Column::text("Fix").flexible(20, end_ellipsis),
    ]);
    for check in &checks {
        let cells = [check.area, &check.what, word(check.state), &check.detail, &check.fix];
        table.row(cells.into_iter().map(Cell::text).collect());
    }
    let rows: Vec<Value> = checks.iter().map(|check| json!(check)).collect();
    Ok(emit(out, &screen, format, &table, &rows)?)
}

fn word(state: State) -> &'static str {
    match state {
        State::Ready => "ready",
        State::Partly => "partial",
        State::Absent => "missing",
    }
}

fn write(checks: &[Check], screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
    for of_area in checks.chunk_by(|a, b| a.area == b.area) {
        writeln!(out, "{}", screen.paint(Role::Heading, of_area[0].area))?;
        for check in of_area {
            let (mark, role) = match check.state {
                State::Ready => ("✓", Role::Good),
                State::Partly => ("~", Role::Warn),
                State::Absent => ("✗", Role::Dim),
            };
            let mark = screen.paint(role, &screen.text(mark));
            writeln!(out, "  {mark} {}", screen.text(&check.what))?;
            let fix = if check.fix.is_empty() { String::new() } else { format!("fix: {}", check.fix) };
            for (text, role) in [(&check.detail, Role::Dim), (&fix, Role::Accent)] {
                for line in wrap(text, screen.width.saturating_sub(INDENT).max(20)) {
                    if !line.is_empty() {
                        writeln!(out, "{:INDENT$}{}", "", screen.paint(role, &screen.text(&line)))?;
                    }
                }
            }
        }
        writeln!(out)?;
    }
    let absent = checks.iter().filter(|check| check.state == State::Absent).count();
    writeln!(out, "{} of {} sources available", checks.len() - absent, checks.len())
}
