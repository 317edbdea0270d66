//! The `stepscope` program: arguments in, tables out.
//!
//! Commands ask `analyse` and print what it answers; this crate refuses to compute a figure of its own.

mod args;
mod commands;
mod failure;
mod input;
pub mod print;
mod rows;
mod words;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use args::Cli;
use failure::Failure;
use print::{Role, Screen};

/// Runs the program with these arguments (the first is its name) and returns its exit code: 0 fine, 1 the answer
/// is no, 2 wrong use or unreadable input.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, everything else is a mistake; clap words both.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let result = commands::dispatch(cli, &mut out).and_then(|()| Ok(out.flush()?));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // `stepscope ops trace | head` is a wish, not an error.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            let screen = Screen::detect(&io::stderr());
            // Nothing sensible is left to do if stderr is gone too.
            let _ = report(&failure, &screen, &mut io::stderr().lock());
            ExitCode::from(2)
        }
    }
}

fn report(failure: &Failure, screen: &Screen, err: &mut dyn Write) -> io::Result<()> {
    writeln!(err, "{} {}", screen.paint(Role::Bad, "error:"), screen.text(&failure.to_string()))?;
    if let Some(hint) = failure.hint() {
        writeln!(err, "{} {}", screen.paint(Role::Accent, "hint:"), screen.text(&hint))?;
    }
    Ok(())
}
