//! What a screen draws: timeline tiles, flame graphs, counters.

pub mod flame;
pub mod timeline;
