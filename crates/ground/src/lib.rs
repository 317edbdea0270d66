//! What every other crate stands on: an error with a hint, times and sizes as people write them, moments, files that are whole,
//! the wire format of protocol buffers. It knows nothing of profiles.

mod problem;
mod whole_file;

pub mod moment;
pub mod protobuf;
pub mod units;

pub use problem::Problem;
pub use whole_file::{WholeFile, write_whole};
