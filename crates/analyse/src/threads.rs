//! What every host thread was doing, and on whose behalf.

pub mod activity;
pub(crate) mod callers;
pub(crate) mod device_backpressure;
pub mod host_time;
pub mod lock;
pub mod python_places;
pub mod same_place;
pub(crate) mod sampled;
mod segment;
pub mod waiting;
