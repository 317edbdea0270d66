//! Temperatures and clocks of the processors, and the energy they have used. From `/sys`.

use std::fs;
use std::path::{Path, PathBuf};

use super::series::CounterInfo;
use super::source::{MissingSensor, ProcFile, Roots, Source};

/// Drivers whose sensors sit in processors.
const CPU_SENSORS: &[&str] = &["coretemp", "k10temp", "zenpower", "cpu_thermal"];
/// A clock is asked of the processor itself, which costs: a few of many cores are enough for a mean.
const MAX_CLOCKS: usize = 4;

/// One value from several files, put together by `fold`, times `scale`.
struct FoldedCounter {
    info: CounterInfo,
    files: Vec<ProcFile>,
    scale: f64,
    fold: fn(&[f64]) -> f64,
    every: u32,
    turn: u32,
}

impl Source for FoldedCounter {
    fn counters(&self) -> Vec<CounterInfo> {
        vec![self.info.clone()]
    }

    fn sample(&mut self, _: i64, _: bool, out: &mut dyn FnMut(usize, f64)) {
        let turn = self.turn;
        self.turn = (turn + 1) % self.every;
        if turn != 0 {
            return;
        }
        let values: Vec<f64> = self.files.iter_mut().filter_map(ProcFile::number).collect();
        if !values.is_empty() {
            out(0, (self.fold)(&values) * self.scale);
        }
    }
}

fn highest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MIN, f64::max)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// What a folder holds, in the order of the names.
pub(super) fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

pub(super) fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The hottest sensor of the processors.
pub(super) fn cpu_temperature(roots: &Roots) -> Result<Box<dyn Source>, MissingSensor> {
    let mut files = Vec::new();
    for chip in listed(&roots.sys.join("class/hwmon")) {
        let driver = fs::read_to_string(chip.join("name")).unwrap_or_default();
        if CPU_SENSORS.contains(&driver.trim()) {
            let inputs = listed(&chip);
            let inputs =
                inputs.iter().filter(|p| name_of(p).starts_with("temp") && name_of(p).ends_with("_input"));
            files.extend(inputs.filter_map(|path| ProcFile::open(path).ok()));
        }
    }
    if files.is_empty() {
        for zone in listed(&roots.sys.join("class/thermal")) {
            let kind = fs::read_to_string(zone.join("type")).unwrap_or_default();
            if ["x86_pkg_temp", "cpu-thermal", "cpu_thermal"].contains(&kind.trim()) {
                files.extend(ProcFile::open(&zone.join("temp")).ok());
            }
        }
    }
    if files.is_empty() {
        let reason = "no CPU sensor in /sys/class/hwmon or /sys/class/thermal; virtual machines have none";
        return Err(MissingSensor::new(
            "CPU temperature",
            reason,
            "on real hardware, load the kernel module coretemp or k10temp",
        ));
    }
    let info = CounterInfo {
        name: "host.cpu_temperature_c".to_owned(),
        label: "CPU temperature".to_owned(),
        unit: "°C",
        source: "/sys/class/hwmon",
    };
    Ok(Box::new(FoldedCounter { info, files, scale: 1e-3, fold: highest, every: 1, turn: 0 }))
}

/// The mean clock of the first cores.
pub(super) fn cpu_clock(roots: &Roots, per_second: f64) -> Result<Box<dyn Source>, MissingSensor> {
    let policies = listed(&roots.sys.join("devices/system/cpu/cpufreq"));
    let policies = policies.iter().filter(|path| name_of(path).starts_with("policy"));
    let files: Vec<ProcFile> = policies
        .filter_map(|path| ProcFile::open(&path.join("scaling_cur_freq")).ok())
        .take(MAX_CLOCKS)
        .collect();
    if files.is_empty() {
        let reason = "no /sys/devices/system/cpu/cpufreq; virtual machines have none";
        return Err(MissingSensor::new("CPU clock", reason, ""));
    }
    let info = CounterInfo {
        name: "host.cpu_frequency_mhz".to_owned(),
        label: "CPU clock".to_owned(),
        unit: "MHz",
        source: "/sys/devices/system/cpu/cpufreq",
    };
    let every = per_second.round().max(1.0) as u32;
    Ok(Box::new(FoldedCounter { info, files, scale: 1e-3, fold: mean, every, turn: 0 }))
}

/// Energy counters of the processors (RAPL). They start again at some value, often within the hour.
struct Energy {
    name: &'static str,
    label: &'static str,
    zones: Vec<Zone>,
}

struct Zone {
    file: ProcFile,
    range: f64,
    last: Option<f64>,
    joules: f64,
}

impl Source for Energy {
    fn counters(&self) -> Vec<CounterInfo> {
        let (name, label) = (self.name.to_owned(), self.label.to_owned());
        vec![CounterInfo { name, label, unit: "J", source: "/sys/class/powercap (RAPL)" }]
    }

    fn sample(&mut self, _: i64, _: bool, out: &mut dyn FnMut(usize, f64)) {
        for zone in &mut self.zones {
            let Some(now) = zone.file.number() else { continue };
            let grown =
                zone.last.map_or(0.0, |last| if now >= last { now - last } else { now + zone.range - last });
            zone.last = Some(now);
            zone.joules += grown / 1e6;
        }
        out(0, self.zones.iter().map(|zone| zone.joules).sum());
    }
}

/// The processors' packages, and their memory where it is counted; since the monitor was made.
pub(super) fn cpu_energy(roots: &Roots) -> (Vec<Box<dyn Source>>, Option<MissingSensor>) {
    let (mut packages, mut memory, mut refused) = (Vec::new(), Vec::new(), None);
    // intel-rapl-mmio shows the same packages a second time.
    let zones = listed(&roots.sys.join("class/powercap"));
    for path in zones.iter().filter(|path| name_of(path).starts_with("intel-rapl:")) {
        let kind = fs::read_to_string(path.join("name")).unwrap_or_default();
        let list = match kind.trim() {
            package if package.starts_with("package") => &mut packages,
            "dram" => &mut memory,
            _ => continue,
        };
        let range = fs::read_to_string(path.join("max_energy_range_uj")).ok();
        let range = range.and_then(|text| text.trim().parse().ok()).unwrap_or(0.0);
        match ProcFile::open(&path.join("energy_uj")) {
            Ok(file) => list.push(Zone { file, range, last: None, joules: 0.0 }),
            Err(error) => refused = Some(error),
        }
    }
    let mut sources: Vec<Box<dyn Source>> = Vec::new();
    let missing = match (packages.is_empty(), refused) {
        (true, Some(error)) => Some(MissingSensor::new(
            "CPU energy",
            format!("cannot read the RAPL counters: {error}"),
            "as root: chmod -R a+r /sys/class/powercap/intel-rapl*, or run as root",
        )),
        (true, None) => {
            Some(MissingSensor::new("CPU energy", "no RAPL counters; virtual machines have none", ""))
        }
        (false, _) => None,
    };
    if !packages.is_empty() {
        sources.push(Box::new(Energy { name: "host.cpu_energy_j", label: "CPU energy", zones: packages }));
    }
    if !memory.is_empty() {
        sources.push(Box::new(Energy { name: "host.dram_energy_j", label: "memory energy", zones: memory }));
    }
    (sources, missing)
}
