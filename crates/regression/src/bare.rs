//! A command, run without a profiler and timed.
//!
//! Where its step times come from, in this order: `step()` of the stepscope package, if the program calls it; lines of its
//! output that match an expression; iterations that the package finds, if this is Python and has it; else there are none, and
//! only its whole time is known. Which it was is part of the result.

mod output;
mod program_steps;
mod python;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use regex::Regex;
use stepscope_ground::Problem;

use crate::measurement::Repeat;
use crate::yardstick::yardstick;
use output::Output;

/// The variable that tells the Python package to keep the times of its steps.
pub const STEP_TIMES: &str = "STEPSCOPE_STEP_TIMES";

/// How often the memory of a running program is read.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// A command and how to time it.
#[derive(Clone, Debug)]
pub struct Bare {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Where it runs; the current folder if not given.
    pub folder: Option<PathBuf>,
    /// How many steps at the start are left out.
    pub warmup: usize,
    /// What to look for in its output.
    pub expression: Option<Regex>,
    /// Ends it after this long.
    pub timeout: Option<Duration>,
    /// Passes its output on to standard error.
    pub show: bool,
    /// The command with the Python package in between, which looks for iterations in programs that tell no steps.
    pub counted: Option<Vec<OsString>>,
    /// Variables that it has besides ours.
    pub environment: Vec<(OsString, OsString)>,
}

/// Where step times come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepsFrom {
    /// The program's own marks.
    Program,
    /// Lines of its output.
    Output,
    /// Iterations that were found in it: what was taken for them.
    Found(String),
    /// Nowhere: the whole time is all that is known.
    Nowhere,
}

impl StepsFrom {
    pub fn text(&self) -> String {
        match self {
            StepsFrom::Program => "step() of the stepscope package in the program".to_owned(),
            StepsFrom::Output => "lines of the program's output (--metric-regex)".to_owned(),
            StepsFrom::Found(what) => format!("{what}, found in the program"),
            StepsFrom::Nowhere => "none: only the whole time of the process was measured".to_owned(),
        }
    }
}

/// One run of the command.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedRun {
    pub repeat: Repeat,
    /// Where its step times come from.
    pub steps_from: StepsFrom,
    /// Whether the program recorded a profile of itself meanwhile.
    pub profiled: bool,
}

/// Why a run has no numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BareError {
    /// It could not be started.
    Start(Problem),
    /// It ended with an error.
    Failed(Problem),
    /// It took too long.
    TimedOut(Problem),
}

impl From<BareError> for Problem {
    fn from(error: BareError) -> Problem {
        match error {
            BareError::Start(error) | BareError::Failed(error) | BareError::TimedOut(error) => error,
        }
    }
}

impl Bare {
    /// A command with the usual settings.
    pub fn new(command: Vec<OsString>) -> Bare {
        Bare {
            command,
            folder: None,
            warmup: 2,
            expression: None,
            timeout: None,
            show: false,
            counted: None,
            environment: Vec::new(),
        }
    }

    /// Finds the iterations of a PyTorch program, where the package can be put in between.
    pub fn count_iterations(self) -> Bare {
        Bare { counted: python::counted(&self.command), ..self }
    }

