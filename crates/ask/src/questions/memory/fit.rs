//! The largest batch that fits, from runs with different batches.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::memory::capacity::{batch, usable};
use stepscope_analyse::memory::categories::Categories;
use stepscope_analyse::memory::fit::{FittedLine, RunRow};
use stepscope_analyse::memory::history::{History, largest};
use stepscope_analyse::memory::peak_without::{MemorySaving, peak_without};
use stepscope_analyse::memory::{self, Options};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;
use stepscope_model::{Order, Snapshot};

use super::QUESTION;
use crate::answer::{Answer, Part};
use crate::ask::Ask;
use crate::form::{Member, rows};
use crate::print::{self, Cell, Column, Columns, KEEP, Role, Table, units, wrap};

/// Sizes of devices, where nothing says how much there is.
const COMMON_GIB: [u64; 10] = [8, 16, 24, 40, 48, 80, 96, 141, 192, 288];
/// How many of them, from the first that the runs would fit in.
const MAX_SIZES: usize = 4;

/// A peak as a fixed part and one per sample.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct FitRow {
    /// `in use` or `reserved`.
    of: &'static str,
    /// Whatever the batch.
    fixed_bytes: i64,
    bytes_per_sample: i64,
    /// How far runs are off; none for two.
    residual_bytes: Option<i64>,
}

/// The largest batch within a limit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct LargestRow {
    limit_bytes: u64,
    /// Whether the process is known to have it; otherwise it is a common size.
    known: bool,
    /// The largest batch; none if memory does not grow with the batch.
    largest_batch: Option<u64>,
    /// At least.
    largest_batch_low: Option<u64>,
    /// At most.
    largest_batch_high: Option<u64>,
}

/// A change that makes room, by an estimate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RoomRow")]
struct ChangeRow {
    change: &'static str,
    /// How much lower the peak of the run with the largest batch would be.
    saved_bytes: u64,
    /// Whatever the batch.
    fixed_bytes: i64,
    bytes_per_sample: i64,
    /// The limit that the batch is for.
    limit_bytes: u64,
    largest_batch: Option<u64>,
    /// How it was worked out, and what it costs.
    arithmetic: &'static str,
}

struct FitRun<'a> {
    row: RunRow,
    limit: Option<u64>,
    snapshot: Option<(&'a Snapshot, &'a History)>,
}

/// What such an answer holds.
pub(super) const MEMBERS: &[Member] = &[
    rows::<LargestRow>("largest"),
    rows::<FitRow>("fit"),
    rows::<RunRow>("runs"),
    rows::<ChangeRow>("changes"),
];

pub(super) fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    ask.refuse(
        &["leaks", "oom", "lines", "at", "by", "step", "from", "to", "sort", "filter"],
        "--fit",
        "leave it out",
    )?;
    if runs.len() < 2 {
        return Err(Problem::new(
            "--fit needs runs with different batches",
            "name two files or more: stepscope memory small.pickle large.pickle --fit --batch 16,64",
        ));
    }
    let batches = batches(ask, runs)?;
    let mut seen: Vec<FitRun<'_>> = Vec::new();
    for (run, batch) in runs.iter().zip(batches) {
        seen.push(measure_fit(ask, run, batch)?);
    }
    seen.order_by_key(|run| run.row.batch);
    let in_use = line(&seen, |run| run.row.peak_allocated_bytes)?;
    let reserved = line(&seen, needed)?;
    for run in &mut seen {
        let said = reserved.at(run.row.batch as f64);
        run.row.off_bytes = (needed(run) as f64 - said).round() as i64;
    }
    let limits = limits(ask, &seen);
    let row = |&(limit, known): &(u64, bool)| LargestRow {
        limit_bytes: limit,
        known,
        largest_batch: reserved.largest(limit, 0.0),
        largest_batch_low: reserved.largest(limit, 1.0),
        largest_batch_high: in_use.largest(limit, -1.0),
    };
    let fits: Vec<LargestRow> = limits.iter().map(row).collect();
    let changes = match limits.first() {
        Some(&(limit, _)) => changes(&seen, limit),
        None => Vec::new(),
    };
    let two = reserved.points() == 2;
    let text = in_words(&seen, &reserved, fits.first());
    let of = |of, line: &FittedLine| FitRow {
        of,
        fixed_bytes: line.fixed.round() as i64,
        bytes_per_sample: line.each.round() as i64,
        residual_bytes: line.residual.map(|off| off.round() as i64),
    };
    let rows: Vec<RunRow> = seen.into_iter().map(|run| run.row).collect();
    let has_changes = !changes.is_empty();
    let mut answer = Answer::new(vec![
        Part::new("largest", fits, largest_table),
        Part::new("fit", vec![of("in use", &in_use), of("reserved", &reserved)], move |rows| {
            fit_table(rows, two)
        }),
        Part::new("runs", rows, runs_table),
        Part::new("changes", changes, changes_table).shown(has_changes),
    ]);
    answer.above = Some(Box::new(move |out, screen| {
        print::heading(out, screen, "What fits", "a straight line through the peaks of the largest batches")?;
        for line in wrap(&screen.text(&text), screen.width.clamp(20, 100)) {
            writeln!(out, "{line}")?;
        }
        writeln!(out)
    }));
    if has_changes {
        answer.below = Some(Box::new(|out, screen| {
            print::note(
                out,
                screen,
                "Changes are estimates: what memory is for is guessed from stacks, and each history is replayed with less of it.",
            )
        }));
    }
    Ok(answer)
}

