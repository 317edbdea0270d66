//! `stepscope account`: every nanosecond of every step, by its cause.

mod steps;

use std::io::Write;

use serde::Serialize;
use serde_json::{Value, json};
use stepscope_analyse::causes::account::{self, Account, AccountRow, account};
use stepscope_analyse::causes::cause::Cause;
use stepscope_analyse::causes::verdict::verdict;
use stepscope_analyse::scope::definition::Definition;
use stepscope_analyse::threads::activity::Activity;

use super::ops::ratio;
use super::{by, refuse, wants_only_definitions};
use crate::args::Common;
use crate::failure::Failure;
use crate::input::Input;
use crate::print::{self, Cell, Column, Format, Role, Screen, Table, units};
use crate::rows::arrange;
use crate::words::{self, Part, answer, only_definitions};

/// What the sums over steps mean.
const OWN: &[Definition] = &[
    Definition {
        field: "total_ns",
        label: "In all",
        text: "The cause's time summed over the steps that are not partial (over all, if all are).",
    },
    Definition {
        field: "per_step_ns",
        label: "Per step",
        text: "The same divided by the number of these steps.",
    },
    Definition { field: "share", label: "Share", text: "The same as a part of these steps' wall time." },
];
/// Causes drawn in the picture before the rest is put together.
const DRAWN: usize = 6;

/// One cause on one device, summed over the steps.
#[derive(Clone, Debug, Serialize)]
struct CauseRow {
    device: Option<i64>,
    cause: Cause,
    label: &'static str,
    busy: bool,
    total_ns: i64,
    per_step_ns: i64,
    share: f64,
}

pub(super) fn run(common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    let definitions = [account::DEFINITIONS, OWN, stepscope_analyse::steps::DEFINITIONS];
    if wants_only_definitions(common) {
        return only_definitions(out, common, &definitions);
    }
    let by = by(common, &["cause", "step"])?;
    if by == "step" {
        refuse(common, &["--filter"], "the steps", "`--step 3-5` chooses steps")?;
    }
    let input = Input::load(common)?;
    let mut report = account(&input.trace, &input.steps);
    if common.device.is_some() {
        report.keep_device(common.device);
    }
    let mut causes = Vec::new();
    for device in &report.devices {
        causes.push(cause_part(&report, device, common, by == "cause")?);
    }
    let steps = steps::part(&report, common, by == "step")?;
    let devices = Part::new("devices", Table::default(), json!(report.devices));
    let parts = match (common.format, by) {
        (Format::Json, _) => vec![joined(causes), devices, steps],
        (Format::Csv, "cause") => vec![joined(causes)],
        (_, "step") => vec![steps],
        _ => causes.into_iter().chain([steps]).collect(),
    };
    let rest = vec![("synthetic", json!(input.steps.synthetic)), ("verdict", json!(verdict(&report)))];
    answer(out, common, parts, rest, &definitions)
}

/// The rows of all devices under one key.
fn joined(parts: Vec<Part>) -> Part {
    let rows = parts.into_iter().flat_map(|part| match part.data {
        Value::Array(rows) => rows,
        other => vec![other],
    });
    Part::new("causes", Table::default(), Value::Array(rows.collect()))
}

/// What a cause is called where a device is meant, or the main thread if there is none.
fn label(cause: Cause, device: Option<i64>) -> &'static str {
    match device {
        Some(_) => cause.label(),
        None => without_idle(cause),
    }
}

/// A cause of idle time, where it is clear that idle time is meant.
pub(super) fn without_idle(cause: Cause) -> &'static str {
    cause.label().strip_prefix("idle: ").unwrap_or(cause.label())
}

/// The colour of a cause: work in its own, idle time in the colour of what should be done about it.
pub(super) fn role(cause: Cause) -> Role {
    match cause {
        Cause::Kernel => Role::Device,
        Cause::Communication => Role::Comm,
        Cause::Copy | Cause::Fill => Role::Copy,
        Cause::Host(Activity::DataLoading) => Role::DataLoad,
        Cause::Host(Activity::Synchronization | Activity::Allocation) => Role::Bad,
        Cause::Host(Activity::Communication) => Role::Comm,
        Cause::Host(Activity::Unrecorded | Activity::Profiler) => Role::Idle,
        Cause::Host(_) | Cause::LaunchLatency => Role::Warn,
        Cause::QueuedGap | Cause::Unlinked => Role::Idle,
        Cause::Dependency => Role::Bad,
    }
}

