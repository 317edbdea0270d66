//! NVIDIA's devices through their management library, which is opened only where it is there. On Hopper and later the
//! library's performance monitor (GPM) says how busy the parts of a device were between two samples.

use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, PcieUtilCounter, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::gpm_metrics_get;
use nvml_wrapper::{Device, GpmSample, Nvml};
use stepscope_ground::lock;

use super::series::CounterInfo;
use super::source::{MissingSensor, Roots, Source};

/// Reasons that make a device slower than it could be, other than having nothing to do.
const THROTTLE_REASONS: ThrottleReasons = ThrottleReasons::SW_POWER_CAP
    .union(ThrottleReasons::HW_SLOWDOWN)
    .union(ThrottleReasons::SW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::HW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN);

/// What GPM is asked for, and what we call it.
const GPM_METRICS: &[(GpmMetricId, &str, &str, &str, f64)] = &[
    (GpmMetricId::SmUtil, "sm_active_percent", "SMs active", "%", 1.0),
    (GpmMetricId::SmOccupancy, "sm_occupancy_percent", "SM occupancy", "%", 1.0),
    (GpmMetricId::AnyTensorUtil, "tensor_active_percent", "tensor cores active", "%", 1.0),
    (GpmMetricId::DramBwUtil, "dram_active_percent", "memory bandwidth", "%", 1.0),
    (GpmMetricId::PcieRxPerSec, "pcie_receive_bytes_per_s", "PCIe received", "bytes/s", MEBIBYTE_BYTES),
    (GpmMetricId::PcieTxPerSec, "pcie_send_bytes_per_s", "PCIe sent", "bytes/s", MEBIBYTE_BYTES),
    (
        GpmMetricId::NvlinkTotalRxPerSec,
        "nvlink_receive_bytes_per_s",
        "NVLink received",
        "bytes/s",
        MEBIBYTE_BYTES,
    ),
    (GpmMetricId::NvlinkTotalTxPerSec, "nvlink_send_bytes_per_s", "NVLink sent", "bytes/s", MEBIBYTE_BYTES),
];
/// Temperatures and clocks change slowly, and each call of the library takes its time.
const SLOW_INTERVAL_S: f64 = 0.5;
/// What is read this often or oftener is also read when the monitor starts and stops and on request, so that sums
/// have ends.
const WITH_EDGES_S: f64 = 2.0;
/// A monitor that runs for weeks waits so many times as long where a reading is slow (on an H200 energy takes 4.5 ms of a processor,
/// the others 30 to 100 µs), …
const RARE_SLOW_FACTOR: f64 = 15.0;
/// … and so many times where it changes slowly. GPM covers all the time between two samples: nothing is missed.
const RARE_CHANGE_FACTOR: f64 = 10.0;
const OWN_MEMORY: &str = "process_memory_bytes";
/// GPM counts bytes in these.
const MEBIBYTE_BYTES: f64 = 1_048_576.0;
const KIBIBYTE_BYTES: f64 = 1024.0;

/// What one call of the library returns: one or two counters, each with its name, what people call it, and its unit.
struct Reading {
    counters: &'static [(&'static str, &'static str, &'static str)],
    /// As many values as there are counters; the rest is ignored.
    read: fn(&Device<'_>) -> Result<[f64; 2], NvmlError>,
    /// Seconds from one call to the next; 0 for every sample.
    every_s: f64,
}

fn one(value: f64) -> [f64; 2] {
    [value, 0.0]
}

