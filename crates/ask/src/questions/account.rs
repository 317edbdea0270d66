//! Every nanosecond of every step, by its cause.

mod steps;

use std::sync::Arc;
use stepscope_ground::Problem;
use stepscope_model::Order;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::causes::account::{self, Account, AccountRow};
use stepscope_analyse::causes::cause::Cause;
use stepscope_analyse::causes::verdict;
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_analyse::steps::{PARTIAL, STEP, WALL};
use stepscope_analyse::threads::activity::Activity;

use super::only_functions;
use super::ops::ratio;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{self, Cell, Column, Columns, Role, Table, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "account",
    about: "Every nanosecond of every step, by cause: what the device did, or why it was idle.",
    examples: &[
        "account TRACE",
        "account TRACE --by step --sort wall",
        "account TRACE --filter idle --format csv",
    ],
    group: Group::Time,
    by: &["cause", "step"],
    options: &["sort", "top", "filter", "step", "device"],
    report_by: Some(&["step"]),
    definitions: &[
        verdict::DEFINITIONS,
        account::DEFINITIONS,
        account::IDLE_DEFINITIONS,
        OWN_DEFINITIONS,
        &[STEP, WALL, PARTIAL],
    ],
    forms: &[Form {
        name: "AccountAnswer",
        about: TRACES,
        members: &[&[
            rows::<CauseRow>("causes"),
            rows::<AccountRow>("devices"),
            rows::<AccountRow>("steps"),
            fact::<bool>("synthetic"),
            fact::<Option<verdict::Verdict>>("verdict"),
        ]],
    }],
    answer,
    ..USUAL
};

const OWN_DEFINITIONS: &[Definition] = definitions! {
    "total_ns", "Total" => "The cause's time summed over the steps that are not partial (over all, if all are).";
    "per_step_ns", "Per step" =>
        "The cause's total time divided by the number of these steps, rounded down to the nanosecond.";
    "share", "Share" => "The cause's total time / the summed wall time of these steps, as a fraction.";
};

/// Causes drawn in the picture before the rest is put together.
const MAX_CAUSES: usize = 6;

/// One cause on one device, summed over the steps.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct CauseRow {
    device: Option<i64>,
    cause: Cause,
    label: &'static str,
    busy: bool,
    total_ns: i64,
    per_step_ns: i64,
    share: f64,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let by_step = ask.grouped() == "step";
    if by_step {
        ask.refuse(&["filter"], "the steps", "`--step 3-5` chooses steps")?;
    }
    let asked = ask.part_of(&runs[0])?;
    let mut report = asked.run.account().clone();
    if ask.device.is_some() {
        report.keep_device(ask.device);
    }
    let devices = report.devices.clone();
    let mut causes = Vec::new();
    let mut parts = Vec::new();
    for device in &devices {
        let (part, rows) = cause_part(&report, device, ask, !by_step)?;
        causes.extend(rows);
        parts.push(part.shown(!by_step));
    }
    // For programs the rows of all devices are one table.
    parts.insert(0, Part::data("causes", causes));
    parts.push(Part::data("devices", devices));
    let (steps, left_out) = steps::part(&report, ask, by_step)?;
    parts.push(steps);
    let main = if by_step { "steps" } else { "causes" };
    let mut answer = Answer::new(parts)
        .fact("synthetic", &asked.steps().synthetic)
        .fact("verdict", &asked.run.verdict())
        .main(main);
    answer.remarks.extend(left_out);
    answer.remarks.extend(only_functions(&asked.run).map(str::to_owned));
    Ok(answer)
}

/// What a cause is called where a device is meant, or the main thread if there is none.
pub(super) fn label(cause: Cause, device: Option<i64>) -> &'static str {
    match device {
        Some(_) => cause.label(),
        None => cause.label_of_idle(),
    }
}

