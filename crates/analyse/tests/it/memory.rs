//! Tests of `memory`.

pub(crate) mod curves;
mod window;
