//! Tests of `steps`.

mod found;
