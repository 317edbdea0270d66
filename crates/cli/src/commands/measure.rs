//! Numbers of runs: of a command that is timed, or of files.

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use regex::Regex;
use stepscope_ask::print::units;
use stepscope_ground::Problem;
use stepscope_regression::bare::{Bare, StepsFrom, TimedRun};
use stepscope_regression::{
    Baselines, How, Machine, Measurement, Metric, Repeat, Repository, Turn, import, run_metrics, turns,
};

use crate::args::{Store as StoreArgs, Timing};
use crate::failure::Failure;
use crate::input::{Place, choose, remark};

/// The current folder.
pub(super) fn here() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::wrong_use(format!("the current folder cannot be found: {error}"), "change to one that exists")
    })
}

/// The store of the command line.
pub(super) fn store(args: &StoreArgs) -> Result<Baselines, Failure> {
    Ok(Baselines::open(args.store.as_deref(), &here()?)?)
}

/// The command of the command line, ready to be timed.
pub(super) fn bare(command: &[OsString], timing: &Timing) -> Result<Bare, Failure> {
    let expression = timing.metric_regex.as_deref().map(|text| {
        let wrong = |error: regex::Error| {
            let what = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
            Failure::wrong_use(
                format!("this is not a regular expression ({what}): {text}"),
                "escape brackets with \\\\",
            )
        };
        Regex::new(text).map_err(wrong).and_then(|found| match found.captures_len() {
            1 => Err(Failure::wrong_use(
                format!("this expression has no group for the number: {text}"),
                "put the number in a group: 'step took (?P<ms>[0-9.]+) ms'",
            )),
            _ => Ok(found),
        })
    });
    Ok(Bare {
        warmup: timing.warmup,
        expression: expression.transpose()?,
        timeout: timing.timeout,
        show: timing.show_output,
        ..Bare::new(command.to_vec()).count_iterations()
    })
}

/// Says what goes on, where someone watches.
pub(super) struct Progress {
    total: usize,
    done: usize,
    watched: bool,
}

impl Progress {
    pub(super) fn new(total: usize) -> Progress {
        Progress { total, done: 0, watched: std::io::stderr().is_terminal() }
    }

