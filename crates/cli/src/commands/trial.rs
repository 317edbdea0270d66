//! `stepscope try`: what fixes save, measured.

mod candidates;
mod python;
mod session;
mod show;

use std::io::Write;
use std::path::Path;

use stepscope_ground::utc;
use stepscope_regression::trial::{self, TryRecord};
use stepscope_regression::{Machine, trial::VERSION};

use crate::args::Try;
use crate::failure::Failure;
use crate::input::remark;

use candidates::Candidates;
use python::Python;
use session::Session;

pub(super) fn run(args: &Try, out: &mut dyn Write) -> Result<(), Failure> {
    if args.history {
        return show::history(args, out);
    }
    if args.apply {
        return show::code(&latest(args)?, args, out);
    }
    let python = Python::find(args)?;
    let fixes = python.fixes(&args.own)?;
    if args.list {
        return show::list(&fixes, args, out);
    }
    if args.program.is_empty() {
        return Err(Failure::wrong_use("no program given", "name it: stepscope try train.py"));
    }
    if !args.module && !Path::new(&args.program[0]).exists() {
        return Err(Failure::wrong_use(
            format!("no such script: {}", args.program[0]),
            "check the path, or give -m for a module",
        ));
    }
    let candidates = Candidates::find(args, &python, &fixes)?;
    if candidates.fixes.is_empty() {
        remark(candidates.why_none());
        return Ok(());
    }
    let measured = Session::new(args, &python)?.measure(&candidates)?;
    let record = TryRecord {
        stepscope_try: VERSION,
        program: words(args),
        when: utc::second_text(utc::now_ns() / 1_000_000_000),
        machine: Machine::here(),
        iteration: measured.iteration,
        rounds: measured.rounds,
        baseline_ns: measured.baseline_ns,
        noise: measured.noise,
        fixes: measured.fixes,
        plan: measured.plan,
    };
    let place = match &candidates.trace {
        Some(trace) => stepscope_formats::tried_path(trace),
        None => args.output.join(format!("{}.try.json", stem(args))),
    };
    if let Some(folder) = place.parent() {
        std::fs::create_dir_all(folder)?;
    }
    record.write(&place)?;
    show::record(&record, args, out)?;
    remark(&format!("results: {}", place.display()));
    Ok(())
}

/// The program as it is typed after `python`.
fn words(args: &Try) -> Vec<String> {
    let module = args.module.then(|| "-m".to_owned());
    module.into_iter().chain(args.program.iter().cloned()).collect()
}

/// The program's name, as the files of its traces have it.
fn stem(args: &Try) -> String {
    let name = args.program.first().map(String::as_str).unwrap_or_default();
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if args.module { name.rsplit('.').next().unwrap_or(name).to_owned() } else { stem }
}

/// The newest results, of this program if one is named.
fn latest(args: &Try) -> Result<TryRecord, Failure> {
    let wanted = words(args);
    let newest_first = trial::all(&args.output).into_iter().rev().map(|(_, record)| record);
    let mut found = newest_first.filter(|record| args.program.is_empty() || record.program == wanted);
    found.next().ok_or_else(|| {
        let what = format!("no results of this program in {}", args.output.display());
        Failure::wrong_use(what, format!("measure first: stepscope try {}", wanted.join(" ")))
    })
}
