//! What ran on each device, and which call launched it.

pub(crate) mod busy;
pub(crate) mod clocks;
pub mod copies;
pub mod energy;
pub mod graphs;
pub(crate) mod kernel_estimates;
pub(crate) mod kernel_form;
pub(crate) mod kernel_kinds;
pub(crate) mod memory_bandwidth;
pub mod occupancy;
pub(crate) mod streams;
pub(crate) mod sync_events;
pub mod utilization;
