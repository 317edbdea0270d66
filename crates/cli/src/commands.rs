//! What the program does, one file per command; all questions are one.

mod doctor;
mod dump;
mod dumped;
mod dumped_frame;
mod export;
mod place;
mod question;
mod record;
mod repro;
mod standing;
mod top;
mod view;
mod waiting;

use std::io::Write;

use crate::args::{self, Command};
use crate::failure::{Failure, Outcome};

pub(crate) use question::question;
pub(crate) use record::{duration, rate};

/// Runs a command that is no question.
pub(crate) fn dispatch(command: Command, out: &mut dyn Write, outcome: &mut Outcome) -> Result<(), Failure> {
    match command {
        Command::View(args) => view::run(&args, out),
        Command::Export(export) => export::run(&export, out),
        Command::Repro(args) => repro::run(&args, out),
        Command::Record(args) => record::run(&args, out, outcome),
        Command::Top(args) => top::run(&args, out),
        Command::Dump(args) => dump::run(&args, out),
        Command::Doctor { format } => doctor::run(format, out),
        Command::Run { .. } => Err(Failure::wrong_use(
            "`stepscope run` needs the Python package",
            "install it with `pip install .` in a clone of stepscope",
        )),
        Command::Completions { shell } => {
            // Into memory first: the generator panics on a closed pipe.
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut args::command(), "stepscope", &mut text);
            Ok(out.write_all(&text)?)
        }
        Command::Man => {
            let mut text = Vec::new();
            clap_mangen::Man::new(args::command()).render(&mut text)?;
            Ok(out.write_all(&text)?)
        }
    }
}
