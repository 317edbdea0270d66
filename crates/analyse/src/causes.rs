//! Every nanosecond a device waits has one cause.

pub mod account;
pub mod cause;
pub mod data_loading;
pub mod gaps;
mod host_sums;
pub mod idle;
pub mod launches;
pub mod transfers;
pub mod verdict;
pub mod waits;
