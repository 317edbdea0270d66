//! Rules that fire: `gpu_utilization<30% for 5m`, `p95(/predict)>100ms for 5m`.
//!
//! A rule fires once when its condition has held for as long as it says, and says so again when that is over. What happened is
//! a line of JSON in the folder, and a command may be run for it.

mod command;
mod log;
mod rule;
mod service;
mod watch;

pub use command::{AlertCommand, COMMAND_LIMIT};
pub use log::{AlertEvent, AlertState, alerts, keep_alert};
pub use rule::{AlertRule, Subject};
pub use service::ServiceRules;
pub use watch::{AlertMoment, MachineRules};

#[cfg(test)]
mod tests;
