//! What another process uses of NVIDIA's devices.

use std::fs;

use nvml_wrapper::Nvml;
use nvml_wrapper::enums::device::UsedGpuMemory;

use super::nvidia;
use super::source::Roots;

/// Open files of a process that are read.
const MAX_FILES: usize = 65_536;

/// A device, and what a process uses of it.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct DeviceUse {
    pub index: u32,
    /// The share of time in which a kernel of any process ran, from 0 to 1.
    pub busy: Option<f64>,
    /// Memory of the process; in a container the driver may know it by another number.
    pub process_bytes: Option<u64>,
    /// Memory in use by all processes.
    pub used_bytes: Option<u64>,
    /// The power that the device takes.
    pub power_w: Option<f64>,
}

/// NVIDIA's devices, for as long as a process is watched.
#[derive(Debug)]
pub struct Devices {
    library: &'static Nvml,
}

impl Devices {
    /// Opens the driver's library; none where there is no device.
    pub fn open(roots: &Roots) -> Option<Devices> {
        let library = nvidia::library(roots.nvml.as_deref()).ok()?;
        let _alone = nvidia::calls();
        let count = library.device_count().ok()?;
        (count > 0).then_some(Devices { library })
    }

    /// The devices that any of these processes uses, by their numbers.
    pub fn used_by(&self, pids: &[u32]) -> Vec<DeviceUse> {
        let open: Vec<u32> = pids.iter().flat_map(|pid| open_devices(*pid)).collect();
        let _alone = nvidia::calls();
        let mut found = Vec::new();
        for index in 0..self.library.device_count().unwrap_or(0) {
            let Ok(device) = self.library.device_by_index(index) else { continue };
            let processes = device.running_compute_processes().unwrap_or_default();
            let own: Vec<_> = processes.iter().filter(|process| pids.contains(&process.pid)).collect();
            let is_open = || device.minor_number().is_ok_and(|number| open.contains(&number));
            if own.is_empty() && !is_open() {
                continue;
            }
            let bytes = own.iter().map(|process| match process.used_gpu_memory {
                UsedGpuMemory::Used(bytes) => Some(bytes),
                UsedGpuMemory::Unavailable => None,
            });
            found.push(DeviceUse {
                index,
                busy: device.utilization_rates().ok().map(|rates| f64::from(rates.gpu) / 100.0),
                process_bytes: bytes.sum::<Option<u64>>().filter(|_| !own.is_empty()),
                used_bytes: device.memory_info().ok().map(|memory| memory.used),
                power_w: device.power_usage().ok().map(|milliwatts| f64::from(milliwatts) / 1e3),
            });
        }
        found
    }
}

/// Numbers of the devices that a process has opened: `/dev/nvidia0`.
fn open_devices(pid: u32) -> Vec<u32> {
    let Ok(folder) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let links = folder.flatten().take(MAX_FILES).filter_map(|entry| fs::read_link(entry.path()).ok());
    let mut numbers: Vec<u32> =
        links.filter_map(|to| to.to_str()?.strip_prefix("/dev/nvidia")?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
