//! Tests of `tables`.

mod code;
mod collectives;
mod compiled;
mod functions;
mod heap;
mod kernels;
mod key_averages;
mod modules;
mod phases;
mod regions;
mod run_info;
mod stacks;
