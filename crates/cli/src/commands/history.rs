//! `stepscope history`: one metric of a baseline over time, and where it changed.

mod page;

use std::io::{self, Write};

use serde::Serialize;
use stepscope_analyse::statistics::Change;
use stepscope_ask::print::{Cell, Column, Columns, Role, end_ellipsis, sparkline};
use stepscope_regression::{Commit, History, MIN_MEASUREMENTS, Measurement, Point, report};

use super::measure;
use crate::args::History as Args;
use crate::failure::Failure;
use crate::format::{Format, emit};
use crate::input::remark;
use crate::terminal;
#[derive(Serialize)]
struct PointRow {
    measured_at: String,
    commit: Option<Commit>,
    value: f64,
    /// The level that begins here.
    change: Option<Change>,
    repeats: u64,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    if args.view {
        return page::run(args, out);
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
    if points.len() < MIN_MEASUREMENTS {
        remark(&format!(
            "{} measurements are too few to tell a change from noise; at least {MIN_MEASUREMENTS} are needed",
            points.len()
        ));
    }
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let screen = terminal::detect(&io::stdout());
    let row = |(at, point): (usize, &Point)| {
        let Measurement { measured_at, commit, repeats, .. } = &point.record.measurement;
        PointRow {
            measured_at: measured_at.clone(),
            commit: commit.clone(),
            value: point.value,
            change: changes.iter().find(|change| change.at == at).copied(),
            repeats: repeats.len() as u64,
        }
    };
    let rows: Vec<PointRow> = points.iter().enumerate().map(row).collect();
    let sentences: Vec<String> = changes.iter().map(|change| history.sentence(change)).collect();
    let subtitle = match sentences.len() {
        0 => "no change of level".to_owned(),
        1 => "1 change of level".to_owned(),
        many => format!("{many} changes of level"),
    };
    let table = Columns::of(&rows)
        .add(Column::text("Measured"), |r| Cell::text(&r.measured_at))
        .add(Column::text("Commit"), |r| Cell::text(r.commit.as_ref().map_or("", Commit::short)))
        .add(Column::name("Subject").flexible(16, end_ellipsis), |r| {
            Cell::text(r.commit.as_ref().map_or("", |commit| commit.subject.as_str()))
        })
        .add(Column::number(metric.name.clone()), |r| Cell::text(metric.quantity.text(r.value)))
        .add(Column::number("Runs"), |r| Cell::count(r.repeats))
        .add(Column::text("Change").keep(), |r| match &r.change {
            None => Cell::text("").role(Role::Dim),
            Some(change) => Cell::text(report::percent(change.after / change.before))
                .role(if change.after > change.before { Role::Bad } else { Role::Good }),
        })
        .table()
        .title(format!("{metric} of {}", args.baseline), subtitle);
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
