//! What the server needs from whoever starts it: which traces there are, and how to read one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::compare::MetricUnit;
use stepscope_analyse::findings::Thresholds;
use stepscope_ground::Problem;
use stepscope_model::Document;
use stepscope_service::Hours;

use crate::source_files::SourceFiles;

/// A trace file, not yet read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFile {
    pub path: PathBuf,
    /// Its name among the others.
    pub label: String,
    /// Stored bytes.
    pub bytes: u64,
    /// When it was last written, in milliseconds since 1970.
    pub modified_ms: Option<u64>,
    /// Whether it is still being recorded: there will be more of it.
    pub recording: bool,
}

/// A trace about to be read.
pub struct PendingRun {
    /// Stored bytes read and in all (0 if unknown), while [`PendingRun::read`] runs.
    pub progress: Box<dyn Fn() -> (u64, u64) + Send + Sync>,
    pub read: Box<dyn FnOnce() -> Result<Document, Problem> + Send>,
}

/// Files and traces.
pub trait Backend: Send + Sync + 'static {
    /// The traces there are now.
    fn discover(&self) -> Result<Vec<RunFile>, Problem>;
    fn open(&self, path: &Path) -> PendingRun;
    /// Baselines, where there are any to show.
    fn histories(&self) -> Option<&dyn Histories> {
        None
    }
    /// A service in production, where there is one to show.
    fn service(&self) -> Option<&Hours> {
        None
    }
    /// Source code that runs name.
    fn sources(&self) -> SourceFiles {
        SourceFiles::default()
    }
    fn thresholds(&self) -> Arc<Thresholds> {
        Arc::default()
    }
}

/// A baseline that is kept.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BaselineListed {
    pub name: String,
    /// How often it was measured.
    pub measurements: u64,
    /// The metrics of the newest measurement.
    pub metrics: Vec<String>,
}

/// One metric of a baseline over its measurements.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricHistory {
    pub baseline: String,
    pub metric: String,
    pub unit: MetricUnit,
    /// The measurements, the oldest first.
    pub points: Vec<HistoryPoint>,
    pub changes: Vec<HistoryChange>,
    /// Measurements of another machine, taken in another way, or without the metric.
    pub left_out: u64,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HistoryPoint {
    /// When, in UTC.
    pub measured_at: String,
    /// The commit, shortened.
    pub commit: Option<String>,
    /// What the commit says it does.
    pub subject: Option<String>,
    /// The median over its runs.
    pub value: f64,
    /// The lowest of its runs.
    pub low: f64,
    /// The highest.
    pub high: f64,
    pub runs: u64,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HistoryChange {
    /// The first measurement of the new level, counted from 0.
    pub at: u64,
    /// The median of the stretch before.
    pub before: f64,
    /// The median of the stretch after.
    pub after: f64,
    /// How likely such a change would be if the order meant nothing.
    pub p: f64,
    pub sentence: String,
}

/// Baselines and their histories.
pub trait Histories: Send + Sync {
    /// The baselines there are now.
    fn baselines(&self) -> Result<Vec<BaselineListed>, Problem>;
    fn history(&self, baseline: &str, metric: &str) -> Result<MetricHistory, Problem>;
}
