//! Tests of `tables`.

mod collectives;
mod kernels;
mod key_averages;
mod modules;
mod run_info;
mod stacks;
