//! What the program does, one file per command; all questions are one.

mod baseline;
mod bisect;
mod capture;
mod check;
mod comparison;
mod doctor;
mod dump;
mod export;
mod history;
mod measure;
mod monitor;
mod production;
mod program;
mod question;
mod record;
mod repro;
mod source_paths;
mod sweep;
mod top;
mod trial;
mod view;
mod whole_file;

use std::io::Write;

use crate::args::{self, Command};
use crate::failure::{Failure, Outcome};

pub(crate) use question::question;

/// Runs a command that is not a question.
pub(crate) fn dispatch(command: Command, out: &mut dyn Write, outcome: &mut Outcome) -> Result<(), Failure> {
    match command {
        Command::View(args) => view::run(&args, out),
        Command::Export(export) => export::run(&export, out),
        Command::Repro(args) => repro::run(&args, out),
        Command::Record(args) => record::run(&args, out, outcome),
        Command::Capture(args) => capture::run(&args, out, outcome),
        Command::Top(args) => top::run(&args, out),
        Command::Dump(args) => dump::run(&args, out),
        Command::Baseline(args) => baseline::run(args, out),
        Command::Check(args) => check::run(&args, out, outcome),
        Command::History(args) => history::run(&args, out),
        Command::Sweep(args) => sweep::run(&args, out),
        Command::Try(args) => trial::run(&args, out),
        Command::Bisect(args) => bisect::run(&args, out, outcome),
        Command::Monitor(args) => monitor::run(&args, out, outcome),
        Command::Production(args) => production::run(&args, out),
        Command::Doctor { format } => doctor::run(format, out),
        Command::Run { words } if words.first().is_some_and(|word| word == "--help" || word == "-h") => {
            let mut all = args::command();
            let help = all.find_subcommand_mut("run").map(|run| run.render_long_help().to_string());
            Ok(out.write_all(help.unwrap_or_default().as_bytes())?)
        }
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