const READINGS: &[Reading] = &[
    Reading {
        counters: &[
            ("utilization_percent", "utilization", "%"),
            ("memory_utilization_percent", "memory utilization", "%"),
        ],
        read: |d| d.utilization_rates().map(|rates| [f64::from(rates.gpu), f64::from(rates.memory)]),
        every_s: 0.0,
    },
    Reading {
        counters: &[("memory_used_bytes", "memory used", "bytes"), ("memory_total_bytes", "memory", "bytes")],
        read: |d| d.memory_info().map(|memory| [memory.used as f64, memory.total as f64]),
        every_s: 0.0,
    },
    Reading { counters: &[(OWN_MEMORY, "memory of this process", "bytes")], read: own_memory, every_s: 0.0 },
    Reading {
        counters: &[("power_w", "power", "W")],
        read: |d| Ok(one(f64::from(d.power_usage()?) / 1e3)),
        every_s: 0.0,
    },
    Reading {
        counters: &[("temperature_c", "temperature", "°C")],
        read: |d| Ok(one(f64::from(d.temperature(TemperatureSensor::Gpu)?))),
        every_s: SLOW_INTERVAL_S,
    },
    Reading {
        counters: &[("sm_clock_mhz", "SM clock", "MHz")],
        read: |d| Ok(one(f64::from(d.clock_info(Clock::SM)?))),
        every_s: SLOW_INTERVAL_S,
    },
    Reading {
        counters: &[("memory_clock_mhz", "memory clock", "MHz")],
        read: |d| Ok(one(f64::from(d.clock_info(Clock::Memory)?))),
        every_s: SLOW_INTERVAL_S,
    },
    Reading {
        counters: &[("throttled", "slowed down", "0 or 1")],
        read: |d| Ok(one(if d.current_throttle_reasons()?.intersects(THROTTLE_REASONS) { 1.0 } else { 0.0 })),
        every_s: SLOW_INTERVAL_S,
    },
    // It takes the library 4 ms on an H200.
    Reading {
        counters: &[("energy_j", "energy", "J")],
        read: |d| Ok(one(d.total_energy_consumption()? as f64 / 1e3)),
        every_s: 2.0,
    },
];
/// For devices without GPM, which has these too: the library spins for 20 ms in each.
const WITHOUT_GPM: &[Reading] = &[
    Reading {
        counters: &[("pcie_receive_bytes_per_s", "PCIe received", "bytes/s")],
        read: |d| Ok(one(f64::from(d.pcie_throughput(PcieUtilCounter::Receive)?) * KIBIBYTE_BYTES)),
        every_s: 10.0,
    },
    Reading {
        counters: &[("pcie_send_bytes_per_s", "PCIe sent", "bytes/s")],
        read: |d| Ok(one(f64::from(d.pcie_throughput(PcieUtilCounter::Send)?) * KIBIBYTE_BYTES)),
        every_s: 10.0,
    },
];

/// Inside a container the library may know the process by a number that we do not: then there is no value.
fn own_memory(device: &Device<'_>) -> Result<[f64; 2], NvmlError> {
    let own = std::process::id();
    let processes = device.running_compute_processes()?;
    let found = processes.iter().find(|process| process.pid == own).ok_or(NvmlError::NotFound)?;
    match found.used_gpu_memory {
        UsedGpuMemory::Used(bytes) => Ok(one(bytes as f64)),
        UsedGpuMemory::Unavailable => Err(NvmlError::NotSupported),
    }
}

/// One call at a time: two monitors that sampled in parallel were seen to crash the library.
static DRIVER_CALLS: Mutex<()> = Mutex::new(());

pub(super) fn calls() -> MutexGuard<'static, ()> {
    lock(&DRIVER_CALLS)
}

/// The library stays open for the life of the process: its handles are used by threads that come and go.
static LIBRARY: Mutex<Option<&'static Nvml>> = Mutex::new(None);

pub(crate) fn library(lib: Option<&Path>) -> Result<&'static Nvml, NvmlError> {
    let open = || match lib {
        Some(path) => Nvml::builder().lib_path(path.as_os_str()).init(),
        // The name without a version is there only with the development package.
        None => Nvml::builder().lib_path("libnvidia-ml.so.1".as_ref()).init().or_else(|_| Nvml::init()),
    };
    let mut known = lock(&LIBRARY);
    if let (Some(library), None) = (*known, lib) {
        return Ok(library);
    }
    let library: &'static Nvml = Box::leak(Box::new(open()?));
    *known = Some(library);
    Ok(library)
}

/// Why there is no library, in words.
pub(crate) fn why(error: &NvmlError) -> MissingSensor {
    let (reason, fix) = match error {
        NvmlError::LibloadingError(_) => (
            "NVIDIA's library libnvidia-ml.so.1 was not found".to_owned(),
            "if this machine has an NVIDIA GPU, install its driver; in a container, run it with --gpus all",
        ),
        NvmlError::DriverNotLoaded => ("NVIDIA's driver is not loaded".to_owned(), "load it: modprobe nvidia"),
        NvmlError::NoPermission => ("no permission to talk to the driver".to_owned(), "check /dev/nvidia*"),
        other => (other.to_string(), "run nvidia-smi to see what it says"),
    };
    MissingSensor::new("NVIDIA GPU", reason, fix)
}

