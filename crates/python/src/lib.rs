//! The module `stepscope._native`: what the Python package asks of the Rust side. It translates and holds no logic.

mod answer;
mod audit;
mod compare;
mod errors;
mod hooks;
mod monitor;
mod pool;
mod process_memory;
mod recording;
mod region;
mod sampler;
mod service;
mod service_export;
mod service_report;
mod statistics;
mod table;
mod tasks;
mod timed;
mod trace;
mod units;

use std::path::PathBuf;

use pyo3::prelude::*;
use stepscope_record::{Roots, clock};

/// The program: its exit code.
#[pyfunction]
fn main(py: Python<'_>, argv: Vec<std::ffi::OsString>) -> u8 {
    let words = std::iter::once("stepscope".into()).chain(argv);
    py.detach(|| stepscope_cli::run(words))
}

/// Prints the first screen about a trace on stderr.
#[pyfunction]
fn print_summary(py: Python<'_>, path: PathBuf) {
    py.detach(|| stepscope_cli::summarize(path));
}

/// Nanoseconds since 1970.
#[pyfunction]
fn now_ns() -> i64 {
    clock::now_ns()
}

/// What this machine can and cannot capture, as JSON.
#[pyfunction]
fn doctor(py: Python<'_>) -> PyResult<Vec<u8>> {
    let checks = py.detach(|| stepscope_record::doctor(&Roots::default()));
    serde_json::to_vec(&checks).map_err(|error| errors::stepscope(error.to_string(), None))
}

/// Called when Python ends: no monitor samples any more.
#[pyfunction]
fn end_all(py: Python<'_>) {
    py.detach(stepscope_record::end_all);
}

/// Called in a forked child: nothing is recorded there.
#[pyfunction]
fn forget_after_fork() {
    stepscope_record::forget_after_fork();
    region::forget_after_fork();
}

/// The module. Regions are plain fields that only the holder of the interpreter touches: without its lock they are not safe.
#[pymodule(gil_used = true)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("MAX_REGIONS", stepscope_record::MAX_REGIONS)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(print_summary, module)?)?;
    module.add_function(wrap_pyfunction!(now_ns, module)?)?;
    module.add_function(wrap_pyfunction!(doctor, module)?)?;
    module.add_function(wrap_pyfunction!(forget_after_fork, module)?)?;
    module.add_function(wrap_pyfunction!(end_all, module)?)?;
    module.py().import("atexit")?.call_method1("register", (module.getattr("end_all")?,))?;
    module.add_function(wrap_pyfunction!(region::set_torch_regions, module)?)?;
    module.add_function(wrap_pyfunction!(region::take_overlapping, module)?)?;
    module.add_function(wrap_pyfunction!(region::set_region_stacks, module)?)?;
    module.add_function(wrap_pyfunction!(region::number_of_text, module)?)?;
    module.add_function(wrap_pyfunction!(region::is_recording, module)?)?;
    module.add_function(wrap_pyfunction!(trace::questions, module)?)?;
    module.add_class::<trace::NativeTrace>()?;
    module.add_class::<compare::NativeDiff>()?;
    module.add_class::<answer::NativeAnswer>()?;
    module.add_class::<table::NativeTable>()?;
    statistics::add(module)?;
    units::add(module)?;
    region::add(module)?;
    hooks::add(module)?;
    sampler::add(module)?;
    service::add(module)?;
    service_export::add(module)?;
    service_report::add(module)?;
    module.add_class::<timed::RegionState>()?;
    module.add_class::<timed::TimedRegion>()?;
    module.add_class::<monitor::Monitor>()?;
    module.add_class::<monitor::CounterStats>()?;
    module.add_class::<monitor::CounterStat>()?;
    module.add_function(wrap_pyfunction!(process_memory::process_memory, module)?)?;
    module.add_function(wrap_pyfunction!(audit::audit_hook, module)?)?;
    module.add_class::<recording::XlaProfile>()?;
    module.add_class::<recording::Recording>()
}
