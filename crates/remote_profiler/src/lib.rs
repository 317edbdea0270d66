//! Captures profiles of TensorFlow and JAX programs that run a profiler server, here or on other machines.
//!
//! The servers speak `tensorflow.ProfilerService`: gRPC over HTTP/2 without encryption. A profile comes back in the answer
//! itself and goes to disk as it arrives, byte for byte, so no folder needs to be shared and memory does not grow with it.

mod call;
mod error;
mod reply;
mod request;
mod run_folder;
mod session;
mod target;

pub use request::Tracers;
pub use session::{
    CaptureMode, CaptureResult, CapturedFile, Limits, Plan, Stage, Watch, capture, start_continuous,
    stop_continuous,
};
pub use target::{Target, targets};
