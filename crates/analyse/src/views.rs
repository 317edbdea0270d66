//! What a screen draws: timeline tiles, flame graphs, counters, memory.

pub mod flame;
pub mod memory;
pub mod timeline;
