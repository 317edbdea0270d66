//! What the page is sent around the numbers: lists need an object to stand in, and a file that is being read has no answer.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::views::timeline::Counter;
use stepscope_ground::Problem;

use crate::path::Stretch;
use crate::runs::{ListedRun, RunState};

/// What is open. The page asks for it first, and every report holds it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionInfo<'a> {
    /// The version of this program.
    pub(crate) version: &'a str,
    /// Whether new traces appear by themselves.
    pub(crate) watching: bool,
    pub(crate) runs: Vec<ListedRun>,
    /// Whether baselines are open beside the runs, or instead of them.
    pub(crate) history: bool,
    /// Set if what is open was written by a service that is watched.
    pub(crate) service: Option<ServiceOpened>,
    /// Why the last check for traces failed, if it did.
    pub(crate) problem: Option<Problem>,
    /// Set in a report: what it is, and what was left out of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) report: Option<ReportMade<'a>>,
}

/// A watched service.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServiceOpened {
    pub(crate) name: String,
}

/// A report in one file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReportMade<'a> {
    pub(crate) made: &'a str,
    /// What it lacks, in words.
    pub(crate) left_out: &'a [String],
}

/// A run that is being read: ask again.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StillLoading {
    pub(crate) run: u32,
    pub(crate) state: RunState,
    pub(crate) read_bytes: u64,
    /// 0 if unknown.
    pub(crate) total_bytes: u64,
}

/// A question without an answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorReply<'a> {
    pub(crate) error: &'a Problem,
}

/// Names of slices, in the order they were asked for.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Names<'a> {
    pub(crate) names: Vec<&'a str>,
}

/// Counters between two moments.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Counters {
    pub(crate) counters: Vec<Counter>,
}

/// The critical path between two moments.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PathPieces<'a> {
    pub(crate) pieces: Vec<Stretch<'a>>,
}

/// The pages with something to show about a run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ShownPages {
    pub(crate) pages: Vec<&'static str>,
}
