//! Any question: find the trace, ask, print the answer in the format asked for.

use std::io::Write;
use std::sync::Arc;

use serde_json::json;
use stepscope_analyse::run::Run;
use stepscope_ask::print::{self, Screen};
use stepscope_ask::{Answer, Ask, Findings, Part, answer, late_rank_words, rules, run_row, runs_part, write};
use stepscope_formats::discover;

use super::comparison;
use crate::args::{Common, QuestionArgs};
use crate::config;
use crate::failure::{Failure, Outcome};
use crate::format::{Format, write_answer};
use crate::input::{Each, Place, choose, remark, warn};
use crate::next::next;
use crate::sources;
use crate::terminal;

/// Answers a question. `outcome` is set before anything is printed, so that a reader who stops listening does not change
/// it.
pub(crate) fn question(
    asking: &QuestionArgs,
    out: &mut dyn Write,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let QuestionArgs { common, question, .. } = asking;
    if common.format == Format::Sarif && question.findings != Findings::Answer {
        return Err(Failure::wrong_use(
            "only findings can be written as SARIF",
            "use `stepscope findings --format sarif`; here --format takes table, json, csv or md",
        ));
    }
    let mut ask = asking.ask()?;
    ask.sources = sources::sources();
    if question.judges() {
        ask.thresholds = config::configured_thresholds(asking.config.as_deref())?;
    }
    if asking.list {
        refuse_with_list(asking)?;
        return print_answer(&rules(&ask.thresholds), common, out);
    }
    if common.wants_only_definitions() {
        return definitions(asking, out);
    }
    let (runs, folder) = match question.compares() {
        true => (comparison::load(asking, &mut ask)?, Folder::default()),
        false => load(asking, &ask)?,
    };
    let mut answer = answer(&ask, &runs)?;
    if let Some(html) = &asking.html {
        comparison::write_page(html, &ask, &runs)?;
    }
    answer.remarks.extend(folder.late_rank);
    answer.remarks.iter().for_each(|text| remark(text));
    answer.parts.splice(0..0, folder.runs);
    if let Some(fail_on) = asking.fail_on
        && answer.facts.iter().any(|fact| fact.key == "worst" && fail_on.is_reached_by(&fact.value))
    {
        *outcome = Outcome::No;
    }
    print_answer(&answer, common, out)
}

/// What is said of a folder beside the answer about one of its traces.
#[derive(Default)]
struct Folder {
    /// A line on each.
    runs: Option<Part>,
    late_rank: Option<String>,
}

/// The runs, and what is said of the folder where the question has that.
fn load(asking: &QuestionArgs, ask: &Ask) -> Result<(Vec<Arc<Run>>, Folder), Failure> {
    let QuestionArgs { common, question, .. } = asking;
    let several = match &common.path {
        Some(path) if question.lists_folder && common.rank.is_none() => discover(path)?.len() > 1,
        _ => false,
    };
    let mut rows = Vec::new();
    let mut add_row = |run: &Run| rows.push(run_row(ask, run));
    let each: Option<Each<'_>> = if several { Some(&mut add_row) } else { None };
    let mut runs = vec![choose(&common.place(), each)?];
    if !question.states_damage {
        warn(runs[0].trace());
    }
    for path in &asking.more {
        runs.push(choose(&Place { path: Some(path), ..common.place() }, None)?);
    }
    let late_rank = late_rank_words(&rows, &ask.thresholds);
    Ok((runs, Folder { late_rank, runs: (rows.len() > 1).then(|| runs_part(ask, rows)) }))
}

fn refuse_with_list(asking: &QuestionArgs) -> Result<(), Failure> {
    let given = match (asking.first_option(), &asking.fail_on, &asking.common.path) {
        (Some(option), ..) => format!("--{option}"),
        (None, Some(_), _) => "--fail-on".to_owned(),
        (None, None, Some(_)) => "a trace".to_owned(),
        (None, None, None) if asking.common.format == Format::Sarif => "--format sarif".to_owned(),
        _ => return Ok(()),
    };
    let what = format!("{given} does not apply to the list of rules");
    Err(Failure::wrong_use(what, "leave it out, or leave out --list"))
}

fn screen(common: &Common, full: bool) -> Screen {
    let screen = match common.on_stderr {
        true => terminal::detect_with(&std::io::stderr(), common.color),
        false => terminal::detect_with(&std::io::stdout(), common.color),
    };
    screen.with_wide(common.wide || full)
}

fn print_answer(answer: &Answer, common: &Common, out: &mut dyn Write) -> Result<(), Failure> {
    let screen = screen(common, answer.whole_names);
    write_answer(out, &screen, common.format, common.explain, answer)?;
    if common.format == Format::Table && !answer.next.is_empty() {
        next(out, &screen, common, &answer.next, answer.next_label)?;
    }
    Ok(())
}

/// Only the definitions: what `--explain` without a trace prints.
fn definitions(asking: &QuestionArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let screen = screen(&asking.common, false);
    let definitions = asking.question.all_definitions();
    let rows: Vec<_> = definitions.iter().map(|d| json!(d)).collect();
    let text = match asking.common.format {
        Format::Table | Format::Sarif => return Ok(write::explanation(out, &screen, &definitions)?),
        Format::Json => print::json(&json!({ "definitions": rows }))?,
        Format::Csv => print::csv(&rows),
        Format::Md => print::markdown(&write::definitions_table(&definitions)),
    };
    Ok(out.write_all(screen.guard(&text).as_bytes())?)
}
