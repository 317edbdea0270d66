//! Pure functions from a trace to answers.
//!
//! Each module answers one question and holds the definitions of its figures; the terminal, the browser and
//! Python show what these functions return. This crate refuses to read files, to print and to be async.

pub mod breakdown;
mod by_name;
pub mod comm;
pub mod copies;
pub mod define;
pub mod device_timeline;
mod device_work;
mod extent;
pub mod flops;
pub mod gpu;
pub mod hta;
pub mod intervals;
mod kernel_estimates;
mod kernel_kinds;
pub mod kernel_name;
pub mod kernels;
pub mod memory;
pub mod modules;
mod op_memory;
pub mod ops;
pub mod roofline;
pub mod run_info;
pub mod selection;
pub mod shapes;
pub mod stacks;
mod step_ranges;
pub mod steps;
pub mod tensor_core;
