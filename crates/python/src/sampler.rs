//! The samplers of this process's Python stacks and its children's that need no interpreter's lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use stepscope_ground::lock;
use stepscope_record::spy::{CodePlace, OwnNames, sample_children};
use stepscope_record::{Recording as Inner, StoppableThread, sample_own_stacks};

use crate::errors;
use crate::recording::Recording;

/// A function: file, name, first line.
type Place = (String, String, u32);

fn names(
    roots: Vec<String>,
    own_folder: String,
    between: String,
    root: Option<Place>,
    launcher: Option<Place>,
) -> OwnNames {
    let place = |(file, name, first_line): Place| CodePlace { file, name, first_line };
    OwnNames { roots, own_folder, between, root: root.map(place), launcher: launcher.map(place) }
}

/// What is sampled how, and the thread that does it once it has begun.
struct BackgroundSampler {
    recording: Arc<Mutex<Inner>>,
    hz: f64,
    names: OwnNames,
    thread: Mutex<Option<StoppableThread>>,
}

impl BackgroundSampler {
    fn new(recording: &Recording, hz: f64, names: OwnNames) -> BackgroundSampler {
        BackgroundSampler { recording: recording.shared(), hz, names, thread: Mutex::new(None) }
    }

    fn stop(&self) {
        if let Some(thread) = lock(&self.thread).as_mut() {
            thread.stop();
        }
    }

    fn forget_after_fork(&self) {
        if let Ok(mut thread) = self.thread.try_lock()
            && let Some(thread) = thread.as_mut()
        {
            thread.forget_after_fork();
        }
    }
}

/// Looks at all threads of this process from a thread that Python does not know.
#[pyclass(module = "stepscope._native", frozen, subclass)]
pub(crate) struct NativeStackSampler {
    sampler: BackgroundSampler,
    samples: Arc<AtomicU64>,
}

#[pymethods]
impl NativeStackSampler {
    #[new]
    #[pyo3(signature = (recording, hz, roots, own_folder, between, root = None, launcher = None))]
    fn new(
        recording: PyRef<'_, Recording>,
        hz: f64,
        roots: Vec<String>,
        own_folder: String,
        between: String,
        root: Option<Place>,
        launcher: Option<Place>,
    ) -> NativeStackSampler {
        let names = names(roots, own_folder, between, root, launcher);
        NativeStackSampler { sampler: BackgroundSampler::new(&recording, hz, names), samples: Arc::default() }
    }

    /// Begins to look; raises where this Python is not known.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        let BackgroundSampler { recording, hz, names, thread } = &self.sampler;
        let started =
            py.detach(|| sample_own_stacks(recording.clone(), *hz, names.clone(), self.samples.clone()));
        *lock(thread) = Some(started.map_err(|error| errors::problem(error.problem))?);
        Ok(())
    }

    /// Ends; no sample is added afterwards.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.sampler.stop());
    }

    #[getter]
    fn samples(&self) -> u64 {
        self.samples.load(Ordering::Relaxed)
    }

    fn forget_after_fork(&self) {
        self.sampler.forget_after_fork();
    }
}

/// Looks at the child processes of this one, from outside of them.
#[pyclass(module = "stepscope._native", frozen)]
pub(crate) struct ChildProcessSampler {
    sampler: BackgroundSampler,
}

#[pymethods]
impl ChildProcessSampler {
    #[new]
    #[pyo3(signature = (recording, hz, roots, own_folder, between, root = None, launcher = None))]
    fn new(
        recording: PyRef<'_, Recording>,
        hz: f64,
        roots: Vec<String>,
        own_folder: String,
        between: String,
        root: Option<Place>,
        launcher: Option<Place>,
    ) -> ChildProcessSampler {
        let names = names(roots, own_folder, between, root, launcher);
        ChildProcessSampler { sampler: BackgroundSampler::new(&recording, hz, names) }
    }

    /// Begins to look; raises where the system has no way to.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let BackgroundSampler { recording, hz, names, thread } = &self.sampler;
            let (started, seen) =
                sample_children(*hz, names.clone()).map_err(|error| errors::problem(error.problem))?;
            *lock(thread) = Some(started);
            lock(recording).with_children(seen);
            Ok(())
        })
    }

    /// Ends; nothing is seen afterwards.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.sampler.stop());
    }

    fn forget_after_fork(&self) {
        self.sampler.forget_after_fork();
    }
}

/// This thread is not the program's.
#[pyfunction]
fn hide_thread(ident: u64) {
    stepscope_record::hide_thread(ident);
}

/// Its number may be another thread's now.
#[pyfunction]
fn show_thread(ident: u64) {
    stepscope_record::show_thread(ident);
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(hide_thread, module)?)?;
    module.add_function(wrap_pyfunction!(show_thread, module)?)?;
    module.add_class::<ChildProcessSampler>()?;
    module.add_class::<NativeStackSampler>()
}
