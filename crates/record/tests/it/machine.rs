//! Processors, memory, disks, network, sensors and energy, from trees of files that say what the system would.

use std::time::Duration;

use stepscope_record::{MachineOptions, MachineSampler, Roots, clock};

use crate::{folder, tree};

const STAT: &str =
    "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 50 0 50 350 50 0 0 0 0 0\ncpu1 50 0 50 350 50 0 0 0 0 0\nintr 5\n";
const LATER: &str =
    "cpu  160 0 120 780 140 0 0 0 0 0\ncpu0 110 0 70 350 70 0 0 0 0 0\ncpu1 50 0 50 430 70 0 0 0 0 0\nintr 5\n";

fn proc_files(root: &std::path::Path, stat: &str, disk: &str, network: &str, own: &str) {
    tree(
        root,
        &[
            ("proc/stat", stat),
            ("proc/loadavg", "1.25 0.5 0.1 1/100 999\n"),
            (
                "proc/meminfo",
                "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\n",
            ),
            ("proc/diskstats", disk),
            ("proc/net/dev", network),
            ("proc/self/stat", own),
            ("proc/self/io", "rchar: 9\nread_bytes: 4096\nwrite_bytes: 0\n"),
            ("proc/self/smaps_rollup", "Rss: 9 kB\nPss: 30 kB\n"),
        ],
    );
}

