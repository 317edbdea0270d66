//! NVIDIA's devices through their management library, which is opened only where it is there. On Hopper and later the
//! library's performance monitor (GPM) says how busy the parts of a device were between two samples.

use std::path::Path;
use std::sync::Mutex;

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, PcieUtilCounter, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::gpm_metrics_get;
use nvml_wrapper::{Device, GpmSample, Nvml};

use super::source::{Missing, Roots, Source};
use super::store::CounterInfo;

/// Reasons that make a device slower than it could be, other than having nothing to do.
const SLOWED: ThrottleReasons = ThrottleReasons::SW_POWER_CAP
    .union(ThrottleReasons::HW_SLOWDOWN)
    .union(ThrottleReasons::SW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::HW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN);

/// What GPM is asked for, and what we call it.
const GPM: &[(GpmMetricId, &str, &str, &str, f64)] = &[
    (GpmMetricId::SmUtil, "sm_active_percent", "SMs active", "%", 1.0),
    (GpmMetricId::SmOccupancy, "sm_occupancy_percent", "SM occupancy", "%", 1.0),
    (GpmMetricId::AnyTensorUtil, "tensor_active_percent", "tensor cores active", "%", 1.0),
    (GpmMetricId::DramBwUtil, "dram_active_percent", "memory bandwidth", "%", 1.0),
    (GpmMetricId::PcieRxPerSec, "pcie_receive_bytes_per_s", "PCIe received", "bytes/s", MEBIBYTE),
    (GpmMetricId::PcieTxPerSec, "pcie_send_bytes_per_s", "PCIe sent", "bytes/s", MEBIBYTE),
    (GpmMetricId::NvlinkTotalRxPerSec, "nvlink_receive_bytes_per_s", "NVLink received", "bytes/s", MEBIBYTE),
    (GpmMetricId::NvlinkTotalTxPerSec, "nvlink_send_bytes_per_s", "NVLink sent", "bytes/s", MEBIBYTE),
];
/// Seconds from one slow reading to the next.
const SLOW_EVERY_S: f64 = 10.0;
/// GPM counts bytes in these.
const MEBIBYTE: f64 = 1_048_576.0;
const KIBIBYTE: f64 = 1024.0;

/// One reading of a device, by name.
type Reading = fn(&Device<'_>) -> Result<f64, NvmlError>;

const READINGS: &[(&str, &str, &str, Reading)] = &[
    ("utilization_percent", "utilization", "%", |d| Ok(f64::from(d.utilization_rates()?.gpu))),
    ("memory_utilization_percent", "memory utilization", "%", |d| Ok(f64::from(d.utilization_rates()?.memory))),
    ("memory_used_bytes", "memory used", "bytes", |d| Ok(d.memory_info()?.used as f64)),
    ("memory_total_bytes", "memory", "bytes", |d| Ok(d.memory_info()?.total as f64)),
    ("process_memory_bytes", "memory of this process", "bytes", own_memory),
    ("power_w", "power", "W", |d| Ok(f64::from(d.power_usage()?) / 1e3)),
    ("energy_j", "energy", "J", |d| Ok(d.total_energy_consumption()? as f64 / 1e3)),
    ("temperature_c", "temperature", "°C", |d| Ok(f64::from(d.temperature(TemperatureSensor::Gpu)?))),
    ("sm_clock_mhz", "SM clock", "MHz", |d| Ok(f64::from(d.clock_info(Clock::SM)?))),
    ("memory_clock_mhz", "memory clock", "MHz", |d| Ok(f64::from(d.clock_info(Clock::Memory)?))),
    ("throttled", "slowed down", "0 or 1", |d| {
        Ok(if d.current_throttle_reasons()?.intersects(SLOWED) { 1.0 } else { 0.0 })
    }),
];
/// The library spins for 20 ms in each of these, which would be felt if it were often. Only devices without GPM are asked.
const SLOW_READINGS: &[(&str, &str, &str, Reading)] = &[
    ("pcie_receive_bytes_per_s", "PCIe received", "bytes/s", |d| {
        Ok(f64::from(d.pcie_throughput(PcieUtilCounter::Receive)?) * KIBIBYTE)
    }),
    ("pcie_send_bytes_per_s", "PCIe sent", "bytes/s", |d| {
        Ok(f64::from(d.pcie_throughput(PcieUtilCounter::Send)?) * KIBIBYTE)
    }),
];

/// Inside a container the library may know the process by a number that we do not: then there is no value.
fn own_memory(device: &Device<'_>) -> Result<f64, NvmlError> {
    let own = std::process::id();
    let processes = device.running_compute_processes()?;
    let found = processes.iter().find(|process| process.pid == own).ok_or(NvmlError::NotFound)?;
    match found.used_gpu_memory {
        UsedGpuMemory::Used(bytes) => Ok(bytes as f64),
        UsedGpuMemory::Unavailable => Err(NvmlError::NotSupported),
    }
}

/// The library stays open for the life of the process: its handles are used by threads that come and go.
static LIBRARY: Mutex<Option<&'static Nvml>> = Mutex::new(None);

pub(crate) fn library(lib: Option<&Path>) -> Result<&'static Nvml, NvmlError> {
    let open = || match lib {
        Some(path) => Nvml::builder().lib_path(path.as_os_str()).init(),
        // The name without a version is there only with the development package.
        None => Nvml::builder().lib_path("libnvidia-ml.so.1".as_ref()).init().or_else(|_| Nvml::init()),
    };
    let mut known = LIBRARY.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let (Some(library), None) = (*known, lib) {
        return Ok(library);
    }
    let library: &'static Nvml = Box::leak(Box::new(open()?));
    *known = Some(library);
    Ok(library)
}

