//! The notes on a trace that a reader of its numbers must know, a line each.

use std::io::{self, Write};
use std::sync::Arc;

use stepscope_model::{Severity, Trace};

use crate::answer::Draw;
use crate::print::{self, Role, Screen, units};

/// The notes below the tables of an answer.
pub(super) fn below(trace: Arc<Trace>) -> Draw {
    Box::new(move |out, screen| {
        if trace.notes().is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        write(out, screen, &trace)
    })
}

pub(super) fn write(out: &mut dyn Write, screen: &Screen, trace: &Trace) -> io::Result<()> {
    for note in trace.notes().iter() {
        let (role, word) = match note.kind.severity() {
            Severity::Lost => (Role::Bad, "lost"),
            Severity::Repaired => (Role::Warn, "repaired"),
            Severity::Info => (Role::Dim, "note"),
        };
        let mut text = format!("{}× {}", units::count(note.count), note.kind.sentence());
        if !note.detail.is_empty() {
            text.push_str(&format!(" ({})", note.detail));
        }
        if let Some(first) = note.offsets.first() {
            text.push_str(&format!("; first at byte {}", units::count(*first)));
        }
        let room = screen.width.saturating_sub(10).clamp(20, 110);
        for (at, line) in print::wrap(&text, room).iter().enumerate() {
            let head = if at == 0 { format!("{word:>8}") } else { " ".repeat(8) };
            writeln!(out, "{} {}", screen.paint(role, &head), screen.text(line))?;
        }
    }
    Ok(())
}