#[test]
fn shares_rates_and_sizes_are_worked_out() {
    let root = folder("machine");
    let disk = |read: u32, busy: u32| {
        format!("8 0 sda 1 0 {read} 0 1 0 10 0 0 {busy} 0\n8 1 sda1 1 0 {read} 0 1 0 10 0 0 {busy} 0\n")
    };
    let net = |bytes: u32| {
        format!("Inter-|\n face |\n    lo: 5 0 0 0 0 0 0 0 5 0\n  eth0: {bytes} 0 0 0 0 0 0 0 70 0\n")
    };
    let own = |ticks: u32| format!("7 (a) b) R 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 3 0 100 0 12\n");
    proc_files(&root, STAT, &disk(100, 100), &net(1000), &own(50));
    tree(
        &root,
        &[
            ("sys/block/sda/x", ""),
            ("sys/block/loop0/x", ""),
            ("sys/class/hwmon/hwmon0/name", "nvme\n"),
            ("sys/class/hwmon/hwmon0/temp1_input", "99000\n"),
            ("sys/class/hwmon/hwmon1/name", "coretemp\n"),
            ("sys/class/hwmon/hwmon1/temp1_input", "41000\n"),
            ("sys/class/hwmon/hwmon1/temp2_input", "47000\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "2000000\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/scaling_cur_freq", "3000000\n"),
            ("sys/class/powercap/intel-rapl:0/name", "package-0\n"),
            ("sys/class/powercap/intel-rapl:0/energy_uj", "9000000\n"),
            ("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "10000000\n"),
            ("sys/class/powercap/intel-rapl:0:0/name", "core\n"),
            ("sys/class/powercap/intel-rapl:0:0/energy_uj", "1\n"),
            ("sys/class/powercap/intel-rapl:0:1/name", "dram\n"),
            ("sys/class/powercap/intel-rapl:0:1/energy_uj", "500000\n"),
            ("sys/class/drm/card0/device/vendor", "0x1002\n"),
            ("sys/class/drm/card0/device/gpu_busy_percent", "83\n"),
            ("sys/class/drm/card0/device/mem_info_vram_used", "1024\n"),
            ("sys/class/drm/card0/device/hwmon/hwmon3/power1_average", "250000000\n"),
            ("sys/class/drm/card0/device/hwmon/hwmon3/temp1_input", "65000\n"),
            ("sys/class/drm/card0-DP-1/device/vendor", "0x1002\n"),
        ],
    );
    let roots = Roots { proc: root.join("proc"), sys: root.join("sys"), nvml: Some("/no/such.so".into()) };
    let interval = Duration::from_secs(1);
    let monitor =
        MachineSampler::new(&MachineOptions { roots, interval, per_core: true, ..MachineOptions::default() });
    // A sample is taken between the two moments around it; so is known what rates may be, however late it is taken.
    let sample = || {
        let before = clock::now_ns();
        monitor.sample_now();
        (before, clock::now_ns())
    };
    let first = sample();
    std::thread::sleep(Duration::from_millis(200));
    proc_files(&root, LATER, &disk(300, 150), &net(5000), &own(60));
    // The counter went over its end: 10 J - 9 J + 1 J.
    tree(&root, &[("sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n")]);
    let second = sample();
    let latest = monitor.latest();
    let value = |name: &str| latest.iter().find(|(n, _)| *n == name).map_or(f64::NAN, |(_, value)| *value);
    // Of 200 ticks 80 were busy, 40 waited for disks.
    assert_eq!(value("host.cpu_percent"), 40.0);
    assert_eq!(value("host.io_wait_percent"), 20.0);
    assert_eq!(value("host.core.0.percent"), 80.0);
    assert_eq!(value("host.core.1.percent"), 0.0);
    assert_eq!(value("host.load_1m"), 1.25);
    assert_eq!(value("host.memory_used_bytes"), 750.0 * 1024.0);
    assert_eq!(value("host.memory_percent"), 75.0);
    assert_eq!(value("host.swap_used_bytes"), 40.0 * 1024.0);
    assert_eq!(value("host.cpu_temperature_c"), 47.0);
    assert_eq!(value("host.cpu_frequency_mhz"), 2500.0);
    assert_eq!(value("host.cpu_energy_j"), 2.0);
    assert_eq!(value("host.dram_energy_j"), 0.0);
    assert_eq!(value("process.threads"), 3.0);
    assert_eq!(value("process.pss_bytes"), 30.0 * 1024.0);
    assert_eq!(value("gpu.0.utilization_percent"), 83.0);
    assert_eq!(value("gpu.0.power_w"), 250.0);
    assert_eq!(value("gpu.0.temperature_c"), 65.0);
    let (shortest_s, longest_s) = ((second.0 - first.1) as f64 / 1e9, (second.1 - first.0) as f64 / 1e9);
    let grew_by = |name: &str, grown: f64| {
        let (least, most) = (grown / longest_s, grown / shortest_s);
        assert!((least..=most).contains(&value(name)), "{name}: {} is not in {least}..{most}", value(name));
    };
    grew_by("host.disk_read_bytes_per_s", 200.0 * 512.0);
    grew_by("host.disk_busy_percent", 100.0 * 0.05);
    grew_by("host.network_receive_bytes_per_s", 4000.0);
    grew_by("process.cpu_percent", 100.0 * 0.1);
    assert_eq!(value("host.network_send_bytes_per_s"), 0.0);
    assert_eq!(latest.iter().filter(|(name, _)| name.starts_with("gpu.1")).count(), 0);
}

#[test]
fn energy_that_may_not_be_read_is_said_so() {
    let root = folder("refused");
    tree(&root, &[("sys/class/powercap/intel-rapl:0/name", "package-0\n")]);
    std::fs::create_dir_all(root.join("sys/class/powercap/intel-rapl:0/energy_uj")).unwrap();
    let roots = Roots { sys: root.join("sys"), nvml: Some("/no/such.so".into()), ..Roots::default() };
    let monitor = MachineSampler::new(&MachineOptions { roots, ..MachineOptions::default() });
    let missing = monitor.missing().iter().find(|missing| missing.what == "CPU energy").unwrap();
    assert!(missing.reason.contains("cannot read") && missing.fix.contains("chmod"), "{missing:?}");
}

#[test]
fn a_system_without_proc_has_no_counters_and_says_so() {
    let root = folder("empty");
    let roots = Roots { proc: root.join("proc"), sys: root.join("sys"), nvml: Some("/no/such.so".into()) };
    let monitor = MachineSampler::new(&MachineOptions { roots, ..MachineOptions::default() });
    monitor.start();
    monitor.stop();
    assert!(monitor.counters().is_empty() && monitor.latest().is_empty());
    assert!(monitor.missing().len() >= 7);
}
