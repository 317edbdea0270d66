//! What grows in a snapshot from iteration to iteration, and what was left at its end.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::memory::history::History;
use stepscope_analyse::memory::iterations::IterationMark;
use stepscope_analyse::memory::leaks::{FullRow, Grouping, LeakRow, Leaks, MIN_GROWTH_BYTES, leaks};
use stepscope_analyse::run::Run;
use stepscope_analyse::tables::heap::{HeapLineRow, heap};
use stepscope_ground::Problem;
use stepscope_model::Snapshot;

use super::super::DEFAULT_TOP;
use super::QUESTION;
use super::of_profile::{end_words, lines_table};
use super::of_snapshot::{chosen, name, profile};
use crate::answer::{Answer, Part};
use crate::ask::Ask;
use crate::form::{Member, fact, rows};
use crate::options::RowOptions;
use crate::print::{self, Cell, Column, Columns, KEEP, Role, Table, units};
use crate::rows::arrange;

/// Lines that were left, when they are not what was asked for.
const MAX_LEFT_LINES: usize = 10;
const NONE: &str = "nothing grows from iteration to iteration by 1 MiB or more";
const TOO_FEW: &str = "no verdict: growth shows only over several iterations";
/// Options that are about something else.
const OTHERS: &[&str] = &["at", "oom", "lines", "step", "from", "to"];

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct ComparedDeviceRow {
    device: i64,
    /// Iterations in the history; none where nothing repeats.
    iterations: Option<u64>,
    iteration_ns: Option<i64>,
    enough: bool,
    text: String,
}

fn looked_at(found: &Leaks) -> ComparedDeviceRow {
    ComparedDeviceRow {
        device: found.device,
        iterations: (found.per() == "iteration").then_some(found.iterations as u64),
        iteration_ns: found.seconds.map(|seconds| (seconds * 1e9) as i64),
        enough: found.mark.is_some() && found.enough(),
        text: words(found),
    }
}

/// What such an answer holds.
pub(super) const MEMBERS: &[Member] = &[
    rows::<LeakRow>("leaks"),
    rows::<FullRow>("full"),
    rows::<HeapLineRow>("left_lines"),
    rows::<ComparedDeviceRow>("looked_at"),
    fact::<i64>("total_growth_bytes_each"),
    fact::<Option<u64>>("iterations"),
    fact::<Option<i64>>("iteration_ns"),
];

pub(super) fn answer(
    ask: &Ask,
    run: &Arc<Run>,
    snapshot: &Snapshot,
    histories: &[History],
) -> Result<Answer, Problem> {
    ask.refuse(OTHERS, "--leaks", "leave one of the two out")?;
    let by = match ask.by {
        Some("stack") => Grouping::Stack,
        None | Some("line") => Grouping::Line,
        Some(_) => {
            return Err(Problem::new("leaks are not grouped like this", "--by takes line and stack here"));
        }
    };
    let of_device = histories.iter().filter(|history| ask.device.is_none_or(|asked| asked == history.device));
    let rule = &ask.thresholds.counted_growth();
    let found: Vec<Leaks> =
        of_device.map(|history| leaks(snapshot, history, run.places(), by, MIN_GROWTH_BYTES, rule)).collect();
    let words = found.iter().map(words).collect::<Vec<_>>().join("; ");
    let full: Vec<FullRow> = found.iter().flat_map(Leaks::full).collect();
    let looked: Vec<ComparedDeviceRow> = found.iter().map(looked_at).collect();
    let looked = Part::new("looked_at", looked, |_| Table::default()).shown(false);
    let enough = found.iter().any(|device| device.mark.is_some() && device.enough());
    let total = found.iter().fold(0i64, |sum, device| sum.saturating_add(device.total()));
    let busiest = found.iter().max_by_key(|device| device.iterations);
    let iterations =
        busiest.filter(|device| device.per() == "iteration").map(|device| device.iterations as u64);
    let iteration_ns = busiest.and_then(|device| device.seconds).map(|seconds| (seconds * 1e9) as i64);
    let rows: Vec<LeakRow> = found.into_iter().flat_map(|device| device.rows).collect();
    let frames = ask.frames;
    let by_stack = by == Grouping::Stack;
    let rows = arrange(rows, &ask.rows, Some("growth_bytes_each"), DEFAULT_TOP, |row: &LeakRow| &row.function)?;
    let main = rows.into_part("leaks", if enough { NONE } else { TOO_FEW }, move |rows| {
        leaks_table(rows, by_stack.then_some(frames)).title("What grows", &words)
    });
    let full = Part::new("full", full, full_table);
    let full = if full.is_empty() { full.shown(false) } else { full };
    let report = heap(&profile(ask, run, snapshot, histories).unwrap_or_default());
    let left = report.lines.iter().filter(|row| row.live_bytes > 0).cloned().collect();
    let left =
        arrange(left, &RowOptions::default(), Some("live_bytes"), MAX_LEFT_LINES, |row: &_| &row.function)?;
    let end = match chosen(ask, histories).filter(|_| histories.len() > 1) {
        Some(history) => format!("{}: {}", name(history.device), end_words(&report)),
        None => end_words(&report),
    };
    let left = left.into_part("left_lines", "everything was freed", move |rows| {
        lines_table(rows, true).title("What was left at the end", &end)
    });
    Ok(Answer::new(vec![main, full, left, looked])
        .fact("total_growth_bytes_each", &total)
        .fact("iterations", &iterations)
        .fact("iteration_ns", &iteration_ns)
        .main("leaks"))
}

