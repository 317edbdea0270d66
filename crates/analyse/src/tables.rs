//! How much of what: a row per operator, kernel, module, region or stack.

pub mod collectives;
pub mod compiled;
pub mod flops;
pub mod inputs;
pub mod kernels;
pub mod modules;
pub mod ops;
pub mod phases;
pub mod regions;
pub mod run_info;
pub mod stacks;
