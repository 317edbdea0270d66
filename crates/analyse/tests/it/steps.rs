//! Tests of `steps`.

mod found;
mod serving;
mod unmarked;
