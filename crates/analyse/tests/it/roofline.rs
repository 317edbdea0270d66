//! Tests of `roofline`.

pub(crate) mod costs;
mod recomputed;
mod tracelens;