    /// One more run has ended.
    pub(super) fn ran(&mut self, what: &str, timed: &TimedRun) {
        self.done += 1;
        let wall = timed.repeat.values.get("wall_time").and_then(|values| values.first());
        if self.watched {
            let wall = wall.map_or(String::new(), |ns| units::time(*ns as i64));
            let _ = write!(std::io::stderr(), "\r\u{1b}[Krun {} of {}{what}: {wall}", self.done, self.total);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.watched && self.done > 0 {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

/// A measurement in which runs of a command are gathered.
pub(super) struct MeasurementBuilder {
    measurement: Measurement,
    from: Option<StepsFrom>,
    profiled: bool,
}

impl MeasurementBuilder {
    pub(super) fn new(bare: &Bare) -> Result<MeasurementBuilder, Failure> {
        let folder = bare.folder.clone().map_or_else(here, Ok)?;
        let mut measurement = Measurement::new(How::Bare);
        measurement.command = bare.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        measurement.machine = Some(Machine::here());
        measurement.commit = Repository::around(&folder).ok().and_then(|repository| repository.head());
        Ok(MeasurementBuilder { measurement, from: None, profiled: false })
    }

    /// Takes in one run. All must tell their steps in the same way.
    pub(super) fn add(&mut self, timed: TimedRun) -> Result<(), Problem> {
        if self.from.as_ref().is_some_and(|from| *from != timed.steps_from) {
            return Err(Problem::new(
                "the command reported its steps in one run but not in another",
                "make it do the same every time",
            ));
        }
        self.from = Some(timed.steps_from);
        self.profiled |= timed.profiled;
        self.measurement.repeats.push(timed.repeat);
        Ok(())
    }

    pub(super) fn so_far(&self) -> &Measurement {
        &self.measurement
    }

    /// The measurement, with a remark on what a step is.
    pub(super) fn finish(mut self) -> Measurement {
        if let Some(from) = self.from {
            remark(&format!("step times: {}", from.text()));
            self.measurement.steps_from = Some(from.text());
        }
        if self.profiled {
            remark("the program records a profile of itself; its times include what that costs");
        }
        self.measurement
    }
}

/// Times a command, and a fixed task next to each run unless the machine is trusted.
pub(super) fn time(bare: &Bare, repeats: usize, fixed_task: bool) -> Result<Measurement, Failure> {
    let mut progress = Progress::new(repeats);
    let mut gathered = MeasurementBuilder::new(bare)?;
    for _ in 0..repeats {
        let timed = if fixed_task { bare.beside_yardstick() } else { bare.once() }.map_err(Problem::from)?;
        progress.ran("", &timed);
        gathered.add(timed)?;
    }
    drop(progress);
    Ok(gathered.finish())
}

/// Times two commands in turns: the baseline and the current one.
pub(super) fn time_in_turns(
    baseline: &Bare,
    current: &Bare,
    repeats: usize,
) -> Result<(Measurement, Measurement), Failure> {
    let mut progress = Progress::new(2 * repeats);
    let (mut before, mut now) = (MeasurementBuilder::new(baseline)?, MeasurementBuilder::new(current)?);
    for turn in turns(repeats) {
        let (bare, gathered, what) = match turn {
            Turn::Baseline => (baseline, &mut before, " (baseline)"),
            Turn::Current => (current, &mut now, " (current)"),
        };
        let timed = bare.once().map_err(Problem::from)?;
        progress.ran(what, &timed);
        gathered.add(timed)?;
    }
    drop(progress);
    let before = before.finish();
    Ok((before, now.finish()))
}

/// The numbers of files: each is one repeat.
pub(super) fn of_files(paths: &[PathBuf]) -> Result<Measurement, Failure> {
    let mut all: Option<Measurement> = None;
    for path in paths {
        let one = match imported(path)? {
            Some(measurement) => measurement,
            None => {
                let run = choose(&Place { path: Some(path), rank: None, max_text_bytes: None }, None)?;
                let repeat: Repeat = run_metrics(&run);
                if repeat.values.is_empty() {
                    return Err(Failure::wrong_use(
                        format!("this file has no times to compare: {}", path.display()),
                        "give a trace of the run",
                    ));
                }
                Measurement { repeats: vec![repeat], ..Measurement::new(How::Traces) }
            }
        };
        match &mut all {
            None => all = Some(one),
            Some(all) if all.how == one.how => all.repeats.extend(one.repeats),
            Some(_) => {
                return Err(Failure::wrong_use(
                    "traces and files of benchmark tools cannot be repeats of one run",
                    "give only one kind",
                ));
            }
        }
    }
    let mut all = all.ok_or_else(|| {
        Failure::wrong_use("nothing to measure", "give traces, or a command after --: -- python train.py")
    })?;
    all.commit = Repository::around(&here()?).ok().and_then(|repository| repository.head());
    Ok(all)
}

/// The full paths of traces that a baseline names. They must be there, before anything runs for hours.
pub(super) fn kept_paths(traces: &[PathBuf]) -> Result<Vec<String>, Failure> {
    let full = |path: &PathBuf| {
        std::fs::canonicalize(path).map(|path| path.display().to_string()).map_err(|error| {
            Failure::wrong_use(
                format!("cannot find this trace ({error}): {}", path.display()),
                "record it first, for example with stepscope.profile",
            )
        })
    };
    traces.iter().map(full).collect()
}

/// A file of another benchmark tool, or a measurement of ours.
fn imported(path: &Path) -> Result<Option<Measurement>, Failure> {
    let place = path.display().to_string();
    let Ok(mut file) = std::fs::File::open(path) else { return Ok(None) };
    let mut head = Vec::new();
    if path.is_dir()
        || Read::by_ref(&mut file).take(400).read_to_end(&mut head).is_err()
        || !import::may_be(&head)
    {
        return Ok(None);
    }
    let mut text = head;
    // A folder's worth of benchmarks has a few megabytes.
    file.take(256 << 20).read_to_end(&mut text).map_err(|error| {
        Failure::wrong_use(format!("cannot read the file ({error}): {place}"), "check that it can be read")
    })?;
    if let Some(found) = import::read(&text, &place)? {
        return Ok(Some(found));
    }
    let ours = String::from_utf8_lossy(&text[..text.len().min(400)]).contains("\"measurement\"");
    Ok(if ours { Some(Measurement::from_json(&text, &place)?) } else { None })
}

pub(super) fn metric(name: &str) -> Result<Metric, Failure> {
    Ok(Metric::parse(name)?)
}
