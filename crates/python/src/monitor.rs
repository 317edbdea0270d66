//! The monitor of the machine, for Python.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stepscope_record::{
    CounterStat as InnerStat, CounterStats as InnerStats, MachineOptions, MachineSampler as Inner,
};

/// Samples the machine from a thread that Python does not hold up.
#[pyclass(module = "stepscope", frozen)]
pub(crate) struct Monitor {
    pub(crate) inner: Arc<Inner>,
}

#[pymethods]
impl Monitor {
    #[new]
    #[pyo3(signature = (interval_s = 0.1, *, gpu = true, network = true, disk = true, temperature = true, power = true,
        per_core = false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        interval_s: f64,
        gpu: bool,
        network: bool,
        disk: bool,
        temperature: bool,
        power: bool,
        per_core: bool,
    ) -> PyResult<Monitor> {
        let interval = Duration::try_from_secs_f64(interval_s).ok().filter(|length| !length.is_zero());
        let Some(interval) = interval else {
            return Err(PyValueError::new_err(format!(
                "interval_s is a time in seconds above 0, not {interval_s}"
            )));
        };
        let roots = Default::default();
        let options = MachineOptions { interval, gpu, network, disk, temperature, power, per_core, roots };
        Ok(Monitor { inner: Arc::new(py.detach(|| Inner::new(&options))) })
    }

    /// Begin to sample, from a thread of its own. A monitor counts its starts: it samples until as many stops have come.
    fn start(&self, py: Python<'_>) {
        py.detach(|| self.inner.start());
    }

    /// One user needs it no longer; the last one ends the sampling. What was sampled can still be asked for.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.inner.stop());
    }

    /// Take a sample right now, on the calling thread, slow counters included.
    fn sample_now(&self, py: Python<'_>) {
        py.detach(|| self.inner.sample_now());
    }

    /// In a forked child: the thread that samples is the parent's, so nothing is sampled here any more.
    fn forget_after_fork(&self) {
        self.inner.forget_after_fork();
    }

    /// Whether it samples.
    #[getter]
    fn running(&self) -> bool {
        self.inner.is_running()
    }

    /// Seconds between two samples.
    #[getter]
    fn interval_s(&self) -> f64 {
        self.inner.interval().as_secs_f64()
    }

    /// What it samples here: name, label, unit and source of each counter.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let of = |info: &stepscope_record::CounterInfo| {
            let dict = PyDict::new(py);
            dict.set_item("name", &info.name)?;
            dict.set_item("label", &info.label)?;
            dict.set_item("unit", info.unit)?;
            dict.set_item("source", info.source)?;
            Ok(dict)
        };
        self.inner.counters().iter().map(of).collect()
    }

    /// What it cannot sample here: what, the reason, and how to get it.
    fn missing<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let of = |missing: &stepscope_record::MissingSensor| {
            let dict = PyDict::new(py);
            dict.set_item("what", &missing.what)?;
            dict.set_item("reason", &missing.reason)?;
            dict.set_item("fix", &missing.fix)?;
            Ok(dict)
        };
        self.inner.missing().iter().map(of).collect()
    }

    /// The latest value of each counter, by name.
    fn latest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.inner.latest() {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// Mean, min, max, first, last and number of samples of each counter between two moments, in nanoseconds since 1970.
    fn window<'py>(&self, py: Python<'py>, start_ns: i64, end_ns: i64) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, summary) in self.inner.window(start_ns, end_ns) {
            let one = PyDict::new(py);
            one.set_item("mean", summary.mean)?;
            one.set_item("min", summary.min)?;
            one.set_item("max", summary.max)?;
            one.set_item("first", summary.first)?;
            one.set_item("last", summary.last)?;
            one.set_item("samples", summary.samples)?;
            dict.set_item(name, one)?;
        }
        Ok(dict)
    }

    /// Add the counters between two moments, in nanoseconds since 1970, to sums over several stretches.
    fn add_window(&self, stats: &Bound<'_, CounterStats>, start_ns: i64, end_ns: i64) {
        self.inner.add_window(&mut stats.borrow_mut().inner, start_ns, end_ns);
    }

    /// All samples of one counter: when, in nanoseconds since 1970, and the values.
    #[pyo3(signature = (name, start_ns = None, end_ns = None))]
    fn series(&self, name: &str, start_ns: Option<i64>, end_ns: Option<i64>) -> PyResult<(Vec<i64>, Vec<f64>)> {
        let found = self.inner.series(name, start_ns.unwrap_or(i64::MIN), end_ns.unwrap_or(i64::MAX));
        found.ok_or_else(|| {
            PyValueError::new_err(format!("there is no counter {name:?} here; counters() lists them"))
        })
    }

    /// Processor time that sampling itself has taken, in seconds.
    fn cpu_seconds(&self) -> f64 {
        self.inner.cpu_time().as_secs_f64()
    }
}

/// Counters over stretches of time: a few sums for each, whatever the number of stretches.
#[pyclass(module = "stepscope._native")]
#[derive(Default)]
pub(crate) struct CounterStats {
    inner: InnerStats,
}

#[pymethods]
impl CounterStats {
    #[new]
    fn new() -> CounterStats {
        CounterStats::default()
    }

    /// Add a stretch of samples that are given by name, as (nanoseconds since 1970, values).
    fn add_samples(&mut self, samples: HashMap<String, (Vec<i64>, Vec<f64>)>, start_ns: i64, end_ns: i64) {
        let samples = samples.into_iter().map(|(name, (at_ns, values))| (name, at_ns, values)).collect();
        self.inner.add_samples(samples, start_ns, end_ns);
    }

    /// Add later stretches.
    fn merge(&mut self, later: &Bound<'_, CounterStats>) -> PyResult<()> {
        self.inner.merge(&later.try_borrow()?.inner);
        Ok(())
    }

    /// What is known of each counter, by name.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, stat) in self.inner.stats() {
            dict.set_item(name, CounterStat { inner: stat })?;
        }
        Ok(dict)
    }

    /// By how much each energy counter rose, without GPUs that only others used.
    fn joules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, joules) in self.inner.joules() {
            dict.set_item(name, joules)?;
        }
        Ok(dict)
    }
}

/// One counter over stretches of time.
#[pyclass(module = "stepscope._native", frozen)]
pub(crate) struct CounterStat {
    inner: InnerStat,
}

#[pymethods]
impl CounterStat {
    /// The mean over time.
    #[getter]
    fn mean(&self) -> f64 {
        self.inner.mean()
    }

    #[getter]
    fn high(&self) -> f64 {
        self.inner.high
    }

    #[getter]
    fn last(&self) -> f64 {
        self.inner.last
    }

    /// How many values were taken in these stretches.
    #[getter]
    fn samples(&self) -> usize {
        self.inner.samples
    }
}