/// Why there is no library, in words.
pub(crate) fn why(error: &NvmlError) -> Missing {
    let (reason, fix) = match error {
        NvmlError::LibloadingError(_) => (
            "NVIDIA's library libnvidia-ml.so.1 is not here".to_owned(),
            "with an NVIDIA GPU: install its driver; in a container: run it with --gpus all",
        ),
        NvmlError::DriverNotLoaded => ("NVIDIA's driver is not loaded".to_owned(), "load it: modprobe nvidia"),
        NvmlError::NoPermission => ("no permission to talk to the driver".to_owned(), "check /dev/nvidia*"),
        other => (other.to_string(), "run nvidia-smi to see what it says"),
    };
    Missing::new("NVIDIA GPU", reason, fix)
}

struct Gpu {
    library: &'static Nvml,
    device: Device<'static>,
    index: u32,
    readings: Vec<(&'static str, &'static str, &'static str, Reading)>,
    slow: Vec<(&'static str, &'static str, &'static str, Reading)>,
    gpm: Vec<usize>,
    last: Option<GpmSample<'static>>,
    /// Every how many samples a slow reading has its turn.
    slow_every: u32,
    turn: u32,
}

/// All devices; what each of them does not tell is added to `missing`.
pub(super) fn devices(
    roots: &Roots,
    per_second: f64,
    missing: &mut Vec<Missing>,
) -> Result<Vec<Box<dyn Source>>, Missing> {
    let library = library(roots.nvml.as_deref()).map_err(|error| why(&error))?;
    let count = library.device_count().map_err(|error| why(&error))?;
    let mut found: Vec<Box<dyn Source>> = Vec::new();
    if count == 0 {
        missing.push(Missing::new(
            "NVIDIA GPU",
            "the driver knows no device",
            "check CUDA_VISIBLE_DEVICES and --gpus",
        ));
    }
    for index in 0..count {
        match library.device_by_index(index) {
            Ok(device) => found.push(Box::new(Gpu::new(library, device, index, per_second, missing))),
            Err(error) => missing.push(Missing::new(format!("GPU {index}"), error.to_string(), "")),
        }
    }
    Ok(found)
}

impl Gpu {
    fn new(
        library: &'static Nvml,
        device: Device<'static>,
        index: u32,
        per_second: f64,
        missing: &mut Vec<Missing>,
    ) -> Gpu {
        let mut works = |list: &[(&'static str, &'static str, &'static str, Reading)]| {
            let tried = list.iter().filter(|(name, label, _, read)| match read(&device) {
                // The process may not have touched the device yet.
                Err(NvmlError::NotFound) if *name == "process_memory_bytes" => true,
                Err(error) => {
                    missing.push(Missing::new(format!("GPU {index} {label}"), error.to_string(), ""));
                    false
                }
                Ok(_) => true,
            });
            tried.copied().collect::<Vec<_>>()
        };
        let last = device.gpm_sample().ok();
        let readings = works(READINGS);
        let slow = if last.is_none() { works(SLOW_READINGS) } else { Vec::new() };
        let mut gpm = Vec::new();
        if last.is_some() {
            gpm = (0..GPM.len()).collect();
        } else {
            let reason = "the device or its driver has no GPM (it came with Hopper)";
            missing.push(Missing::new(format!("GPU {index} SM, tensor and memory activity"), reason, ""));
        }
        let slow_every = (SLOW_EVERY_S * per_second).round().max(2.0) as u32;
        Gpu { library, device, index, readings, slow, gpm, last, slow_every, turn: 0 }
    }
}

impl Source for Gpu {
    fn counters(&self) -> Vec<CounterInfo> {
        let named = |name: &str, label: &str, unit: &'static str, source: &'static str| CounterInfo {
            name: format!("gpu.{}.{name}", self.index),
            label: format!("GPU {} {label}", self.index),
            unit,
            source,
        };
        let read = self.readings.iter().chain(&self.slow).map(|(n, l, unit, _)| named(n, l, unit, "NVML"));
        let gpm = self.gpm.iter().map(|&at| named(GPM[at].1, GPM[at].2, GPM[at].3, "NVML GPM"));
        read.chain(gpm).collect()
    }

    fn sample(&mut self, _: i64, out: &mut dyn FnMut(usize, f64)) {
        for (place, (.., read)) in self.readings.iter().enumerate() {
            if let Ok(value) = read(&self.device) {
                out(place, value);
            }
        }
        // One slow reading on each of its turns, so that no sample takes twice as long as another.
        let after = self.readings.len();
        for (place, (.., read)) in self.slow.iter().enumerate() {
            if self.turn == place as u32
                && let Ok(value) = read(&self.device)
            {
                out(after + place, value);
            }
        }
        self.turn = (self.turn + 1) % self.slow_every;
        let Some(before) = &self.last else { return };
        let Ok(now) = self.device.gpm_sample() else { return };
        let wanted: Vec<GpmMetricId> = self.gpm.iter().map(|&at| GPM[at].0).collect();
        if let Ok(values) = gpm_metrics_get(self.library, before, &now, &wanted) {
            for (place, value) in values.into_iter().enumerate() {
                if let Ok(value) = value
                    && value.value.is_finite()
                {
                    out(after + self.slow.len() + place, value.value * GPM[self.gpm[place]].4);
                }
            }
        }
        self.last = Some(now);
    }
}
