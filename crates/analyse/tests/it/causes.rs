//! Tests of `causes`.

mod causality;
pub(crate) mod worked;
