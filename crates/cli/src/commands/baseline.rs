//! `stepscope baseline`: keeps the numbers of runs under a name.

use std::io::{self, Write};

use serde::Serialize;
use stepscope_analyse::statistics::Statistic;
use stepscope_ask::print::{Cell, Column, Columns, middle_ellipsis};
use stepscope_regression::{Commit, How, Measurement, Metric, Quantity, Record};

use super::measure;
use crate::args::{Baseline, Save, Store};
use crate::failure::Failure;
use crate::format::{Format, emit};
use crate::terminal;

pub(super) fn run(args: Baseline, out: &mut dyn Write) -> Result<(), Failure> {
    match args {
        Baseline::Save(args) => save(&args, Name::New, out),
        Baseline::Update { save: args, create: false } => save(&args, Name::Known, out),
        Baseline::Update { save: args, create: true } => save(&args, Name::Either, out),
        Baseline::List { place, format } => list(&place, format, out),
        Baseline::Show { name, place, format } => show(&name, &place, format, out),
    }
}

/// Whether there may be a baseline of the name.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Name {
    /// There must be none.
    New,
    /// There must be one.
    Known,
    /// Both is fine.
    Either,
}

fn save(args: &Save, name: Name, out: &mut dyn Write) -> Result<(), Failure> {
    let store = measure::store(&args.place)?;
    // Before anything is measured: that can take hours.
    match (store.has(&args.name)?, name) {
        (true, Name::New) => {
            return Err(Failure::wrong_use(
                format!("a baseline with this name already exists: {}", args.name),
                "measure it again with `stepscope baseline update`; the old numbers stay as its history",
            ));
        }
        (false, Name::Known) => {
            return Err(Failure::wrong_use(
                format!("there is no baseline with this name: {}", args.name),
                "make it with `stepscope baseline save`, or add --create",
            ));
        }
        _ => {}
    }
    let traces = measure::kept_paths(&args.trace)?;
    let mut measurement = if args.command.is_empty() {
        measure::of_files(&args.runs)?
    } else {
        measure::time(&measure::bare(&args.command, &args.timing)?, args.timing.repeats as usize, true)?
    };
    measurement.traces = traces;
    let place = store.add(&args.name, &measurement)?;
    let metric = measure::metric(measurement.usual_metric())?;
    let value = measurement.sample(&metric).center(metric.statistic);
    let value = value.map_or(String::new(), |value| format!(", {metric} {}", metric.quantity.text(value)));
    let repeats = measurement.repeats.len();
    let runs = if repeats == 1 { "1 run".to_owned() } else { format!("{repeats} runs") };
    writeln!(out, "saved {}: {runs}{value} ({})", args.name, measurement.how.text())?;
    writeln!(out, "{place}")?;
    Ok(())
}

fn list(place: &Store, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    let store = measure::store(place)?;
    let mut rows = Vec::new();
    for name in store.names()? {
        let mut history = store.history(&name)?;
        let saved = history.len() as u64;
        let Some(Record { measurement, place }) = history.pop() else { continue };
        let Measurement { measured_at, commit, how, repeats, .. } = measurement;
        rows.push(BaselineRow { name, measured_at, commit, how, repeats: repeats.len() as u64, saved, place });
    }
    let table = Columns::of(&rows)
        .add(Column::name("Baseline"), |r| Cell::text(&r.name))
        .add(Column::text("Measured"), |r| Cell::text(&r.measured_at))
        .add(Column::text("Commit"), |r| Cell::text(r.commit.as_ref().map_or("", Commit::short)))
        .add(Column::text("From"), |r| Cell::text(r.how.text()))
        .add(Column::number("Runs"), |r| Cell::count(r.repeats))
        .add(Column::number("Saved"), |r| Cell::count(r.saved))
        .table()
        .when_empty(format!(
            "no baselines in {}; make one: stepscope baseline save main -- python train.py",
            store.place()
        ));
    Ok(emit(out, &terminal::detect(&io::stdout()), format, &table, &rows)?)
}

/// The newest measurement of a baseline.
#[derive(Serialize)]
struct BaselineRow {
    name: String,
    measured_at: String,
    commit: Option<Commit>,
    how: How,
    repeats: u64,
    saved: u64,
    place: String,
}

/// A metric over the runs of one measurement.
#[derive(Serialize)]
struct MetricRow<'a> {
    metric: &'a str,
    median: Option<f64>,
    lowest: Option<f64>,
    highest: Option<f64>,
    repeats: u64,
    values: u64,
    #[serde(skip)]
    quantity: Quantity,
}

fn show(name: &str, place: &Store, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    let record = measure::store(place)?.newest(name)?;
    let measurement = &record.measurement;
    let row = |key| {
        let metric = Metric::parse(key).ok()?;
        let sample = measurement.sample(&metric);
        let units = sample.units(metric.statistic);
        let quantile = |share: f64| Statistic::Quantile(share).compute(&mut units.clone());
        Some(MetricRow {
            metric: key,
            median: quantile(0.5),
            lowest: quantile(0.0),
            highest: quantile(1.0),
            repeats: sample.repeats() as u64,
            values: sample.values() as u64,
            quantity: metric.quantity,
        })
    };
    let rows: Vec<MetricRow<'_>> = measurement.keys().into_iter().filter_map(row).collect();
    let text = |r: &MetricRow<'_>, value: Option<f64>| {
        Cell::text(value.map_or(String::new(), |value| r.quantity.text(value)))
    };
    let table = Columns::of(&rows)
        .add(Column::name("Metric").flexible(20, middle_ellipsis), |r| Cell::text(r.metric))
        .add(Column::number("Median run"), |r| text(r, r.median))
        .add(Column::number("Lowest"), |r| text(r, r.lowest))
        .add(Column::number("Highest"), |r| text(r, r.highest))
        .add(Column::number("Runs"), |r| Cell::count(r.repeats))
        .add(Column::number("Values"), |r| Cell::count(r.values))
        .table()
        .title(name, subtitle(measurement));
    Ok(emit(out, &terminal::detect(&io::stdout()), format, &table, &rows)?)
}

fn subtitle(measurement: &Measurement) -> String {
    let mut words = vec![measurement.how.text().to_owned(), measurement.measured_at.clone()];
    words.extend(measurement.commit.as_ref().map(|c| format!("{} {}", c.short(), c.subject)));
    words.extend(measurement.steps_from.as_ref().map(|from| format!("step times: {from}")));
    words.join("; ")
}
