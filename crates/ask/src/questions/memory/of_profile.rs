//! The memory of a program that `stepscope run --memory` recorded: who held the peak, and what was left at the end.

use stepscope_analyse::tables::heap::{HeapLineRow, HeapReport, HeapStackRow, heap, heap_stacks};
use stepscope_ground::Problem;
use stepscope_model::Profile;

use super::super::DEFAULT_TOP;
use super::QUESTION;
use super::line_by_line;
use crate::answer::{Answer, Draw, Part};
use crate::ask::Ask;
use crate::form::{Member, fact};
use crate::print::{self, Cell, Column, Columns, KEEP, Plot, Role, Table, units};
use crate::rows::arrange;

const NONE: &str = "no memory in this profile; `stepscope run --memory` records it";
/// Options that are about a timeline.
const OF_TRACES: &[&str] = &["step", "from", "to"];

/// What is said once about the whole profile.
pub(super) const FACTS: &[Member] = &[
    fact::<u64>("peak_bytes"),
    fact::<i64>("peak_at_ns"),
    fact::<u64>("end_bytes"),
    fact::<Option<u64>>("peak_rss_bytes"),
    fact::<u64>("sample_bytes"),
    fact::<i64>("recorded_ns"),
    fact::<Option<i64>>("earlier_at_ns"),
];

/// `device`: which one it is, where there are several.
pub(super) fn answer(ask: &Ask, profile: Option<&Profile>, device: Option<String>) -> Result<Answer, Problem> {
    ask.refuse(OF_TRACES, "a profile of memory", "it has no steps; leave the option out")?;
    let none = Profile::default();
    let profile = profile.unwrap_or(&none);
    let of = |words: String| device.as_ref().map_or(words.clone(), |device| format!("{device}: {words}"));
    let report = heap(profile);
    let curve = Part::data("curve", report.curve()).shown(false);
    let part = match ask.grouped() {
        _ if ask.lines => {
            ask.refuse(&["sort", "leaks", "by"], "--lines", "leave one of the two out")?;
            let path = profile.source.path.clone();
            return Ok(with_facts(line_by_line::answer(ask, &report, &path)?, &report));
        }
        "stack" => {
            ask.refuse(&["leaks"], "--by stack", "use --sort live_bytes")?;
            let rows = heap_stacks(profile, ask.frames);
            let words = of(peak_words(&report));
            let rows = arrange(rows, &ask.rows, Some("peak_bytes"), DEFAULT_TOP, |row| {
                row.stack.first().map(String::as_str).unwrap_or_default()
            })?;
            rows.into_part("heap_stacks", NONE, move |rows| stacks_table(rows).title("Memory by stack", &words))
        }
        "event" => {
            return Err(Problem::new(
                "a profile of memory does not keep allocations one by one",
                "--by takes peak and stack; --lines shows lines, --leaks what was left",
            ));
        }
        _ => {
            let leaks = ask.leaks;
            let sort = if leaks { "live_bytes" } else { "peak_bytes" };
            let words = of(if leaks { end_words(&report) } else { peak_words(&report) });
            let title = if leaks { "What was left at the end" } else { "Memory by line" };
            let mut lines = report.lines.clone();
            if leaks {
                lines.retain(|row| row.live_bytes > 0);
            }
            let rows = arrange(lines, &ask.rows, Some(sort), DEFAULT_TOP, |row| &row.function)?;
            rows.into_part("heap_lines", NONE, move |rows| lines_table(rows, leaks).title(title, &words))
        }
    };
    let main = part.key;
    let mut part = part;
    part.picture = Some(picture(&report));
    Ok(with_facts(Answer::new(vec![part, curve]).main(main), &report))
}

fn with_facts(answer: Answer, report: &HeapReport) -> Answer {
    let facts = &report.facts;
    answer
        .fact("peak_bytes", &facts.peak_bytes)
        .fact("peak_at_ns", &facts.peak_at.0)
        .fact("end_bytes", &facts.end_bytes)
        .fact("peak_rss_bytes", &report.peak_rss().map(|(bytes, _)| bytes))
        .fact("sample_bytes", &facts.sample_bytes)
        .fact("recorded_ns", &facts.duration.0)
        .fact("earlier_at_ns", &facts.earlier_at.map(|at| at.0))
}

