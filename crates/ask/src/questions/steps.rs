//! Where each step's wall time went.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::findings;
use stepscope_analyse::peers::tracelens::{self, TimelineOptions, TimelineRow, timeline_of_steps};
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_analyse::scope::spread::Spread;
use stepscope_analyse::steps::breakdown::{self, Breakdown, BreakdownRow, Parts};
use stepscope_analyse::steps::{self, FoundSteps};
use stepscope_ground::Problem;

use super::only_functions;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, RunPart, TRACES, USUAL};
use crate::form::{Form, Member, fact, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "steps",
    about: "Time per step, split so that the parts add up to the wall time exactly.",
    examples: &["steps TRACE", "steps TRACE --by device"],
    group: Group::Time,
    by: &["breakdown", "device"],
    options: &["sort", "top", "filter", "step", "device"],
    report_by: Some(&["device"]),
    definitions: &[steps::DEFINITIONS, breakdown::DEFINITIONS, tracelens::DEFINITIONS, OWN_DEFINITIONS],
    forms: &[
        Form { name: "StepsAnswer", about: TRACES, members: &[FACTS, &[rows::<BreakdownRow>("steps")]] },
        Form { name: "StepsByDevice", about: TRACES, members: &[FACTS, &[rows::<DeviceStep>("steps")]] },
    ],
    answer,
    ..USUAL
};

/// What is said about steps however they are grouped.
const FACTS: &[Member] = &[
    fact::<Option<Parts>>("average"),
    fact::<Option<Spread>>("spread"),
    fact::<bool>("synthetic"),
    fact::<Option<FoundSteps>>("found"),
    fact::<u64>("device_slices_outside"),
];

/// What is said once.
const OWN_DEFINITIONS: &[Definition] = definitions! {
    breakdown::AVERAGE;
    steps::APART;
    "spread", "Spread" => "How the wall times of the averaged steps vary.";
    "p50_ns", "p50" =>
        "The median step by nearest rank: the shortest wall time that at least half of the steps do not exceed.";
    "p95_ns", "p95" =>
        "The shortest wall time that at least 95% of the steps do not exceed; with fewer than 20 steps, the longest.";
    "p99_ns", "p99" =>
        "The shortest wall time that at least 99% of the steps do not exceed; with fewer than 100 steps, the longest.";
    "max_ns", "Max" => "The wall time of the longest step.";
    "cv", "Variation" =>
        "Coefficient of variation: standard deviation of the steps' wall times (over all of them, not a sample) / their \
         mean.";
    "device_slices_outside", "Outside" =>
        "Kernels, copies and memsets that no step launched: their launching call lies in no step's host range or was not \
         recorded.";
};

/// How much the columns of the parts matter on a narrow screen: what is usually large stays longest.
const PRIORITIES: [u8; 8] = [180, 130, 110, 160, 140, 170, 175, 120];