/// The color of a cause: work in its own, idle time in the color of what should be done about it.
pub(super) fn role(cause: Cause) -> Role {
    match cause {
        Cause::Kernel => Role::Device,
        Cause::Communication => Role::Comm,
        Cause::Copy | Cause::Fill => Role::Copy,
        Cause::Host(Activity::DataLoading) => Role::DataLoad,
        Cause::Host(Activity::Synchronization | Activity::Allocation) => Role::Bad,
        Cause::Host(Activity::Communication) => Role::Comm,
        Cause::Host(Activity::Unrecorded | Activity::DeviceUnrecorded | Activity::Profiler) => Role::Idle,
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

/// The causes of one device: what people see, and its rows.
fn cause_part(
    report: &Account,
    sum: &AccountRow,
    ask: &Ask,
    asked: bool,
) -> Result<(Part, Vec<CauseRow>), Problem> {
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
    let rows = arrange(all.collect(), &ask.rows_if(asked), Some("total_ns"), 0, |r: &CauseRow| r.label)?;
    let whose = match sum.device {
        Some(device) => format!("GPU {device}"),
        None => "the main thread".to_owned(),
    };
    let words = match steps {
        1 => format!("{}; the causes add up exactly", units::time(sum.wall_ns)),
        n => format!("{n} steps, {} on average; the causes add up exactly", units::time(sum.wall_ns / n)),
    };
    let title = format!("Where the time of {whose} went");
    let wall_ns = sum.wall_ns;
    let some_partial = report.counted_steps() < report.step_count();
    let data = rows.rows.clone();
    let mut part = rows.into_part("causes", "nothing recorded", move |rows| {
        let mut table = causes_table(rows, steps, wall_ns).title(&title, &words);
        if some_partial {
            table.note("steps that are left out are shown below but do not count here");
        }
        table
    });
    part.in_json = false;
    part.bar = Some(bar(sum));
    Ok((part, data))
}

fn causes_table(rows: &[CauseRow], steps: i64, wall_ns: i64) -> Table {
    // The sum over the steps says nothing more where there is only one.
    let several = steps > 1;
    let mut table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Cause"), |r| Cell::text(r.label))
        .add(Column::number(if several { "Per step" } else { "Time" }).keep(), |r| Cell::time(r.per_step_ns))
        .metric("share", 200, |r| Cell::share(r.share).role(role_of(r.cause, r.device)))
        .metric_if(several, "total_ns", 90, |r| Cell::time(r.total_ns))
        .table();
    if !rows.is_empty() {
        table.total(vec![
            Cell::text("wall time"),
            Cell::time(wall_ns / steps),
            Cell::percent(1.0),
            Cell::time(wall_ns),
        ]);
    }
    table
}

/// The causes as the parts of one bar: the largest, what the device did before what it waited for, and the rest.
///
/// Causes below `least` of the whole are part of the rest.
pub(super) fn pieces(sum: &AccountRow, most: usize, least: f64) -> Vec<(&'static str, i64, Role)> {
    let sized = sum.causes.by_size();
    let large = sized.iter().filter(|cause| ratio(cause.1, sum.wall_ns) >= least).count();
    let shown = large.min(most);
    let mut drawn: Vec<(Cause, i64)> = sized.iter().take(shown).copied().collect();
    drawn.order_by_key(|(cause, _)| !cause.is_busy());
    let mut parts: Vec<(&'static str, i64, Role)> = drawn
        .into_iter()
        .map(|(cause, ns)| (label(cause, sum.device), ns, role_of(cause, sum.device)))
        .collect();
    parts.push(("the rest", sized.iter().skip(shown).fold(0, |all, c| c.1.saturating_add(all)), Role::Dim));
    parts
}

fn bar(sum: &AccountRow) -> crate::answer::Draw {
    let parts = pieces(sum, MAX_CAUSES, 0.0);
    let wall_ns = sum.wall_ns;
    Box::new(move |out, screen| {
        if wall_ns == 0 {
            return Ok(());
        }
        writeln!(out)?;
        print::stacked_bar(out, screen, &parts, screen.width.min(110))?;
        writeln!(out)
    })
}
