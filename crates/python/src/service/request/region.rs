//! A part of a request: entered and left with one reading of the clock each.

use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;
use stepscope_ground::lock;
use stepscope_service::{NO_PARENT, RegionId, Span};

use super::{OPEN, ServiceRequest};

/// A part of a request.
#[pyclass(module = "stepscope._native", frozen)]
pub(super) struct ServiceRegion {
    request: Py<ServiceRequest>,
    region: RegionId,
    at: AtomicU32,
}

impl ServiceRegion {
    pub(super) fn new(request: Py<ServiceRequest>, region: RegionId) -> Self {
        Self { request, region, at: AtomicU32::new(NO_PARENT) }
    }
}

#[pymethods]
impl ServiceRegion {
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        let this = slf.get();
        let request = this.request.get();
        let mut progress = lock(&request.progress);
        if let Some(started) = progress.started {
            if progress.spans.len() < request.monitor.recorder.max_spans() {
                let at = progress.spans.len() as u32;
                let (parent, start_ns) = (progress.inside, request.since(started));
                progress.spans.push(Span { region: this.region, parent, start_ns, duration_ns: OPEN });
                progress.inside = at;
                this.at.store(at, Ordering::Relaxed);
            } else {
                progress.left_out += 1;
                this.at.store(NO_PARENT, Ordering::Relaxed);
            }
        }
        drop(progress);
        slf
    }

    #[pyo3(signature = (kind = None, error = None, trace = None))]
    fn __exit__(
        &self,
        kind: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        trace: Option<&Bound<'_, PyAny>>,
    ) -> bool {
        let _ = (kind, error, trace);
        let request = self.request.get();
        let mut progress = lock(&request.progress);
        let at = self.at.swap(NO_PARENT, Ordering::Relaxed);
        let Some(started) = progress.started else { return false };
        let now_ns = request.since(started);
        let progress = &mut *progress;
        let Some(span) = progress.spans.get_mut(at as usize).filter(|span| span.duration_ns == OPEN) else {
            return false;
        };
        span.duration_ns = now_ns.saturating_sub(span.start_ns);
        // Tasks may leave regions in another order than they entered them.
        let closed = |at: u32| progress.spans.get(at as usize).is_some_and(|span| span.duration_ns != OPEN);
        while closed(progress.inside) {
            progress.inside = progress.spans[progress.inside as usize].parent;
        }
        false
    }
}
