//! `record_function`: a named region of the program. While nothing records it costs one look at a flag.

use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyString;
use stepscope_record::{RegionToken, begin, end, intern};

/// While PyTorch's profiler records, regions are its own: then they stand among its operators, and above kernels too.
static TORCH: Mutex<Option<Py<PyAny>>> = Mutex::new(None);
static TORCH_RECORDS: AtomicBool = AtomicBool::new(false);

/// No region is open.
const CLOSED: i64 = i64::MIN;
/// Names are mostly literals, the same object each time: this many are found by address.
const KNOWN: usize = 256;

thread_local! {
    static NAMES: RefCell<Vec<Option<(Py<PyString>, u32)>>> = const { RefCell::new(Vec::new()) };
}

/// Regions are PyTorch's while `make` is given: `make(name)` is entered instead.
#[pyfunction]
#[pyo3(signature = (make))]
pub(crate) fn set_torch_regions(make: Option<Py<PyAny>>) {
    let mut known = TORCH.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    TORCH_RECORDS.store(make.is_some(), Ordering::Relaxed);
    *known = make;
}

/// Whether regions are kept by anybody.
#[pyfunction]
pub(crate) fn is_recording() -> bool {
    TORCH_RECORDS.load(Ordering::Relaxed) || stepscope_record::is_recording()
}

pub(crate) fn forget_after_fork() {
    TORCH_RECORDS.store(false, Ordering::Relaxed);
}

/// A region: `with record_function("forward"): …`, or `@record_function("forward")`.
#[pyclass(name = "record_function", module = "stepscope", frozen, freelist = 32)]
pub(crate) struct RecordFunction {
    #[pyo3(get)]
    name: Py<PyString>,
    #[pyo3(get)]
    args: Option<Py<PyAny>>,
    start_ns: AtomicI64,
    depth: AtomicU32,
    theirs: Mutex<Option<Py<PyAny>>>,
}

#[pymethods]
impl RecordFunction {
    #[new]
    #[pyo3(signature = (name, args = None))]
    fn new(name: Py<PyString>, args: Option<Py<PyAny>>) -> RecordFunction {
        RecordFunction {
            name,
            args,
            start_ns: AtomicI64::new(CLOSED),
            depth: AtomicU32::new(0),
            theirs: Mutex::new(None),
        }
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        if TORCH_RECORDS.load(Ordering::Relaxed) {
            slf.enter_theirs(slf.py())?;
        } else if stepscope_record::is_recording() {
            let (start_ns, depth) = begin().parts();
            slf.start_ns.store(start_ns, Ordering::Relaxed);
            slf.depth.store(depth, Ordering::Relaxed);
        }
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        let start_ns = self.start_ns.load(Ordering::Relaxed);
        if start_ns != CLOSED {
            self.start_ns.store(CLOSED, Ordering::Relaxed);
            let token = RegionToken::from_parts(start_ns, self.depth.load(Ordering::Relaxed));
            end(token, || number_of(py, &self.name));
            return Ok(());
        }
        // A region that was entered while PyTorch recorded is left, whatever records now.
        let theirs = self.theirs.try_lock().ok().and_then(|mut held| held.take());
        if let Some(theirs) = theirs {
            theirs.call_method1(py, "__exit__", (py.None(), py.None(), py.None()))?;
        }
        Ok(())
    }

    /// As a decorator: each call is a region; coroutines and generators too.
    fn __call__(&self, py: Python<'_>, function: Py<PyAny>) -> PyResult<Py<PyAny>> {
        let wrap = py.import("stepscope._decorate")?.getattr("wrap")?;
        Ok(wrap.call1((&self.name, function))?.unbind())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("record_function({})", self.name.bind(py).repr()?))
    }
}

impl RecordFunction {
    fn enter_theirs(&self, py: Python<'_>) -> PyResult<()> {
        let make = {
            let known = TORCH.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            known.as_ref().map(|make| make.clone_ref(py))
        };
        let Some(make) = make else { return Ok(()) };
        let region = make.call1(py, (&self.name,))?;
        region.call_method0(py, "__enter__")?;
        if let Ok(mut held) = self.theirs.lock() {
            *held = Some(region);
        }
        Ok(())
    }
}

/// The number of a name in the log.
fn number_of(py: Python<'_>, name: &Py<PyString>) -> u32 {
    let place = (name.as_ptr() as usize >> 4) % KNOWN;
    NAMES.with_borrow_mut(|names| {
        if names.is_empty() {
            names.resize_with(KNOWN, || None);
        }
        match &names[place] {
            Some((known, number)) if known.as_ptr() == name.as_ptr() => *number,
            _ => {
                let number = intern(&name.bind(py).to_string_lossy());
                names[place] = Some((name.clone_ref(py), number));
                number
            }
        }
    })
}
