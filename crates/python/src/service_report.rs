//! Reports about a directory of a service, and histograms of latencies, for Python.

use std::sync::Mutex;

use pyo3::prelude::*;
use stepscope_ground::lock;
use stepscope_service::report::{Against, ServiceReport};
use stepscope_service::{DEFAULT_SCALE, MAX_BUCKETS, Period, ServiceDir, Sketch};

use crate::answer::NativeAnswer;
use crate::errors;
use crate::service::nanoseconds;

/// A histogram of seconds: what latencies are kept in.
#[pyclass(module = "stepscope._native", frozen)]
pub(crate) struct LatencyHistogram {
    sketch: Mutex<Sketch>,
}

#[pymethods]
impl LatencyHistogram {
    #[new]
    #[pyo3(signature = (scale = DEFAULT_SCALE, max_buckets = MAX_BUCKETS))]
    fn new(scale: i8, max_buckets: usize) -> Self {
        Self { sketch: Mutex::new(Sketch::new(scale, max_buckets.min(1 << 16))) }
    }

    /// Adds a latency, in seconds.
    fn record(&self, seconds: f64) {
        lock(&self.sketch).record(nanoseconds(seconds));
    }

    /// Adds a latency, in whole nanoseconds.
    fn record_ns(&self, nanoseconds: u64) {
        lock(&self.sketch).record(nanoseconds);
    }

    /// Adds durations, in whole nanoseconds.
    fn extend_ns(&self, nanoseconds: Vec<i64>) {
        let mut sketch = lock(&self.sketch);
        nanoseconds.into_iter().for_each(|ns| sketch.record(u64::try_from(ns).unwrap_or(0)));
    }

    /// Adds all of another histogram.
    fn merge(&self, other: &LatencyHistogram) {
        let other = lock(&other.sketch).clone();
        lock(&self.sketch).merge(&other);
    }

    /// Seconds that a share (0 to 1) of all latencies did not exceed; None if there are none.
    fn quantile(&self, share: f64) -> Option<f64> {
        lock(&self.sketch).quantile(share).map(|ns| ns as f64 / 1e9)
    }

    /// How many latencies it holds.
    #[getter]
    fn count(&self) -> u64 {
        lock(&self.sketch).count()
    }

    /// Their sum, in seconds.
    #[getter]
    fn sum(&self) -> f64 {
        lock(&self.sketch).sum() as f64 / 1e9
    }

    /// The scale: 2**scale buckets per doubling.
    #[getter]
    fn scale(&self) -> i8 {
        lock(&self.sketch).scale()
    }

    /// The number of the first bucket, and the count of each bucket of nanoseconds from there on.
    fn buckets(&self) -> (i32, Vec<u64>) {
        let sketch = lock(&self.sketch);
        let (offset, counts) = sketch.buckets();
        (offset, counts.to_vec())
    }
}

/// The report about a folder.
#[pyfunction]
pub(crate) fn service_report(
    py: Python<'_>,
    folder: std::path::PathBuf,
    last: &str,
    against: &str,
) -> PyResult<NativeAnswer> {
    let against = match against {
        "before" => Against::Before,
        "day" => Against::DayBefore,
        "week" => Against::WeekBefore,
        "nothing" => Against::Nothing,
        other => {
            return Err(errors::stepscope(
                format!("a report is not compared with '{other}'"),
                Some("compare with before, day, week or nothing".to_owned()),
            ));
        }
    };
    NativeAnswer::of(py, || {
        let period = Period::parse(last, stepscope_record::clock::now_ns())?;
        Ok(ServiceReport::make(&ServiceDir::open(&folder)?, period, against)?.answer())
    })
}

/// Memory that this process holds, in bytes.
#[pyfunction]
pub(crate) fn rss_bytes() -> u64 {
    stepscope_service::rss_bytes()
}

/// Adds all of it to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(service_report, module)?)?;
    module.add_function(wrap_pyfunction!(rss_bytes, module)?)?;
    module.add_class::<LatencyHistogram>()
}
