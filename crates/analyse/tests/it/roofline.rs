//! Tests of `roofline`.

pub(crate) mod costs;
mod tracelens;
