//! Machine, GPUs and processes, on the axis of the dashboard.

use std::collections::BTreeMap;
use std::path::Path;

use super::CounterSeries;
use crate::counters::{CounterHistory, counter_label, counters_by};
use crate::period::Period;

/// Those that explain a slow service, in this order; the others are in the directory all the same.
const SHOWN_COUNTERS: &[&str] = &[
    "gpu.utilization_percent",
    "gpu.memory_used_bytes",
    "gpu.power_w",
    "gpu.temperature_c",
    "gpu.sm_clock_mhz",
    "process.cpu_percent",
    "process.rss_bytes",
    "host.cpu_percent",
    "host.memory_used_bytes",
    "host.disk_read_bytes_per_s",
    "host.disk_write_bytes_per_s",
    "host.network_receive_bytes_per_s",
    "host.network_send_bytes_per_s",
];
/// Lines of all charts at most.
const MAX_SERIES: usize = 64;

/// The counters of a folder, and what could not be read.
pub(super) fn counter_series(
    folder: &Path,
    period: Period,
    step_minutes: i64,
    minutes: &[i64],
) -> (Vec<CounterSeries>, Vec<String>) {
    let Ok(found) = counters_by(folder, period, step_minutes) else { return Default::default() };
    let mut hosts: Vec<&str> = found.series.iter().map(|series| series.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let several = hosts.len() > 1;
    let mut shown: Vec<(usize, &CounterHistory)> = found
        .series
        .iter()
        .filter_map(|series| Some((SHOWN_COUNTERS.iter().position(|name| *name == series.name)?, series)))
        .collect();
    shown.sort_by(|(a, one), (b, other)| {
        (a, &one.host, one.device, one.process).cmp(&(b, &other.host, other.device, other.process))
    });
    let series = shown.into_iter().take(MAX_SERIES).map(|(_, series)| {
        let points: BTreeMap<i64, f64> = series.points.iter().map(|point| (point.minute, point.mean)).collect();
        let label = counter_label(&series.name, None);
        let device = match (series.device, several, series.process) {
            (Some(device), false, _) => Some(format!("GPU {device}")),
            (Some(device), true, _) => Some(format!("{} GPU {device}", series.host)),
            (None, false, Some(process)) => Some(format!("process {process}")),
            (None, true, Some(process)) => Some(format!("{} process {process}", series.host)),
            (None, true, None) => Some(series.host.clone()),
            (None, false, None) => None,
        };
        CounterSeries {
            name: if series.device.is_some() { format!("GPU {label}") } else { label },
            unit: unit(&series.unit).to_owned(),
            device,
            values: minutes.iter().map(|minute| points.get(minute).copied()).collect(),
        }
    });
    (series.collect(), found.notes)
}

/// Units as they are written, and what the page calls them; any other is a count.
const UNITS: &[(&str, &str)] = &[
    ("%", "percent"),
    ("bytes", "bytes"),
    ("bytes/s", "bytes_per_second"),
    ("W", "watts"),
    ("°C", "celsius"),
    ("MHz", "megahertz"),
    ("J", "joules"),
];

fn unit(sign: &str) -> &'static str {
    UNITS.iter().find(|(written, _)| *written == sign).map_or("count", |(_, name)| name)
}

/// How a unit of the page is written.
pub(crate) fn unit_sign(name: &str) -> &'static str {
    UNITS.iter().find(|(_, known)| *known == name).map_or("", |(sign, _)| sign)
}
