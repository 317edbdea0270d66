//! How much of what: a row per operator, kernel, module, region, function, line or stack.

pub mod code;
pub mod collectives;
pub mod compiled;
pub mod flops;
pub mod functions;
pub mod heap;
pub mod inputs;
pub mod kernels;
pub mod lines;
pub mod modules;
pub mod ops;
pub mod phases;
pub mod profile_info;
pub mod python_calls;
pub mod python_time;
pub mod regions;
pub mod run_info;
pub mod stacks;
