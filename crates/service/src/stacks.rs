//! Stacks of Python functions, counted by the hour: where a service spends its time, all day, in a few hundred kilobytes per hour.
//!
//! `20261117T01_host_4711_9f3c21aa.stacks` holds one record, which is replaced as a whole now and then. A frame is written
//! once, a stack as its outer stack and one frame more.

mod codec;
mod writer;

use std::collections::HashMap;
use std::path::Path;

use stepscope_ground::Problem;

use crate::period::Period;
use crate::segment;
use crate::service_dir::ServiceDir;
use crate::stats::OTHER;

pub use writer::StackWriter;

/// Different stacks of one hour and process at most; the rest counts as [`OTHER`].
const MAX_STACKS: usize = 5_000;
/// Frames of a stack that are kept, the innermost.
const MAX_DEPTH: usize = 200;
/// Characters of a name and of a path that are kept.
const MAX_TEXT: usize = 300;
/// Different stacks of all hours and processes together.
const MAX_MERGED: usize = 100_000;

/// A function on a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackFrame {
    pub name: String,
    pub file: String,
    /// The line it starts at; 0 where that is not known.
    pub line: u32,
}

/// How often a stack was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedStack {
    /// Its functions, the outermost first.
    pub frames: Vec<StackFrame>,
    /// In how many samples it was seen.
    pub samples: u64,
    /// The time that these cover.
    pub ns: u64,
}

/// The stacks of some hours.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// Each stack, the most frequent first.
    pub stacks: Vec<CountedStack>,
    /// The hours that there is something of, in hours since 1970.
    pub hours: Vec<i64>,
    /// What could not be read, or is too much.
    pub notes: Vec<String>,
}

impl Stacks {
    /// Samples of all of them together.
    pub fn samples(&self) -> u64 {
        self.stacks.iter().fold(0, |sum, stack| sum.saturating_add(stack.samples))
    }
}

/// The hours that a folder has stacks of, in hours since 1970.
pub fn stack_hours(folder: &Path) -> Result<Vec<i64>, Problem> {
    let dir = ServiceDir::open(folder)?;
    let mut hours: Vec<i64> = listed(&dir)?.into_iter().map(|(hour, _, _)| hour).collect();
    hours.dedup();
    Ok(hours)
}

/// The stacks of every hour that a period touches, all processes together.
pub fn stacks(folder: &Path, period: Period) -> Result<Stacks, Problem> {
    read(folder, period, MAX_MERGED)
}

fn read(folder: &Path, period: Period, most: usize) -> Result<Stacks, Problem> {
    let dir = ServiceDir::open(folder)?;
    let hours = period.from.div_euclid(60)..=(period.until - 1).div_euclid(60);
    let mut found = Stacks::default();
    let mut merged: HashMap<Vec<StackFrame>, (u64, u64)> = HashMap::new();
    for (hour, _, path) in listed(&dir)? {
        if !hours.contains(&hour) {
            continue;
        }
        let Some(contents) = segment::read_records(&path, "records", codec::StackCounts::decode) else {
            continue;
        };
        if let Some(trouble) = contents.trouble {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            found.notes.push(format!("{name} {trouble}"));
        }
        for counted in contents.blocks {
            if found.hours.last() != Some(&hour) {
                found.hours.push(hour);
            }
            let period_ns = counted.period_ns;
            counted.each(|frames, samples| {
                let frames = match merged.contains_key(&frames) || merged.len() < most {
                    true => frames,
                    false => vec![other()],
                };
                let sums = merged.entry(frames).or_default();
                sums.0 = sums.0.saturating_add(samples);
                sums.1 = sums.1.saturating_add(samples.saturating_mul(period_ns));
            });
        }
    }
    found.stacks =
        merged.into_iter().map(|(frames, (samples, ns))| CountedStack { frames, samples, ns }).collect();
    found.stacks.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.frames.cmp(&b.frames)));
    Ok(found)
}

fn listed(dir: &ServiceDir) -> Result<Vec<(i64, segment::Process, std::path::PathBuf)>, Problem> {
    segment::list_beside(dir.folder(), segment::STACKS).map_err(|error| {
        Problem::new(
            format!("cannot read the directory {}: {error}", dir.folder().display()),
            "check that you may read it",
        )
    })
}

/// What counts for stacks that there is no room for.
fn other() -> StackFrame {
    StackFrame { name: OTHER.to_owned(), file: String::new(), line: 0 }
}

#[cfg(test)]
mod tests;
