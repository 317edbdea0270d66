//! The memory of a program that `stepscope run --memory` recorded: who held the peak, and what was left at the end.

use stepscope_analyse::tables::heap::{HeapLineRow, HeapReport, HeapStackRow, heap, heap_stacks};
use stepscope_ground::Problem;
use stepscope_model::Profile;

use super::super::TOP;
use super::line_by_line;
use crate::answer::{Answer, Draw, Part};
use crate::ask::Ask;
use crate::print::{self, Cell, Column, Plot, Role, Table, units};
use crate::rows::arrange;

const NONE: &str = "no memory in this profile; `stepscope run --memory` records it";
/// Options that are about a timeline.
const OF_TRACES: &[&str] = &["step", "from", "to"];

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
            let rows = arrange(rows, &ask.rows, Some("peak_bytes"), TOP, |row| {
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
            let rows = arrange(lines, &ask.rows, Some(sort), TOP, |row| &row.function)?;
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

/// The peak in words.
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

/// The end in words.
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
    let growth = rows.iter().any(|row| row.growth_bytes.is_some());
    let mut columns = vec![Column::name("Function")];
    let peak = [Column::number("At the peak").keep(), Column::number("% of peak").priority(150)];
    let end = Column::number("At the end").keep();
    if leaks {
        columns.extend([end, Column::number("Pieces").priority(90)]);
    } else {
        columns.extend(peak);
        columns.extend([Column::number("Pieces").priority(90), end]);
    }
    if growth {
        columns.push(Column::number("Growth").priority(130));
    }
    columns.extend([
        Column::number("Allocated").priority(120),
        Column::number("Allocations").priority(100),
        Column::text("Where").flexible(14, print::middle_ellipsis).keep(),
    ]);
    let mut table = Table::new(columns);
    let count = |count: i64| Cell::count(count.unsigned_abs());
    for row in rows {
        let mut cells = vec![Cell::text(&row.function)];
        if leaks {
            cells.extend([Cell::bytes(row.live_bytes), count(row.live_count)]);
        } else {
            let share = Cell::share(row.peak_share).role(Role::Host);
            cells.extend([
                Cell::bytes(row.peak_bytes),
                share,
                count(row.peak_count),
                Cell::bytes(row.live_bytes),
            ]);
        }
        if growth {
            cells.push(Cell::maybe(row.growth_bytes, |bytes| Cell::text(units::delta_bytes(bytes))));
        }
        cells.extend([Cell::bytes(row.allocated_bytes), count(row.allocations), Cell::text(row.place())]);
        table.row(cells);
    }
    table
}

fn stacks_table(rows: &[HeapStackRow]) -> Table {
    let mut table = Table::new(vec![
        Column::number("At the peak").keep(),
        Column::number("% of peak").priority(120),
        Column::number("Pieces").priority(80),
        Column::number("At the end").priority(110),
        Column::number("Allocated").priority(100),
        Column::name("Stack").flexible(24, print::end_ellipsis),
    ]);
    for row in rows {
        table.row(vec![
            Cell::bytes(row.peak_bytes),
            Cell::share(row.peak_share).role(Role::Host),
            Cell::count(row.peak_count.unsigned_abs()),
            Cell::bytes(row.live_bytes),
            Cell::bytes(row.allocated_bytes),
            Cell::text(row.stack.join(" < ")),
        ]);
    }
    table
}
