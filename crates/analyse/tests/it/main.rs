//! Checks of the analyses against worked answers, recorded traces and the numbers of other tools.

// All of this crate is tests, helpers outside of test functions too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod any_trace;
mod causes;
mod compare;
mod csv;
mod data;
mod devices;
mod findings;
mod growth;
mod hostile_sizes;
mod instructions;
mod memory;
mod no_producer;
mod peers;
mod replay;
mod roofline;
mod steps;
mod tables;
mod threads;
mod views;
mod xla;
