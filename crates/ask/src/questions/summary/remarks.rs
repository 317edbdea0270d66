//! What a reader must know about the file before believing its numbers, a line each.

use std::sync::Arc;

use stepscope_analyse::findings::UncheckedRules;
use stepscope_model::{Severity, Trace};

use crate::print::{Role, Screen, end_ellipsis, units, width, wrap};

/// Notes shown; `stepscope info` has all of them.
const MAX_NOTES: usize = 3;
pub(super) struct Remarks {
    pub(super) trace: Arc<Trace>,
    /// What is to be said about the question or the whole file.
    pub(super) own: Vec<String>,
    /// Rules that could not look.
    pub(super) blind: Vec<UncheckedRules>,
}

impl Remarks {
    pub(super) fn lines(&self, screen: &Screen) -> Vec<String> {
        let mut lines = Vec::new();
        for text in &self.own {
            lines.extend(wrap(&screen.text(text), screen.width));
        }
        for blind in &self.blind {
            lines.push(end_ellipsis(&screen.text(&blind.sentence), screen.width));
        }
        let notes = self.trace.notes();
        for note in notes.iter().take(MAX_NOTES) {
            let (role, word) = match note.kind.severity() {
                Severity::Lost => (Role::Bad, "lost: "),
                Severity::Repaired => (Role::Warn, "repaired: "),
                Severity::Info => (Role::Dim, ""),
            };
            let text = format!("{}× {}", units::count(note.count), note.kind.sentence());
            let text = end_ellipsis(&screen.text(&text), screen.width.saturating_sub(width(word)));
            let word = if word.is_empty() { String::new() } else { screen.paint(role, word) };
            lines.push(format!("{word}{}", screen.text(&text)));
        }
        let left = notes.iter().count().saturating_sub(MAX_NOTES);
        if left > 0 {
            lines.push(screen.paint(Role::Dim, &format!("and {left} more: stepscope info")));
        }
        lines
    }
}
