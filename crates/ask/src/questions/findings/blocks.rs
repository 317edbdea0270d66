//! Findings on a screen: a block each, to be read from top to bottom.

use std::io::{self, Write};

use stepscope_analyse::findings::Finding;

use super::super::host_name;
use super::super::kernels::shorter;
use super::{FindingList, words};
use crate::print::{self, Role, Screen, middle_ellipsis, units, wrap};

/// Lines longer than this are hard to read.
const MAX_LINE_COLUMNS: usize = 100;
/// Room for the label of a part.
const LABEL_COLUMNS: usize = 10;

pub(super) fn write(
    out: &mut dyn Write,
    screen: &Screen,
    found: &FindingList,
    explain: bool,
) -> io::Result<()> {
    let rows = &found.shown.rows;
    let step = match found.steps {
        _ if !found.whole.is_step && found.whole.ns > 0 => {
            format!(" in a run of {}", units::time(found.whole.ns))
        }
        0 => String::new(),
        1 => format!(" in a step of {}", units::time(found.step_ns)),
        n => format!(" in {n} steps of {} on average", units::time(found.step_ns)),
    };
    let without = match found.whole.is_step {
        true => words::without_profiler(found.step_ns, found.unprofiled),
        false => String::new(),
    };
    let step = format!("{step}{without}");
    let words = match found.shown.matched {
        0 if found.shown.all > 0 => "none matches --filter".to_owned(),
        0 => format!("none found{step}"),
        n => format!("{n} found{step}"),
    };
    print::heading(out, screen, "Findings", &words)?;
    if found.shown.all == 0 {
        return nothing(out, screen, found);
    }
    for (at, finding) in rows.iter().enumerate() {
        writeln!(out)?;
        block(out, screen, found, at + 1, finding, explain)?;
    }
    if let Some(text) = found.shown.left_out() {
        writeln!(out)?;
        print::note(out, screen, &text)?;
    }
    if rows.iter().filter(|f| f.saves_ns.is_some()).count() > 1 {
        writeln!(out)?;
        print::note(out, screen, "savings do not add up: fix the first one, record again, and look again")?;
    }
    blind(out, screen, found)
}

/// Rules that could not look.
fn blind(out: &mut dyn Write, screen: &Screen, found: &FindingList) -> io::Result<()> {
    found.blind.iter().try_for_each(|blind| print::note(out, screen, &blind.sentence))
}

/// No finding is an answer too; it must not be a dead end: what to ask next follows.
fn nothing(out: &mut dyn Write, screen: &Screen, found: &FindingList) -> io::Result<()> {
    blind(out, screen, found)?;
    let text = match found.snapshot {
        true => "no leak, no refused request and no other known fault; to see where the memory goes:",
        false => "no rule found a change that would make this noticeably faster; to see where the time goes:",
    };
    print::note(out, screen, text)?;
    writeln!(out)
}

fn block(
    out: &mut dyn Write,
    screen: &Screen,
    found: &FindingList,
    number: usize,
    finding: &Finding,
    explain: bool,
) -> io::Result<()> {
    let room = screen.width.clamp(20, MAX_LINE_COLUMNS);
    head(out, screen, found, number, finding, room)?;
    let room = room.saturating_sub(LABEL_COLUMNS + 2).max(20);
    let prose = |text: &str| wrap(&screen.text(text), room);
    part(out, screen, "Why", prose(&finding.why))?;
    part(out, screen, "Change", prose(&finding.fix))?;
    if let Some(code) = &finding.code {
        writeln!(out)?;
        // Never cut: it is there to be copied.
        for line in code.lines() {
            let line = screen.text(line);
            let painted = if line.is_empty() { String::new() } else { screen.paint(Role::Accent, &line) };
            writeln!(out, "{}{painted}", if line.is_empty() { "" } else { "    " })?;
        }
        writeln!(out)?;
    }
    if let Some(source) = &finding.source {
        let line = middle_ellipsis(&screen.text(source), room);
        part(out, screen, "Line", vec![screen.paint(Role::Heading, &line)])?;
    }
    part(out, screen, "Evidence", evidence(screen, finding, room, explain))?;
    let shown = finding.slices.iter().take(3).map(|slice| {
        let at = units::time(slice.start_ns);
        let time = format!("{:>8} at {at:>8}", units::time(slice.dur_ns));
        let left = room.saturating_sub(print::width(&time) + 2).max(12);
        let name = middle_ellipsis(&screen.text(&shorter(&slice.name)), left);
        format!("{}  {}", screen.paint(Role::Dim, &screen.text(&time)), screen.text(&name))
    });
    part(out, screen, "Examples", shown.collect())?;
    part(out, screen, "Check", prose(&finding.verify))
}

