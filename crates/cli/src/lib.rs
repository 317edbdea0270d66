//! The `stepscope` program: arguments in, answers out.
//!
//! A command line becomes a question of `ask`; this crate finds the trace, knows the terminal, and prints the answer. It
//! refuses to compute a number of its own.

mod args;
mod commands;
mod config;
mod failure;
mod format;
mod input;
mod next;
mod sources;
mod terminal;

pub use config::thresholds;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::FromArgMatches;
use stepscope_ask::print::{Role, Screen};
use stepscope_ask::{QUESTIONS, find};

use args::{Command, Common, QuestionArgs};
use failure::{Failure, Outcome};

/// What a command line asks for.
enum Line {
    Question(Box<QuestionArgs>),
    Command(Box<Command>),
}

/// Runs the program with these arguments (the first is its name) and returns its exit code: 0 fine, 1 the answer
/// is no, 2 wrong use or unreadable input; `record` ends with the exit code of the program that it started.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let line = match parse(arguments) {
        Ok(line) => line,
        Err(error) => {
            // Help and version are answers, everything else is a mistake; clap words both.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return code;
        }
    };
    answer_line(line, io::stdout().lock())
}

/// Prints the first screen about a trace on stderr: for whoever has just recorded it, apart from the program's own output.
/// Returns the exit code.
pub fn summarize(trace: PathBuf) -> u8 {
    let common = Common { path: Some(trace), on_stderr: true, ..Common::default() };
    // Not locked: whoever shows how far reading has come writes there too.
    answer_line(Line::Question(Box::new(QuestionArgs::about(QUESTIONS[0], common))), io::stderr())
}

fn answer_line(line: Line, out: impl Write) -> u8 {
    let mut out = io::BufWriter::with_capacity(1 << 16, out);
    let mut outcome = Outcome::Fine;
    let result = match line {
        Line::Question(asking) => commands::question(&asking, &mut out, &mut outcome),
        Line::Command(command) => commands::dispatch(*command, &mut out, &mut outcome),
    };
    let result = result.and_then(|()| Ok(out.flush()?));
    let ended = match outcome {
        Outcome::Fine => 0,
        Outcome::No => 1,
        Outcome::Program(code) => code,
    };
    match result {
        Ok(()) => ended,
        // `stepscope ops trace | head` is a wish, not an error; nor does it change the answer.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ended,
        Err(failure) => {
            let screen = terminal::detect(&io::stderr());
            // Nothing sensible is left to do if stderr is gone too.
            let _ = report(&failure, &screen, &mut io::stderr().lock());
            2
        }
    }
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Line, clap::Error> {
    let mut command = args::command();
    let matches = command.try_get_matches_from_mut(arguments)?;
    let line =
        match matches.subcommand() {
            None => QuestionArgs::from_matches(QUESTIONS[0], &matches)
                .map(|asking| Line::Question(Box::new(asking))),
            Some((name, of_command)) => match find(name) {
                Some(question) => QuestionArgs::from_matches(question, of_command)
                    .map(|asking| Line::Question(Box::new(asking))),
                None => Command::from_arg_matches(&matches).map(|command| Line::Command(Box::new(command))),
            },
        };
    line.map_err(|error| error.format(&mut command))
}

fn report(failure: &Failure, screen: &Screen, err: &mut dyn Write) -> io::Result<()> {
    writeln!(err, "{} {}", screen.paint(Role::Bad, "error:"), screen.text(&failure.to_string()))?;
    if let Some(hint) = failure.hint() {
        writeln!(err, "{} {}", screen.paint(Role::Accent, "hint:"), screen.text(&hint))?;
    }
    Ok(())
}
