//! Questions about runs, and their answers.
//!
//! The terminal, the browser and Python all ask the same way: an [`Ask`] names a [`Question`] of the registry and its
//! options, [`answer`] works it out about one or more runs, and the [`Answer`] is written as a table, JSON, CSV or
//! Markdown. So no two of them can disagree, and a new question is one entry of [`QUESTIONS`].
//!
//! Everything here is pure: no standard streams, no working directory, no terminal. Whoever writes a table says how wide
//! it may be ([`print::Screen`]).

mod answer;
mod ask;
mod options;
pub mod print;
mod questions;
mod refusal;
mod rows;
mod sort_key;
pub mod write;

use std::sync::Arc;

use stepscope_analyse::run::Run;

pub use answer::{Answer, Fact, Next, Part};
pub use ask::{Ask, Group, Question};
pub use options::{ChangeWord, OPTIONS, OptionSpec};
pub use questions::{QUESTIONS, RunRow, find, rules, run_row, runs_part};
pub use refusal::Refusal;

/// Answers a question about some runs. Most questions are about one: they take the first.
pub fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Refusal> {
    let Some(first) = runs.first() else {
        return Err(Refusal::new("no trace given", "give a trace file or a folder"));
    };
    let mut answer = (ask.question().answer)(ask, runs)?;
    answer.definitions = ask.question().all_definitions();
    answer.origin_ns = first.trace().origin().0;
    answer.whole_names = ask.full;
    Ok(answer)
}
