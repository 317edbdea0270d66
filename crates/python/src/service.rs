//! A service and what it counts, for Python: what is inside its innermost loop. Middleware and hooks are Python's
//! (`stepscope.production`).
//!
//! Once made, nothing here raises into the service: what goes wrong is dropped or becomes a warning. Locks are taken for a
//! moment by whoever holds the interpreter, so a forked child finds them free.

mod rate_limit;
mod request;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use stepscope_ground::lock;
use stepscope_service::{
    ExemplarCandidate, ExemplarLimits, Limits, NO_PARENT, RecorderOptions, RegionId, Request as Ended,
    RequestDetails, RequestOutcome, RequestRecorder, Retention, RouteId, ServiceNotice, Span, parse_targets,
};

use crate::errors;
use rate_limit::RateLimit;
use request::ServiceRequest;

/// Of the requests that may become slow, so many are looked into.
const WATCH_PERIOD: Duration = Duration::from_millis(20);
/// How often the observer hears of a slow request.
const NOTICE_PERIOD: Duration = Duration::from_millis(100);
/// Names that Python's table of them holds at most; others are looked up one by one.
const MAX_KNOWN: usize = 2_000;

/// Failures stay here; only what is no `Exception`, such as Ctrl-C, goes on.
fn quiet<T>(py: Python<'_>, result: PyResult<T>) -> PyResult<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A service that is watched.
#[pyclass(module = "stepscope._native", frozen, weakref)]
pub(crate) struct Service {
    requests: Mutex<Arc<RequestRecorder>>,
    /// Numbers of names, as Python's own dicts: finding a name there takes less than copying its text.
    routes: Py<PyDict>,
    regions: Py<PyDict>,
    /// Of the context variable that holds the request of this thread or task.
    set: Py<PyAny>,
    reset: Py<PyAny>,
    /// Says whether an event loop runs in this thread.
    running_loop: Py<PyAny>,
    /// Gets (route, target, latency in seconds, id, requests, missed) of what missed a target.
    on_missed: Py<PyAny>,
    on_warning: Py<PyAny>,
    /// Measures some requests more closely (`stepscope.production.observer`).
    observer: Py<PyAny>,
    /// One more than the route whose next slow request is to be looked into; 0: none.
    armed: AtomicU32,
    /// What the observer is asked rarely: each call of Python costs as much as a request.
    watch_rate: RateLimit,
    notice_rate: RateLimit,
}

#[pymethods]
impl Service {
    #[new]
    #[pyo3(signature = (folder, targets, entered, running_loop, on_missed, on_warning, observer, max_routes, max_regions, slowest,
        sampled, max_age_hours, max_bytes))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        folder: std::path::PathBuf,
        targets: Vec<(String, String)>,
        entered: &Bound<'_, PyAny>,
        running_loop: Py<PyAny>,
        on_missed: Py<PyAny>,
        on_warning: Py<PyAny>,
        observer: Py<PyAny>,
        max_routes: usize,
        max_regions: usize,
        slowest: usize,
        sampled: usize,
        max_age_hours: i64,
        max_bytes: u64,
    ) -> PyResult<Service> {
        let mut read = std::collections::HashMap::new();
        for (route, text) in targets {
            let parsed = parse_targets(&text);
            read.insert(route, parsed.map_err(errors::problem)?);
        }
        let requests = RequestRecorder::new(RecorderOptions {
            folder,
            targets: read,
            limits: Limits { routes: max_routes, regions: max_regions, ..Limits::default() },
            keep: ExemplarLimits { slowest, random: sampled },
            retention: Retention { max_age_hours, max_bytes },
        });
        Ok(Service {
            requests: Mutex::new(requests),
            routes: PyDict::new(py).unbind(),
            regions: PyDict::new(py).unbind(),
            set: entered.getattr("set")?.unbind(),
            reset: entered.getattr("reset")?.unbind(),
            running_loop,
            on_missed,
            on_warning,
            observer,
            armed: AtomicU32::new(0),
            watch_rate: RateLimit::new(WATCH_PERIOD),
            notice_rate: RateLimit::new(NOTICE_PERIOD),
        })
    }

    /// A request of a route. `batch` is how many samples it holds, `waited` how many seconds it waited before.
    #[pyo3(signature = (route, id = None, batch = None, waited = None))]
    fn request(
        slf: &Bound<'_, Self>,
        route: &Bound<'_, PyAny>,
        id: Option<Py<PyAny>>,
        batch: Option<&Bound<'_, PyAny>>,
        waited: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ServiceRequest> {
        let this = slf.get();
        let requests = this.requests();
        let route = this.route_number(&requests, route)?;
        let waited = match waited {
            Some(waited) => quiet(slf.py(), waited.extract::<f64>())?.unwrap_or(0.0),
            None => 0.0,
        };
        let samples = number(batch)?;
        Ok(ServiceRequest::new(slf.clone().unbind(), requests, route, id, samples, nanoseconds(waited)))
    }

    /// Counts a request that someone else measured. `regions` are seconds by name.
    #[pyo3(signature = (route, latency, failed = false, id = None, batch = 0, tokens = 0, regions = None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn record(
        &self,
        py: Python<'_>,
        route: &Bound<'_, PyAny>,
        latency: f64,
        failed: bool,
        id: Option<Py<PyAny>>,
        batch: u64,
        tokens: u64,
        regions: Option<Vec<(String, f64)>>,
    ) -> PyResult<()> {
        let requests = self.requests();
        let route = self.route_number(&requests, route)?;
        requests.begin();
        let mut start_ns = 0;
        let mut spans = Vec::new();
        for (name, seconds) in regions.unwrap_or_default().into_iter().take(requests.recorder.max_spans()) {
            let duration_ns = nanoseconds(seconds);
            let region = requests.recorder.region(&name);
            spans.push(Span { region, parent: NO_PARENT, start_ns, duration_ns });
            start_ns += duration_ns;
        }
        let latency_ns = nanoseconds(latency);
        let ended = Ended {
            route,
            latency_ns,
            failed,
            samples: batch,
            tokens,
            cpu_ns: None,
            spans: &spans,
            left_out: 0,
        };
        self.count(py, &requests, &ended, id.as_ref(), RequestDetails::default())
    }

    /// The next requests of a route are given to the observer, until it says otherwise.
    #[pyo3(signature = (route = None))]
    fn arm(&self, route: Option<u32>) {
        self.armed.store(route.map_or(0, |route| route.saturating_add(1)), Ordering::Relaxed);
    }

    /// Adds the time that a GPU took for a request which ended before.
    fn add_gpu(&self, route: u32, nanoseconds: u64) {
        let requests = self.requests();
        if requests.is_alive() {
            requests.recorder.add_gpu(RouteId(route), nanoseconds);
        }
    }

    /// Writes what was counted so far.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let requests = self.requests();
        py.detach(|| requests.flush());
        self.deliver(py, &requests)
    }

    /// In a forked child: counts from nothing.
    fn after_fork(&self, py: Python<'_>) {
        let mut requests = lock(&self.requests);
        *requests = requests.after_fork();
        // Names have other numbers there.
        self.routes.bind(py).clear();
        self.regions.bind(py).clear();
        self.armed.store(0, Ordering::Relaxed);
    }
}

