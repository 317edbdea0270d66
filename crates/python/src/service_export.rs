//! The numbers of a service for Prometheus, for Python: as text, and served for all workers.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::prelude::*;
use stepscope_ground::lock;
use stepscope_metrics::{Endpoint, EndpointOptions, Format, SnapshotReader, families, render};

use crate::errors;

/// Reads the directory of a service, and serves what it finds. Its locks are taken for a moment by whoever holds the
/// interpreter, so a forked child finds them free.
#[pyclass(module = "stepscope._native", frozen)]
pub(crate) struct ServiceExporter {
    folder: PathBuf,
    state: Mutex<State>,
}

struct State {
    exporter: Arc<SnapshotReader>,
    endpoint: Option<Endpoint>,
    /// Where it serves or waits to serve, and how often it tries.
    place: Option<(String, Duration)>,
}

#[pymethods]
impl ServiceExporter {
    #[new]
    fn new(folder: PathBuf) -> Self {
        let exporter = Arc::new(SnapshotReader::new(&folder));
        Self { folder, state: Mutex::new(State { exporter, endpoint: None, place: None }) }
    }

    /// All metrics as text.
    #[pyo3(signature = (openmetrics = false))]
    fn text(&self, py: Python<'_>, openmetrics: bool) -> PyResult<String> {
        let exporter = lock(&self.state).exporter.clone();
        let format = if openmetrics { Format::OpenMetrics } else { Format::Text };
        let made = py.detach(|| Ok(render(&families(&*exporter.snapshot(Duration::ZERO)?), format)));
        let made = made.map_err(errors::problem)?;
        Ok(String::from_utf8_lossy(&made).into_owned())
    }

    /// Serves at `host:port`, or waits until no one else does.
    fn serve(&self, py: Python<'_>, address: String, retry: f64) -> PyResult<()> {
        let retry = Duration::try_from_secs_f64(retry).unwrap_or(Duration::from_secs(3));
        self.stop(py);
        let exporter = lock(&self.state).exporter.clone();
        let options = EndpointOptions { retry, ..EndpointOptions::default() };
        let started = py.detach(|| Endpoint::start(exporter, &address, options));
        let endpoint = started.map_err(errors::problem)?;
        let mut state = lock(&self.state);
        state.endpoint = Some(endpoint);
        state.place = Some((address, retry));
        Ok(())
    }

    /// Where it serves; None while it waits, or not at all.
    fn serving_at(&self) -> Option<String> {
        let state = lock(&self.state);
        Some(state.endpoint.as_ref()?.serving_at()?.to_string())
    }

    /// Serves no more.
    fn stop(&self, py: Python<'_>) {
        let endpoint = {
            let mut state = lock(&self.state);
            state.place = None;
            state.endpoint.take()
        };
        py.detach(|| drop(endpoint));
    }

    /// In a forked child: reads for itself, lets go of its parent's socket, and waits for the port like any other worker.
    fn after_fork(&self) {
        let mut state = lock(&self.state);
        let exporter = Arc::new(SnapshotReader::new(&self.folder));
        // The parent's thread may have held the lock of its exporter, and is not here to give it back.
        std::mem::forget(std::mem::replace(&mut state.exporter, exporter.clone()));
        let Some(parents) = state.endpoint.take() else { return };
        if let Some(socket) = parents.socket() {
            // SAFETY: the number is that of a socket of the parent's thread, which is not in this process: no one here uses
            // it, or closes it a second time.
            unsafe { libc::close(socket) };
        }
        std::mem::forget(parents);
        if let Some((address, retry)) = state.place.clone() {
            let options = EndpointOptions { retry, ..EndpointOptions::default() };
            // Without a thread or a socket the child serves nothing, and answers its requests all the same.
            state.endpoint = Endpoint::start(exporter, &address, options).ok();
        }
    }
}

/// Adds all of it to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ServiceExporter>()
}
