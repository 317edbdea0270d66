//! What ran on each device.

mod graphs;