impl Service {
    fn requests(&self) -> Arc<RequestRecorder> {
        lock(&self.requests).clone()
    }

    fn route_number(&self, requests: &RequestRecorder, name: &Bound<'_, PyAny>) -> PyResult<RouteId> {
        // A request that a child has from its parent counts for no one, and must not wait for its parent's locks.
        if !requests.is_alive() {
            return Ok(RouteId(0));
        }
        known(&self.routes, name, |text| requests.recorder.route(text).0).map(RouteId)
    }

    fn region_number(&self, requests: &RequestRecorder, name: &Bound<'_, PyAny>) -> PyResult<RegionId> {
        if !requests.is_alive() {
            return Ok(RegionId(0));
        }
        known(&self.regions, name, |text| requests.recorder.region(text).0).map(RegionId)
    }

    /// Counts a request, keeps it if it is an example, and tells whom it concerns.
    fn count(
        &self,
        py: Python<'_>,
        requests: &Arc<RequestRecorder>,
        ended: &Ended<'_>,
        id: Option<&Py<PyAny>>,
        about: RequestDetails<'_>,
    ) -> PyResult<()> {
        if !requests.is_alive() {
            return Ok(());
        }
        let RequestOutcome { candidate, missed, unusual } = requests.recorder.record(ended);
        let looked_into = !about.stack.is_empty() || about.profile.is_some();
        let candidate =
            candidate.or_else(|| looked_into.then(|| ExemplarCandidate::looked_into(ended.latency_ns)));
        if let Some(candidate) = candidate {
            let text = text_of(py, id)?;
            requests.recorder.keep(candidate, ended, RequestDetails { id: &text, ..about }, now_ns());
        }
        let news = unusual && self.armed.load(Ordering::Relaxed) == 0 && self.notice_rate.is_time();
        if news || looked_into {
            let seconds = ended.latency_ns as f64 / 1e9;
            quiet(py, self.observer.call_method1(py, "ended", (ended.route.0, seconds, looked_into)))?;
        }
        if missed != 0 {
            for (bit, target) in requests.per_request_targets(ended.route) {
                if missed & bit != 0 {
                    let route = requests.recorder.route_name(ended.route);
                    let seconds = ended.latency_ns as f64 / 1e9;
                    let result = self.on_missed.call1(py, (route, target.text, seconds, id, 1, 1));
                    quiet(py, result)?;
                }
            }
        }
        if requests.has_news() { self.deliver(py, requests) } else { Ok(()) }
    }

