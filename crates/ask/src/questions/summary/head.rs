//! The line on top: which file, made by what, on what, how many steps, and what was recorded.

use std::io::{self, Write};

use stepscope_analyse::run::Run;
use stepscope_analyse::tables::run_info::RunInfo;

use crate::print::{self, Screen, units};

pub(super) struct Head {
    file: String,
    words: String,
}

impl Head {
    /// Of a run, or of some of its steps and devices.
    pub(super) fn new(run: &Run, devices: &[i64], whole: bool) -> Head {
        let info = run.info();
        let file = info.path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(&info.path);
        let mut words = vec![framework(info), device(info, devices)];
        words.extend(rank(info));
        words.push(steps(run, whole));
        words.extend(samples(run));
        words.extend(recorded(info));
        Head { file: file.to_owned(), words: words.join(", ") }
    }

    pub(super) fn write(&self, out: &mut dyn Write, screen: &Screen) -> io::Result<()> {
        print::heading(out, screen, &self.file, &self.words)
    }
}

fn framework(info: &RunInfo) -> String {
    match (&info.framework, &info.framework_version) {
        (Some(name), Some(version)) => format!("{name} {version}"),
        (Some(name), None) => name.clone(),
        _ => "trace".to_owned(),
    }
}

fn device(info: &RunInfo, devices: &[i64]) -> String {
    let named = info.devices.iter().find(|d| devices.contains(&d.index)).map(|d| d.name.as_str());
    let name = named.filter(|name| !name.is_empty()).unwrap_or("GPU");
    match devices.len() {
        0 => "host only".to_owned(),
        1 => name.to_owned(),
        n => format!("{n} × {name}"),
    }
}

fn rank(info: &RunInfo) -> Option<String> {
    let job = info.distributed.as_ref()?;
    let world = job.world_size.filter(|&ranks| ranks > 1)?;
    Some(format!("rank {} of {world}", job.rank?))
}

fn steps(run: &Run, whole: bool) -> String {
    let (steps, all) = (run.steps().steps.len() as u64, run.all_steps().steps.len() as u64);
    match steps {
        _ if run.steps().synthetic => format!("{}, no steps", units::time(run.step_ns())),
        n if !whole && n < all => format!("{} of {} steps", units::count(n), units::count(all)),
        1 if run.steps().found.is_none() => "1 step".to_owned(),
        n => match &run.steps().found {
            Some(_) => format!("{} found iterations", units::count(n)),
            None => format!("{} steps", units::count(n)),
        },
    }
}

/// `64 samples per step, 5,120/s`, where the program says.
fn samples(run: &Run) -> Option<String> {
    let samples = run.samples()?;
    let rate = samples.per_s().map(|rate| format!(", {}", units::rate(rate))).unwrap_or_default();
    Some(format!("{} samples per step{rate}", units::number(samples.per_step())))
}

/// What the profiler was asked to record, where the file says.
fn recorded(info: &RunInfo) -> Option<String> {
    let options = &info.options;
    let known =
        [(options.record_shapes, "shapes"), (options.with_stack, "stacks"), (options.profile_memory, "memory")];
    let with: Vec<&str> = known.iter().filter(|option| option.0 == Some(true)).map(|option| option.1).collect();
    match with.is_empty() {
        false => Some(format!("with {}", listed(&with))),
        true if known.iter().all(|option| option.0 == Some(false)) => {
            Some("without shapes or stacks".to_owned())
        }
        true => None,
    }
}

fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
