//! The first screen of a program's memory: the peak, who held it, what was left, and what to change.

use std::sync::Arc;

use stepscope_analyse::memory::history::{self, History, Obstacle};
use stepscope_analyse::run::Run;
use stepscope_analyse::statistics::GrowthRule;
use stepscope_analyse::tables::heap::{Advice, HeapLineRow, HeapReport, advice, growth, heap, snapshot_advice};
use stepscope_analyse::tables::run_info::NoteInfo;
use stepscope_model::{Order, Profile, Severity};

use super::super::memory::{allocator_name, end_words, lines_table, peak_words};
use super::first::{beside_labels, section};
use super::of_profile::{note_lines, notes};
use crate::answer::{Answer, Next, Part};
use crate::ask::Ask;
use crate::form::{Member, fact, rows};
use crate::print::{self, Role, units, wrap};

/// Lines on the screen.
const MAX_LINES: usize = 6;
/// Rows that programs get.
const MAX_ROWS: usize = 20;
const MAX_OTHER_DEVICES: usize = 8;

/// What such an answer holds.
pub(super) const MEMBERS: &[Member] = &[
    rows::<HeapLineRow>("heap_lines"),
    rows::<HeapLineRow>("left_lines"),
    rows::<Advice>("advice"),
    fact::<Option<String>>("of_device"),
    fact::<u64>("peak_bytes"),
    fact::<i64>("peak_at_ns"),
    fact::<u64>("end_bytes"),
    fact::<Option<u64>>("peak_rss_bytes"),
    fact::<Vec<NoteInfo>>("notes"),
];

pub(super) fn answer(ask: &Ask, run: &Run, profile: &Profile) -> Answer {
    let rule = &ask.thresholds.counted_growth();
    let report = heap(profile);
    let largest = run
        .snapshot()
        .and_then(|(snapshot, histories)| history::largest(histories).map(|history| (snapshot, history)));
    let advice = match largest {
        Some((snapshot, history)) => {
            let mut all = growth_elsewhere(run, history.device, rule);
            all.extend(snapshot_advice(snapshot, history, run.places(), &report, rule));
            all
        }
        None => advice(&report),
    };
    let mut left: Vec<HeapLineRow> = report.lines.iter().filter(|row| row.live_bytes > 0).cloned().collect();
    left.order_by_key(|row| std::cmp::Reverse((row.growth_bytes.unwrap_or(0).max(0), row.live_bytes)));
    let top = |rows: &[HeapLineRow]| rows.iter().take(MAX_ROWS).cloned().collect::<Vec<_>>();
    let parts = vec![
        Part::new("heap_lines", top(&report.lines), |rows| {
            lines_table(rows, false).title("Who held the peak", "`stepscope memory` shows all")
        })
        .off_screen(),
        Part::new("left_lines", top(&left), |rows| {
            lines_table(rows, true).title("What was left at the end", "`stepscope memory --leaks` shows all")
        })
        .off_screen(),
        Part::data("advice", advice.clone()),
    ];
    let (facts, device) = (&report.facts, of_device(run));
    let mut answer = Answer::new(parts)
        .fact("of_device", &device)
        .fact("peak_bytes", &facts.peak_bytes)
        .fact("peak_at_ns", &facts.peak_at.0)
        .fact("end_bytes", &facts.end_bytes)
        .fact("peak_rss_bytes", &report.peak_rss().map(|(bytes, _)| bytes))
        .fact("notes", &run.info().notes);
    answer.next = next(run, &report);
    answer.next_label = Some("MORE");
    let source = &profile.source;
    let file = source.path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(&source.path);
    let (file, about) = (
        file.to_owned(),
        match &device {
            Some(device) => format!("{device}: {}", peak_words(&report)),
            None => peak_words(&report),
        },
    );
    let why = format!("{}{}", refused(run), why(&report));
    let fix: Vec<String> = advice.iter().map(words).collect();
    let mut notes = notes(run);
    notes.extend(others(run).into_iter().chain(no_history(run)).map(|text| (Severity::Info, text)));
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
            let rows = &rows[..rows.len().min(MAX_LINES)];
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

/// What grows on other devices: a leak is worth naming wherever it is.
fn growth_elsewhere(run: &Run, shown: i64, rule: &GrowthRule) -> Vec<Advice> {
    let Some((snapshot, histories)) = run.snapshot() else { return Vec::new() };
    let others = histories.iter().filter(|history| history.device != shown).take(MAX_OTHER_DEVICES);
    let of_device = |history: &History| {
        let on = allocator_name(history.device);
        let first = growth(snapshot, history, run.places(), rule).into_iter().next();
        first.map(|grows| Advice { place: format!("{} on {on}", grows.place), ..grows })
    };
    others.filter_map(of_device).collect()
}

/// Which device the screen is about, where there are several.
fn of_device(run: &Run) -> Option<String> {
    let histories = run.snapshot().map_or(&[][..], |(_, histories)| histories);
    let largest = history::largest(histories)?;
    (histories.len() > 1).then(|| allocator_name(largest.device))
}

/// What other devices held, where there are several.
fn others(run: &Run) -> Option<String> {
    let histories = run.snapshot().map_or(&[][..], |(_, histories)| histories);
    let largest = history::largest(histories)?;
    let others: Vec<String> = (histories.iter().filter(|history| history.device != largest.device))
        .take(MAX_OTHER_DEVICES)
        .map(|history| {
            let peak = i64::try_from(history.peak.allocated).unwrap_or(i64::MAX);
            format!("{} (peak {})", allocator_name(history.device), units::bytes(peak))
        })
        .collect();
    let more = histories.len().saturating_sub(1 + others.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!others.is_empty())
        .then(|| format!("the device that held most; `memory --device N` for {}{more}", others.join(", ")))
}

/// That nothing was recorded over time, if so.
fn no_history(run: &Run) -> Option<String> {
    let (_, histories) = run.snapshot()?;
    histories.iter().all(|history| history.levels.is_empty()).then(|| {
        "no history: call torch.cuda.memory._record_memory_history() before what you want to see".to_owned()
    })
}

/// The last request that a device could not meet, if a snapshot has one.
fn refused(run: &Run) -> String {
    let histories = run.snapshot().map_or(&[][..], |(_, histories)| histories);
    let Some(last) = histories.iter().filter_map(|history| history.refusals.last()).next_back() else {
        return String::new();
    };
    let size = |bytes: u64| units::bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    let free = last.free();
    let why = match last.obstacle() {
        Obstacle::SetApart => {
            format!(
                "{} was free in one piece, but set apart for another stream or pool",
                size(last.largest_gap)
            )
        }
        Obstacle::Fragmentation => format!(
            "{} was free, but at most {} in one piece: fragmentation, which expandable_segments:True avoids",
            size(free),
            size(last.largest_gap)
        ),
        Obstacle::Shortage => {
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

fn next(run: &Run, report: &HeapReport) -> Vec<Next> {
    let mut next = Vec::new();
    if run.snapshot().is_some_and(|(_, histories)| histories.iter().any(|history| !history.refusals.is_empty()))
    {
        next.push(Next { question: "memory --oom", about: "why memory ran out, and what held it" });
    }
    next.extend([
        Next { question: "memory --by stack", about: "who held the peak, by stack, and the curve" },
        Next { question: "memory --leaks", about: "what was not freed, by line" },
    ]);
    if !report.line_memory.is_empty() {
        next.push(Next { question: "memory --lines", about: "memory line by line, with the source" });
    }
    if !report.lines.is_empty() {
        next.push(Next { question: "export --to svg -o memory.svg", about: "a flame graph of the peak" });
    }
    next
}
