//! `stepscope sweep`: tries settings of a command, and says which is worth having.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};
use stepscope_ask::print::{Cell, Column, Columns, Role, units};
use stepscope_ground::Problem;
use stepscope_record::clock::now_ns;
use stepscope_record::machine::{MachineOptions, MachineSampler};
use stepscope_regression::Measurement;
use stepscope_regression::bare::Bare;
use stepscope_regression::sweep::{Combination, Setting, Tradeoff, combinations, command, front, pick};

use super::measure::{self, MeasurementBuilder, Progress};
use crate::args::Sweep;
use crate::failure::Failure;
use crate::format::{Format, emit};
use crate::input::remark;
use crate::terminal;

/// Throughputs this close to the best are the same.
const NOISE_SHARE: f64 = 0.02;

struct Trial {
    combination: Combination,
    measurement: Measurement,
    worth: Tradeoff,
}

/// One combination, as it is shown.
#[derive(Serialize)]
struct CombinationRow {
    settings: Map<String, Value>,
    throughput: f64,
    unit: &'static str,
    speedup: f64,
    memory_bytes: Option<f64>,
    gpu_utilization: Option<f64>,
    energy_j: Option<f64>,
    front: bool,
    pick: bool,
    repeats: usize,
}

pub(super) fn run(args: &Sweep, out: &mut dyn Write) -> Result<(), Failure> {
    let settings = args.settings.iter().map(|text| Setting::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let all = combinations(&settings)?;
    let items = items(args, &settings)?;
    let mut bares = Vec::new();
    for combination in &all {
        bares.push(measure::bare(&command(&args.command, &settings, combination)?, &args.timing)?);
    }
    let tried = time(&bares, args.timing.repeats as usize)?;
    // What programs say themselves is not a guess; but all of them must.
    let self_timed = tried.iter().all(|measurement| measurement.has("samples_per_s"));
    let mut rows = Vec::new();
    for (combination, measurement) in all.into_iter().zip(tried) {
        let items = items.and_then(|at| combination[at].parse::<f64>().ok());
        let worth = Tradeoff::of(&measurement, items, self_timed)
            .ok_or_else(|| Failure::wrong_use("the command took no time", "run something longer"))?;
        rows.push(Trial { combination, measurement, worth });
    }
    print(args, &settings, &rows, items, out)
}

/// The setting that says how many items a step has.
fn items(args: &Sweep, settings: &[Setting]) -> Result<Option<usize>, Failure> {
    let found = match &args.items {
        Some(name) => {
            let at = settings.iter().position(|setting| setting.name == *name);
            Some(at.ok_or_else(|| {
                Failure::wrong_use(format!("no setting is called {name}"), "give it with --arg too")
            })?)
        }
        None => settings.iter().position(|setting| setting.name.starts_with("batch")),
    };
    let Some(at) = found else { return Ok(None) };
    match settings[at].values.iter().find(|value| value.parse::<f64>().is_err()) {
        Some(value) if args.items.is_some() => Err(Failure::wrong_use(
            format!("this is not a number of items: {value}"),
            "name another setting with --items",
        )),
        Some(_) => Ok(None),
        None => Ok(Some(at)),
    }
}

/// All combinations in turns, again and again, so that what changes with time hits all alike.
fn time(bares: &[Bare], repeats: usize) -> Result<Vec<Measurement>, Failure> {
    let mut progress = Progress::new(bares.len() * repeats);
    let mut gathered = bares.iter().map(MeasurementBuilder::new).collect::<Result<Vec<_>, _>>()?;
    let monitor = MachineSampler::new(&MachineOptions::default());
    let watches = monitor.counters().iter().any(|counter| counter.name.starts_with("gpu."));
    if watches {
        monitor.start();
    }
    for repeat in 0..repeats {
        for turn in 0..bares.len() {
            // Every round begins with another one.
            let at = (turn + repeat) % bares.len();
            let began = now_ns();
            let mut timed = bares[at].once().map_err(Problem::from)?;
            if watches {
                for (key, value) in used(&monitor, began, now_ns()) {
                    timed.repeat.put(key, [value]);
                }
            }
            progress.ran("", &timed);
            gathered[at].add(timed)?;
        }
    }
    if watches {
        monitor.stop();
    }
    drop(progress);
    let mut finished = Vec::new();
    for (at, each) in gathered.into_iter().enumerate() {
        // One remark on where step times come from is enough.
        finished.push(if at == 0 { each.finish() } else { each.so_far().clone() });
    }
    Ok(finished)
}

/// What the GPUs did meanwhile, by their driver: of the busiest one, and the energy of all.
fn used(monitor: &MachineSampler, from_ns: i64, to_ns: i64) -> Vec<(&'static str, f64)> {
    let window = monitor.window(from_ns, to_ns);
    let highest = |ending: &str, of: fn(&stepscope_record::machine::Summary) -> f64| {
        let ours = window.iter().filter(|(name, _)| name.starts_with("gpu.") && name.ends_with(ending));
        ours.map(|(_, summary)| of(summary)).max_by(f64::total_cmp)
    };
    let joules: f64 = window
        .iter()
        .filter(|(name, _)| name.starts_with("gpu.") && name.ends_with(".energy_j"))
        .map(|(_, summary)| summary.last - summary.first)
        .sum();
    let busy = highest(".utilization_percent", |summary| summary.mean).map(|percent| percent / 100.0);
    let memory = highest(".memory_used_bytes", |summary| summary.max);
    let energy = (joules > 0.0).then_some(joules);
    [("gpu_utilization", busy), ("peak_gpu_memory", memory), ("energy", energy)]
        .into_iter()
        .filter_map(|(key, value)| value.map(|value| (key, value)))
        .collect()
}

fn print(
    args: &Sweep,
    settings: &[Setting],
    rows: &[Trial],
    items: Option<usize>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let worths: Vec<Tradeoff> = rows.iter().map(|row| row.worth).collect();
    let (on_front, best) = (front(&worths), pick(&worths, NOISE_SHARE));
    let per = if rows.iter().all(|row| row.measurement.has("samples_per_s")) {
        "samples/s"
    } else if items.is_some() {
        "items/s"
    } else if rows.iter().any(|r| r.measurement.has("step_time")) {
        "steps/s"
    } else {
        "runs/s"
    };
    let first = worths[0];
    let combination_row = |(at, tried): (usize, &Trial)| CombinationRow {
        settings: settings
            .iter()
            .zip(&tried.combination)
            .map(|(setting, value)| (setting.name.clone(), value.clone().into()))
            .collect(),
        throughput: tried.worth.throughput,
        unit: per,
        speedup: tried.worth.throughput / first.throughput,
        memory_bytes: tried.worth.memory,
        gpu_utilization: tried.measurement.center("gpu_utilization"),
        energy_j: tried.measurement.center("energy"),
        front: on_front[at],
        pick: best == Some(at),
        repeats: tried.measurement.repeats.len(),
    };
    let data: Vec<CombinationRow> = rows.iter().enumerate().map(combination_row).collect();
    let table = Columns::of(&data)
        .add_each(
            settings,
            |setting| Column::text(setting.name.clone()).keep(),
            |setting, r| Cell::text(r.settings[&setting.name].as_str().unwrap_or_default()),
        )
        .add(Column::number(per).keep(), |r| Cell::text(format!("{:.4}", Short(r.throughput))))
        .add(Column::number("Speed-up"), |r| Cell::text(format!("{:.2}x", r.speedup)))
        .add(Column::number("Memory"), |r| Cell::maybe(r.memory_bytes, |bytes| Cell::bytes(bytes as i64)))
        .add(Column::number("GPU busy"), |r| Cell::maybe(r.gpu_utilization, Cell::percent))
        .add(Column::number("Energy"), |r| {
            Cell::text(r.energy_j.map_or(String::new(), |joules| format!("{joules:.1} J")))
        })
        .add(Column::text("Best").keep(), |r| match (r.pick, r.front) {
            (true, _) => Cell::text("take this").role(Role::Good),
            (_, true) => Cell::text("front").role(Role::Dim),
            _ => Cell::text("").role(Role::Dim),
        })
        .table()
        .title("Settings", "median over runs; speed-up over the first row");
    let screen = terminal::detect(&io::stdout());
    emit(out, &screen, args.format, &table, &data)?;
    if let (Some(best), Format::Table) = (best, args.format) {
        writeln!(out, "\n{}", screen.text(&sentence(settings, rows, best)))?;
    } else if let Some(best) = best {
        remark(&sentence(settings, rows, best));
    }
    Ok(())
}

/// `batch 128: 1.90x throughput, 71.0% memory` of the first combination.
fn sentence(settings: &[Setting], rows: &[Trial], best: usize) -> String {
    let words: Vec<String> = settings
        .iter()
        .zip(&rows[best].combination)
        .map(|(setting, value)| format!("{} {value}", setting.name))
        .collect();
    let (first, chosen) = (rows[0].worth, rows[best].worth);
    let memory = match (chosen.memory, first.memory) {
        (Some(now), Some(before)) if before > 0.0 => {
            format!(", {} of the memory", units::percent(now / before))
        }
        _ => String::new(),
    };
    format!(
        "{}: {:.2}x the throughput{memory} of the first row",
        words.join(", "),
        chosen.throughput / first.throughput
    )
}

/// A number with about four digits.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let decimals = (3 - self.0.abs().max(1e-3).log10().floor() as i32).clamp(0, 6) as usize;
        write!(f, "{:.decimals$}", self.0)
    }
}
