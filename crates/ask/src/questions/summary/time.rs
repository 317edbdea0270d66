//! Where the time goes: one bar by the causes of the account, and how long the steps take.

use std::io;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::causes::account::{Account, AccountRow};
use stepscope_analyse::causes::cause::Cause;
use stepscope_analyse::run::Run;
use stepscope_analyse::steps::{Partial, Step};

use super::super::account::{label, pieces};
use super::super::ops::ratio;
use super::QUESTION;
use crate::print::{self, Cell, Column, Columns, Role, Screen, Table, units};

/// Causes drawn before the rest is put together.
const MAX_CAUSES: usize = 5;
/// A smaller cause cannot be seen.
const MIN_CAUSE_SHARE: f64 = 0.005;
/// Columns of the line of small bars at most.
const MAX_SPARK_COLUMNS: usize = 24;

/// The bar and the steps.
pub(super) struct Time {
    pieces: Vec<(&'static str, i64, Role)>,
    /// Whose time it is, where that is not clear.
    whose: Option<String>,
    /// The steps' times in order.
    walls: Vec<i64>,
    /// The slowest step's number.
    slowest: i64,
    /// Steps that are not steps, with their times.
    pauses: Vec<(i64, i64)>,
}

/// A cause of the account as programs get it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct CauseOfStep {
    device: Option<i64>,
    cause: Cause,
    label: &'static str,
    per_step_ns: i64,
    of_step: f64,
}

/// The device whose time is shown: the one asked for, or the busiest.
pub(super) fn row(account: &Account, device: Option<i64>) -> Option<&AccountRow> {
    let rows = account.devices.iter().filter(|row| device.is_none() || row.device == device);
    rows.max_by_key(|row| (row.wall_ns - row.causes.idle(), std::cmp::Reverse(row.device)))
        .filter(|row| row.wall_ns > 0)
}

impl Time {
    pub(super) fn new(run: &Run, device: Option<i64>) -> Option<Time> {
        let account = run.account();
        let row = row(account, device)?;
        let wall = |step: &Step| ((step.window().1 - step.window().0).0, step.step);
        let walls: Vec<(i64, i64)> = run.steps().counted().map(wall).collect();
        let pauses = run.steps().steps.iter().filter(|step| step.partial_reason == Some(Partial::Pause));
        Some(Time {
            pieces: pieces(row, MAX_CAUSES, MIN_CAUSE_SHARE),
            whose: match (row.device, account.devices.len()) {
                (Some(device), 2..) => Some(format!("GPU {device}, the busiest of {}", account.devices.len())),
                (None, _) => Some("the main thread's time".to_owned()),
                _ => None,
            },
            slowest: walls.iter().max().map_or(-1, |slowest| slowest.1),
            walls: walls.into_iter().map(|wall| wall.0).collect(),
            pauses: pauses.map(wall).collect(),
        })
    }

    pub(super) fn lines(&self, screen: &Screen) -> io::Result<Vec<String>> {
        let mut lines = print::lines_of(|out| print::stacked_bar(out, screen, &self.pieces, screen.width))?;
        let mut words: Vec<String> = self.whose.iter().map(|whose| format!("of {whose}")).collect();
        let mut sorted = self.walls.clone();
        sorted.sort_unstable();
        let mut spark = String::new();
        if let [fastest, .., slowest] = sorted[..] {
            let median = sorted[(sorted.len() - 1) / 2];
            words.push(format!(
                "steps: median {}, fastest {}, slowest {} (step {})",
                units::time(median),
                units::time(fastest),
                units::time(slowest),
                self.slowest
            ));
            spark = print::sparkline(screen, &self.walls, MAX_SPARK_COLUMNS);
        }
        match self.pauses[..] {
            [] => {}
            [(ns, step)] => words.push(format!("step {step}, a pause of {}, is left out", units::time(ns))),
            [..] => words.push(format!("{} pauses are left out", self.pauses.len())),
        }
        let words = print::wrap(&screen.text(&words.join("; ")), screen.width);
        for (at, line) in words.iter().enumerate() {
            let mut shown = screen.paint(Role::Dim, line);
            let fits = print::width(line) + 2 + print::width(&spark) <= screen.width;
            if at + 1 == words.len() && fits && !spark.is_empty() {
                shown = format!("{shown}  {}", screen.paint(Role::Accent, &spark));
            }
            lines.push(shown);
        }
        Ok(lines)
    }
}

/// The causes of the device that is shown.
pub(super) fn causes(account: &Account, device: Option<i64>) -> Vec<CauseOfStep> {
    let steps = (account.counted_steps() as i64).max(1);
    let Some(row) = row(account, device) else { return Vec::new() };
    let cause = |(cause, ns): (Cause, i64)| CauseOfStep {
        device: row.device,
        cause,
        label: label(cause, row.device),
        per_step_ns: ns / steps,
        of_step: ratio(ns, row.wall_ns),
    };
    row.causes.by_size().into_iter().map(cause).collect()
}

/// The causes as a table, for Markdown.
pub(super) fn table(rows: &[CauseOfStep]) -> Table {
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Cause"), |r| Cell::text(r.label))
        .metric("per_step_ns", 100, |r| Cell::time(r.per_step_ns))
        .metric("of_step", 100, |r| Cell::percent(r.of_step))
        .table()
        .title("Where the time goes", "`stepscope account` shows all devices and steps")
        .when_empty("no time was recorded")
}