fn size(bytes: u64) -> String {
    units::bytes(i64::try_from(bytes).unwrap_or(i64::MAX))
}

pub(in super::super) fn peak_words(report: &HeapReport) -> String {
    let facts = &report.facts;
    let mut words = format!(
        "peak {} at {} of {}",
        size(facts.peak_bytes),
        units::time(facts.peak_at.0),
        units::time(facts.duration.0)
    );
    if facts.sample_bytes > 0 {
        words.push_str(&format!(", estimated from one sample per {}", size(facts.sample_bytes)));
    }
    words
}

pub(in super::super) fn end_words(report: &HeapReport) -> String {
    let facts = &report.facts;
    let end = size(facts.end_bytes);
    match facts.earlier_at {
        Some(at) => format!("{end} not freed; growth since {}", units::time(at.0)),
        None => format!("{end} not freed"),
    }
}

/// Memory over time: what was allocated, or what the process took where that is all there is.
fn picture(report: &HeapReport) -> Draw {
    let curve = &report.facts.curve;
    let live: Vec<(i64, i64)> = curve
        .iter()
        .filter_map(|point| Some((point.at.0, i64::try_from(point.live_bytes.or(point.rss_bytes)?).ok()?)))
        .collect();
    let has_live = curve.iter().any(|point| point.live_bytes.is_some());
    let rss = report.peak_rss().map(|(bytes, _)| format!(", peak RSS {}", size(bytes))).unwrap_or_default();
    let words = match has_live {
        true => format!("allocated over time, peak {}{rss}", size(report.facts.peak_bytes)),
        false => format!("resident memory over time, peak {}", size(report.facts.peak_bytes)),
    };
    Box::new(move |out, screen| {
        if live.len() < 2 || live.iter().all(|point| point.1 <= 0) {
            return Ok(());
        }
        print::heading(out, screen, "Memory", &words)?;
        let plot = Plot { role: Role::Host, ..Plot::new(screen.width.min(110), 8) };
        print::area_plot(out, screen, &live, &plot)?;
        writeln!(out)
    })
}

/// Lines by what they held.
pub(in super::super) fn lines_table(rows: &[HeapLineRow], leaks: bool) -> Table {
    let growth = rows.iter().any(|r| r.growth_bytes.is_some());
    let count = |count: i64| Cell::count(count.unsigned_abs());
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Function"), |r| Cell::text(&r.function))
        .metric_if(leaks, "live_bytes", KEEP, |r| Cell::bytes(r.live_bytes))
        .metric_if(leaks, "live_count", 90, |r| count(r.live_count))
        .metric_if(!leaks, "peak_bytes", KEEP, |r| Cell::bytes(r.peak_bytes))
        .metric_if(!leaks, "peak_share", 150, |r| Cell::share(r.peak_share).role(Role::Host))
        .metric_if(!leaks, "peak_count", 90, |r| count(r.peak_count))
        .metric_if(!leaks, "live_bytes", KEEP, |r| Cell::bytes(r.live_bytes))
        .metric_if(growth, "growth_bytes", 130, |r| {
            Cell::maybe(r.growth_bytes, |bytes| Cell::text(units::delta_bytes(bytes)))
        })
        .metric("allocated_bytes", 120, |r| Cell::bytes(r.allocated_bytes))
        .metric("allocations", 100, |r| count(r.allocations))
        .add(Column::text("Where").flexible(14, print::middle_ellipsis).keep(), |r| Cell::text(r.place()))
        .table()
}

fn stacks_table(rows: &[HeapStackRow]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .metric("peak_bytes", KEEP, |r| Cell::bytes(r.peak_bytes))
        .metric("peak_share", 120, |r| Cell::share(r.peak_share).role(Role::Host))
        .metric("peak_count", 80, |r| Cell::count(r.peak_count.unsigned_abs()))
        .metric("live_bytes", 110, |r| Cell::bytes(r.live_bytes))
        .metric("allocated_bytes", 100, |r| Cell::bytes(r.allocated_bytes))
        .add(Column::name("Stack").flexible(24, print::end_ellipsis), |r| Cell::text(r.stack.join(" < ")))
        .table()
}
