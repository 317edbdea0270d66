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
mod sort_key;
pub mod write;

use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

pub use answer::{Answer, Fact, Next, Part};
pub use ask::{Ask, Group, Question, Sources};
pub use form::{Form, Member, MemberKind};
pub use options::{ChangeWord, OPTIONS, OptionSpec};
pub use questions::{DIFF, QUESTIONS, RunRow, diff_words, find, rules, run_row, runs_part};

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
    // The page's types are those of the forms: every test that asks anything checks them.
    if cfg!(debug_assertions) {
        ask.question().form_of(first.kind(), &answer)?;
    }
    Ok(answer)
}

/// Why a question has no answer about this kind of file, and which have one.
fn not_about(question: &Question, run: &Run) -> Problem {
    let kind = run.kind();
    let fitting = QUESTIONS.iter().filter(|other| other.answers_for(kind)).map(|other| other.name);
    let fitting: Vec<&str> = fitting.collect();
    let source = &run.trace().meta().source;
    let what = format!("`{}` needs a timeline, and this is {} ({})", question.name, kind.what(), source.format);
    match fitting.is_empty() {
        true => Problem::new(what, "no question is about such files yet; give a trace of the same run"),
        false => Problem::new(what, format!("about this file, ask {}", fitting.join(", "))),
    }
}
