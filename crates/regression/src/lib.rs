//! Did it get slower? Measurements of runs, baselines to compare them with, and the verdict.
//!
//! A [`Measurement`] is numbers only: repeats of a run, each with its metrics. It comes from running a command bare
//! ([`bare`]), from traces ([`run_metrics()`]) or from another tool's file ([`import`]); a [`Baselines`] keeps it; [`check()`] compares
//! two by conditions such as `step_time>+5%`. This crate starts processes and writes files, which `analyse` and `ask` do not;
//! what a difference means is decided in `analyse::statistics`.

pub mod bare;
mod baselines;
mod bisect;
mod check;
mod condition;
mod explain;
mod git;
mod history;
pub mod import;
mod machine;
mod measurement;
mod metric;
pub mod report;
mod run_metrics;
pub mod sweep;
pub mod trial;
mod turns;
mod yardstick;

pub use baselines::{Baselines, Record};
pub use bisect::{BisectResult, Judgment, bisect};
pub use check::{Checked, Finding, Options, Outcome, check};
pub use condition::{Condition, Limit};
pub use explain::{Contribution, Explanation, explain};
pub use git::{Commit, Repository};
pub use history::{History, MIN_MEASUREMENTS, Point};
pub use machine::Machine;
pub use measurement::{How, Measurement, Repeat, VERSION};
pub use metric::{Metric, Quantity};
pub use run_metrics::run_metrics;
pub use turns::{Turn, turns};
pub use yardstick::yardstick;
