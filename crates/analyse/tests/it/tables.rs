//! Tests of `tables`.

mod compiled;
mod kernels;
mod key_averages;
mod modules;
mod run_info;
mod stacks;
