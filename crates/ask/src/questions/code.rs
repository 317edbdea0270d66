//! The program's own functions: host time, waiting for the device, and the device time they launched.

use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_analyse::tables::code::{self, CodeBy, CodeRow};
use stepscope_ground::Problem;

use super::DEFAULT_TOP;
use super::ops::ratio;
use crate::answer::Answer;
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, middle_ellipsis, units};
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "code",
    about: "Your program's functions by host time, time waiting for the device, and device time they \
            launched: which code keeps the GPU busy, and which waits for it. \
            Needs recorded calls (PyTorch: with_stack=True).",
    examples: &["code TRACE", "code TRACE --by call  what each function called", "code TRACE --sort device_ns"],
    group: Group::Time,
    by: &["function", "call"],
    options: &["sort", "top", "filter", "step", "device"],
    report_by: Some(&["call"]),
    definitions: &[code::DEFINITIONS],
    forms: &[Form {
        name: "CodeAnswer",
        about: TRACES,
        members: &[&[
            rows::<CodeRow>("code"),
            fact::<i64>("device_ns"),
            fact::<i64>("wait_ns"),
            fact::<i64>("wall_ns"),
        ]],
    }],
    answer,
    page_parts: &["code"],
    ..USUAL
};

const NONE: &str = "no Python functions in this trace; `stepscope run` records them, as do PyTorch's profiler (with_stack=True) and \
     JAX's (python_tracer_level=1)";

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let by = if ask.grouped() == "call" { CodeBy::Call } else { CodeBy::Function };
    let mut report = asked.run.code(by, &asked.selection);
    // All of it without a function says nothing.
    if !report.has_functions {
        report.rows.clear();
    }
    let (device, wait, wall) = (report.device_ns, report.wait_ns, report.wall_ns);
    let words = format!(
        "{} of device time, {} of waiting in {} of steps",
        units::time(device),
        units::time(wait),
        units::time(wall)
    );
    let default = if wait > 0 {
        "wait_ns"
    } else if device > 0 {
        "device_ns"
    } else {
        "host_ns"
    };
    let rows = arrange(report.rows, &ask.rows, Some(default), DEFAULT_TOP, |row| &row.function)?;
    let part = rows.into_part("code", NONE, move |rows| table(rows, by).title("Code", &words));
    Ok(Answer::new(vec![part]).fact("device_ns", &device).fact("wait_ns", &wait).fact("wall_ns", &wall))
}

fn table(rows: &[CodeRow], by: CodeBy) -> Table {
    let most_wait = rows.iter().map(|r| r.wait_ns).max().unwrap_or(0);
    let most_device = rows.iter().map(|r| r.device_ns).max().unwrap_or(0);
    Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Function"), |r| Cell::text(&r.function))
        .add_if(by == CodeBy::Call, Column::text("Calls").flexible(16, middle_ellipsis).priority(160), |r| {
            Cell::text(r.called.as_deref().map_or("its own code", super::functions::plain_name))
        })
        .metric("host_ns", KEEP, |r| Cell::time(r.host_ns))
        .metric("wait_ns", KEEP, |r| Cell::time(r.wait_ns))
        .metric("wait_share", 150, |r| {
            Cell::percent(r.wait_share).bar(ratio(r.wait_ns, most_wait)).role(Role::Host)
        })
        .metric("device_ns", KEEP, |r| Cell::time(r.device_ns))
        .metric("device_share", 140, |r| {
            Cell::percent(r.device_share).bar(ratio(r.device_ns, most_device)).role(Role::Device)
        })
        .metric("backward_device_ns", 90, |r| Cell::time(r.backward_device_ns))
        .add(Column::text("Where").flexible(14, middle_ellipsis).priority(130), |r| Cell::text(r.place()))
        .table()
}
