//! Every question there is: one file each, one entry here.

mod account;
mod code;
mod collectives;
mod compile;
mod critical_path;
mod diff;
mod findings;
mod functions;
mod gaps;
mod gpu;
mod graphs;
mod hlo;
mod hta;
mod info;
mod kernels;
mod launches;
mod lines;
mod loading;
mod memory;
mod modules;
mod notes;
mod ops;
mod phases;
mod program_phases;
mod regions;
mod roofline;
mod serving;
mod stacks;
mod steps;
mod summary;
mod threads;
mod transfers;
mod waits;
mod what_if;
mod xprof;

use stepscope_analyse::findings::is_users;
use stepscope_analyse::names::nearest::nearest;
use stepscope_analyse::run::Run;
use stepscope_ground::Problem;

use crate::ask::{Ask, Question};

pub use diff::words as diff_words;
pub use findings::rules;
pub use program_phases::phases_text;
pub use summary::{RunRow, late_rank_words, run_row, runs_part};

/// The registry, in the order of the help.
pub static QUESTIONS: &[&Question] = &[
    &summary::QUESTION,
    &findings::QUESTION,
    &what_if::QUESTION,
    &account::QUESTION,
    &steps::QUESTION,
    &critical_path::QUESTION,
    &regions::QUESTION,
    &phases::QUESTION,
    &ops::QUESTION,
    &kernels::QUESTION,
    &hlo::QUESTION,
    &modules::QUESTION,
    &code::QUESTION,
    &functions::QUESTION,
    &lines::QUESTION,
    &stacks::QUESTION,
    &threads::QUESTION,
    &serving::QUESTION,
    &compile::QUESTION,
    &gaps::QUESTION,
    &launches::QUESTION,
    &waits::QUESTION,
    &loading::QUESTION,
    &transfers::QUESTION,
    &gpu::QUESTION,
    &collectives::QUESTION,
    &graphs::QUESTION,
    &roofline::QUESTION,
    &memory::QUESTION,
    &hta::QUESTION,
    &xprof::QUESTION,
    &info::QUESTION,
    &diff::QUESTION,
];

/// The question of this name or alias; `_` and `-` are the same.
pub fn find(name: &str) -> Option<&'static Question> {
    let name = name.replace('_', "-");
    QUESTIONS.iter().copied().find(|q| q.name == name || q.alias == Some(name.as_str()))
}

impl Ask {
    /// A question by its name, without options.
    pub fn new(question: &str) -> Result<Ask, Problem> {
        find(question).map(Ask::about_all).ok_or_else(|| {
            let names = || QUESTIONS.iter().filter(|q| !q.compares()).map(|q| q.name);
            let hint = match nearest(question, names(), 1).first() {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("questions: {}", names().collect::<Vec<_>>().join(", ")),
            };
            Problem::new(format!("unknown question '{question}'"), hint)
        })
    }

    /// The question with options: `with("ops", [("by", "shape"), ("top", "5")])`.
    pub fn with<'a, 'b>(
        question: &str,
        options: impl IntoIterator<Item = (&'a str, &'b str)>,
    ) -> Result<Ask, Problem> {
        let mut ask = Ask::new(question)?;
        for (option, value) in options {
            ask.set(option, value)?;
        }
        Ok(ask)
    }
}

/// Rows a table shows unless `--top` says otherwise.
const DEFAULT_TOP: usize = 20;

/// What a table about devices says where there is nothing.
const NO_DEVICE_WORK: &str = "no device work in this trace: nothing ran on a GPU, or it was not recorded (PyTorch does with \
                              ProfilerActivity.CUDA; JAX and TensorFlow always do)";

/// Where to look, if neither operators nor devices were recorded.
fn only_functions(run: &Run) -> Option<&'static str> {
    run.hot().map(|_| "only functions were recorded: `stepscope functions` says where their time goes")
}

/// A device's name in a table.
fn gpu_name(device: Option<i64>) -> String {
    device.map_or("?".to_owned(), |device| device.to_string())
}

/// The user's own line among Python frames, innermost first; the innermost if none is.
fn users_line(stack: &[String]) -> Option<&str> {
    stack.iter().find(|frame| is_users(frame)).or(stack.first()).map(String::as_str)
}

/// The name of something on the host, without what only PyTorch itself needs to know.
fn host_name(name: &str, full: bool) -> String {
    if full {
        return name.to_owned();
    }
    if let Some(node) = name.strip_prefix("autograd::engine::evaluate_function: ") {
        return format!("autograd: {node}");
    }
    match name.split_once('#') {
        Some((loop_head, _)) if loop_head.starts_with("enumerate(") => loop_head.to_owned(),
        _ => name.to_owned(),
    }
}