/// What the allocator needed; where a file does not say, what the program did.
fn needed(run: &FitRun<'_>) -> u64 {
    run.row.peak_reserved_bytes.unwrap_or(run.row.peak_allocated_bytes)
}

fn line(seen: &[FitRun<'_>], of: impl Fn(&FitRun<'_>) -> u64) -> Result<FittedLine, Problem> {
    let points: Vec<(f64, f64)> = seen.iter().map(|run| (run.row.batch as f64, of(run) as f64)).collect();
    FittedLine::rising(&points).ok_or_else(|| {
        let hint = "record the program with another batch, or name the batches: --batch 16,64";
        Problem::new("all of these runs have the same batch", hint)
    })
}

fn measure_fit<'a>(ask: &Ask, run: &'a Arc<Run>, batch: u64) -> Result<FitRun<'a>, Problem> {
    let path = run.trace().meta().source.path.clone();
    let wanted = |device: i64| device >= 0 && ask.device.is_none_or(|asked| asked == device);
    let none = || Problem::new(format!("there is no GPU memory in this file: {path}"), super::SNAPSHOTS_ONLY);
    if let Some((snapshot, histories)) = run.snapshot() {
        let of_devices = histories.iter().filter(|history| wanted(history.device));
        let most = largest(of_devices).ok_or_else(none)?;
        let row = RunRow {
            run: path,
            batch,
            peak_allocated_bytes: most.peak.allocated,
            peak_reserved_bytes: Some(most.peak.reserved),
            off_bytes: 0,
        };
        return Ok(FitRun { row, limit: usable(snapshot, most), snapshot: Some((snapshot, most)) });
    }
    let report = memory::analyze(run.trace(), &Options { curve_points: 2, ..Options::default() });
    let on_devices = report.devices.iter().filter(|device| device.device_id.is_some_and(wanted));
    let most = on_devices.max_by_key(|device| device.peak_allocated_bytes).ok_or_else(none)?;
    let size = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
    let described = most.device_id.and_then(|id| run.trace().meta().device(id));
    let row = RunRow {
        run: path,
        batch,
        peak_allocated_bytes: size(most.peak_allocated_bytes),
        peak_reserved_bytes: most.peak_reserved_bytes.map(size),
        off_bytes: 0,
    };
    Ok(FitRun { row, limit: described.and_then(|d| d.total_memory_bytes).map(size), snapshot: None })
}

