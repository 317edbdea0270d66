//! Questions about runs, and their answers.
//!
//! The terminal, the browser and Python all ask the same way: an [`Ask`] names a [`Question`] of the registry and its
//! options, [`answer()`] works it out about one or more runs, and the [`Answer`] is written as a table, JSON, CSV or
//! Markdown. So no two of them can disagree, and a new question is one entry of [`QUESTIONS`].
//!
//! Everything here is pure: no standard streams, no working directory, no terminal. Whoever writes a table says how wide
//! it may be ([`print::Screen`]).

mod answer;
mod ask;
mod form;
mod options;
pub mod print;
mod questions;
mod rows;
pub mod write;

use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

pub use answer::{Answer, Draw, Fact, Next, Part};
pub use ask::{Ask, Findings, Group, Question, Sources, Takes};
pub use form::{Form, Member, MemberKind};
pub use options::{ChangeWord, OPTIONS, OptionSpec};
pub use questions::{
    QUESTIONS, RunRow, diff_words, find, late_rank_words, phases_text, rules, run_row, runs_part,
};

/// Answers a question about some runs. Most questions are about one: they take the first.
pub fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let Some(first) = runs.first() else {
        return Err(Problem::new("no trace given", "give a trace file or a folder"));
    };
    if let Some(other) = runs.iter().find(|run| !ask.question().answers_for(run.kind())) {
        return Err(not_about(ask.question(), other));
    }
    let mut answer = (ask.question().answer)(ask, runs)?;
    answer.question = ask.question().name;
    answer.definitions = ask.question().all_definitions();
    answer.origin_ns = first.trace().origin().0;
    answer.whole_names = ask.full;
    answer.remarks.extend(about_steps(ask.question(), first));
    // The page's types are those of the forms: every test that asks anything checks them.
    if cfg!(debug_assertions) {
        ask.question().form_of(first.kind(), &answer)?;
    }
    Ok(answer)
}

/// How the steps that an answer divides by were found, if no one marked them; some answers say that themselves.
fn about_steps(question: &Question, run: &Run) -> Option<String> {
    let by_step = question.options.contains(&"step") && !matches!(question.name, "summary" | "steps");
    let found = run.all_steps().found.as_ref().filter(|_| by_step)?;
    Some(format!("no steps are marked: {}", found.sentence))
}

/// Why a question has no answer about this kind of file, and which have one.
fn not_about(question: &Question, run: &Run) -> Problem {
    let kind = run.kind();
    let fitting = QUESTIONS.iter().filter(|other| other.answers_for(kind) && !other.compares());
    let fitting: Vec<&str> = fitting.map(|other| other.name).collect();
    let source = &run.trace().meta().source;
    let what = format!("`{}` needs a timeline, and this is {} ({})", question.name, kind.what(), source.format);
    match fitting.is_empty() {
        true => Problem::new(what, "no question is about such files yet; give a trace of the same run"),
        false => Problem::new(what, format!("about this file, ask {}", fitting.join(", "))),
    }
}