    fn deliver(&self, py: Python<'_>, requests: &RequestRecorder) -> PyResult<()> {
        for news in requests.take_notices() {
            let result = match news {
                ServiceNotice::Warning(words) => self.on_warning.call1(py, (words,)),
                ServiceNotice::Missed { route, target, requests, missed } => {
                    self.on_missed.call1(py, (route, target, py.None(), py.None(), requests, missed))
                }
            };
            quiet(py, result)?;
        }
        Ok(())
    }
}

/// The number of a name, from a dict if it is there. What is not a string is asked for its text.
fn known(table: &Py<PyDict>, name: &Bound<'_, PyAny>, number: impl FnOnce(&str) -> u32) -> PyResult<u32> {
    let py = name.py();
    let table = table.bind(py);
    let Ok(name) = name.cast::<PyString>() else {
        let text = text_of(py, Some(&name.clone().unbind()))?;
        return Ok(number(&text));
    };
    if let Ok(Some(found)) = table.get_item(name) {
        return found.extract();
    }
    let found = number(&name.to_string_lossy());
    // What counts as "(other)" is not remembered: there is no end to such names.
    if found != 0 && table.len() < MAX_KNOWN {
        quiet(py, table.set_item(name, found))?;
    }
    Ok(found)
}

fn text_of(py: Python<'_>, id: Option<&Py<PyAny>>) -> PyResult<String> {
    let Some(id) = id else { return Ok(String::new()) };
    let text = quiet(py, id.bind(py).str())?;
    Ok(text.map_or_else(|| "unknown".to_owned(), |text| text.to_string_lossy().into_owned()))
}

fn number(value: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    let Some(value) = value else { return Ok(0) };
    Ok(quiet(value.py(), value.extract::<u64>())?.unwrap_or(0))
}

pub(crate) fn nanoseconds(seconds: f64) -> u64 {
    // A cast takes what is not a number, or negative, as 0, and what is too large as the largest.
    (seconds * 1e9).round() as u64
}

fn now_ns() -> i64 {
    stepscope_record::clock::now_ns()
}

/// Adds all of it to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Service>()?;
    request::add(module)
}
