//! Requests of a service, for Python: what is inside its innermost loop. Middleware and hooks are Python's
//! (`stepscope.production`).
//!
//! Once made, nothing here raises into the service: what goes wrong is dropped or becomes a warning. Locks are taken for a
//! moment by whoever holds the interpreter, so a forked child finds them free.

mod rarely;
mod region;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use stepscope_production::{
    About, Counted, Keep, Limits, Monitor, MonitorOptions, NO_PARENT, News, RegionId, Request as Ended,
    Retention, RouteId, Span, Wanted, parse_targets, thread_cpu_ns,
};

use crate::errors;
use rarely::Rarely;
use region::ServiceRegion;

/// `duration_ns` of a region that is open.
const OPEN: u64 = u64::MAX;
/// Of the requests that may become slow, so many are looked into.
const WATCH_EVERY: Duration = Duration::from_millis(20);
/// How often the observer hears of a slow request.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// Places that one request is seen at; others are not told apart.
const MAX_STACKS: usize = 32;
/// Names that Python's table of them holds at most; others are looked up one by one.
const MAX_KNOWN: usize = 2_000;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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
    monitor: Mutex<Arc<Monitor>>,
    /// Numbers of names, as Python's own dicts: a look there takes less than reading a text.
    routes: Py<PyDict>,
    regions: Py<PyDict>,
    /// Of the context variable that holds the request of this thread or task.
    set: Py<PyAny>,
    reset: Py<PyAny>,
    /// Says whether an event loop runs in this thread.
    running_loop: Py<PyAny>,
    /// Gets (route, target, latency in seconds, id, requests, missed) of what missed a target.
    on_missed: Py<PyAny>,
    /// Gets words.
    on_warning: Py<PyAny>,
    /// Measures some requests more closely (`stepscope.production.observer`).
    observer: Py<PyAny>,
    /// One more than the route whose next slow request is to be looked into; 0: none.
    armed: AtomicU32,
    /// What the observer is asked rarely: each call of Python costs as much as a request.
    asked: Rarely,
    told: Rarely,
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
        let monitor = Monitor::new(MonitorOptions {
            folder,
            targets: read,
            limits: Limits { routes: max_routes, regions: max_regions, ..Limits::default() },
            keep: Keep { slowest, random: sampled },
            retention: Retention { max_age_hours, max_bytes },
        });
        Ok(Service {
            monitor: Mutex::new(monitor),
            routes: PyDict::new(py).unbind(),
            regions: PyDict::new(py).unbind(),
            set: entered.getattr("set")?.unbind(),
            reset: entered.getattr("reset")?.unbind(),
            running_loop,
            on_missed,
            on_warning,
            observer,
            armed: AtomicU32::new(0),
            asked: Rarely::new(WATCH_EVERY),
            told: Rarely::new(TELL_EVERY),
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
        let monitor = this.monitor();
        let route = this.route_number(&monitor, route)?;
        let waited = match waited {
            Some(waited) => quiet(slf.py(), waited.extract::<f64>())?.unwrap_or(0.0),
            None => 0.0,
        };
        let progress = Progress {
            route,
            started: None,
            ended_ns: None,
            spans: Vec::new(),
            inside: NO_PARENT,
            failed: false,
            samples: number(batch)?,
            tokens: 0,
            left_out: 0,
            token: None,
            cpu: None,
            gpu: None,
            watched: false,
            stacks: Vec::new(),
            profile: None,
        };
        let waited_ns = nanoseconds(waited);
        let progress = Mutex::new(progress);
        Ok(ServiceRequest { service: slf.clone().unbind(), monitor, id, waited_ns, progress })
    }

    /// Counts a request that somebody else measured. `regions` are seconds by name.
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
        let monitor = self.monitor();
        let route = self.route_number(&monitor, route)?;
        monitor.begin();
        let mut start_ns = 0;
        let mut spans = Vec::new();
        for (name, seconds) in regions.unwrap_or_default().into_iter().take(monitor.recorder.max_spans()) {
            let duration_ns = nanoseconds(seconds);
            let region = monitor.recorder.region(&name);
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
        self.count(py, &monitor, &ended, id.as_ref(), About::default())
    }

    /// The next requests of a route are given to the observer, until it says otherwise.
    #[pyo3(signature = (route = None))]
    fn arm(&self, route: Option<u32>) {
        self.armed.store(route.map_or(0, |route| route.saturating_add(1)), Ordering::Relaxed);
    }

    /// Adds the time that a GPU took for a request which ended before.
    fn add_gpu(&self, route: u32, nanoseconds: u64) {
        let monitor = self.monitor();
        if monitor.is_alive() {
            monitor.recorder.add_gpu(RouteId(route), nanoseconds);
        }
    }

    /// Writes what was counted so far.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let monitor = self.monitor();
        py.detach(|| monitor.flush());
        self.deliver(py, &monitor)
    }

    /// In a forked child: counts from nothing.
    fn after_fork(&self, py: Python<'_>) {
        let mut monitor = lock(&self.monitor);
        *monitor = monitor.after_fork();
        // Names have other numbers there.
        self.routes.bind(py).clear();
        self.regions.bind(py).clear();
        self.armed.store(0, Ordering::Relaxed);
    }
}

