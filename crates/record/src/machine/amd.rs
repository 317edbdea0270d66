//! AMD's devices, from what their kernel driver shows in `/sys`.

use super::sensors::{listed, name_of};
use super::series::CounterInfo;
use super::source::{ProcFile, Roots, Source};

const AMD_VENDOR: &str = "0x1002";

/// File, name, what people call it, unit, scale.
const COUNTER_FILES: &[(&str, &str, &str, &str, f64)] = &[
    ("gpu_busy_percent", "utilization_percent", "utilization", "%", 1.0),
    ("mem_busy_percent", "memory_utilization_percent", "memory utilization", "%", 1.0),
    ("mem_info_vram_used", "memory_used_bytes", "memory used", "bytes", 1.0),
    ("mem_info_vram_total", "memory_total_bytes", "memory", "bytes", 1.0),
];
const HWMON_FILES: &[(&str, &str, &str, &str, f64)] = &[
    ("power1_average", "power_w", "power", "W", 1e-6),
    ("power1_input", "power_w", "power", "W", 1e-6),
    ("temp1_input", "temperature_c", "temperature", "°C", 1e-3),
    ("freq1_input", "sm_clock_mhz", "clock", "MHz", 1e-6),
    ("freq2_input", "memory_clock_mhz", "memory clock", "MHz", 1e-6),
];

struct Card {
    counters: Vec<(CounterInfo, ProcFile, f64)>,
}

/// All cards; they are numbered after the devices that were found before.
pub(super) fn devices(roots: &Roots, first: usize) -> Vec<Box<dyn Source>> {
    let mut found: Vec<Box<dyn Source>> = Vec::new();
    for card in listed(&roots.sys.join("class/drm")) {
        let name = name_of(&card);
        if !name.starts_with("card") || name.contains('-') {
            continue;
        }
        let device = card.join("device");
        let vendor = std::fs::read_to_string(device.join("vendor")).unwrap_or_default();
        if vendor.trim() != AMD_VENDOR {
            continue;
        }
        let number = first + found.len();
        let mut counters: Vec<(CounterInfo, ProcFile, f64)> = Vec::new();
        let chips = listed(&device.join("hwmon"));
        let folders =
            [(&device, COUNTER_FILES)].into_iter().chain(chips.iter().map(|chip| (chip, HWMON_FILES)));
        for (folder, files) in folders {
            for &(file, name, label, unit, scale) in files {
                let name = format!("gpu.{number}.{name}");
                let known = counters.iter().any(|(info, ..)| info.name == name);
                if let (false, Ok(file)) = (known, ProcFile::open(&folder.join(file))) {
                    let label = format!("GPU {number} {label}");
                    counters.push((
                        CounterInfo { name, label, unit, source: "/sys/class/drm (amdgpu)" },
                        file,
                        scale,
                    ));
                }
            }
        }
        if !counters.is_empty() {
            found.push(Box::new(Card { counters }));
        }
    }
    found
}

impl Source for Card {
    fn counters(&self) -> Vec<CounterInfo> {
        self.counters.iter().map(|(info, ..)| info.clone()).collect()
    }

    fn sample(&mut self, _: i64, _: bool, out: &mut dyn FnMut(usize, f64)) {
        for (place, (_, file, scale)) in self.counters.iter_mut().enumerate() {
            if let Some(value) = file.number() {
                out(place, value * *scale);
            }
        }
    }
}
