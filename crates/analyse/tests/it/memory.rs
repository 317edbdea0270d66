//! Tests of `memory`.

pub(crate) mod curves;
pub(crate) mod leaks;
mod process;
mod replayed;
mod room;
mod snapshots;
mod window;
