//! What to change: the findings in short, each with its saving and a line of code.

use stepscope_analyse::findings::{Finding, Severity};

use super::super::findings::{nothing_next, words};
use crate::answer::Next;
use crate::print::{Cell, Column, Columns, Role, Screen, Table, end_ellipsis, middle_ellipsis, wrap};

/// Findings shown; the command of that name shows all.
const MAX_FINDINGS: usize = 5;
/// Room for the severity.
const SEVERITY_COLUMNS: usize = 8;
/// A title longer than this many lines would push the others out.
const TITLE_LINES: usize = 2;
pub(super) struct Fix {
    pub(super) findings: Vec<Finding>,
    /// What savings are parts of.
    pub(super) whole: words::Whole,
    /// The program, where its file says how it was started.
    pub(super) program: Option<String>,
    /// Whether the program used neither operators nor devices.
    pub(super) plain: bool,
}

impl Fix {
    pub(super) fn next(&self, on_device: bool) -> Vec<Next> {
        let plain = self.plain.then(|| {
            vec![
                Next { question: "findings", about: "the code to change, why, and how to check" },
                Next { question: "functions --sort cumulative", about: "functions with all that they call" },
                Next { question: "view", about: "the same in the browser" },
            ]
        });
        if let Some(next) = plain {
            return next;
        }
        let all = Next { question: Next::ALL_TABLES, about: "all tables: operators, kernels, copies, memory" };
        let view = Next { question: "view", about: "the same in the browser, with a timeline" };
        let mut next = match self.findings.is_empty() {
            true => nothing_next(on_device),
            false => vec![
                Next { question: "findings", about: "the code to change, why, and how to check" },
                Next { question: "account", about: "every nanosecond, by cause" },
            ],
        };
        next.truncate(2);
        next.extend([view, all]);
        next
    }

    /// As many of the findings as fit into so many lines. Those that name no change repeat the verdict: they are only
    /// counted.
    pub(super) fn lines(&self, screen: &Screen, room: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let mut shown = 0;
        let changes = self.findings.iter().filter(|f| f.saves_ns.is_some() || f.code.is_some());
        for finding in changes.take(MAX_FINDINGS) {
            let next = entry(screen, finding, self.whole);
            // What does not fit is counted on a line of its own.
            let more = usize::from(shown + 1 < self.findings.len());
            if shown > 0 && lines.len() + next.len() + more > room {
                break;
            }
            lines.extend(next);
            shown += 1;
        }
        if shown == 0 {
            let text = "no rule found a change that would make this noticeably faster";
            lines.push(screen.paint(Role::Dim, &screen.text(text)));
        }
        let left = self.findings.len() - shown;
        if left > 0 {
            let text = match (shown, left) {
                (0, 1) => "1 remark: stepscope findings".to_owned(),
                (0, _) => format!("{left} remarks: stepscope findings"),
                _ => format!("and {left} more: stepscope findings"),
            };
            lines.push(screen.paint(Role::Dim, &screen.text(&text)));
        }
        let can_be_tried = self.findings.iter().any(|finding| !finding.trials().is_empty());
        if let Some(program) = self.program.as_ref().filter(|_| can_be_tried) {
            let text = format!("To measure these: stepscope try {program}");
            lines.push(screen.text(&text).into_owned());
        }
        lines
    }
}

/// Severity and title, what it saves, and the first line to change.
fn entry(screen: &Screen, finding: &Finding, whole: words::Whole) -> Vec<String> {
    let room = screen.width.saturating_sub(SEVERITY_COLUMNS).max(12);
    let gap = " ".repeat(SEVERITY_COLUMNS);
    let mut lines = Vec::new();
    let mut title = wrap(&screen.text(&finding.title), room);
    if title.len() > TITLE_LINES {
        let rest = title.split_off(TITLE_LINES - 1).join(" ");
        title.push(screen.text(&end_ellipsis(&rest, room)).into_owned());
    }
    for (at, line) in title.iter().enumerate() {
        let severity = format!("{:<SEVERITY_COLUMNS$}", finding.severity.label());
        let head = if at == 0 { screen.paint(words::role(finding.severity), &severity) } else { gap.clone() };
        lines.push(format!("{head}{line}"));
    }
    let mut facts: Vec<String> = words::saves_short(finding, whole).into_iter().collect();
    facts.extend(
        finding.source.as_ref().map(|source| format!("at {}", middle_ellipsis(&screen.text(source), room / 2))),
    );
    if !facts.is_empty() {
        let role = if finding.severity > Severity::Info { Role::Good } else { Role::Dim };
        let text = end_ellipsis(&screen.text(&facts.join("; ")), room);
        lines.push(format!("{gap}{}", screen.paint(role, &screen.text(&text))));
    }
    if let Some(code) = finding.code.as_deref().and_then(words::first_change) {
        let code = end_ellipsis(&screen.text(code), room);
        lines.push(format!("{gap}{}", screen.paint(Role::Accent, &screen.text(&code))));
    }
    lines
}

/// The findings as a table, for Markdown.
pub(super) fn table(findings: &[Finding], whole: words::Whole) -> Table {
    let saving = |f: &Finding| words::saves(f, whole).join("; ");
    Columns::of(findings)
        .add(Column::text("Severity").keep(), |f| Cell::text(f.severity.label()).role(words::role(f.severity)))
        .add(Column::name("Finding"), |f| Cell::text(&f.title))
        .add(Column::text("Saving"), |f| Cell::text(saving(f)))
        .add(Column::text("What to change"), |f| Cell::text(words::first_sentence(&f.fix)))
        .table()
        .title("Findings", "`stepscope findings` has the code to change and how to check")
        .when_empty("none")
}
