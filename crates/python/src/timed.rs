//! A region of `PerformanceProfiler` as far as it is in users' innermost loops: who is around it, and what the clocks say
//! at its edges. What it means is Python's (`stepscope.performance.region`), which makes its classes of this one.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyString, PyTuple, PyType};
use stepscope_record::clock::{busy_ns, steady_ns};

use crate::region::is_recording;

/// Asking the system for processor time takes longer than all the rest. Within this time of a reading the process is
/// taken to have been busy, and the system is not asked again: processor times are right to within this.
const SAME_READING_NS: i64 = 10_000;
/// Records that wait to be folded in.
const FOLD_AT: usize = 128;
/// `end_ns` of a region that was not entered.
const NOT_ENTERED: i64 = -1;
/// `end_ns` of a region that is open.
const STILL_OPEN: i64 = 0;

/// What the regions of one profiler share, as far as their edges touch it; Python's registry is made of this one.
#[pyclass(subclass, module = "stepscope._native")]
pub(crate) struct RegionState {
    /// Of the context variable that holds the region entered last in this thread or task.
    get: Py<PyAny>,
    set: Py<PyAny>,
    /// The region that ended last, anywhere.
    #[pyo3(get, set)]
    ended_last: Option<Py<PyAny>>,
    /// The last reading of the processor clock, and when it was taken.
    busy_ns: i64,
    read_ns: i64,
    /// Asked instead of the system's clocks, for (time, processor time): a test's.
    #[pyo3(get, set)]
    clock: Option<Py<PyAny>>,
}

#[pymethods]
impl RegionState {
    #[new]
    fn new(entered: &Bound<'_, PyAny>) -> PyResult<RegionState> {
        Ok(RegionState {
            get: entered.getattr("get")?.unbind(),
            set: entered.getattr("set")?.unbind(),
            ended_last: None,
            busy_ns: 0,
            read_ns: i64::MIN / 2,
            clock: None,
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.get)?;
        visit.call(&self.set)?;
        visit.call(&self.ended_last)?;
        visit.call(&self.clock)
    }

    fn __clear__(&mut self) {
        self.ended_last = None;
        self.clock = None;
    }
}

impl RegionState {
    fn read(&mut self, py: Python<'_>) -> PyResult<(i64, i64)> {
        if let Some(clock) = &self.clock {
            return clock.bind(py).call0()?.extract();
        }
        let at_ns = steady_ns();
        let since_ns = at_ns - self.read_ns;
        if (0..SAME_READING_NS).contains(&since_ns) {
            return Ok((at_ns, self.busy_ns + since_ns));
        }
        self.busy_ns = busy_ns();
        self.read_ns = at_ns;
        Ok((at_ns, self.busy_ns))
    }
}

/// One stretch of the program, from `__enter__` to `__exit__`.
#[pyclass(subclass, module = "stepscope._native")]
pub(crate) struct TimedRegion {
    #[pyo3(get)]
    state: Py<RegionState>,
    #[pyo3(get, set)]
    aggregate: Py<PyAny>,
    #[pyo3(get)]
    name: Py<PyString>,
    /// What it was gave it works through.
    #[pyo3(get, set)]
    amounts: Option<Py<PyAny>>,
    #[pyo3(get, set)]
    parent: Option<Py<TimedRegion>>,
    #[pyo3(get, set)]
    start_ns: i64,
    #[pyo3(get, set)]
    end_ns: i64,
    cpu_start_ns: i64,
    /// What it left behind: wall, processor and covered time, and what most do not have.
    #[pyo3(get, set)]
    record: Option<Py<PyTuple>>,
    /// Regions inside it that are open. They may be open at the same time (tasks): what counts is the time in which at
    /// least one is.
    children: u32,
    children_since_ns: i64,
    covered_ns: i64,
    /// The same stretch in what is being recorded, if anything is.
    recorded: Option<Py<PyAny>>,
}

#[pymethods]
impl TimedRegion {
    #[new]
    #[pyo3(signature = (state, aggregate, name, amounts=None))]
    fn new(
        state: Py<RegionState>,
        aggregate: Py<PyAny>,
        name: Py<PyString>,
        amounts: Option<Py<PyAny>>,
    ) -> TimedRegion {
        TimedRegion {
            state,
            aggregate,
            name,
            amounts,
            parent: None,
            start_ns: 0,
            end_ns: NOT_ENTERED,
            cpu_start_ns: 0,
            record: None,
            children: 0,
            children_since_ns: 0,
            covered_ns: 0,
            recorded: None,
        }
    }

    fn __enter__<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        Self::open(&this)?;
        Self::enter_recording(&this)?;
        let py = this.py();
        let mut region = this.borrow_mut();
        (region.start_ns, region.cpu_start_ns) = region.state.borrow_mut(py).read(py)?;
        if let Some(parent) = &region.parent {
            parent.borrow_mut(py).open_child(region.start_ns);
        }
        drop(region);
        Ok(this)
    }