impl Service {
    fn monitor(&self) -> Arc<Monitor> {
        lock(&self.monitor).clone()
    }

    fn route_number(&self, monitor: &Monitor, name: &Bound<'_, PyAny>) -> PyResult<RouteId> {
        // A request that a child has from its parent counts for nobody, and must not wait for its parent's locks.
        if !monitor.is_alive() {
            return Ok(RouteId(0));
        }
        known(&self.routes, name, |text| monitor.recorder.route(text).0).map(RouteId)
    }

    fn region_number(&self, monitor: &Monitor, name: &Bound<'_, PyAny>) -> PyResult<RegionId> {
        if !monitor.is_alive() {
            return Ok(RegionId(0));
        }
        known(&self.regions, name, |text| monitor.recorder.region(text).0).map(RegionId)
    }

    /// Counts a request, keeps it if it is an example, and tells whom it concerns.
    fn count(
        &self,
        py: Python<'_>,
        monitor: &Arc<Monitor>,
        ended: &Ended<'_>,
        id: Option<&Py<PyAny>>,
        about: About<'_>,
    ) -> PyResult<()> {
        if !monitor.is_alive() {
            return Ok(());
        }
        let Counted { wanted, missed, unusual } = monitor.recorder.record(ended);
        let looked_into = !about.stack.is_empty() || about.profile.is_some();
        let wanted = wanted.or_else(|| looked_into.then(|| Wanted::looked_into(ended.latency_ns)));
        if let Some(wanted) = wanted {
            let text = text_of(py, id)?;
            monitor.recorder.keep(wanted, ended, About { id: &text, ..about }, now_ns());
        }
        let news = unusual && self.armed.load(Ordering::Relaxed) == 0 && self.told.is_time();
        if news || looked_into {
            let seconds = ended.latency_ns as f64 / 1e9;
            quiet(py, self.observer.call_method1(py, "ended", (ended.route.0, seconds, looked_into)))?;
        }
        if missed != 0 {
            for (bit, target) in monitor.per_request_targets(ended.route) {
                if missed & bit != 0 {
                    let route = monitor.recorder.route_name(ended.route);
                    let seconds = ended.latency_ns as f64 / 1e9;
                    let told = self.on_missed.call1(py, (route, target.text, seconds, id, 1, 1));
                    quiet(py, told)?;
                }
            }
        }
        if monitor.has_news() { self.deliver(py, monitor) } else { Ok(()) }
    }

    fn deliver(&self, py: Python<'_>, monitor: &Monitor) -> PyResult<()> {
        for news in monitor.take_news() {
            let told = match news {
                News::Warning(words) => self.on_warning.call1(py, (words,)),
                News::Missed { route, target, requests, missed } => {
                    self.on_missed.call1(py, (route, target, py.None(), py.None(), requests, missed))
                }
            };
            quiet(py, told)?;
        }
        Ok(())
    }
}

/// The number of a name, from a dict if it is there. What is no string is asked for its text.
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
    // A cast takes what is no number, or negative, as 0, and what is too large as the largest.
    (seconds * 1e9).round() as u64
}

fn now_ns() -> i64 {
    stepscope_record::clock::now_ns()
}

