//! The first screen of a program's memory: the peak, who held it, what was left, and what to change.

use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_analyse::tables::heap::{Advice, HeapLineRow, HeapReport, advice, heap};
use stepscope_model::Profile;

use super::super::memory::{end_words, lines_table, peak_words};
use super::first::{beside_labels, section};
use super::of_profile::{note_lines, notes};
use crate::answer::{Answer, Next, Part};
use crate::print::{self, Role, units, wrap};

/// Lines on the screen.
const SHOWN: usize = 6;
/// Rows that programs get.
const MOST: usize = 20;

pub(super) fn answer(run: &Run, profile: &Profile) -> Answer {
    let report = heap(profile);
    let advice = advice(&report);
    let mut left: Vec<HeapLineRow> = report.lines.iter().filter(|row| row.live_bytes > 0).cloned().collect();
    left.sort_by_key(|row| std::cmp::Reverse((row.growth_bytes.unwrap_or(0).max(0), row.live_bytes)));
    let document_only = |part: Part| Part { on_screen: false, ..part };
    let top = |rows: &[HeapLineRow]| rows.iter().take(MOST).cloned().collect::<Vec<_>>();
    let parts = vec![
        document_only(Part::new("heap_lines", top(&report.lines), |rows| {
            lines_table(rows, false).title("Who held the peak", "`stepscope memory` shows all")
        })),
        document_only(Part::new("left_lines", top(&left), |rows| {
            lines_table(rows, true).title("What was left at the end", "`stepscope memory --leaks` shows all")
        })),
        document_only(Part::data("advice", advice.clone())),
    ];
    let facts = &report.facts;
    let mut answer = Answer::new(parts)
        .fact("peak_bytes", &facts.peak_bytes)
        .fact("peak_at_ns", &facts.peak_at.0)
        .fact("end_bytes", &facts.end_bytes)
        .fact("peak_rss_bytes", &report.peak_rss().map(|(bytes, _)| bytes))
        .fact("notes", &run.info().notes);
    answer.next = next(&report);
    answer.next_label = Some("MORE");
    let source = &profile.source;
    let file = source.path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(&source.path);
    let (file, about) = (file.to_owned(), peak_words(&report));
    let why = format!("{}{}", refused(run), why(&report));
    let fix: Vec<String> = advice.iter().map(words).collect();
    let notes = notes(run);
    let drawn = Arc::new((report, left));
    answer.above = Some(Box::new(move |out, screen| {
        let (report, left) = &*drawn;
        let inner = beside_labels(screen);
        print::heading(out, screen, &file, &about)?;
        let lines = |text: &str, role: Role| -> Vec<String> {
            wrap(&screen.text(text), inner.width).iter().map(|line| screen.paint(role, line)).collect()
        };
        section(out, screen, "WHY", &lines(&why, Role::Warn))?;
        let fixes: Vec<String> = fix.iter().flat_map(|text| wrap(&screen.text(text), inner.width)).collect();
        section(out, screen, "FIX", &fixes)?;
        let table = |rows: &[HeapLineRow], leaks: bool| {
            if rows.is_empty() {
                return Ok(Vec::new());
            }
            let rows = &rows[..rows.len().min(SHOWN)];
            print::lines_of(|out| lines_table(rows, leaks).compact().write(out, &inner))
        };
        section(out, screen, "PEAK", &table(&report.lines, false)?)?;
        let mut end = lines(&end_words(report), Role::Dim);
        end.extend(table(left, true)?);
        section(out, screen, "LEFT", if left.is_empty() { &[] } else { &end })?;
        section(out, screen, "NOTE", &note_lines(&notes, &inner))
    }));
    answer
}

fn why(report: &HeapReport) -> String {
    let facts = &report.facts;
    let size = |bytes: u64| units::bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    let mut text = format!("The program held {} at {}", size(facts.peak_bytes), units::time(facts.peak_at.0));
    if let Some((rss, _)) = report.peak_rss().filter(|_| !report.lines.is_empty()) {
        text.push_str(&format!(" (the process took {} at most)", size(rss)));
    }
    if let Some(first) = report.lines.iter().find(|row| row.line > 0 && row.peak_bytes > 0) {
        let share = units::percent(first.peak_share);
        text.push_str(&format!("; {share} of that was allocated by {} ({})", first.place(), first.function));
    }
    text.push('.');
    text
}

/// The last request that a device could not meet, if a snapshot has one.
fn refused(run: &Run) -> String {
    let histories = run.snapshot().map_or(&[][..], |(_, histories)| histories);
    let Some(last) = histories.iter().filter_map(|history| history.refusals.last()).next_back() else {
        return String::new();
    };
    let size = |bytes: u64| units::bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    let free = last.free();
    let why = match last.missing() == 0 {
        true => format!(
            "{} was free, but at most {} in one piece: fragmentation, which expandable_segments:True avoids",
            size(free),
            size(last.largest_gap)
        ),
        false => {
            format!("{} was in use and only {} was free: a shortage", size(last.level.allocated), size(free))
        }
    };
    format!("Out of memory: {} was asked for, {why}. ", size(last.bytes))
}

/// One thing to change, in words.
fn words(advice: &Advice) -> String {
    let what = match advice.kind {
        "grows" => "grew by",
        "churns" => "allocated",
        _ => "held",
    };
    format!("{} ({}) {what} {}: {}", advice.place, advice.function, units::bytes(advice.bytes), advice.change)
}

fn next(report: &HeapReport) -> Vec<Next> {
    let mut next = vec![
        Next { question: "memory --by stack", about: "who held the peak, by stack, and the curve" },
        Next { question: "memory --leaks", about: "what was not freed, by line" },
    ];
    if !report.line_memory.is_empty() {
        next.push(Next { question: "memory --lines", about: "memory line by line, with the source" });
    }
    if !report.lines.is_empty() {
        next.push(Next { question: "export --to svg -o memory.svg", about: "a flame graph of the peak" });
    }
    next
}
