//! How the summary ends: the findings in short, and what to do next.

use std::io::{self, Write};

use stepscope_analyse::findings::{Finding, Severity};

use super::super::findings::{blocks, nothing_next, words};
use crate::answer::Next;
use crate::print::{self, Cell, Column, Role, Screen, Table, wrap};

/// Findings shown; the command of that name shows all.
const SHOWN: usize = 5;
/// Lines longer than this are hard to read.
const LONGEST: usize = 110;

/// What the end of the summary needs.
pub(super) struct Ending {
    pub(super) findings: Vec<Finding>,
    pub(super) step_ns: i64,
}

impl Ending {
    /// What to ask next.
    pub(super) fn next(&self, on_device: bool) -> Vec<Next> {
        if self.findings.is_empty() {
            return nothing_next(on_device);
        }
        vec![
            Next { question: "findings", about: "the code to change, and how to check" },
            Next { question: "account", about: "every nanosecond by its cause" },
            Next { question: "what-if", about: "what other changes would save" },
        ]
    }

    pub(super) fn write(&self, out: &mut dyn Write, screen: &Screen) -> io::Result<()> {
        let costly = self.findings.iter().filter(|f| f.severity > Severity::Info).count();
        let words = match (self.findings.len(), costly) {
            (0, _) => "none".to_owned(),
            (all, 0) => format!("{all}, none with a known cost"),
            (all, _) if all > SHOWN => format!("the first {SHOWN} of {all}, by what a fix would save"),
            _ => "by what a fix would save".to_owned(),
        };
        print::heading(out, screen, "Findings", &words)?;
        let Some(first) = self.findings.first() else {
            return blocks::nothing(out, screen);
        };
        writeln!(out)?;
        for finding in self.findings.iter().take(SHOWN) {
            self.line(out, screen, finding)?;
        }
        writeln!(out)?;
        let start = if costly > 0 { "Start with: " } else { "Consider: " };
        let text = format!("{start}{}", words::first_sentence(&first.fix));
        for (at, line) in wrap(&screen.text(&text), screen.width.min(LONGEST)).iter().enumerate() {
            match line.strip_prefix(start).filter(|_| at == 0) {
                Some(rest) => writeln!(out, "{}{rest}", screen.paint(Role::Heading, start))?,
                None => writeln!(out, "{line}")?,
            }
        }
        writeln!(out)
    }

    /// Severity, title and saving, in as few lines as fit.
    fn line(&self, out: &mut dyn Write, screen: &Screen, finding: &Finding) -> io::Result<()> {
        let room = screen.width.min(LONGEST).saturating_sub(9).max(20);
        let severity = format!("{:>6}", finding.severity.label());
        let saves = words::saves(finding, self.step_ns).unwrap_or_default();
        for (at, line) in wrap(&screen.text(&finding.title), room).iter().enumerate() {
            let head =
                if at == 0 { screen.paint(words::role(finding.severity), &severity) } else { " ".repeat(6) };
            writeln!(out, " {head}  {line}")?;
        }
        for line in wrap(&screen.text(&saves), room) {
            writeln!(out, "         {}", screen.paint(Role::Good, &line))?;
        }
        Ok(())
    }
}

/// The findings as a table, for Markdown.
pub(super) fn table(findings: &[Finding], step_ns: i64) -> Table {
    let mut table = Table::new(vec![
        Column::text("Severity").keep(),
        Column::name("Finding"),
        Column::text("Saving"),
        Column::text("What to change"),
    ])
    .title("Findings", "`stepscope findings` has the code to change and how to check")
    .when_empty("none");
    for f in findings {
        table.row(vec![
            Cell::text(f.severity.label()).role(words::role(f.severity)),
            Cell::text(&f.title),
            Cell::text(words::saves(f, step_ns).unwrap_or_default()),
            Cell::text(words::first_sentence(&f.fix)),
        ]);
    }
    table
}