    /// The command as one line.
    pub fn line(&self) -> String {
        let words: Vec<String> = self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    /// Runs it once between two runs of a fixed task, by which runs of another hour can be compared.
    pub fn beside_yardstick(&self) -> Result<TimedRun, BareError> {
        let before = yardstick();
        let mut timed = self.once()?;
        timed.repeat.yardstick = Some((before + yardstick()) / 2.0);
        Ok(timed)
    }

    /// Runs it once.
    pub fn once(&self) -> Result<TimedRun, BareError> {
        let marks = Scratch::new().map_err(BareError::Start)?;
        let began = Instant::now();
        let mut child = self.start(&marks.0)?;
        let output = Output::follow(&mut child, self.expression.clone(), self.show);
        let waited = self.wait(&mut child, began);
        let wall = began.elapsed();
        let output = output.finish();
        let (status, peak) = waited.map_err(|error| self.explain(error, &output))?;
        if !status.success() {
            let code = status.code().map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            return Err(BareError::Failed(Problem::new(
                format!("the command ended with {code}: {}{}", self.line(), output.tail_text()),
                "it must succeed to be measured; run it by hand",
            )));
        }
        let mut repeat = Repeat::default();
        repeat.put("wall_time", [wall.as_nanos() as f64]);
        repeat.put("peak_memory", peak.map(|bytes| bytes as f64));
        // What the program prints of its steps counts more than what was taken for them.
        let program = program_steps::read(&marks.0)
            .filter(|found| found.found_by.is_none() || !output.found.contains_key("step_time"));
        let steps_from =
            if let Some(steps) = program.as_ref().map(|p| p.steps(self.warmup)).filter(|s| !s.is_empty()) {
                repeat.put("step_time", steps);
                repeat.put("samples_per_s", program.as_ref().and_then(|p| p.samples_per_s(self.warmup)));
                let found_by = program.as_ref().and_then(|p| p.found_by.clone());
                found_by.map_or(StepsFrom::Program, StepsFrom::Found)
            } else if output.found.is_empty() {
                StepsFrom::Nowhere
            } else {
                StepsFrom::Output
            };
        for (key, values) in &output.found {
            if key != "step_time" || steps_from == StepsFrom::Output {
                // A program that prints one number has no steps to leave out.
                let skip = if values.len() > self.warmup + 1 { self.warmup } else { 0 };
                repeat.put(key, values.iter().copied().skip(skip));
            }
        }
        Ok(TimedRun { repeat, steps_from, profiled: program.is_some_and(|p| p.profiled) })
    }

    fn start(&self, marks: &Path) -> Result<Child, BareError> {
        let Some((program, rest)) = self.counted.as_deref().unwrap_or(&self.command).split_first() else {
            return Err(BareError::Start(Problem::new(
                "no command given",
                "put it after --: -- python train.py",
            )));
        };
        let mut command = Command::new(program);
        command.args(rest).env(STEP_TIMES, marks).envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.spawn().map_err(|error| {
            let hint = match error.kind() {
                std::io::ErrorKind::NotFound => "check the spelling; the program is looked for in $PATH",
                _ => "check that it can be run",
            };
            BareError::Start(Problem::new(format!("cannot start {}: {error}", program.display()), hint))
        })
    }

    /// Waits for the end; meanwhile reads the peak memory that the system reports.
    fn wait(
        &self,
        child: &mut Child,
        began: Instant,
    ) -> Result<(std::process::ExitStatus, Option<u64>), BareError> {
        let mut peak = None;
        let mut looked = None::<Instant>;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok((status, peak)),
                Ok(None) => {}
                Err(error) => {
                    return Err(BareError::Start(Problem::new(
                        format!("cannot wait for it: {error}"),
                        "try again",
                    )));
                }
            }
            if looked.is_none_or(|at| at.elapsed() >= POLL_INTERVAL) {
                peak = peak.max(peak_of(child.id()));
                looked = Some(Instant::now());
            }
            if self.timeout.is_some_and(|limit| began.elapsed() > limit) {
                let _ = child.kill();
                let _ = child.wait();
                let what = format!("the command did not end in time: {}", self.line());
                return Err(BareError::TimedOut(Problem::new(what, "give it longer with --timeout")));
            }
            // A thousandth of the time so far is exact enough, and disturbs nothing.
            std::thread::sleep(
                (began.elapsed() / 1000).clamp(Duration::from_micros(100), Duration::from_millis(5)),
            );
        }
    }

    fn explain(&self, error: BareError, output: &output::ParsedOutput) -> BareError {
        match error {
            BareError::TimedOut(error) => {
                BareError::TimedOut(Problem { what: format!("{}{}", error.what, output.tail_text()), ..error })
            }
            other => other,
        }
    }
}

/// The most memory that a process had in RAM so far.
fn peak_of(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// A folder that is gone when it is no longer needed.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Result<Scratch, Problem> {
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("stepscope-bare-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).map_err(|error| {
            Problem::new(
                format!("cannot make a folder ({error}): {}", path.display()),
                "set TMPDIR to a folder you own",
            )
        })?;
        Ok(Scratch(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
