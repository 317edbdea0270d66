//! Metrics of both runs beside each other: what the step time alone does not say.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::names::copies::Direction;
use crate::run::Run;

#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricUnit {
    Nanoseconds,
    Bytes,
    Count,
    /// A fraction of 1.
    Share,
    /// Things per second.
    PerSecond,
    Joules,
}

/// One metric of both runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricRow {
    pub metric: &'static str,
    pub unit: MetricUnit,
    /// Before: the mean of the recordings that say.
    pub before: Option<f64>,
    pub after: Option<f64>,
    pub delta: Option<f64>,
    /// Whether less of it is better; none where neither is.
    pub less_is_better: Option<bool>,
}

struct Metric {
    name: &'static str,
    unit: MetricUnit,
    less_is_better: Option<bool>,
    of: fn(&Run) -> Option<f64>,
}

const METRICS: &[Metric] = &[
    Metric {
        name: "step without the profiler (estimate)",
        unit: MetricUnit::Nanoseconds,
        less_is_better: Some(true),
        of: |run| Some(run.unprofiled().step_ns as f64).filter(|_| !run.streams().is_empty()),
    },
    Metric {
        name: "GPU utilization",
        unit: MetricUnit::Share,
        less_is_better: Some(false),
        of: gpu_utilization,
    },
    Metric {
        name: "samples per step",
        unit: MetricUnit::Count,
        less_is_better: None,
        of: |run| run.samples().map(|samples| samples.per_step()),
    },
    Metric {
        name: "samples/s",
        unit: MetricUnit::PerSecond,
        less_is_better: Some(false),
        of: |run| run.samples().and_then(|samples| samples.per_s()),
    },
    Metric {
        name: "kernels per step",
        unit: MetricUnit::Count,
        less_is_better: Some(true),
        of: |run| launches(run, |row| row.kernels),
    },
    Metric {
        name: "launches per step",
        unit: MetricUnit::Count,
        less_is_better: Some(true),
        of: |run| launches(run, |row| row.launches),
    },
    Metric {
        name: "waits for the device per step",
        unit: MetricUnit::Nanoseconds,
        less_is_better: Some(true),
        of: |run| {
            let waited = run
                .waits()
                .iter()
                .filter(|wait| run.steps().at(run.trace().slices().start(wait.call)).is_some());
            let ns: i64 = waited.map(|wait| wait.wait_ns).fold(0, i64::saturating_add);
            (!run.streams().is_empty()).then(|| ns as f64 / steps(run))
        },
    },
    Metric {
        name: "copied to devices per step",
        unit: MetricUnit::Bytes,
        less_is_better: Some(true),
        of: |run| copied(run, Direction::HostToDevice),
    },
    Metric {
        name: "copied from devices per step",
        unit: MetricUnit::Bytes,
        less_is_better: Some(true),
        of: |run| copied(run, Direction::DeviceToHost),
    },
    Metric {
        name: "floating-point operations per step",
        unit: MetricUnit::Count,
        less_is_better: None,
        of: |run| {
            let flops: f64 = run.costs().ops.iter().map(|op| op.cost.flops as f64).sum();
            (flops > 0.0).then(|| flops / steps(run))
        },
    },
    Metric {
        name: "peak memory allocated",
        unit: MetricUnit::Bytes,
        less_is_better: Some(true),
        of: |run| peak(run, |device| Some(device.peak_allocated_bytes)),
    },
    Metric {
        name: "peak memory reserved",
        unit: MetricUnit::Bytes,
        less_is_better: Some(true),
        of: |run| peak(run, |device| device.peak_reserved_bytes),
    },
    Metric {
        name: "energy of GPUs per step",
        unit: MetricUnit::Joules,
        less_is_better: Some(true),
        of: Run::energy_j_per_step,
    },
];

/// The mean share of the steps in which devices were busy.
pub(super) fn gpu_utilization(run: &Run) -> Option<f64> {
    mean(run.gpu().devices.iter().filter_map(|device| device.utilization))
}

fn steps(run: &Run) -> f64 {
    run.steps().steps.len().max(1) as f64
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn launches(run: &Run, of: fn(&crate::causes::launches::LaunchRow) -> u64) -> Option<f64> {
    let rows = run.launches();
    (!rows.is_empty()).then(|| rows.iter().map(of).sum::<u64>() as f64 / steps(run))
}

fn copied(run: &Run, direction: Direction) -> Option<f64> {
    let rows = run.transfers().rows.iter().filter(|row| row.direction == direction);
    let known: Vec<i64> = rows.filter_map(|row| row.bytes).collect();
    (!known.is_empty()).then(|| known.iter().map(|bytes| *bytes as f64).sum::<f64>() / steps(run))
}

/// Of the device that holds most; the host's where there is no device.
pub(super) fn peak(run: &Run, of: fn(&crate::memory::DeviceMemory) -> Option<i64>) -> Option<f64> {
    let all = &run.memory().devices;
    let devices: Vec<_> = all.iter().filter(|device| device.device_type != Some(0)).collect();
    let peaks = if devices.is_empty() { all.iter().collect() } else { devices };
    peaks.into_iter().filter_map(of).max().map(|bytes| bytes as f64)
}

/// The metrics of one side: the mean of the recordings that say.
pub(super) fn values(runs: &[Arc<Run>]) -> Vec<Option<f64>> {
    METRICS.iter().map(|metric| mean(runs.iter().filter_map(|run| (metric.of)(run)))).collect()
}

/// All metrics that one of the sides has.
pub(super) fn rows(before: &[Option<f64>], after: &[Option<f64>]) -> Vec<MetricRow> {
    let rows = METRICS.iter().zip(before).zip(after).map(|((metric, &before), &after)| MetricRow {
        metric: metric.name,
        unit: metric.unit,
        before,
        after,
        delta: before.zip(after).map(|(before, after)| after - before),
        less_is_better: metric.less_is_better,
    });
    rows.filter(|row| row.before.is_some() || row.after.is_some()).collect()
}
