//! The `stepscope` program: arguments in, tables out.
//!
//! Commands ask `analyse` and print what it answers; this crate refuses to compute a figure of its own.

mod args;
mod commands;
mod config;
mod failure;
mod input;

pub mod print;
mod rows;
mod words;

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::Arc;

use clap::FromArgMatches;
use stepscope_model::Trace;
use stepscope_serve::Question;

use args::Cli;
use failure::{Failure, Outcome};
use print::{Role, Screen};

/// Runs the program with these arguments (the first is its name) and returns its exit code: 0 fine, 1 the answer
/// is no, 2 wrong use or unreadable input.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let mut command = args::command();
    let matches = command.try_get_matches_from_mut(arguments);
    let cli = match matches.and_then(|m| Cli::from_arg_matches(&m).map_err(|e| e.format(&mut command))) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, everything else is a mistake; clap words both.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return code;
        }
    };
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut outcome = Outcome::Fine;
    let result = commands::dispatch(cli, &mut out, &mut outcome).and_then(|()| Ok(out.flush()?));
    let ended = match outcome {
        Outcome::Fine => 0,
        Outcome::No => 1,
    };
    match result {
        Ok(()) => ended,
        // `stepscope ops trace | head` is a wish, not an error; nor does it change the answer.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ended,
        Err(failure) => {
            let screen = Screen::detect(&io::stderr());
            // Nothing sensible is left to do if stderr is gone too.
            let _ = report(&failure, &screen, &mut io::stderr().lock());
            2
        }
    }
}

/// The JSON that a command prints about a trace in memory, with the definitions of its figures: `ask(&trace, "ops",
/// &[("by", "shape")])`. An option without a value is a flag. Fails with a sentence, and what to do.
pub fn ask(
    trace: &Arc<Trace>,
    command: &str,
    options: &[(String, String)],
) -> Result<Vec<u8>, (String, Option<String>)> {
    let question = Question { command: command.to_owned(), options: options.to_vec(), csv: false };
    commands::answer(trace, &question).map_err(|problem| (problem.message, problem.hint))
}

fn report(failure: &Failure, screen: &Screen, err: &mut dyn Write) -> io::Result<()> {
    writeln!(err, "{} {}", screen.paint(Role::Bad, "error:"), screen.text(&failure.to_string()))?;
    if let Some(hint) = failure.hint() {
        writeln!(err, "{} {}", screen.paint(Role::Accent, "hint:"), screen.text(&hint))?;
    }
    Ok(())
}