/// The same, where there may be no device: then the host's work is work and no reason to wait.
fn role_of(cause: Cause, device: Option<i64>) -> Role {
    match cause {
        Cause::Host(Activity::Operator | Activity::Python) if device.is_none() => Role::Host,
        _ => role(cause),
    }
}

/// The options, if they are about this table and not about the other one.
fn about(common: &Common, asked: bool) -> Common {
    let common = common.clone();
    if asked { common } else { Common { sort: None, top: None, filter: None, ..common } }
}

fn cause_part(report: &Account, sum: &AccountRow, common: &Common, asked: bool) -> Result<Part, Failure> {
    let steps = (report.counted_steps() as i64).max(1);
    let all = sum.causes.by_size().into_iter().map(|(cause, total_ns)| CauseRow {
        device: sum.device,
        cause,
        label: label(cause, sum.device),
        busy: cause.is_busy(),
        total_ns,
        per_step_ns: total_ns / steps,
        share: ratio(total_ns, sum.wall_ns),
    });
    let rows = arrange(all.collect(), &about(common, asked), Some("total_ns"), 0, |r| r.label)?;
    let whose = match sum.device {
        Some(device) => format!("GPU {device}"),
        None => "the main thread".to_owned(),
    };
    let words = match steps {
        1 => format!("{}; the causes add up exactly", units::time(sum.wall_ns)),
        n => format!("{n} steps, {} on average; the causes add up exactly", units::time(sum.wall_ns / n)),
    };
    let title = format!("Where the time of {whose} went");
    // The sum over the steps says nothing more where there is only one.
    let several = steps > 1;
    let mut columns = vec![
        Column::name("Cause"),
        Column::number(if several { "Per step" } else { "Time" }).keep(),
        Column::number("Share").priority(200),
    ];
    if several {
        columns.push(Column::number("In all").priority(90));
    }
    let mut table = Table::new(columns).when_empty(rows.when_empty("nothing recorded"));
    for row in &rows.rows {
        table.row(vec![
            Cell::text(row.label),
            Cell::time(row.per_step_ns),
            Cell::share(row.share).role(role_of(row.cause, row.device)),
            Cell::time(row.total_ns),
        ]);
    }
    if !rows.rows.is_empty() {
        table.total(vec![
            Cell::text("wall time"),
            Cell::time(sum.wall_ns / steps),
            Cell::percent(1.0),
            Cell::time(sum.wall_ns),
        ]);
    }
    if let Some(text) = rows.left_out() {
        table.note(text);
    }
    if report.counted_steps() < report.step_count() {
        table.note("partial steps are shown below but do not count here");
    }
    let mut picture = Vec::new();
    let screen = words::screen(common);
    if common.format == Format::Table {
        print::heading(&mut picture, &screen, &title, &words)?;
        draw(&mut picture, &screen, sum)?;
    } else {
        table = table.title(title, words);
    }
    Ok(Part { picture, ..Part::new("causes", table, json!(rows.rows)) })
}

/// The causes as one bar.
fn draw(out: &mut Vec<u8>, screen: &Screen, sum: &AccountRow) -> Result<(), Failure> {
    if sum.wall_ns == 0 {
        return Ok(());
    }
    writeln!(out)?;
    let sized = sum.causes.by_size();
    // What the device did comes first, as in the table of the steps.
    let mut drawn: Vec<(Cause, i64)> = sized.iter().take(DRAWN).copied().collect();
    drawn.sort_by_key(|(cause, _)| !cause.is_busy());
    let mut parts: Vec<(&str, i64, Role)> = drawn
        .into_iter()
        .map(|(cause, ns)| (label(cause, sum.device), ns, role_of(cause, sum.device)))
        .collect();
    parts.push(("the rest", sized.iter().skip(DRAWN).fold(0, |all, c| c.1.saturating_add(all)), Role::Dim));
    print::stacked_bar(out, screen, &parts, screen.width.min(110))?;
    Ok(writeln!(out)?)
}
