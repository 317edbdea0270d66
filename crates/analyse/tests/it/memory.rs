//! Tests of `memory`.

pub(crate) mod curves;
pub(crate) mod leaks;
mod snapshots;
mod window;
