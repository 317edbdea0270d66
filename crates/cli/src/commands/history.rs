//! `stepscope history`: one metric of a baseline over time, and where it changed.

mod shown;

use std::io::{self, Write};

use serde_json::{Value, json};
use stepscope_ask::print::{Cell, Column, Role, Table, end_ellipsis, sparkline};
use stepscope_gate::{FEW, History, Point, report};

use super::measure;
use crate::args::History as Args;
use crate::failure::Failure;
use crate::format::{Format, emit};
use crate::input::remark;
use crate::terminal;

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    if args.view {
        return shown::run(args, out);
    }
    let metric = measure::metric(args.metric.as_deref().unwrap_or("step_time"))?;
    if !(0.0..=1000.0).contains(&args.margin) {
        return Err(Failure::wrong_use("the margin is a percentage", "use --margin 1 for 1%"));
    }
    let records = measure::store(&args.place)?.history(&args.baseline)?;
    let total = records.len();
    let history = History::new(records, &args.baseline, metric, args.margin / 100.0)?;
    let (metric, points, changes) = (&history.metric, &history.points, &history.changes);
    if history.left_out > 0 {
        remark(&format!(
            "{} of {total} measurements are left out: another machine, another way, or without {metric}",
            history.left_out
        ));
    }
    if points.len() < FEW {
        remark(&format!(
            "{} measurements are too few to tell a change from noise; at least {FEW} are needed",
            points.len()
        ));
    }
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let screen = terminal::detect(&io::stdout());
    let mut table = Table::new(vec![
        Column::text("Measured"),
        Column::text("Commit"),
        Column::name("Subject").flexible(16, end_ellipsis),
        Column::number(metric.name.clone()),
        Column::number("Runs"),
        Column::text("Change").keep(),
    ]);
    let mut rows: Vec<Value> = Vec::new();
    for (at, Point { record, value, .. }) in points.iter().enumerate() {
        let change = changes.iter().find(|change| change.at == at);
        let commit = record.measurement.commit.as_ref();
        let words = change.map_or(String::new(), |c| report::percent(c.after / c.before));
        let role = change.map_or(Role::Dim, |c| if c.after > c.before { Role::Bad } else { Role::Good });
        table.row(vec![
            Cell::text(record.measurement.measured_at.clone()),
            Cell::text(commit.map_or("", |c| c.short())),
            Cell::text(commit.map_or("", |c| c.subject.as_str())),
            Cell::text(metric.quantity.text(*value)),
            Cell::count(record.measurement.repeats.len() as u64),
            Cell::text(words).role(role),
        ]);
        rows.push(json!({
            "measured_at": record.measurement.measured_at, "commit": commit, "value": value, "change": change,
            "repeats": record.measurement.repeats.len(),
        }));
    }
    let sentences: Vec<String> = changes.iter().map(|change| history.sentence(change)).collect();
    let subtitle = match sentences.len() {
        0 => "no change of level".to_owned(),
        1 => "1 change of level".to_owned(),
        many => format!("{many} changes of level"),
    };
    table = table.title(format!("{metric} of {}", args.baseline), subtitle);
    if args.format == Format::Table {
        // From the lowest value, not from zero: 5% would not show.
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let scale = if high > low { 1e6 / (high - low) } else { 0.0 };
        let bars: Vec<i64> = values.iter().map(|v| ((v - low) * scale) as i64).collect();
        writeln!(out, "{}", sparkline(&screen, &bars, screen.width.saturating_sub(2)))?;
        writeln!(out, "{} to {}\n", metric.quantity.text(low), metric.quantity.text(high))?;
    }
    emit(out, &screen, args.format, &table, &rows)?;
    if args.format == Format::Table {
        for sentence in sentences {
            writeln!(out, "{}", screen.text(&sentence))?;
        }
    }
    Ok(())
}
