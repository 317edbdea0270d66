//! The memory of the process beside that of its devices, as the monitor of our own recordings saw it.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Order, Trace};

use crate::scope::definition::{Definition, definitions};

/// The counter of resident memory.
pub(crate) const RSS_COUNTER: &str = "process memory (RSS)";
/// The counter of memory with what is shared divided among those who share it.
const PSS_COUNTER: &str = "process memory (PSS)";
const MAX_PROCESSES: usize = 64;
/// About how many points a curve may have.
const MAX_POINTS: usize = 1_000;

pub const DEFINITIONS: &[Definition] = definitions! {
    "process", "Process" => "The number of the process, if the file says.";
    "process_first_bytes", "First" =>
        "Memory of the process at the first sample. RSS counts all pages in memory; PSS divides those that are shared \
         among the processes that share them.";
    "process_peak_bytes", "Peak" =>
        "The most memory the process had at any sample. Spikes between two samples are not counted.";
    "process_peak_at_ns", "Peak at" => "When that was first seen.";
    "process_last_bytes", "Last" => "Memory of the process at the last sample.";
    "process_bytes", "Memory" => "Memory of the process at a moment.";
};

/// A sample of a process.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProcessPoint {
    pub at_ns: i64,
    pub process_bytes: i64,
}

/// The memory of a process over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProcessMemory {
    pub process: Option<i64>,
    /// `RSS` or `PSS`.
    pub measure: &'static str,
    pub process_first_bytes: i64,
    pub process_peak_bytes: i64,
    pub process_peak_at_ns: i64,
    pub process_last_bytes: i64,
    /// Over time, the highest of every few samples.
    pub points: Vec<ProcessPoint>,
}

/// The processes of a trace whose memory was watched.
pub fn processes(trace: &Trace) -> Vec<ProcessMemory> {
    let counters = trace.counters();
    let measure = |name: &str| match name {
        RSS_COUNTER => Some("RSS"),
        PSS_COUNTER => Some("PSS"),
        _ => None,
    };
    let series = counters.series().iter().enumerate();
    let watched: Vec<(usize, &'static str, Option<i64>)> = series
        .filter_map(|(at, series)| {
            let process = trace.lanes().get(series.lane).key.process.as_int();
            Some((at, measure(trace.text(series.name))?, process))
        })
        .take(2 * MAX_PROCESSES)
        .collect();
    if watched.is_empty() {
        return Vec::new();
    }
    let mut place = vec![usize::MAX; counters.series().len()];
    watched.iter().enumerate().for_each(|(number, &(at, ..))| place[at] = number);
    let mut samples: Vec<Vec<ProcessPoint>> = vec![Vec::new(); watched.len()];
    for row in counters.rows() {
        let (value, number) = (row.value.to_f64(), place[row.series.index()]);
        if number != usize::MAX && value.is_finite() && value >= 0.0 {
            samples[number].push(ProcessPoint { at_ns: row.at.0, process_bytes: value as i64 });
        }
    }
    let mut found: Vec<ProcessMemory> = watched
        .into_iter()
        .zip(samples)
        .filter_map(|((_, measure, process), mut samples)| {
            samples.sort_by_key(|sample| sample.at_ns);
            let (first, last) = (*samples.first()?, *samples.last()?);
            let peak = *samples.iter().rev().max_by_key(|sample| sample.process_bytes)?;
            Some(ProcessMemory {
                process,
                measure,
                process_first_bytes: first.process_bytes,
                process_peak_bytes: peak.process_bytes,
                process_peak_at_ns: peak.at_ns,
                process_last_bytes: last.process_bytes,
                points: thinned(&samples),
            })
        })
        .collect();
    found.order_by_key(|row| (row.process, row.measure != "RSS"));
    found
}

/// The highest of every few samples, where it was.
fn thinned(samples: &[ProcessPoint]) -> Vec<ProcessPoint> {
    let each = samples.len().div_ceil(MAX_POINTS).max(1);
    samples
        .chunks(each)
        .filter_map(|few| few.iter().rev().max_by_key(|sample| sample.process_bytes).copied())
        .collect()
}
