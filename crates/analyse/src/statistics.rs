//! Whether two sets of measurements differ, or one keeps growing, by how much, and how sure that is.
//!
//! Plain numbers in, intervals and verdicts out; nothing here knows what was measured. Every random choice has a fixed
//! seed, so the same numbers give the same answer on every machine.

mod bootstrap;
mod changes;
mod compare;
mod growth;
mod level;
mod pairs;
mod pauses;
mod random;
mod ranks;
mod sample;
mod several;
mod student;
mod theil_sen;
mod warming;

pub use changes::{Change, ChangeRule, change_points, segments};
pub use compare::{Comparison, Counts, Method, Rule, Verdict, compare};
pub use growth::{Growth, GrowthRule, growth, keeps_adding, warm_up};
pub use level::{Level, level};
pub use pairs::{paired_shift, signed_rank};
pub use pauses::pause_above;
pub use random::Random;
pub use ranks::{hodges_lehmann, mann_whitney, median_interval};
pub use sample::{Sample, Statistic};
pub use several::holm;
pub use student::{Interval, mean_interval};
pub use theil_sen::{Slope, theil_sen};
pub use warming::warm_up_length;

pub(crate) use student::{quantile as student_quantile, welch};