fn words(found: &Leaks) -> String {
    let device = name(found.device);
    let each = found.seconds.map(|s| format!(" of {}", units::time((s * 1e9) as i64))).unwrap_or_default();
    let iterations = units::count(found.iterations as u64);
    match &found.mark {
        None => format!("{device}: nothing in the history repeats often enough to compare"),
        Some(_) if !found.enough() => {
            format!("{device}: {iterations} iterations are too few to tell; record ten or more")
        }
        Some(IterationMark::Range(range)) => {
            format!("{device}: {iterations} iterations{each}, from ranges named {range}")
        }
        Some(IterationMark::Allocations) => {
            format!("{device}: {iterations} iterations{each}, guessed from allocations that come back")
        }
        Some(IterationMark::Time) => {
            format!("{device}: no iterations seen, so per second, and only what is never freed")
        }
    }
}

fn leaks_table(rows: &[LeakRow], frames: Option<usize>) -> Table {
    let per = rows.first().map_or("iteration", |r| r.per);
    let several = rows.iter().any(|r| r.device != rows[0].device);
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add_if(frames.is_none(), Column::name("Function"), |r| Cell::text(&r.function))
        .add(Column::number(if per == "second" { "Per second" } else { "Per iteration" }).keep(), |r| {
            Cell::text(units::delta_bytes(r.growth_bytes_each)).role(Role::Warn)
        })
        .metric("growth_low", 120, |r| Cell::bytes(r.growth_low))
        .metric("growth_high", 120, |r| Cell::bytes(r.growth_high))
        .metric("held_bytes", 140, |r| Cell::bytes(i64::try_from(r.held_bytes).unwrap_or(i64::MAX)))
        .metric("held_count", 90, |r| Cell::count(r.held_count))
        .metric("compared", 80, |r| Cell::count(r.compared))
        .add_if(several, Column::text("Allocator").priority(130), |r| Cell::text(name(r.device)))
        .add(
            match frames {
                None => Column::text("Where").flexible(14, print::middle_ellipsis).keep(),
                Some(_) => Column::name("Stack").flexible(24, print::end_ellipsis),
            },
            |r| {
                Cell::text(match frames {
                    None if r.line == 0 => r.file.clone(),
                    None => format!("{}:{}", r.file, r.line),
                    Some(frames) => r.stack.iter().take(frames.max(1)).cloned().collect::<Vec<_>>().join(" < "),
                })
            },
        )
        .table()
}

fn full_table(rows: &[FullRow]) -> Table {
    let counts = rows.iter().any(|r| r.per == "iteration");
    let left = if counts { "Iterations left" } else { "Seconds left" };
    let table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Memory"), |r| {
            let size = units::bytes(i64::try_from(r.limit_bytes).unwrap_or(i64::MAX));
            Cell::text(if r.known { format!("{size}, all there is") } else { size })
        })
        .add(Column::number(left).keep(), |r| Cell::count(r.iterations_left))
        .metric("left_ns", KEEP, |r| Cell::maybe(r.left_ns, Cell::time))
        .add(Column::text("Allocator").priority(90), |r| Cell::text(name(r.device)))
        .table();
    let known = rows.iter().all(|r| r.known);
    let words = match known {
        true => "at this rate",
        false => "at this rate; the snapshot does not say how much the device has, so common sizes",
    };
    table.title("When memory runs out", words)
}
