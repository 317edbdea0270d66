//! Every nanosecond a device waits has one cause.

pub mod account;
pub mod cause;
pub mod data_loading;
pub mod gaps;
pub mod idle;
pub mod launches;
pub mod transfers;
pub mod verdict;
pub mod waits;
