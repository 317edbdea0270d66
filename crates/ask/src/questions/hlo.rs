//! Instructions of compiled programs: what each took, computed and moved, and where it comes from.

mod around;
mod table;

use std::sync::Arc;

use stepscope_analyse::roofline::instructions::{
    self, InstructionRow, Instructions, InstructionsBy, InstructionsQuery, InstructionsTotals, instructions,
};
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;
use stepscope_model::Trace;

use super::DEFAULT_TOP;
use crate::answer::Answer;
use crate::ask::{Ask, Group, Question, TRACES, USUAL};
use crate::form::{Form, fact, rows};
use crate::print::units;
use crate::rows::arrange;

pub(super) const QUESTION: Question = Question {
    name: "hlo",
    about: "Instructions in programs XLA compiled for JAX and TensorFlow: time, FLOPs, bytes, share of peak, \
            source line, and what is fused into each.",
    examples: &[
        "hlo TRACE --top 30",
        "hlo TRACE --by line  the lines of your source code by device time",
        "hlo TRACE --by path --filter transpose",
        "hlo TRACE --around custom-call.1  its operands, and who uses its result",
    ],
    group: Group::Time,
    by: &["instruction", "category", "line", "path", "program"],
    options: &["sort", "top", "filter", "step", "device", "program", "around"],
    report_by: Some(&["category", "line", "path", "program"]),
    definitions: &[instructions::DEFINITIONS, around::DEFINITIONS],
    forms: &[
        Form {
            name: "HloAnswer",
            about: TRACES,
            members: &[&[rows::<InstructionRow>("instructions"), fact::<InstructionsTotals>("totals")]],
        },
        Form { name: "HloAround", about: TRACES, members: &[around::MEMBERS] },
    ],
    answer,
    page_parts: &["instructions"],
    ..USUAL
};

fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let asked = ask.part_of(&runs[0])?;
    let by = match ask.grouped() {
        "category" => InstructionsBy::Category,
        "line" => InstructionsBy::Line,
        "path" => InstructionsBy::Path,
        "program" => InstructionsBy::Program,
        _ => InstructionsBy::Instruction,
    };
    let program = ask.program.as_deref().map(|name| program_of(asked.trace(), name)).transpose()?;
    if let Some(name) = &ask.around {
        ask.refuse(&["by", "sort", "top", "filter"], "--around", "leave it out")?;
        return around::answer(asked.trace(), &asked.selection, program, name);
    }
    let query = InstructionsQuery { selection: asked.selection.clone(), by, programs: program };
    let report = instructions(asked.trace(), &query);
    let (words, notes) = (words(&report), notes(&report));
    let rows = arrange(report.rows, &ask.rows, Some("self_ns"), DEFAULT_TOP, |row| &row.name)?;
    let none = match asked.trace().meta().framework {
        Some(_) => "no compiled instructions in this trace; see `stepscope ops` and `stepscope kernels`",
        None => "no compiled program in this trace: XLA's are in profiles of JAX and TensorFlow",
    };
    let part = rows.into_part("instructions", none, move |rows| {
        let mut table = table::table(rows, by).title(table::title(by), &words);
        table.notes(&notes);
        table
    });
    Ok(Answer::new(vec![part]).fact("totals", &report.totals))
}

/// The numbers of the programs that a name or number means.
pub(super) fn program_of(trace: &Trace, name: &str) -> Result<Vec<i64>, Problem> {
    let programs = trace.programs();
    let number = name.parse::<i64>().ok();
    let is = |id: i64, known: &str| number == Some(id) || known == name || format!("{known} ({id})") == name;
    let found: Vec<i64> = programs.iter().filter(|p| is(p.id, &p.name)).map(|p| p.id).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let near = stepscope_analyse::names::nearest::nearest(name, programs.iter().map(|p| p.name.as_str()), 3);
    let hint = match near.is_empty() {
        true => "`stepscope hlo --by program` lists those that ran".to_owned(),
        false => format!("did you mean {}?", near.join(", ")),
    };
    Err(Problem::new(format!("the file describes no program called '{name}'"), hint))
}

fn words(report: &Instructions) -> String {
    let totals = &report.totals;
    let mut words = Vec::new();
    if totals.device_named_ns > 0 || totals.host_named_ns == 0 {
        words.push(format!("{} of device time", units::time(totals.device_named_ns)));
    }
    if totals.host_named_ns > 0 {
        words.push(format!("{} on threads of the host", units::time(totals.host_named_ns)));
    }
    words.join(", ")
}

/// What the rows do not show.
fn notes(report: &Instructions) -> Vec<String> {
    let totals = &report.totals;
    let share = |ns: i64, of: i64| units::percent(ns as f64 / of.max(1) as f64);
    let mut notes = Vec::new();
    let all = totals.device_named_ns.saturating_add(totals.device_unnamed_ns);
    if totals.device_unnamed_ns > 0 && totals.device_named_ns > 0 {
        let most = report.unnamed.first().map_or("", |(name, _)| name);
        notes.push(format!(
            "{} of device time ({}) names no instruction: most of it {}",
            share(totals.device_unnamed_ns, all),
            units::time(totals.device_unnamed_ns),
            super::kernels::shorter(most)
        ));
    }
    if totals.device_by_order_ns > 0 {
        notes.push(format!(
            "{} of device time is in captured graphs whose kernels name no instruction; the order of the program's schedule \
             identifies it",
            share(totals.device_by_order_ns, all)
        ));
    }
    if totals.host_unnamed_ns > 0 && totals.host_named_ns > 0 {
        let all = totals.host_named_ns.saturating_add(totals.host_unnamed_ns);
        notes.push(format!(
            "{} of the time of operators on those threads ({}) names no instruction",
            share(totals.host_unnamed_ns, all),
            units::time(totals.host_unnamed_ns)
        ));
    }
    notes
}