    fn __exit__(
        this: &Bound<'_, Self>,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = this.py();
        let mut region = this.borrow_mut();
        let recorded = region.recorded.take();
        let (end_ns, cpu_ns) = region.state.borrow_mut(py).read(py)?;
        let end_ns = end_ns.max(region.start_ns + 1);
        region.end_ns = end_ns;
        let covered_ns = region.covered(end_ns);
        let repeated = match &region.parent {
            None => false,
            Some(parent) => {
                parent.borrow_mut(py).close_child(end_ns);
                region.is_repeated(py)
            }
        };
        let times = (end_ns - region.start_ns, cpu_ns - region.cpu_start_ns, covered_ns);
        let told = region.amounts.is_some();
        let aggregate = region.aggregate.clone_ref(py).into_bound(py);
        let state = region.state.clone_ref(py);
        drop(region);
        if let Some(recorded) = recorded {
            leave(py, &recorded)?;
        }

        let failed = !kind.is_none();
        let details = if failed || repeated || told {
            Some(this.call_method1(intern!(py, "details"), (failed, repeated))?)
        } else {
            None
        };
        let record = (times.0, times.1, times.2, details).into_pyobject(py)?;
        let before = state.borrow_mut(py).ended_last.replace(this.clone().into_any().unbind());
        // What the last region held may be let go of here, and that may run anything.
        drop(before);
        let pending = aggregate.getattr(intern!(py, "pending"))?.cast_into::<PyList>()?;
        pending.append(&record)?;
        this.borrow_mut().record = Some(record.unbind());
        if pending.len() >= FOLD_AT {
            aggregate.call_method0(intern!(py, "fold"))?;
        }
        Ok(())
    }

    /// Takes its place among the open regions.
    fn open(this: &Bound<'_, Self>) -> PyResult<()> {
        let py = this.py();
        let region = this.borrow();
        if region.end_ns == STILL_OPEN {
            drop(region);
            return this.call_method0(intern!(py, "refuse")).map(drop);
        }
        let state = region.state.borrow(py);
        let (get, set) = (state.get.clone_ref(py), state.set.clone_ref(py));
        drop(state);
        drop(region);
        let mut parent = get.bind(py).call0()?.extract::<Option<Bound<'_, TimedRegion>>>()?;
        while let Some(around) = parent.take_if(|around| around.borrow().end_ns != STILL_OPEN) {
            parent = around.borrow().parent.as_ref().map(|parent| parent.bind(py).clone());
        }
        set.bind(py).call1((this,))?;
        let mut region = this.borrow_mut();
        region.end_ns = STILL_OPEN;
        (region.children, region.covered_ns) = (0, 0);
        let old = std::mem::replace(&mut region.parent, parent.map(Bound::unbind));
        drop(region);
        drop(old);
        Ok(())
    }

    /// Begins its stretch in what is being recorded, if anything is.
    fn enter_recording(this: &Bound<'_, Self>) -> PyResult<()> {
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        if is_recording() {
            let py = this.py();
            let name = this.borrow().name.clone_ref(py);
            let recorded = CLASS.import(py, "stepscope._native", "record_function")?.call1((name,))?;
            // It is entered by being called.
            recorded.call0()?;
            this.borrow_mut().recorded = Some(recorded.unbind());
        }
        Ok(())
    }

    /// Ends its stretch in what is being recorded.
    fn leave_recording(this: &Bound<'_, Self>) -> PyResult<()> {
        let recorded = this.borrow_mut().recorded.take();
        recorded.map_or(Ok(()), |recorded| leave(this.py(), &recorded))
    }

    fn open_child(&mut self, at_ns: i64) {
        if self.children == 0 {
            self.children_since_ns = at_ns;
        }
        self.children += 1;
    }

    fn close_child(&mut self, at_ns: i64) {
        self.children = self.children.saturating_sub(1);
        if self.children == 0 {
            self.covered_ns += (at_ns - self.children_since_ns).max(0);
        }
    }

    /// The time until then in which a region inside it was open.
    fn covered(&self, until_ns: i64) -> i64 {
        let open_ns = if self.children > 0 { (until_ns - self.children_since_ns).max(0) } else { 0 };
        self.covered_ns + open_ns
    }

    /// Whether a region of the same name is open around it.
    fn is_repeated(&self, py: Python<'_>) -> bool {
        let mut around = self.parent.as_ref().map(|parent| parent.clone_ref(py));
        while let Some(region) = around {
            let region = region.borrow(py);
            if region.aggregate.is(&self.aggregate) {
                return true;
            }
            around = region.parent.as_ref().map(|parent| parent.clone_ref(py));
        }
        false
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.state)?;
        visit.call(&self.aggregate)?;
        visit.call(&self.amounts)?;
        visit.call(&self.parent)?;
        visit.call(&self.recorded)?;
        visit.call(&self.record)
    }

    fn __clear__(&mut self) {
        self.amounts = None;
        self.parent = None;
        self.recorded = None;
        self.record = None;
    }
}

fn leave(py: Python<'_>, recorded: &Py<PyAny>) -> PyResult<()> {
    recorded.bind(py).call1((py.None(), py.None(), py.None())).map(drop)
}
