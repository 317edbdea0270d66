//! What counters are called, and their values with their units.

use stepscope_ask::print::units;

/// Name, and what a person would call it; with the number of the device between both words of a GPU's.
const LABELS: &[(&str, &str)] = &[
    ("host.cpu_percent", "CPU of the machine"),
    ("host.io_wait_percent", "CPU waiting for disks"),
    ("host.load_1m", "load"),
    ("host.memory_used_bytes", "memory used"),
    ("host.memory_total_bytes", "memory"),
    ("host.memory_percent", "memory used"),
    ("host.swap_used_bytes", "swap used"),
    ("host.disk_read_bytes_per_s", "disk read"),
    ("host.disk_write_bytes_per_s", "disk write"),
    ("host.disk_busy_percent", "busiest disk"),
    ("host.network_receive_bytes_per_s", "network received"),
    ("host.network_send_bytes_per_s", "network sent"),
    ("host.cpu_temperature_c", "CPU temperature"),
    ("host.cpu_frequency_mhz", "CPU clock"),
    ("host.cpu_energy_j", "CPU energy"),
    ("host.dram_energy_j", "memory energy"),
    ("process.cpu_percent", "CPU of the processes"),
    ("process.rss_bytes", "memory of the processes"),
    ("process.count", "processes"),
    ("process.threads", "threads"),
    ("gpu.utilization_percent", "utilization"),
    ("gpu.memory_utilization_percent", "memory utilization"),
    ("gpu.memory_used_bytes", "memory used"),
    ("gpu.memory_total_bytes", "memory"),
    ("gpu.power_w", "power"),
    ("gpu.temperature_c", "temperature"),
    ("gpu.sm_clock_mhz", "SM clock"),
    ("gpu.memory_clock_mhz", "memory clock"),
    ("gpu.throttled", "slowed down"),
    ("gpu.energy_j", "energy"),
    ("gpu.sm_active_percent", "SMs active"),
    ("gpu.sm_occupancy_percent", "SM occupancy"),
    ("gpu.tensor_active_percent", "tensor cores active"),
    ("gpu.dram_active_percent", "memory bandwidth"),
    ("gpu.pcie_receive_bytes_per_s", "PCIe received"),
    ("gpu.pcie_send_bytes_per_s", "PCIe sent"),
    ("gpu.nvlink_receive_bytes_per_s", "NVLink received"),
    ("gpu.nvlink_send_bytes_per_s", "NVLink sent"),
];

/// What a person would call a counter: `GPU 0 power`.
pub fn counter_label(name: &str, device: Option<u32>) -> String {
    let known = LABELS.iter().find(|(known, _)| *known == name).map_or(name, |(_, label)| label);
    match device {
        Some(device) => format!("GPU {device} {known}"),
        None => known.to_owned(),
    }
}

/// A value with its unit: `93.1%`, `1.88 GiB`, `350 W`.
pub fn counter_text(unit: &str, value: f64) -> String {
    match unit {
        "%" => units::percent(value / 100.0),
        "bytes" => units::bytes(value as i64),
        "bytes/s" => units::rate_bytes(value),
        "ns" => units::time(value as i64),
        "W" | "°C" | "MHz" => format!("{value:.0} {unit}"),
        "J" if value >= 1e6 => format!("{:.3} kWh", value / 3.6e6),
        "J" => format!("{:.0} J", value),
        "1/s" => format!("{}/s", plain(value)),
        "" | "tasks" | "threads" | "processes" | "0 or 1" => plain(value),
        other => format!("{} {other}", plain(value)),
    }
}

/// Three digits, and no more decimals than they need.
fn plain(value: f64) -> String {
    match value.abs() {
        size if size >= 1e3 => units::count(value.round().abs() as u64),
        size if size >= 100.0 || value == value.round() => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
