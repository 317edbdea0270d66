//! Hears of every call or every line of the program from CPython, and counts them with `stepscope_record`.
//!
//! From CPython 3.12 on the events come from `sys.monitoring`, before from `PyEval_SetProfile` and `PyEval_SetTrace`. The
//! latter are not in the limited API, and nor are a few accessors of frames; they are looked up by name when they are
//! needed ([`symbols`]). Nothing here makes a Python object for an event, and nothing calls Python while it counts.

mod call_counter;
mod call_events;
mod call_listener;
mod call_writer;
mod calls;
mod choice;
mod event;
mod frames;
mod functions;
mod heap;
mod legacy;
mod legacy_calls;
mod line_events;
mod line_profile;
mod lines;
mod monitoring;
mod periodic_file;
mod symbols;
mod threads;
mod ticks;
mod tracer;
mod watched;

pub(crate) use calls::CallRecorder;
pub(crate) use heap::MemoryTracker;
pub(crate) use lines::LineTimer;
use pyo3::prelude::*;
pub(crate) use tracer::CallTracer;

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    ticks::start();
    module.add_class::<CallRecorder>()?;
    module.add_class::<CallTracer>()?;
    module.add_class::<LineTimer>()?;
    module.add_class::<MemoryTracker>()
}
