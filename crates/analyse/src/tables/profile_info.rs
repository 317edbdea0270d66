//! What a profile holds.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Profile, ValueUnit};

use super::functions::Names;
use crate::scope::definition::{Definition, definitions};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProfileInfo {
    pub sampled_stacks: u64,
    pub different_stacks: u64,
    pub named_functions: u64,
    /// Functions whose calls were counted.
    pub counted_functions: u64,
    pub timed_lines: u64,
    /// What its samples count, in words.
    pub values: Vec<String>,
    /// Its threads, processes or recordings.
    pub parts: Vec<String>,
}

pub fn profile_info(profile: &Profile) -> ProfileInfo {
    let value = |kind: &stepscope_model::ValueKind| match kind.unit {
        ValueUnit::Plain => kind.name.clone(),
        ValueUnit::Nanoseconds if kind.name == "time" => kind.name.clone(),
        ValueUnit::Nanoseconds => format!("{} (time)", kind.name),
        ValueUnit::Bytes => format!("{} (bytes)", kind.name),
    };
    ProfileInfo {
        sampled_stacks: profile.samples().len() as u64,
        different_stacks: profile.stacks.len() as u64 - 1,
        named_functions: Names::new(profile).len() as u64,
        counted_functions: profile.calls.len() as u64,
        timed_lines: profile.lines.len() as u64,
        values: profile.values().iter().map(value).collect(),
        parts: profile.parts.iter().filter(|part| !part.is_empty()).cloned().collect(),
    }
}

pub const DEFINITIONS: &[Definition] = definitions! {
    "sampled_stacks", "Stacks" => "Weighted stacks in the profile; tools often write one for many equal samples.";
    "different_stacks", "Different stacks" =>
        "Stacks that differ in at least one frame, those that only begin others counted too.";
    "named_functions", "Functions" =>
        "Functions that differ in name or file, and in their first line where the profile has it.";
    "counted_functions", "Counted functions" => "Functions with a number of calls, as cProfile counts them.";
    "timed_lines", "Timed lines" => "Lines with hits and time, as line_profiler measures them.";
};
