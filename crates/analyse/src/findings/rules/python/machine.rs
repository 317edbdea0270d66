//! What the monitor saw of the process and its machine while the program ran.

use stepscope_model::{Order, Trace};

/// Counters of our own recordings, by their names.
const PROCESS_CPU: &str = "process CPU (100 = one core)";
const MACHINE_CPU: &str = "CPU";

/// Values over time: nanoseconds, and the value.
pub(super) type Curve = Vec<(i64, f64)>;

/// Cores that the process used, on average; none if no one watched.
pub(super) fn process_cores(trace: &Trace) -> Option<f64> {
    mean(&curve(trace, PROCESS_CPU, "%")).map(|percent| percent / 100.0)
}

/// The share of all cores of the machine that were busy, on average.
pub(super) fn machine_busy(trace: &Trace) -> Option<f64> {
    mean(&curve(trace, MACHINE_CPU, "%")).map(|percent| percent / 100.0)
}

/// The memory of the process over time.
pub(super) fn process_memory(trace: &Trace) -> Curve {
    curve(trace, crate::memory::process::RSS_COUNTER, "")
}

/// A counter in order of time; of several of this name the first.
fn curve(trace: &Trace, name: &str, part: &str) -> Curve {
    let counters = trace.counters();
    let is_meant = |series: &&stepscope_model::Series| {
        trace.text(series.name) == name && (part.is_empty() || trace.text(series.part) == part)
    };
    let Some(at) = counters.series().iter().position(|series| is_meant(&series)) else { return Curve::new() };
    let rows = counters.rows().filter(|row| row.series.index() == at);
    let mut curve: Curve =
        rows.map(|row| (row.at.0, row.value.to_f64())).filter(|(_, value)| value.is_finite()).collect();
    curve.order_by_key(|(at, _)| *at);
    curve
}

fn mean(curve: &Curve) -> Option<f64> {
    (!curve.is_empty()).then(|| curve.iter().map(|(_, value)| value).sum::<f64>() / curve.len() as f64)
}
