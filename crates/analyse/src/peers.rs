//! Metrics of other tools, by their own rules.

pub mod hta;
pub mod tracelens;
pub mod xprof;
