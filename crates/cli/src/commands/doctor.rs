//! `stepscope doctor`: what this machine can and cannot capture.

use std::io::{self, Write};

use stepscope_ask::print::{Cell, Column, Columns, Role, Screen, end_ellipsis, wrap};
use stepscope_record::{Check, CheckState, Roots, doctor};

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
    let table = Columns::of(&checks)
        .add(Column::text("Area"), |check| Cell::text(check.area))
        .add(Column::name("What"), |check| Cell::text(&check.what))
        .add(Column::text("State"), |check| Cell::text(word(check.state)))
        .add(Column::text("Detail").flexible(20, end_ellipsis), |check| Cell::text(&check.detail))
        .add(Column::text("Fix").flexible(20, end_ellipsis), |check| Cell::text(&check.fix))
        .table();
    Ok(emit(out, &screen, format, &table, &checks)?)
}

fn word(state: CheckState) -> &'static str {
    match state {
        CheckState::Ready => "ready",
        CheckState::Partly => "partial",
        CheckState::Absent => "missing",
    }
}

fn write(checks: &[Check], screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
    for of_area in checks.chunk_by(|a, b| a.area == b.area) {
        writeln!(out, "{}", screen.paint(Role::Heading, of_area[0].area))?;
        for check in of_area {
            let (mark, role) = match check.state {
                CheckState::Ready => ("✓", Role::Good),
                CheckState::Partly => ("~", Role::Warn),
                CheckState::Absent => ("✗", Role::Dim),
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
    let absent = checks.iter().filter(|check| check.state == CheckState::Absent).count();
    writeln!(out, "{} of {} sources available", checks.len() - absent, checks.len())
}
