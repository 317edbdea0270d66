//! Tests of `findings`.

mod any_program;
pub(crate) mod docs;
mod every_rule;
pub(crate) mod plain;
pub(crate) mod profile;
pub(crate) mod program;
pub(crate) mod snapshots;
mod twins;
pub(crate) mod verdicts;
