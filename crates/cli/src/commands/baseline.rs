//! `stepscope baseline`: keeps the numbers of runs under a name.

use std::io::{self, Write};

use serde_json::{Value, json};
use stepscope_analyse::statistics::Statistic;
use stepscope_ask::print::{Cell, Column, Table, middle_ellipsis};
use stepscope_gate::{Measurement, Metric, Record};

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
    let metric = measure::metric(measure::usual_metric(&measurement))?;
    let value = measurement.sample(&metric).center(metric.statistic);
    let value = value.map_or(String::new(), |value| format!(", {metric} {}", metric.quantity.text(value)));
    let repeats = measurement.repeats.len();
    let runs = if repeats == 1 { "1 run".to_owned() } else { format!("{repeats} runs") };
    writeln!(out, "saved {}: {runs}{value} ({})", args.name, measurement.how.words())?;
    writeln!(out, "{place}")?;
    Ok(())
}

fn list(place: &Store, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    let store = measure::store(place)?;
    let columns = vec![
        Column::name("Baseline"),
        Column::text("Measured"),
        Column::text("Commit"),
        Column::text("From"),
        Column::number("Runs"),
        Column::number("Saved"),
    ];
    let nothing =
        format!("no baselines in {}; make one: stepscope baseline save main -- python train.py", store.place());
    let mut table = Table::new(columns).when_empty(nothing);
    let mut rows = Vec::new();
    for name in store.names()? {
        let history = store.history(&name)?;
        let Some(Record { measurement, place }) = history.last() else { continue };
        let commit = measurement.commit.as_ref().map_or(String::new(), |c| c.short().to_owned());
        table.row(vec![
            Cell::text(name.clone()),
            Cell::text(measurement.measured_at.clone()),
            Cell::text(commit),
            Cell::text(measurement.how.words()),
            Cell::count(measurement.repeats.len() as u64),
            Cell::count(history.len() as u64),
        ]);
        rows.push(json!({
            "name": name, "measured_at": measurement.measured_at, "commit": measurement.commit, "how": measurement.how,
            "repeats": measurement.repeats.len(), "saved": history.len(), "place": place,
        }));
    }
    Ok(emit(out, &terminal::detect(&io::stdout()), format, &table, &rows)?)
}

fn show(name: &str, place: &Store, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    let record = measure::store(place)?.newest(name)?;
    let measurement = &record.measurement;
    let columns = vec![
        Column::name("Metric").flexible(20, middle_ellipsis),
        Column::number("Median run"),
        Column::number("Lowest"),
        Column::number("Highest"),
        Column::number("Runs"),
        Column::number("Values"),
    ];
    let mut table = Table::new(columns).title(name, subtitle(measurement));
    let mut rows = Vec::new();
    for key in measurement.keys() {
        let Ok(metric) = Metric::parse(key) else { continue };
        let sample = measurement.sample(&metric);
        let units = sample.units(metric.statistic);
        let of = |share: f64| Statistic::Quantile(share).of(&mut units.clone());
        let text = |value: Option<f64>| Cell::text(value.map_or(String::new(), |v| metric.quantity.text(v)));
        table.row(vec![
            Cell::text(key),
            text(of(0.5)),
            text(of(0.0)),
            text(of(1.0)),
            Cell::count(sample.repeats() as u64),
            Cell::count(sample.values() as u64),
        ]);
        let row: Value = json!({
            "metric": key, "median": of(0.5), "lowest": of(0.0), "highest": of(1.0), "repeats": sample.repeats(),
            "values": sample.values(),
        });
        rows.push(row);
    }
    Ok(emit(out, &terminal::detect(&io::stdout()), format, &table, &rows)?)
}

fn subtitle(measurement: &Measurement) -> String {
    let mut words = vec![measurement.how.words().to_owned(), measurement.measured_at.clone()];
    words.extend(measurement.commit.as_ref().map(|c| format!("{} {}", c.short(), c.subject)));
    words.extend(measurement.steps_from.as_ref().map(|from| format!("step times: {from}")));
    words.join("; ")
}
