//! How much of what: a row per operator, kernel, module or stack.

pub mod compiled;
pub mod flops;
pub mod kernels;
pub mod modules;
pub mod ops;
pub mod run_info;
pub mod stacks;
