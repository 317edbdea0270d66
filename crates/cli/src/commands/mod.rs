//! One file a command.

mod export;
mod gpu;
mod info;
mod kernels;
mod memory;
mod modules;
mod ops;
mod stacks;
mod steps;
mod summary;

use std::io::Write;

use clap::CommandFactory;

use crate::args::{Cli, Command, Common};
use crate::failure::Failure;

/// Rows a table shows unless `--top` says otherwise.
const TOP: usize = 20;

/// Runs the command asked for.
pub(crate) fn dispatch(cli: Cli, out: &mut dyn Write) -> Result<(), Failure> {
    match cli.command.unwrap_or(Command::Summary(cli.summary)) {
        Command::Summary(common) => summary::run(&common, out),
        Command::Info(common) => info::run(&common, out),
        Command::Steps(common) => steps::run(&common, out),
        Command::Gpu(common) => gpu::run(&common, out),
        Command::Ops(args) => ops::run(&args, out),
        Command::Kernels(common) => kernels::run(&common, out),
        Command::Memory(common) => memory::run(&common, out),
        Command::Modules(common) => modules::run(&common, out),
        Command::Stacks(common) => stacks::run(&common, out),
        Command::Export(export) => export::run(&export, out),
        Command::Completions { shell } => {
            // Into memory first: the generator panics on a closed pipe.
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "stepscope", &mut text);
            Ok(out.write_all(&text)?)
        }
        Command::Man => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut text)?;
            Ok(out.write_all(&text)?)
        }
    }
}

/// One of the words a command's `--by` knows; the first is the default.
fn by<'a>(common: &Common, known: &[&'a str]) -> Result<&'a str, Failure> {
    let Some(asked) = common.by.as_deref() else { return Ok(known[0]) };
    known.iter().find(|word| **word == asked.to_ascii_lowercase()).copied().ok_or_else(|| {
        Failure::wrong_use(
            format!("cannot group by '{asked}' here"),
            format!("--by takes {}", known.join(", ")),
        )
    })
}

/// Fails if one of these options was given: an option without effect would be taken for an answer.
fn refuse(common: &Common, options: &[&str], what: &str, hint: &str) -> Result<(), Failure> {
    let given = [
        ("--by", common.by.is_some()),
        ("--sort", common.sort.is_some()),
        ("--top", common.top.is_some()),
        ("--filter", common.filter.is_some()),
        ("--step", common.step.is_some()),
        ("--device", common.device.is_some()),
    ];
    match given.iter().find(|(option, given)| *given && options.contains(option)) {
        Some((option, _)) => Err(Failure::wrong_use(format!("{option} does not apply to {what}"), hint)),
        None => Ok(()),
    }
}

/// The parts of a step are those of all devices together.
fn refuse_device_of_steps(common: &Common) -> Result<(), Failure> {
    let hint = "`stepscope steps --by device` shows each device's steps";
    refuse(common, &["--device"], "the parts of a step, which count all devices", hint)
}

/// `--explain` without a trace.
fn wants_only_definitions(common: &Common) -> bool {
    common.explain && common.path.is_none()
}
