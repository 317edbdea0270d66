//! What every question shares: which part of a trace it is about, what a metric means, sets of time.

pub mod definition;
pub(crate) mod extent;
pub mod intervals;
pub(crate) mod quantile;
pub mod selection;
pub(crate) mod share;
pub(crate) mod slice_number;
pub mod spread;
pub(crate) mod windows;
