//! What every other crate builds on: an error with a hint, times and sizes as people write them, moments, files that are whole, locks,
//! the wire format of protocol buffers, base64, text in markup. It knows nothing of profiles.

mod lock;
mod problem;
mod whole_file;

pub mod base64;
pub mod markup;
pub mod protobuf;
pub mod units;
pub mod utc;

pub use lock::lock;
pub use problem::Problem;
pub use whole_file::{WholeFile, write_whole};