/// The exclusive parts in priority order: label, color, value.
pub(super) fn parts(p: &Parts) -> [(&'static str, i64, Role); 8] {
    [
        ("Kernel", p.kernel_ns, Role::Device),
        ("Memcpy", p.memcpy_ns, Role::Copy),
        ("Memset", p.memset_ns, Role::Copy),
        ("Communication", p.communication_ns, Role::Comm),
        ("Runtime", p.runtime_ns, Role::Runtime),
        ("Data loading", p.data_loading_ns, Role::DataLoad),
        ("Host", p.host_ns, Role::Host),
        ("Other", p.other_ns, Role::Idle),
    ]
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct DeviceStep {
    step: i64,
    name: String,
    #[serde(flatten)]
    timeline: TimelineRow,
}

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    if ask.grouped() == "breakdown" {
        let hint = "`stepscope steps --by device` shows the steps of each device";
        ask.refuse(&["device"], "the parts of a step, which cover all devices", hint)?;
    }
    let asked = ask.part_of(&runs[0])?;
    let part = match ask.grouped() {
        "device" => device_part(&asked, ask)?,
        _ => host_part(&asked, ask)?,
    };
    Ok(Answer::new(vec![part])
        .fact("average", &asked.run.breakdown().average)
        .fact("spread", &spread(&asked))
        .fact("synthetic", &asked.steps().synthetic)
        .fact("found", &asked.steps().found)
        .fact("device_slices_outside", &asked.steps().device_slices_outside))
}

/// How the steps that are averaged vary.
fn spread(asked: &RunPart) -> Option<Spread> {
    let mut walls: Vec<i64> = asked.steps().counted().map(|s| s.end_ns.saturating_sub(s.start_ns)).collect();
    Spread::from_durations(&mut walls)
}

fn host_part(asked: &RunPart, ask: &Ask) -> Result<Part, Problem> {
    let report = asked.run.breakdown();
    let (average, words, synthetic) = (report.average, words(report), report.synthetic);
    let outside = asked.steps().device_slices_outside;
    let found = asked.steps().found.as_ref().map(|found| found.sentence.clone());
    let mark = findings::how_to_mark_steps(asked.run.trace().meta());
    let functions = only_functions(&asked.run);
    let varies = spread(asked).filter(|_| report.averaged_steps > 2).map(variation);
    let rows = arrange(report.rows.clone(), &ask.rows, None, 0, |r| &r.name)?;
    let left_out = rows.left_out();
    Ok(Part::new("steps", rows.rows, move |rows| {
        let mut table = table(rows, average.as_ref()).title("Steps", &words);
        match functions {
            Some(functions) => table.note(functions),
            None if synthetic => {
                table.note(format!("no steps are marked, so the whole trace is one; {mark}"));
            }
            None => {}
        }
        if let Some(found) = &found {
            table.note(format!("no steps are marked: {found}"));
        }
        table.notes(&left_out);
        table.notes(&varies);
        if outside > 0 {
            table.note(format!("{} device slices are outside every step", units::count(outside)));
        }
        table
    }))
}

fn variation(spread: Spread) -> String {
    let time = units::time;
    let mut words = format!(
        "p50 {}, p95 {}, p99 {}, max {}",
        time(spread.p50_ns),
        time(spread.p95_ns),
        time(spread.p99_ns),
        time(spread.max_ns)
    );
    if let Some(cv) = spread.cv {
        words.push_str(&format!("; the steps vary by {} of their mean", units::percent(cv)));
    }
    words
}

pub(super) fn words(report: &Breakdown) -> String {
    match &report.average {
        Some(average) if report.averaged_steps > 1 => {
            format!(
                "{} steps, {} on average; the parts add up exactly",
                report.averaged_steps,
                units::time(average.wall_ns)
            )
        }
        Some(average) => format!("{}; the parts add up exactly", units::time(average.wall_ns)),
        None => String::new(),
    }
}

pub(super) fn table(rows: &[BreakdownRow], average: Option<&Parts>) -> Table {
    let used = (0..8).filter(|&i| rows.iter().any(|r| r.parts.exclusive()[i] != 0));
    let labels = parts(&Parts::default());
    let name = |row: &BreakdownRow| {
        let mark = if row.partial { " (left out)" } else { "" };
        let name = if row.step >= 0 { row.step.to_string() } else { row.name.clone() };
        format!("{name}{mark}")
    };
    let named: Vec<(String, &Parts)> = rows.iter().map(|row| (name(row), &row.parts)).collect();
    let total = average.filter(|_| rows.len() > 1).map(|average| ("average".to_owned(), average));
    Columns::of(&named)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Step").keep(), |(name, _)| Cell::text(name))
        .metric("wall_ns", KEEP, |(_, p)| Cell::time(p.wall_ns))
        .add_each(
            used,
            |i| Column::number(labels[i].0).priority(PRIORITIES[i]),
            |i, (_, p)| Cell::time(parts(p)[i].1),
        )
        .add(Column::number("GPU busy").priority(165), |(_, p)| {
            Cell::share(super::ops::ratio(p.gpu_busy_ns, p.wall_ns)).role(Role::Device)
        })
        .total(total.as_ref())
        .table()
}

fn device_part(asked: &RunPart, ask: &Ask) -> Result<Part, Problem> {
    let options = TimelineOptions { linked_only: false, selection: asked.selection.clone() };
    let rows: Vec<DeviceStep> = timeline_of_steps(asked.trace(), asked.steps(), &options)
        .into_iter()
        .flat_map(|s| {
            s.rows.into_iter().map(move |timeline| DeviceStep { step: s.step, name: s.name.clone(), timeline })
        })
        .collect();
    let rows = arrange(rows, &ask.rows, None, 0, |r| &r.name)?;
    let left_out = rows.left_out();
    Ok(Part::new("steps", rows.rows, move |rows| {
        let mut table = device_table(rows);
        table.notes(&left_out);
        table
    }))
}

fn device_table(rows: &[DeviceStep]) -> Table {
    Columns::of(rows.iter().map(|row| (row, &row.timeline)))
        .defined_by(QUESTION.definitions)
        .add(Column::text("Step").keep(), |(row, _)| {
            Cell::text(if row.step >= 0 { row.step.to_string() } else { row.name.clone() })
        })
        .add(Column::number("Device").priority(110), |(_, t)| {
            Cell::maybe(t.device, |d| Cell::text(d.to_string()))
        })
        .metric("total_ns", KEEP, |(_, t)| Cell::time(t.total_ns))
        .metric("computation_ns", 120, |(_, t)| Cell::time(t.computation_ns))
        .metric("exposed_comm_ns", 115, |(_, t)| Cell::time(t.exposed_comm_ns))
        .metric("exposed_memcpy_ns", 115, |(_, t)| Cell::time(t.exposed_memcpy_ns))
        .metric("idle_ns", 120, |(_, t)| Cell::time(t.idle_ns))
        .add(Column::number("Busy").priority(100), |(_, t)| {
            Cell::share(super::ops::ratio(t.busy_ns, t.total_ns)).role(Role::Device)
        })
        .table()
        .title(
            "Steps on the device",
            "computation, exposed communication, exposed copies and idle add up to the total",
        )
        .when_empty("no device work in this trace")
}