/// The batch of each run: as given, as recorded.
fn batches(ask: &Ask, runs: &[Arc<Run>]) -> Result<Vec<u64>, Problem> {
    let given = ask.batch.as_deref().unwrap_or_default();
    let named = given.iter().any(|(name, _)| name.is_some());
    if !given.is_empty() && !named && given.len() != runs.len() {
        return Err(Problem::new(
            format!("--batch has {} numbers for {} files", given.len(), runs.len()),
            "give one per file in their order, or name them: --batch small=16,large=64",
        ));
    }
    let of_run = |(at, run): (usize, &Arc<Run>)| {
        let path = &run.trace().meta().source.path;
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let is_named = |name: &str| {
            name == path || name == file || file.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
        };
        let by_name = || given.iter().find(|(name, _)| name.as_deref().is_some_and(is_named));
        let by_place = || given.get(at).filter(|_| !named);
        let in_steps = || {
            let samples = run.samples()?.per_step();
            (samples >= 1.0 && samples.fract() == 0.0).then_some(samples as u64)
        };
        let recorded = || run.snapshot().and_then(|(snapshot, _)| batch(snapshot)).or_else(in_steps);
        by_name().or_else(by_place).map(|(_, batch)| *batch).or_else(recorded).ok_or_else(|| {
            let hint = "name the batches in the order of the files (--batch 16,64), or record them: \
                        stepscope.memory.record(path=…, batch=64), or step(samples=64) in a trace";
            Problem::new(format!("the batch of this file is not known: {path}"), hint)
        })
    };
    runs.iter().enumerate().map(of_run).collect()
}

