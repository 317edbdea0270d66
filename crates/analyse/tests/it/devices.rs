//! Tests of `devices`.

mod occupancy;