struct Gpu {
    library: &'static Nvml,
    device: Device<'static>,
    index: u32,
    /// With the place of its first counter, and when its turn comes.
    readings: Vec<(usize, &'static Reading, i64)>,
    /// The place of GPM's first counter, and the sample before; devices without GPM have none.
    gpm: Option<(usize, GpmSample<'static>)>,
    gpm_due_ns: i64,
    /// Whether this process is watched for a while, and not others for weeks.
    own: bool,
}

/// All devices; what each of them does not report is added to `missing`. `own`: with what this process uses of them.
pub(super) fn devices(
    roots: &Roots,
    own: bool,
    missing: &mut Vec<MissingSensor>,
) -> Result<Vec<Box<dyn Source>>, MissingSensor> {
    let library = library(roots.nvml.as_deref()).map_err(|error| why(&error))?;
    let _alone = calls();
    let count = library.device_count().map_err(|error| why(&error))?;
    let mut found: Vec<Box<dyn Source>> = Vec::new();
    if count == 0 {
        missing.push(MissingSensor::new(
            "NVIDIA GPU",
            "the driver reports no devices",
            "check CUDA_VISIBLE_DEVICES and --gpus",
        ));
    }
    for index in 0..count {
        match library.device_by_index(index) {
            Ok(device) => found.push(Box::new(Gpu::new(library, device, index, own, missing))),
            Err(error) => missing.push(MissingSensor::new(format!("GPU {index}"), error.to_string(), "")),
        }
    }
    Ok(found)
}

impl Gpu {
    fn new(
        library: &'static Nvml,
        device: Device<'static>,
        index: u32,
        own: bool,
        missing: &mut Vec<MissingSensor>,
    ) -> Gpu {
        let sample = device.gpm_sample().ok();
        let more: &'static [Reading] = if sample.is_some() { &[] } else { WITHOUT_GPM };
        let (mut readings, mut place) = (Vec::new(), 0);
        let wanted = |reading: &&'static Reading| own || reading.counters[0].0 != OWN_MEMORY;
        for reading in READINGS.iter().chain(more).filter(wanted) {
            match (reading.read)(&device) {
                // The process may not have touched the device yet.
                Err(error) if !matches!(error, NvmlError::NotFound) => {
                    let what = format!("GPU {index} {}", reading.counters[0].1);
                    missing.push(MissingSensor::new(what, error.to_string(), ""));
                }
                _ => {
                    readings.push((place, reading, i64::MIN));
                    place += reading.counters.len();
                }
            }
        }
        if sample.is_none() {
            let reason = "the device or its driver has no GPM (it came with Hopper)";
            missing.push(MissingSensor::new(format!("GPU {index} SM, tensor and memory activity"), reason, ""));
        }
        Gpu {
            library,
            device,
            index,
            readings,
            gpm: sample.map(|sample| (place, sample)),
            gpm_due_ns: i64::MIN,
            own,
        }
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        let _alone = calls();
        self.gpm = None;
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
        let read = self.readings.iter().flat_map(|(_, reading, _)| reading.counters);
        let read = read.map(|(name, label, unit)| named(name, label, unit, "NVML"));
        let gpm: &[_] = if self.gpm.is_some() { GPM_METRICS } else { &[] };
        read.chain(gpm.iter().map(|(_, name, label, unit, _)| named(name, label, unit, "NVML GPM"))).collect()
    }

    fn sample(&mut self, now_ns: i64, edge: bool, out: &mut dyn FnMut(usize, f64)) {
        let _alone = calls();
        for (place, reading, due_ns) in &mut self.readings {
            if now_ns < *due_ns && !(edge && reading.every_s <= WITH_EDGES_S) {
                continue;
            }
            let every_s = match (self.own, reading.every_s) {
                (true, every_s) => every_s,
                (false, every_s) if every_s > SLOW_INTERVAL_S => every_s * RARE_SLOW_FACTOR,
                (false, every_s) => every_s * RARE_CHANGE_FACTOR,
            };
            *due_ns = if every_s > 0.0 { now_ns + (every_s * 1e9) as i64 } else { i64::MIN };
            if let Ok(values) = (reading.read)(&self.device) {
                for (at, value) in values.iter().take(reading.counters.len()).enumerate() {
                    out(*place + at, *value);
                }
            }
        }
        let Some((place, before)) = &mut self.gpm else { return };
        if !self.own {
            if now_ns < self.gpm_due_ns && !edge {
                return;
            }
            self.gpm_due_ns = now_ns + (SLOW_INTERVAL_S * RARE_CHANGE_FACTOR * 1e9) as i64;
        }
        let Ok(now) = self.device.gpm_sample() else { return };
        let wanted: Vec<GpmMetricId> = GPM_METRICS.iter().map(|metric| metric.0).collect();
        if let Ok(values) = gpm_metrics_get(self.library, before, &now, &wanted) {
            for (at, (value, metric)) in values.into_iter().zip(GPM_METRICS).enumerate() {
                if let Ok(value) = value
                    && value.value.is_finite()
                {
                    out(*place + at, value.value * metric.4);
                }
            }
        }
        *before = now;
    }
}
