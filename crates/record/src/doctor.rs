//! What this machine can and cannot capture, and how to get the rest.

use std::fs;

use serde::Serialize;

use crate::machine::{MachineOptions, MachineSampler, Roots, nvidia};

/// Whether a source can be captured.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    Ready,
    /// Part of it works.
    Partly,
    /// It is not here.
    Absent,
}

/// One thing that can be captured, or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub area: &'static str,
    pub what: String,
    /// Whether it can be captured.
    pub state: CheckState,
    /// What was found, or why not.
    pub detail: String,
    /// What to do; empty if there is nothing to do.
    pub fix: String,
}

fn check(
    area: &'static str,
    what: &str,
    state: CheckState,
    detail: impl Into<String>,
    fix: impl Into<String>,
) -> Check {
    Check { area, what: what.to_owned(), state, detail: detail.into(), fix: fix.into() }
}

/// Tries every sensor once.
pub fn doctor(roots: &Roots) -> Vec<Check> {
    let monitor = MachineSampler::new(&MachineOptions {
        roots: roots.clone(),
        per_core: true,
        ..MachineOptions::default()
    });
    monitor.sample_now();
    std::thread::sleep(std::time::Duration::from_millis(60));
    monitor.sample_now();
    let mut checks = Vec::new();
    let latest = monitor.latest();
    let mut sources: Vec<&str> = monitor.counters().iter().map(|info| info.source).collect();
    sources.sort_unstable();
    sources.dedup();
    for source in sources {
        let of_source: Vec<_> = monitor.counters().iter().filter(|info| info.source == source).collect();
        let live = of_source.iter().filter(|info| latest.iter().any(|(name, _)| *name == info.name)).count();
        let state = if live == of_source.len() { CheckState::Ready } else { CheckState::Partly };
        let area = if source.starts_with("NVML") || source.contains("drm") { "GPU" } else { "machine" };
        let word = if of_source.len() == 1 { "counter" } else { "counters" };
        let names: Vec<&str> = of_source.iter().map(|info| info.name.as_str()).take(3).collect();
        let more = if of_source.len() > 3 { ", …" } else { "" };
        let silent = of_source.len() - live;
        let silent = if silent > 0 { format!("; {silent} with no value yet") } else { String::new() };
        let detail = format!("{} {word} ({}{more}){silent}", of_source.len(), names.join(", "));
        checks.push(check(area, source, state, detail, ""));
    }
    for missing in monitor.missing() {
        let area = if missing.what.contains("GPU") { "GPU" } else { "machine" };
        checks.push(check(area, &missing.what, CheckState::Absent, &missing.reason, &missing.fix));
    }
    checks.extend(gpu(roots));
    checks.extend(permissions(roots));
    checks.sort_by_key(|check| (check.area, check.state as u8));
    checks
}

/// The driver, and the devices by name.
fn gpu(roots: &Roots) -> Vec<Check> {
    let Ok(library) = nvidia::library(roots.nvml.as_deref()) else { return Vec::new() };
    let mut checks = Vec::new();
    let driver = library.sys_driver_version().unwrap_or_else(|_| "version unknown".to_owned());
    checks.push(check("GPU", "NVIDIA driver", CheckState::Ready, driver, ""));
    for index in 0..library.device_count().unwrap_or(0) {
        let name = library.device_by_index(index).and_then(|device| device.name());
        match name {
            Ok(name) => checks.push(check("GPU", &format!("GPU {index}"), CheckState::Ready, name, "")),
            Err(error) => {
                checks.push(check("GPU", &format!("GPU {index}"), CheckState::Absent, error.to_string(), ""))
            }
        }
    }
    checks
}

/// What profilers of other processes will ask for.
fn permissions(roots: &Roots) -> Vec<Check> {
    let number =
        |path: &str| -> Option<i64> { fs::read_to_string(roots.proc.join(path)).ok()?.trim().parse().ok() };
    let root = rustix::process::geteuid().is_root();
    let mut checks = Vec::new();
    match number("sys/kernel/yama/ptrace_scope") {
        Some(0) | None => checks.push(check(
            "permissions",
            "reading other processes",
            CheckState::Ready,
            "your own processes",
            "",
        )),
        Some(_) if root => {
            checks.push(check("permissions", "reading other processes", CheckState::Ready, "as root", ""))
        }
        Some(scope) => checks.push(check(
            "permissions",
            "reading other processes",
            CheckState::Partly,
            format!("kernel.yama.ptrace_scope is {scope}: only processes you start"),
            "sudo sysctl kernel.yama.ptrace_scope=0",
        )),
    }
    match number("sys/kernel/perf_event_paranoid") {
        None => checks.push(check(
            "permissions",
            "hardware counters",
            CheckState::Absent,
            "the kernel has no perf events",
            "",
        )),
        Some(level) if root || level <= 2 => {
            let detail = format!("kernel.perf_event_paranoid is {level}");
            checks.push(check("permissions", "hardware counters", CheckState::Ready, detail, ""));
        }
        Some(level) => checks.push(check(
            "permissions",
            "hardware counters",
            CheckState::Absent,
            format!("kernel.perf_event_paranoid is {level}"),
            "sudo sysctl kernel.perf_event_paranoid=2",
        )),
    }
    checks
}