/// A request, from its beginning to its end.
#[pyclass(module = "stepscope._native", frozen, weakref)]
pub(crate) struct ServiceRequest {
    service: Py<Service>,
    monitor: Arc<Monitor>,
    id: Option<Py<PyAny>>,
    waited_ns: u64,
    progress: Mutex<Progress>,
}

struct Progress {
    route: RouteId,
    started: Option<Instant>,
    ended_ns: Option<u64>,
    spans: Vec<Span>,
    /// The region entered last that is still open.
    inside: u32,
    failed: bool,
    samples: u64,
    tokens: u64,
    left_out: u64,
    token: Option<Py<PyAny>>,
    cpu: Option<(ThreadId, u64)>,
    /// What the observer needs to know to tell the GPU's time.
    gpu: Option<Py<PyAny>>,
    /// Whether the observer looks into it.
    watched: bool,
    /// Where it was, and how often it was seen there.
    stacks: Vec<(Vec<String>, u32)>,
    profile: Option<String>,
}

impl Progress {
    /// Where it was most often.
    fn stack(&self) -> &[String] {
        self.stacks.iter().max_by_key(|(_, seen)| *seen).map_or(&[], |(stack, _)| stack)
    }
}

#[pymethods]
impl ServiceRequest {
    fn __enter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let this = slf.get();
        let service = this.service.get();
        let token = quiet(py, service.set.call1(py, (&slf,)))?;
        Self::start(&slf, token)?;
        Ok(slf)
    }

    #[pyo3(signature = (kind = None, error = None, trace = None))]
    fn __exit__(
        slf: &Bound<'_, Self>,
        kind: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        trace: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let _ = (error, trace);
        Self::end(slf, kind.is_some())?;
        Ok(false)
    }

    /// Begins without becoming the current request: for code that others run in between, such as a generator.
    fn begin(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        Self::start(&slf, None)?;
        Ok(slf)
    }

    /// Ends what `begin` began.
    #[pyo3(signature = (failed = false))]
    fn finish(slf: &Bound<'_, Self>, failed: bool) -> PyResult<()> {
        Self::end(slf, failed)
    }

    /// Says where it is now: the innermost frame last. For whoever looks into it.
    fn add_stack(&self, frames: Vec<String>) {
        let mut progress = lock(&self.progress);
        if progress.started.is_none() {
            return;
        }
        let known = progress.stacks.iter().position(|(known, _)| *known == frames);
        match known {
            Some(at) => progress.stacks[at].1 += 1,
            None if progress.stacks.len() < MAX_STACKS => progress.stacks.push((frames, 1)),
            None => {}
        }
    }

    /// Names the file with its profile.
    fn set_profile(&self, name: String) {
        lock(&self.progress).profile = Some(name);
    }

    /// A part of the request: `with request.region("inference"): ...`.
    fn region(slf: &Bound<'_, Self>, name: &Bound<'_, PyAny>) -> PyResult<ServiceRegion> {
        let this = slf.get();
        let region = this.service.get().region_number(&this.monitor, name)?;
        Ok(ServiceRegion::new(slf.clone().unbind(), region))
    }

    /// Says that the request failed, without an exception.
    fn fail(&self) {
        lock(&self.progress).failed = true;
    }

    /// Adds samples and tokens that the request held.
    #[pyo3(signature = (*, samples = None, tokens = None))]
    fn add(&self, samples: Option<&Bound<'_, PyAny>>, tokens: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let (samples, tokens) = (number(samples)?, number(tokens)?);
        let mut progress = lock(&self.progress);
        progress.samples = progress.samples.saturating_add(samples);
        progress.tokens = progress.tokens.saturating_add(tokens);
        Ok(())
    }

    /// Gives the request another route: a server knows it only once it has looked at the path.
    fn set_route(&self, route: &Bound<'_, PyAny>) -> PyResult<()> {
        let number = self.service.get().route_number(&self.monitor, route)?;
        lock(&self.progress).route = number;
        Ok(())
    }

    /// What the service calls it.
    #[getter]
    fn id(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.id.as_ref().map(|id| id.clone_ref(py))
    }

    /// The route it counts for.
    #[getter]
    fn route(&self) -> String {
        let route = lock(&self.progress).route;
        self.monitor.recorder.route_name(route)
    }

    /// Seconds that it took; until it ends, seconds so far.
    #[getter]
    fn latency(&self) -> f64 {
        let progress = lock(&self.progress);
        match (progress.ended_ns, progress.started) {
            (Some(ns), _) => ns as f64 / 1e9,
            (None, Some(started)) => self.since(started) as f64 / 1e9,
            (None, None) => 0.0,
        }
    }
}

