//! Checks that hold for every question, over recorded traces.

// All of this crate is tests, helpers outside of test functions too.
#![allow(clippy::unwrap_used, clippy::panic)]

mod definitions;
mod fields;
