//! Figures of both runs beside each other: what the step time alone does not say.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::names::copies::Direction;
use crate::run::Run;

/// What a figure counts.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FigureUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
    /// A fraction of 1.
    Share,
    /// Things per second.
    PerSecond,
    /// Joules.
    Joules,
}

/// One figure of both runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FigureRow {
    /// Which.
    pub figure: &'static str,
    /// What it counts.
    pub unit: FigureUnit,
    /// Before: the mean of the recordings that say.
    pub before: Option<f64>,
    /// After.
    pub after: Option<f64>,
    /// After less before.
    pub delta: Option<f64>,
    /// Whether less of it is better; none where neither is.
    pub less_is_better: Option<bool>,
}

struct Figure {
    name: &'static str,
    unit: FigureUnit,
    less_is_better: Option<bool>,
    of: fn(&Run) -> Option<f64>,
}

const FIGURES: &[Figure] = &[
    Figure {
        name: "step without the profiler (estimate)",
        unit: FigureUnit::Nanoseconds,
        less_is_better: Some(true),
        of: |run| Some(run.unprofiled().step_ns as f64).filter(|_| !run.streams().is_empty()),
    },
    Figure {
        name: "GPU utilization",
        unit: FigureUnit::Share,
        less_is_better: Some(false),
        of: gpu_utilization,
    },
    Figure {
        name: "samples per step",
        unit: FigureUnit::Count,
        less_is_better: None,
        of: |run| run.samples().map(|samples| samples.per_step()),
    },
    Figure {
        name: "samples/s",
        unit: FigureUnit::PerSecond,
        less_is_better: Some(false),
        of: |run| run.samples().and_then(|samples| samples.per_s()),
    },
    Figure {
        name: "kernels per step",
        unit: FigureUnit::Count,
        less_is_better: Some(true),
        of: |run| launches(run, |row| row.kernels),
    },
    Figure {
        name: "launches per step",
        unit: FigureUnit::Count,
        less_is_better: Some(true),
        of: |run| launches(run, |row| row.launches),
    },
    Figure {
        name: "waits for the device per step",
        unit: FigureUnit::Nanoseconds,
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
    Figure {
        name: "copied to devices per step",
        unit: FigureUnit::Bytes,
        less_is_better: Some(true),
        of: |run| copied(run, Direction::HostToDevice),
    },
    Figure {
        name: "copied from devices per step",
        unit: FigureUnit::Bytes,
        less_is_better: Some(true),
        of: |run| copied(run, Direction::DeviceToHost),
    },
    Figure {
        name: "floating-point operations per step",
        unit: FigureUnit::Count,
        less_is_better: None,
        of: |run| {
            let flops: f64 = run.costs().ops.iter().map(|op| op.cost.flops as f64).sum();
            (flops > 0.0).then(|| flops / steps(run))
        },
    },
    Figure {
        name: "peak memory allocated",
        unit: FigureUnit::Bytes,
        less_is_better: Some(true),
        of: |run| peak(run, |device| Some(device.peak_allocated_bytes)),
    },
    Figure {
        name: "peak memory reserved",
        unit: FigureUnit::Bytes,
        less_is_better: Some(true),
        of: |run| peak(run, |device| device.peak_reserved_bytes),
    },
    Figure {
        name: "energy of GPUs per step",
        unit: FigureUnit::Joules,
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

/// The figures of one side: the mean of the recordings that say.
pub(super) fn of(runs: &[Arc<Run>]) -> Vec<Option<f64>> {
    FIGURES.iter().map(|figure| mean(runs.iter().filter_map(|run| (figure.of)(run)))).collect()
}

/// All figures that one of the sides has.
pub(super) fn rows(before: &[Option<f64>], after: &[Option<f64>]) -> Vec<FigureRow> {
    let rows = FIGURES.iter().zip(before).zip(after).map(|((figure, &before), &after)| FigureRow {
        figure: figure.name,
        unit: figure.unit,
        before,
        after,
        delta: before.zip(after).map(|(before, after)| after - before),
        less_is_better: figure.less_is_better,
    });
    rows.filter(|row| row.before.is_some() || row.after.is_some()).collect()
}
