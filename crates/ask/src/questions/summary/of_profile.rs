//! The first screen of a profile, which has functions and lines and no timeline.

use std::sync::Arc;

use stepscope_analyse::causes::verdict::Verdict;
use stepscope_analyse::findings::{self, Finding};
use stepscope_analyse::run::Run;
use stepscope_analyse::tables::functions::{AmountUnit, value_of};
use stepscope_analyse::tables::lines::{Lines, lines};
use stepscope_analyse::tables::run_info::NoteInfo;
use stepscope_model::{Profile, Severity};

use super::super::findings::words::Whole;
use super::super::functions::words;
use super::first::{beside_labels, section};
use super::fix::{self, Fix};
use super::hot::{HotFunction, HotLine, HotSpots, functions_table, lines_table};
use crate::answer::{Answer, Next, Part};
use crate::ask::Ask;
use crate::form::{Member, fact, rows};
use crate::print::{self, Role, Screen, units, wrap};

/// Notes shown; `stepscope info` has all of them.
const MAX_NOTES: usize = 3;
/// Lines that findings may take: functions and lines follow.
const FIX_LINES: usize = 12;

/// What such an answer holds.
pub(super) const MEMBERS: &[Member] = &[
    rows::<HotFunction>("hot_functions"),
    rows::<HotLine>("hot_lines"),
    rows::<Finding>("findings"),
    fact::<Option<Verdict>>("verdict"),
    fact::<Vec<NoteInfo>>("notes"),
    fact::<AmountUnit>("unit"),
];

pub(super) fn answer(ask: &Ask, run: &Run, profile: &Profile) -> Answer {
    let none = Lines::default();
    let known = value_of(profile, None).map(|value| lines(profile, value)).unwrap_or(none);
    let hot = run.hot();
    let spots = hot.map(|hot| HotSpots::new(hot, &known));
    let verdict = hot.map(stepscope_analyse::run::Hot::verdict);
    let unit = spots.as_ref().map(HotSpots::unit).unwrap_or_default();
    let rows = spots.as_ref().map(|spots| (spots.functions.clone(), spots.lines.clone())).unwrap_or_default();
    let found = if ask.no_findings { Vec::new() } else { findings::findings(run, &ask.thresholds) };
    let whole = Whole::new(run);
    let parts = vec![
        Part::new("hot_functions", rows.0, move |rows| {
            functions_table(rows, unit).title("Functions", "`stepscope functions` shows all")
        })
        .off_screen(),
        Part::new("hot_lines", rows.1, move |rows| {
            lines_table(rows, unit).title("Lines", "`stepscope lines` shows all")
        })
        .off_screen(),
        Part::new("findings", found.clone(), move |rows| fix::table(rows, whole)).off_screen(),
    ];
    let mut answer =
        Answer::new(parts).fact("verdict", &verdict).fact("notes", &run.info().notes).fact("unit", &unit);
    let fix = Fix { findings: found, whole, program: None, plain: true };
    answer.next = next(profile, !known.rows.is_empty(), !fix.findings.is_empty());
    answer.next_label = Some("MORE");
    let source = &profile.source;
    let file = source.path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(&source.path);
    let mut about = vec![format!("{} profile", source.format)];
    about.extend(hot.map(|hot| words(&hot.functions)));
    if profile.parts.len() > 1 {
        about.push(format!("{} threads", units::count(profile.parts.len() as u64)));
    }
    let (file, about) = (file.to_owned(), about.join(", "));
    let text = verdict.map(|verdict| verdict.text).unwrap_or_default();
    let notes = notes(run);
    let drawn = Arc::new((spots, text, notes, fix));
    answer.above = Some(Box::new(move |out, screen| {
        let (spots, text, _, fix) = &*drawn;
        let inner = beside_labels(screen);
        print::heading(out, screen, &file, &about)?;
        let why: Vec<String> =
            wrap(&screen.text(text), inner.width).iter().map(|line| screen.paint(Role::Warn, line)).collect();
        section(out, screen, "WHY", if text.is_empty() { &[] } else { &why })?;
        let change = if fix.findings.is_empty() { Vec::new() } else { fix.lines(&inner, FIX_LINES) };
        section(out, screen, "FIX", &change)?;
        if let Some(spots) = spots {
            section(out, screen, "TOP", &spots.function_lines(&inner)?)?;
            section(out, screen, "LINES", &spots.line_lines(&inner)?)?;
        }
        section(out, screen, "NOTE", &note_lines(&drawn.2, &inner))
    }));
    answer
}

fn next(profile: &Profile, has_lines: bool, has_findings: bool) -> Vec<Next> {
    let mut next = Vec::new();
    if has_findings {
        next.push(Next { question: "findings", about: "the code to change, why, and how to check" });
    }
    if !profile.calls.is_empty() || !profile.samples().is_empty() {
        next.push(Next { question: "functions --sort cumulative", about: "functions with all that they call" });
    }
    if has_lines {
        next.push(Next { question: "lines", about: "line by line, with the source" });
    }
    if !profile.samples().is_empty() {
        next.push(Next { question: "export --to svg -o flame.svg", about: "a flame graph for the browser" });
    } else if !profile.calls.is_empty() {
        next.push(Next { question: "functions --callers NAME", about: "who called a function" });
    }
    next.push(Next { question: "view", about: "the same in the browser" });
    next
}

pub(super) fn notes(run: &Run) -> Vec<(Severity, String)> {
    let text = |note: &stepscope_model::Note| {
        (note.kind.severity(), format!("{}× {}", units::count(note.count), note.kind.sentence()))
    };
    let mut notes: Vec<(Severity, String)> = run.trace().notes().iter().map(text).collect();
    notes.truncate(MAX_NOTES);
    notes
}

pub(super) fn note_lines(notes: &[(Severity, String)], screen: &Screen) -> Vec<String> {
    let line = |(severity, text): &(Severity, String)| {
        let role = match severity {
            Severity::Lost => Role::Bad,
            Severity::Repaired => Role::Warn,
            Severity::Info => Role::Dim,
        };
        screen.paint(role, &print::end_ellipsis(&screen.text(text), screen.width))
    };
    notes.iter().map(line).collect()
}