/// The limits to look at, and whether they are known.
fn limits(ask: &Ask, seen: &[FitRun<'_>]) -> Vec<(u64, bool)> {
    // The run that was left most shows what the process can have.
    match ask.capacity.or_else(|| seen.iter().filter_map(|run| run.limit).max()) {
        Some(limit) => vec![(limit, true)],
        None => {
            let least = seen.iter().map(needed).min().unwrap_or(0);
            let sizes = COMMON_GIB.iter().map(|gib| gib << 30).filter(|size| *size > least);
            sizes.take(MAX_SIZES).map(|size| (size, false)).collect()
        }
    }
}

const CHANGES: [(MemorySaving, &str, &str); 3] = [
    (
        MemorySaving::Recompute,
        "recompute activations",
        "activations of blocks that are alike are kept for one block at a time, and one input per block; costs about another \
         forward pass",
    ),
    (
        MemorySaving::HalfActivations,
        "activations in bfloat16",
        "activations take half; nothing if they have 16 bits already, which a snapshot does not say",
    ),
    (
        MemorySaving::SmallStates,
        "8-bit optimizer state",
        "the optimizer's state takes a quarter of what it does with 32 bits per value",
    ),
];

fn changes(seen: &[FitRun<'_>], limit: u64) -> Vec<ChangeRow> {
    let categories: Vec<Option<Categories<'_>>> = seen
        .iter()
        .map(|run| run.snapshot.map(|(snapshot, history)| Categories::new(snapshot, history)))
        .collect();
    let peak = |at: usize, change: MemorySaving| -> Option<u64> {
        let (_, history) = seen[at].snapshot?;
        Some(peak_without(history, categories[at].as_ref()?, change)?.peak)
    };
    let row = |&(change, name, arithmetic): &(MemorySaving, &'static str, &'static str)| {
        let mut points = Vec::new();
        let mut saved_bytes = 0;
        for (at, run) in seen.iter().enumerate() {
            // What the allocator holds beyond what is in use stays the same.
            saved_bytes = run.row.peak_allocated_bytes.saturating_sub(peak(at, change)?);
            points.push((run.row.batch as f64, needed(run).saturating_sub(saved_bytes) as f64));
        }
        let line = FittedLine::rising(&points)?;
        (saved_bytes > 0).then(|| ChangeRow {
            change: name,
            saved_bytes,
            fixed_bytes: line.fixed.round() as i64,
            bytes_per_sample: line.each.round() as i64,
            limit_bytes: limit,
            largest_batch: line.largest(limit, 0.0),
            arithmetic,
        })
    };
    CHANGES.iter().filter_map(row).collect()
}

fn size(bytes: u64) -> String {
    units::bytes(i64::try_from(bytes).unwrap_or(i64::MAX))
}

fn in_words(seen: &[FitRun<'_>], reserved: &FittedLine, fits: Option<&LargestRow>) -> String {
    let largest = &seen[seen.len() - 1].row;
    let per = units::bytes(reserved.each.round() as i64);
    let fixed = units::bytes(reserved.fixed.round() as i64);
    let mut text = format!("Reserved memory is {fixed} whatever the batch, and {per} per sample. ");
    if let Some(row) = fits {
        let within = match row.known {
            true => format!("Within {}", size(row.limit_bytes)),
            false => format!("On a device with {}", size(row.limit_bytes)),
        };
        match row.largest_batch {
            Some(0) => text.push_str(&format!("{within}, not even one sample fits. ")),
            Some(batch) => {
                let batch = units::count(batch);
                let (low, high) = (row.largest_batch_low, row.largest_batch_high);
                let low = low.map_or_else(|| "any".to_owned(), units::count);
                let high = high.map_or_else(|| "no known end".to_owned(), units::count);
                text.push_str(&format!("{within}, a batch of about {batch} fits, from {low} to {high}. "));
            }
            None => text.push_str(&format!("{within}, every batch fits: memory does not grow with it. ")),
        }
    }
    if let Some(batch) = fits.and_then(|row| row.largest_batch)
        && batch > largest.batch.saturating_mul(4)
    {
        text.push_str(
            "That is more than four times the largest batch recorded, so try it before you rely on it. ",
        );
    }
    let off = seen.len() - reserved.points();
    if off > 0 {
        let from = units::count(seen[off].row.batch);
        text.push_str(&format!(
            "With smaller batches the peak is elsewhere and grows less, so only runs from a batch of {from} on count. "
        ));
    }
    if reserved.residual.is_none() {
        let third = if off > 0 { "a larger batch" } else { "a third batch" };
        text.push_str(&format!(
            "Two runs always lie on a line, so nothing says how good it is: record {third}."
        ));
    }
    text.trim_end().to_owned()
}

fn largest_table(rows: &[LargestRow]) -> Table {
    let known = rows.iter().all(|r| r.known);
    let table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Memory"), |r| Cell::text(size(r.limit_bytes)))
        .metric("largest_batch", KEEP, |r| Cell::maybe(r.largest_batch, Cell::count))
        .metric("largest_batch_low", 130, |r| Cell::maybe(r.largest_batch_low, Cell::count))
        .metric("largest_batch_high", 120, |r| Cell::maybe(r.largest_batch_high, Cell::count))
        .table();
    let words = match known {
        true => "what the process can have",
        false => {
            "the files do not say how much the device has, so common sizes; CUDA itself takes up to 1 GiB of it"
        }
    };
    table.title("Largest batch", words)
}

fn fit_table(rows: &[FitRow], two: bool) -> Table {
    let table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Peak of"), |r| Cell::text(r.of))
        .metric("fixed_bytes", KEEP, |r| Cell::bytes(r.fixed_bytes))
        .metric("bytes_per_sample", KEEP, |r| Cell::bytes(r.bytes_per_sample))
        .metric("residual_bytes", 120, |r| Cell::maybe(r.residual_bytes, Cell::bytes))
        .table();
    let words = if two { "exact through two runs: no residual" } else { "least squares" };
    table.title("The line", words)
}

fn runs_table(rows: &[RunRow]) -> Table {
    let bytes = |bytes: u64| Cell::bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .metric("batch", KEEP, |r| Cell::count(r.batch))
        .metric("peak_allocated_bytes", KEEP, |r| bytes(r.peak_allocated_bytes))
        .metric("peak_reserved_bytes", 130, |r| Cell::maybe(r.peak_reserved_bytes, bytes))
        .metric("off_bytes", 120, |r| Cell::text(units::delta_bytes(r.off_bytes)))
        .add(Column::name("Run").flexible(24, print::middle_ellipsis), |r| Cell::text(&r.run))
        .table()
        .title("Runs", "the most at once on the device that held most")
}

fn changes_table(rows: &[ChangeRow]) -> Table {
    let table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Change"), |r| Cell::text(r.change))
        .metric("saved_bytes", KEEP, |r| Cell::bytes(i64::try_from(r.saved_bytes).unwrap_or(i64::MAX)))
        .metric("fixed_bytes", 110, |r| Cell::bytes(r.fixed_bytes))
        .metric("bytes_per_sample", 120, |r| Cell::bytes(r.bytes_per_sample))
        .metric("largest_batch", KEEP, |r| Cell::maybe(r.largest_batch, Cell::count).role(Role::Device))
        .add(Column::text("Arithmetic").flexible(30, print::end_ellipsis).priority(100), |r| {
            Cell::text(r.arithmetic)
        })
        .table();
    let limit = rows.first().map_or_else(String::new, |r| size(r.limit_bytes));
    table.title("What would make room", format!("estimates, for {limit}"))
}
