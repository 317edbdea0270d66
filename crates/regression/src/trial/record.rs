//! What `stepscope try` keeps beside a trace, so that its findings can say what was measured.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stepscope_analyse::statistics::Verdict;
use stepscope_ground::Problem;

use super::Numbers;
use crate::machine::Machine;

/// Of the file. Readers take newer ones too: what they know in them is where it was.
pub const VERSION: u32 = 1;

const ENDING: &str = ".try.json";

/// All that one `stepscope try` measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TryRecord {
    /// Of this file's format.
    pub stepscope_try: u32,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// When, in UTC.
    pub when: String,
    pub machine: Machine,
    pub iteration: String,
    pub rounds: usize,
    /// The mean iteration without a fix.
    pub baseline_ns: f64,
    /// How far two runs without a fix lie apart, as a share.
    pub noise: f64,
    pub fixes: Vec<FixRecord>,
    pub plan: Vec<PlanRecord>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FixRecord {
    pub name: String,
    pub title: String,
    /// The rule whose finding named it.
    pub rule: Option<String>,
    /// What that finding promised, as a share of an iteration without the profiler.
    pub promised: Option<f64>,
    /// Whether that promise is a bound.
    pub at_most: bool,
    pub iteration_ns: Option<f64>,
    /// What it saves as a share of an iteration, and from where to where that may lie.
    pub saves: Option<f64>,
    pub saves_low: Option<f64>,
    pub saves_high: Option<f64>,
    /// `faster`, `slower`, `no_difference` or `inconclusive`; unknown if it could not be measured.
    pub verdict: Option<String>,
    pub numbers: Numbers,
    pub peak_bytes: Option<i64>,
    pub startup_ns: Option<f64>,
    pub took: bool,
    pub evidence: String,
    pub code: String,
}

impl FixRecord {
    pub fn is_faster(&self) -> bool {
        self.verdict.as_deref() == Some(verdict_name(Verdict::Faster))
    }
}

/// As files have it.
pub fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoDifference => "no_difference",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// One step of the plan: these fixes together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    pub fixes: Vec<String>,
    pub iteration_ns: f64,
    /// What all of them save together, and from where to where that may lie.
    pub saves: f64,
    pub saves_low: Option<f64>,
    pub saves_high: Option<f64>,
    pub numbers: Numbers,
    /// Whether the last of them is worth having on top of the others.
    pub helps: bool,
}

impl TryRecord {
    pub fn read(path: &Path) -> Result<TryRecord, Problem> {
        let text = std::fs::read(path).map_err(|error| {
            Problem::new(
                format!("cannot read the file ({error}): {}", path.display()),
                "check that it can be read",
            )
        })?;
        serde_json::from_slice(&text).map_err(|error| {
            Problem::new(
                format!("this is not what `stepscope try` wrote ({error}): {}", path.display()),
                "run `stepscope try` again",
            )
        })
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), Problem> {
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| Problem::new(format!("cannot write the results: {error}"), "report this"))?;
        text.push(b'\n');
        stepscope_ground::write_whole(path, &text).map_err(|error| {
            Problem::new(
                format!("cannot write the results ({error}): {}", path.display()),
                "free up some space, or make the folder writable",
            )
        })
    }
}

/// All results in a folder and in those below it, oldest first; what cannot be read is left out.
pub fn all(folder: &Path) -> Vec<(PathBuf, TryRecord)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            } else if path.to_string_lossy().ends_with(ENDING) {
                found.extend(TryRecord::read(&path).ok().map(|record| (path, record)));
            }
        }
    }
    found.sort_by(|a, b| (&a.1.when, &a.0).cmp(&(&b.1.when, &b.0)));
    found
}
