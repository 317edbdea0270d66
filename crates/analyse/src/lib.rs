//! Pure functions from a trace to answers.
//!
//! Each folder answers one kind of question and builds only on those above it, in the order in which they stand here; a
//! test holds the arrows. Each module holds the definitions of its metrics: the terminal, the browser and Python
//! show what these functions return. This crate refuses to read files, to print and to be async.

pub mod scope;
pub mod statistics;

pub mod names;

pub mod memory;
pub mod steps;

pub mod devices;
pub mod tables;
pub mod threads;

pub mod causes;
pub mod peers;
pub mod programs;

pub mod replay;
pub mod views;

pub mod roofline;

pub mod run;

pub mod findings;

pub mod compare;
