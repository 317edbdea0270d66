//! The samplers of this process's Python stacks and its children's that need no interpreter's lock.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use stepscope_record::OwnSampler;
use stepscope_record::Recording as Inner;
use stepscope_record::spy::{ChildSampler, CodePlace, OwnNames};

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

/// Looks at all threads of this process from a thread that Python does not know.
#[pyclass(module = "stepscope._native", frozen, subclass)]
pub(crate) struct StackLooker {
    recording: Arc<Mutex<Inner>>,
    hz: f64,
    names: OwnNames,
    sampler: Mutex<Option<OwnSampler>>,
}

impl StackLooker {
    fn sampler(&self) -> std::sync::MutexGuard<'_, Option<OwnSampler>> {
        self.sampler.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl StackLooker {
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
    ) -> StackLooker {
        let names = names(roots, own_folder, between, root, launcher);
        StackLooker { recording: recording.shared(), hz, names, sampler: Mutex::new(None) }
    }

    /// Begins to look; raises where this Python is not known.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        let started = py.detach(|| OwnSampler::start(self.recording.clone(), self.hz, self.names.clone()));
        let sampler = started.map_err(|error| errors::problem(error.problem))?;
        *self.sampler() = Some(sampler);
        Ok(())
    }

    /// Ends; no sample is added afterwards.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| {
            if let Some(sampler) = self.sampler().as_mut() {
                sampler.stop();
            }
        });
    }

    #[getter]
    fn samples(&self) -> u64 {
        self.sampler().as_ref().map_or(0, OwnSampler::samples)
    }

    fn forget_after_fork(&self) {
        if let Ok(mut sampler) = self.sampler.try_lock()
            && let Some(sampler) = sampler.as_mut()
        {
            sampler.forget_after_fork();
        }
    }
}

/// Looks at the child processes of this one, from outside of them.
#[pyclass(module = "stepscope._native", frozen)]
pub(crate) struct ChildLooker {
    recording: Arc<Mutex<Inner>>,
    hz: f64,
    names: OwnNames,
    sampler: Mutex<Option<ChildSampler>>,
}

impl ChildLooker {
    fn sampler(&self) -> std::sync::MutexGuard<'_, Option<ChildSampler>> {
        self.sampler.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ChildLooker {
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
    ) -> ChildLooker {
        let names = names(roots, own_folder, between, root, launcher);
        ChildLooker { recording: recording.shared(), hz, names, sampler: Mutex::new(None) }
    }

    /// Begins to look; raises where the system has no way to.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let (sampler, seen) = ChildSampler::start(self.hz, self.names.clone())
                .map_err(|error| errors::problem(error.problem))?;
            *self.sampler() = Some(sampler);
            self.recording.lock().unwrap_or_else(PoisonError::into_inner).with_children(seen);
            Ok(())
        })
    }

    /// Ends; nothing is seen afterwards.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| {
            if let Some(sampler) = self.sampler().as_mut() {
                sampler.stop();
            }
        });
    }

    fn forget_after_fork(&self) {
        if let Ok(mut sampler) = self.sampler.try_lock()
            && let Some(sampler) = sampler.as_mut()
        {
            sampler.forget_after_fork();
        }
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
    module.add_class::<ChildLooker>()?;
    module.add_class::<StackLooker>()
}
