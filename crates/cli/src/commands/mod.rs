//! One file a command.

mod account;
mod critical_path;
mod doctor;
mod export;
mod findings;
mod gaps;
mod gpu;
mod info;
mod kernels;
mod launches;
mod loading;
mod memory;
mod modules;
mod ops;
mod roofline;
mod stacks;
mod steps;
mod summary;
mod transfers;
mod view;
mod waits;
mod what_if;

use std::io::Write;

use stepscope_analyse::findings::is_users;

use crate::args::{self, Cli, Command, Common};
use crate::failure::{Failure, Outcome};
use crate::print::Format;
use crate::words::only_findings;

pub(crate) use view::answer;

/// Rows a table shows unless `--top` says otherwise.
const TOP: usize = 20;

/// Runs the command asked for. `outcome` is set before anything is printed, so that a reader who stops listening
/// does not change it.
pub(crate) fn dispatch(cli: Cli, out: &mut dyn Write, outcome: &mut Outcome) -> Result<(), Failure> {
    let mut command = cli.command.unwrap_or(Command::Summary(cli.summary));
    let sarif = command.common_mut().is_some_and(|common| common.format == Format::Sarif);
    if sarif && !matches!(command, Command::Findings(_)) {
        return Err(only_findings());
    }
    match command {
        Command::Summary(args) => summary::run(&args, out),
        Command::Findings(args) => findings::run(&args, out, outcome),
        Command::WhatIf(args) => what_if::run(&args, out),
        Command::Account(common) => account::run(&common, out),
        Command::CriticalPath(common) => critical_path::run(&common, out),
        Command::Gaps(common) => gaps::run(&common, out),
        Command::Launches(common) => launches::run(&common, out),
        Command::Loading(common) => loading::run(&common, out),
        Command::Roofline(common) => roofline::run(&common, out),
        Command::Transfers(common) => transfers::run(&common, out),
        Command::Waits(common) => waits::run(&common, out),
        Command::Info(common) => info::run(&common, out),
        Command::Steps(common) => steps::run(&common, out),
        Command::Gpu(common) => gpu::run(&common, out),
        Command::Ops(args) => ops::run(&args, out),
        Command::Kernels(args) => kernels::run(&args, out),
        Command::Memory(args) => memory::run(&args, out),
        Command::Modules(common) => modules::run(&common, out),
        Command::Stacks(common) => stacks::run(&common, out),
        Command::View(args) => view::run(&args, out),
        Command::Export(export) => export::run(&export, out),
        Command::Doctor { format } => doctor::run(format, out),
        Command::Run { .. } => Err(Failure::wrong_use(
            "`stepscope run` starts Python scripts and comes with the Python package",
            "pip install . in a clone of stepscope; then its `stepscope` has it",
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

/// `--explain` without a trace.
fn wants_only_definitions(common: &Common) -> bool {
    common.explain && common.path.is_none()
}
