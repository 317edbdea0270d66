//! Tests of `memory`.

pub(crate) mod curves;
mod snapshots;
mod window;
