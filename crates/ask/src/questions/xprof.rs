//! The tables of XProf (TensorBoard's Profile tab), by its own rules and under its own names.

mod definitions;
mod tables;

use std::sync::Arc;

use stepscope_analyse::peers::xprof::hlo::{XprofHloRow, hlo};
use stepscope_analyse::peers::xprof::kernels::{XprofKernelRow, kernels};
use stepscope_analyse::peers::xprof::memory::{XprofMemoryRow, memory};
use stepscope_analyse::peers::xprof::not_seen::{NotSeen, not_seen};
use stepscope_analyse::peers::xprof::ops::{XprofOpRow, ops};
use stepscope_analyse::peers::xprof::steps::{XprofStepRow, XprofSteps, XprofSummary, steps};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use super::DEFAULT_TOP;
use super::ops::ratio;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, rows, single};
use crate::print::units;
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "xprof",
    about: "XProf's tables (TensorBoard's Profile tab) by XProf's own rules: steps, operators, kernels, HLO, memory.",
    examples: &["xprof TRACE", "xprof TRACE --by ops", "xprof TRACE --by kernels --format csv"],
    group: Group::Device,
    by: &["steps", "ops", "kernels", "hlo", "memory"],
    options: &["filter", "sort", "top"],
    definitions: &[definitions::OWN_DEFINITIONS],
    forms: &[
        Form {
            name: "XprofAnswer",
            about: TRACES,
            members: &[&[single::<XprofSummary>("summary"), rows::<XprofStepRow>("steps")]],
        },
        Form { name: "XprofByOps", about: TRACES, members: &[&[rows::<XprofOpRow>("ops")]] },
        Form { name: "XprofByKernels", about: TRACES, members: &[&[rows::<XprofKernelRow>("kernels")]] },
        Form { name: "XprofByHlo", about: TRACES, members: &[&[rows::<XprofHloRow>("hlo")]] },
        Form { name: "XprofByMemory", about: TRACES, members: &[&[rows::<XprofMemoryRow>("memory")]] },
    ],
    answer,
    ..USUAL
};

const NO_STEPS: &str = "XProf finds no steps in this trace; `stepscope steps` looks for other marks too";
const NO_OPS: &str = "XProf finds no operators in this trace; `stepscope ops` reads other traces too";
const NO_KERNELS: &str = "no kernels in this trace; XProf reads those of GPUs";
const NO_HLO: &str =
    "XProf finds no instructions of compiled programs on a device; `stepscope ops` shows those on CPUs";
const NO_MEMORY: &str = "no allocators in this trace; `stepscope memory` reads other traces too";

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let run = &runs[0];
    let trace = run.trace();
    let by = ask.grouped();
    let found = matches!(by, "steps" | "kernels" | "hlo").then(|| steps(trace));
    let blind = found.as_ref().map(|found| not_seen(trace, found)).unwrap_or_default();
    let notes = |words: Vec<String>| {
        move |mut table: crate::print::Table| {
            table.notes(&words);
            table
        }
    };
    let part = match by {
        "ops" => {
            let rows = ops(trace);
            arrange(rows, &ask.rows, None, DEFAULT_TOP, |row| &row.operation)?.into_part(
                "ops",
                NO_OPS,
                tables::ops,
            )
        }
        "kernels" => {
            let note = notes(about_kernels(&blind));
            let rows = arrange(kernels(trace), &ask.rows, None, DEFAULT_TOP, |row| &row.kernel)?;
            rows.into_part("kernels", NO_KERNELS, move |rows| note(tables::kernels(rows)))
        }
        "hlo" => {
            let note = notes(about_hlo(&blind));
            let rows = arrange(hlo(trace), &ask.rows, None, DEFAULT_TOP, |row| &row.hlo)?;
            rows.into_part("hlo", NO_HLO, move |rows| note(tables::hlo(rows)))
        }
        "memory" => {
            let rows = arrange(memory(trace), &ask.rows, None, 0, |row| &row.allocator)?;
            rows.into_part("memory", NO_MEMORY, tables::memory)
        }
        _ => {
            let found = found.unwrap_or_else(|| steps(trace));
            let words = about_steps(run, &found, &blind);
            let note = notes(words);
            let XprofSteps { rows, summary, .. } = found;
            let rows = arrange(rows, &ask.rows, None, DEFAULT_TOP, |row| &row.step)?;
            let rows = rows.into_part("steps", NO_STEPS, move |rows| note(tables::steps(rows)));
            let summary = Part::single("summary", summary, tables::summary);
            return Ok(Answer::new(vec![summary, rows]).main("steps"));
        }
    };
    Ok(Answer::new(vec![part]))
}

/// What XProf's steps leave out, and where the whole is shown.
fn about_steps(run: &Run, found: &XprofSteps, blind: &NotSeen) -> Vec<String> {
    let mut words = Vec::new();
    let own = run.all_steps();
    if found.rows.is_empty() && !own.synthetic && !own.steps.is_empty() {
        let count = units::count(own.steps.len() as u64);
        words.push(format!("XProf counts only steps with a root mark; `stepscope steps` finds {count}."));
    }
    if blind.cpu_steps_ns > 0 {
        words.push(format!(
            "XProf's steps leave out XLA's worker threads: operators kept the CPU busy for {} of {} in these steps. See \
             `stepscope ops`.",
            units::time(blind.cpu_busy_ns),
            units::time(blind.cpu_steps_ns)
        ));
    }
    if blind.half_as_32_ns > 0 {
        words.push(format!(
            "XProf knows 16-bit kernels by their names alone: {} of kernel time is on 16-bit elements and counts as \
             32-bit. See `stepscope roofline`.",
            units::percent(ratio(blind.half_as_32_ns, blind.kernels_ns))
        ));
    }
    if blind.copies_as_compute_ns > 0 {
        words.push(format!(
            "XProf does not know the names of {} of copies and counts them as device compute, with 0 bytes; they moved \
             {}. See `stepscope transfers`.",
            units::time(blind.copies_as_compute_ns),
            units::bytes(blind.copied_bytes)
        ));
    }
    words
}

fn about_kernels(blind: &NotSeen) -> Vec<String> {
    let mut words = Vec::new();
    if blind.undescribed_kernels > 0 {
        words.push(format!(
            "The profiler does not say how {} kernels used registers, or not as a device can; XProf prints 0 or what it \
             says. See `stepscope kernels`.",
            units::count(blind.undescribed_kernels)
        ));
    }
    words
}

fn about_hlo(blind: &NotSeen) -> Vec<String> {
    let mut words = Vec::new();
    if blind.without_hlo_ns > 0 {
        words.push(format!(
            "XProf finds no instruction for {} of device time, such as kernels of captured graphs. See `stepscope ops`.",
            units::percent(ratio(blind.without_hlo_ns, blind.device_ns))
        ));
    }
    words
}
