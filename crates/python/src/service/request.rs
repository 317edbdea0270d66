//! A request of a service: begun, looked into, ended, and given to its service to count.

mod region;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Instant;

use pyo3::prelude::*;
use stepscope_ground::lock;
use stepscope_service::{
    NO_PARENT, Request as Ended, RequestDetails, RequestRecorder, RouteId, Span, thread_cpu_ns,
};

use super::{Service, number, quiet};
use region::ServiceRegion;

/// `duration_ns` of a region that is open.
const OPEN: u64 = u64::MAX;
/// Places that one request is seen at; others are not distinguished.
const MAX_STACKS: usize = 32;

/// A request, from its beginning to its end.
#[pyclass(module = "stepscope._native", frozen, weakref)]
pub(super) struct ServiceRequest {
    service: Py<Service>,
    monitor: Arc<RequestRecorder>,
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
    pub(super) fn new(
        service: Py<Service>,
        monitor: Arc<RequestRecorder>,
        route: RouteId,
        id: Option<Py<PyAny>>,
        samples: u64,
        waited_ns: u64,
    ) -> Self {
        let progress = Progress {
            route,
            started: None,
            ended_ns: None,
            spans: Vec::new(),
            inside: NO_PARENT,
            failed: false,
            samples,
            tokens: 0,
            left_out: 0,
            token: None,
            cpu: None,
            gpu: None,
            watched: false,
            stacks: Vec::new(),
            profile: None,
        };
        Self { service, monitor, id, waited_ns, progress: Mutex::new(progress) }
    }

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
            && service.watch_rate.is_time();
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
            return service.count(py, &this.monitor, &ended, this.id.as_ref(), RequestDetails::default());
        }
        quiet(py, service.observer.call_method1(py, "ends", (slf,)))?;
        let (stack, profile) = {
            let mut progress = lock(&this.progress);
            (progress.stack().to_vec(), progress.profile.take())
        };
        let about = RequestDetails { stack: &stack, profile: profile.as_deref(), ..RequestDetails::default() };
        service.count(py, &this.monitor, &ended, this.id.as_ref(), about)
    }
}

/// Adds all of it to the module.
pub(super) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ServiceRequest>()?;
    module.add_class::<ServiceRegion>()
}
