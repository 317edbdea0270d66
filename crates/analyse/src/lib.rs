//! Pure functions from a trace to answers.
//!
//! Each module answers one question and holds the definitions of its figures; the terminal, the browser and
//! Python show what these functions return. This crate refuses to read files, to print and to be async.

pub mod account;
pub mod activity;
pub mod breakdown;
mod by_name;
mod callers;
pub mod cause;
pub mod comm;
pub mod copies;
pub mod critical_path;
pub mod data_loading;
pub mod define;
pub mod device_timeline;
mod device_work;
pub mod efficiency;
mod extent;
pub mod findings;
pub mod flame;
pub mod flops;
pub mod gaps;
pub mod gpu;
pub mod host_time;
pub mod hta;
pub mod idle;
pub mod intervals;
mod kernel_estimates;
mod kernel_kinds;
pub mod kernel_name;
pub mod kernels;
pub mod launches;
pub mod memory;
pub mod modules;
pub mod nearest;
mod op_memory;
pub mod ops;
pub mod replay;
pub mod roofline;
pub mod run_info;
pub mod selection;
pub mod shapes;
mod slice_number;
pub mod stacks;
mod step_ranges;
pub mod steps;
mod streams;
mod sync_events;
pub mod tensor_core;
pub mod timeline;

pub mod transfers;
pub mod verdict;
pub mod waits;
pub mod what_if;