/// Severity and title, and below them what a fix would save.
fn head(
    out: &mut dyn Write,
    screen: &Screen,
    found: &FindingList,
    number: usize,
    finding: &Finding,
    room: usize,
) -> io::Result<()> {
    let (number, severity) = (number.to_string(), finding.severity.label());
    // Indented like the text beside the labels below.
    let used = number.len() + 1 + severity.len();
    let indent = (LABEL_COLUMNS + 2).max(used + 2);
    let room = room.saturating_sub(indent).max(12);
    for (at, line) in wrap(&screen.text(&finding.title), room).iter().enumerate() {
        let painted = screen.paint(words::role(finding.severity), severity);
        let head = if at == 0 {
            format!("{} {painted}{}", screen.paint(Role::Dim, &number), " ".repeat(indent - used))
        } else {
            " ".repeat(indent)
        };
        writeln!(out, "{head}{}", screen.paint(Role::Heading, line))?;
    }
    let mut facts: Vec<(Role, String)> = Vec::new();
    facts.extend(finding.measured_text.clone().map(|text| (Role::Good, text)));
    facts.extend(words::saves(finding, found.whole).into_iter().map(|text| (Role::Good, text)));
    facts.push((Role::Dim, format!("{}; rule {}", words::confidence(finding.confidence), finding.rule)));
    for (role, text) in facts {
        for line in wrap(&screen.text(&text), room) {
            writeln!(out, "{}{}", " ".repeat(indent), screen.paint(role, &line))?;
        }
    }
    writeln!(out)
}

/// Lines beside a label.
fn part(out: &mut dyn Write, screen: &Screen, label: &str, lines: Vec<String>) -> io::Result<()> {
    for (at, line) in lines.iter().enumerate() {
        let label = if at == 0 { label } else { "" };
        writeln!(out, "  {}{line}", screen.paint(Role::Dim, &format!("{label:<LABEL_COLUMNS$}")))?;
    }
    Ok(())
}

/// The evidence, one number below the other; explained, each with its meaning.
fn evidence(screen: &Screen, finding: &Finding, room: usize, explain: bool) -> Vec<String> {
    // Numbers line up behind labels of a usual length; those of longer ones follow where they can.
    let usual = finding
        .evidence
        .iter()
        .map(|e| print::width(&host_name(&e.label, false)))
        .filter(|w| *w <= room / 2)
        .max()
        .unwrap_or(0);
    let mut lines = Vec::new();
    for evidence in &finding.evidence {
        let (label, value) = (host_name(&evidence.label, false), words::amount(&evidence.value));
        let (label, value) = (screen.text(&label), screen.text(&value));
        let gap = usual.saturating_sub(print::width(&label)) + 2;
        if print::width(&label).max(usual) + 2 + print::width(&value) <= room {
            lines.push(format!("{label}{}{value}", " ".repeat(gap)));
        } else {
            lines.extend(wrap(&format!("{label}: {value}"), room));
        }
        if explain {
            let text = wrap(&screen.text(evidence.definition), room.saturating_sub(2));
            lines.extend(text.iter().map(|line| format!("  {}", screen.paint(Role::Dim, line))));
        }
    }
    lines
}
