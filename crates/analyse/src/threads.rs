//! What every host thread was doing, and on whose behalf.

pub mod activity;
pub(crate) mod callers;
pub mod host_time;
pub mod lock;
pub mod python_places;
pub(crate) mod sampled;
mod segment;
pub mod standing;
pub(crate) mod told_by_device;
pub mod waiting;
