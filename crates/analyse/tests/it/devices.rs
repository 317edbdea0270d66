//! Tests of `devices`.

mod graphs;
mod occupancy;
