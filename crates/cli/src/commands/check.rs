//! `stepscope check`: holds a run to a baseline.

mod cause;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use stepscope_ask::write;
use stepscope_regression::{Checked, Condition, Measurement, Options, Outcome as Verdict, check, report};

use super::measure;
use crate::args::Check;
use crate::failure::{Failure, Outcome};
use crate::format::{Format, write_answer};
use crate::terminal;

pub(super) fn run(args: &Check, out: &mut dyn Write, outcome: &mut Outcome) -> Result<(), Failure> {
    if args.format == Format::Sarif {
        return Err(Failure::wrong_use(
            "a check cannot be written as SARIF",
            "use --format md, or --junit FILE",
        ));
    }
    // Mistakes are found before anything runs for hours.
    let conditions = args.fail_on.iter().map(|text| Condition::parse(text)).collect::<Result<Vec<_>, _>>()?;
    cause::precheck(args)?;
    let (baseline, current) = measure(args, &conditions)?;
    let conditions = if conditions.is_empty() {
        vec![Condition::parse(&format!(
            "{}>+5%",
            baseline.as_ref().filter(|before| !before.has("step_time")).unwrap_or(&current).usual_metric()
        ))?]
    } else {
        conditions
    };
    let options =
        Options { confidence: args.confidence, any_machine: args.any_machine, in_turns: runs_both(args) };
    let mut checked = check(&conditions, baseline.as_ref(), &current, &options);
    let no = match checked.outcome() {
        Verdict::Pass => false,
        Verdict::Fail => true,
        Verdict::Inconclusive => !args.allow_inconclusive,
    };
    if no {
        *outcome = Outcome::No;
    }
    cause::add(args, baseline.as_ref(), &current, &mut checked);
    let title =
        args.baseline.as_deref().map_or("Performance".to_owned(), |name| format!("Performance against {name}"));
    let checked = Arc::new(checked);
    let answer = report::answer(&checked, &title);
    let markdown = write::markdown(&answer, false);
    if let Some(path) = &args.junit {
        write_file(path, &report::junit(&checked, &title))?;
    }
    if let Some(path) = &args.markdown {
        write_file(path, &markdown)?;
    }
    write_answer(out, &terminal::detect(&io::stdout()), args.format, false, &answer)?;
    for_github(&checked, &markdown, args.format, out)
}

/// Whether the baseline runs too, in turns, instead of being read.
fn runs_both(args: &Check) -> bool {
    args.baseline_command.is_some() || args.baseline_dir.is_some()
}

/// The baseline, unless only absolute limits are asked about, and what to hold to it.
fn measure(args: &Check, conditions: &[Condition]) -> Result<(Option<Measurement>, Measurement), Failure> {
    let repeats = args.timing.repeats as usize;
    if runs_both(args) {
        let mut current = measure::bare(&args.command, &args.timing)?;
        if args.baseline_command.is_some() {
            current.counted = None; // the other side is a shell, in which nothing is found
        }
        let mut before = current.clone();
        if let Some(command) = &args.baseline_command {
            before.command = ["sh", "-c", command].map(OsString::from).to_vec();
        }
        before.folder = args.baseline_dir.clone();
        let (before, now) = measure::time_in_turns(&before, &current, repeats)?;
        return Ok((Some(before), now));
    }
    let relative = conditions.is_empty() || conditions.iter().any(Condition::is_relative);
    // A baseline that is missing or damaged is found before anything runs.
    let baseline = match &args.baseline {
        Some(name) => Some(measure::store(&args.place)?.newest(name)?.measurement),
        None if relative => {
            return Err(Failure::wrong_use(
                "nothing to compare with",
                "name a baseline with --baseline NAME, or alternate runs with --baseline-dir or --baseline-command",
            ));
        }
        None => None,
    };
    let current = if args.command.is_empty() {
        measure::of_files(&args.runs)?
    } else {
        measure::time(&measure::bare(&args.command, &args.timing)?, repeats, !args.no_fixed_task)?
    };
    Ok((baseline, current))
}

/// In a job of GitHub Actions: annotations in its log, and the table on its page.
fn for_github(checked: &Checked, markdown: &str, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    if std::env::var_os("GITHUB_ACTIONS").is_none_or(|value| value != "true") {
        return Ok(());
    }
    let lines = report::annotations(checked);
    // Data stays data: next to JSON or Markdown the annotations go to stderr, where the runner reads them too.
    match format {
        Format::Table => out.write_all(lines.as_bytes())?,
        _ => io::stderr().write_all(lines.as_bytes())?,
    }
    if let Some(page) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
        let mut file = std::fs::File::options().create(true).append(true).open(page)?;
        file.write_all(markdown.as_bytes())?;
    }
    Ok(())
}

fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| {
        Failure::wrong_use(
            format!("cannot write the file ({error}): {}", path.display()),
            "check the folder and its rights",
        )
    })
}