impl ServiceRequest {
    fn start(slf: &Bound<'_, Self>, token: Option<Py<PyAny>>) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        let service = this.service.get();
        let closer = this.monitor.begin();
        // Where an event loop runs, this thread answers others meanwhile: its processor time is not this request's.
        let measured = closer && {
            let looped = quiet(py, service.running_loop.call0(py))?;
            looped.is_some_and(|found| found.is_none(py))
        };
        let gpu = match measured {
            true => quiet(py, service.observer.call_method0(py, "gpu_begins"))?.filter(|gpu| !gpu.is_none(py)),
            false => None,
        };
        let armed = service.armed.load(Ordering::Relaxed);
        let watched = armed != 0
            && armed - 1 == lock(&this.progress).route.0
            && this.monitor.is_alive()
            && service.asked.is_time();
        if watched {
            quiet(py, service.observer.call_method1(py, "begins", (slf,)))?;
        }
        let mut progress = lock(&this.progress);
        progress.gpu = gpu;
        progress.watched = watched;
        progress.spans.clear();
        progress.spans.reserve(4);
        if this.waited_ns > 0 && this.monitor.is_alive() {
            let region = this.monitor.recorder.region("queued");
            progress.spans.push(Span { region, parent: NO_PARENT, start_ns: 0, duration_ns: this.waited_ns });
        }
        progress.inside = NO_PARENT;
        progress.ended_ns = None;
        progress.token = token;
        progress.cpu = measured.then(|| (std::thread::current().id(), thread_cpu_ns()));
        progress.started = Some(Instant::now());
        Ok(())
    }

    /// Nanoseconds since it began, those before included that it waited.
    fn since(&self, started: Instant) -> u64 {
        (started.elapsed().as_nanos() as u64).saturating_add(self.waited_ns)
    }

    fn end(slf: &Bound<'_, Self>, failed: bool) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        let mut progress = lock(&this.progress);
        let Some(started) = progress.started.take() else { return Ok(()) };
        let latency_ns = this.since(started);
        let token = progress.token.take();
        progress.ended_ns = Some(latency_ns);
        let cpu_ns = progress.cpu.take().and_then(|(thread, before)| {
            (thread == std::thread::current().id()).then(|| thread_cpu_ns().saturating_sub(before))
        });
        let mut spans = std::mem::take(&mut progress.spans);
        for span in spans.iter_mut().filter(|span| span.duration_ns == OPEN) {
            span.duration_ns = latency_ns.saturating_sub(span.start_ns);
        }
        let ended = Ended {
            route: progress.route,
            latency_ns,
            failed: failed | progress.failed,
            samples: progress.samples,
            tokens: progress.tokens,
            cpu_ns,
            spans: &spans,
            left_out: std::mem::take(&mut progress.left_out),
        };
        let gpu = progress.gpu.take();
        let watched = std::mem::take(&mut progress.watched);
        // Hooks may look at the request.
        drop(progress);
        let service = this.service.get();
        if let Some(token) = token {
            // In another context than it was entered in, there is nothing to take back.
            quiet(py, service.reset.call1(py, (token,)))?;
        }
        if let Some(gpu) = gpu {
            quiet(py, service.observer.call_method1(py, "gpu_ends", (gpu, ended.route.0)))?;
        }
        if !watched {
            return service.count(py, &this.monitor, &ended, this.id.as_ref(), About::default());
        }
        quiet(py, service.observer.call_method1(py, "ends", (slf,)))?;
        let (stack, profile) = {
            let mut progress = lock(&this.progress);
            (progress.stack().to_vec(), progress.profile.take())
        };
        let about = About { stack: &stack, profile: profile.as_deref(), ..About::default() };
        service.count(py, &this.monitor, &ended, this.id.as_ref(), about)
    }
}

/// Adds all of it to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Service>()?;
    module.add_class::<ServiceRequest>()?;
    module.add_class::<ServiceRegion>()
}
