//! Tests of `findings`.

mod any_program;
pub(crate) mod docs;
mod pairs;
pub(crate) mod profile;
mod twins;
pub(crate) mod verdicts;
