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

/// Where a table of numbers has none: it is half the size of one of `Option<u32>`.
pub(crate) const NONE: u32 = u32::MAX;
