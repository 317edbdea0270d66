//! Whether two sets of measurements differ, by how much, and how sure that is.
//!
//! Plain numbers in, intervals and verdicts out; nothing here knows what was measured. Every random choice has a fixed
//! seed, so the same numbers give the same answer on every machine.

mod bootstrap;
mod changes;
mod compare;
mod level;
mod pairs;
mod random;
mod ranks;
mod sample;
mod several;
mod student;

pub use changes::{Change, ChangeRule, change_points, segments};
pub use compare::{Comparison, Counts, Method, Rule, Verdict, compare};
pub use level::{Level, level};
pub use pairs::{paired_shift, signed_rank};
pub use random::Random;
pub use ranks::{hodges_lehmann, mann_whitney, median_interval};
pub use sample::{Sample, Statistic};
pub use several::holm;

pub(crate) use student::quantile as student_quantile;
