//! Traces for tests and benchmarks; a development crate that is never shipped.
//!
//! [`RunBuilder`] puts a trace together slice by slice, for answers worked out on paper. [`hostile::SHAPES`] are traces of any
//! size in which something grows that is usually small.
//!
//! [`Synth`] writes a PyTorch/Kineto trace of any size as text, streamed to any [`std::io::Write`].
//! The same settings and seed always give the same bytes, and the [`Summary`] that comes back
//! holds the numbers a reader of that trace must arrive at.
//!
//! ```
//! use stepscope_testkit::Synth;
//!
//! let mut text = Vec::new();
//! let truth = Synth::new(7, 5_000).write_kineto(&mut text)?;
//! assert_eq!(truth.events, 5_000);
//! assert_eq!(truth.category("kernel"), truth.kernels);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! How it works: a small simulation of a training loop plays the whole trace in integer
//! nanoseconds. A real Kineto file is grouped by thread and kind, not by time, so the simulation
//! is simply played once per group and each play writes only its own group. That keeps the order of
//! a real file without ever holding more than one block of operators in memory.

mod calls;
pub mod damage;
mod device;
mod event;
pub mod hlo;
pub mod hostile;
mod kineto;
mod machine;
mod optree;
mod rng;
mod run_builder;
mod sim;
mod summary;
mod synth;
mod text;
mod trace_text;
mod workload;
mod writer;
pub mod xplane;

#[cfg(test)]
mod tests;

pub use run_builder::{HOST_PROCESS, Point, RunBuilder, Sink, Slice, Value};
pub use summary::{NameTotals, OpTotals, StepTruth, Summary};
pub use synth::Synth;
pub use trace_text::TraceText;
