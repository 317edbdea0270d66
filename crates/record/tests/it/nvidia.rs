//! NVIDIA's devices, through a stand-in for their library: CI has no GPU.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use stepscope_record::machine::{DeviceUse, Devices};
use stepscope_record::{CheckState, MachineOptions, MachineSampler, Roots, doctor};

use crate::{folder, until};

fn library() -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fake_nvml.c");
    let library = folder(&format!("nvml-{:?}", std::thread::current().id())).join("libfake.so");
    let made = Command::new("cc").args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(source).status();
    assert!(made.is_ok_and(|status| status.success()), "these tests need a C compiler that is called cc");
    library
}

fn roots() -> Roots {
    Roots { nvml: Some(library()), ..Roots::default() }
}

#[test]
fn every_reading_of_the_library_is_a_counter() {
    let options =
        MachineOptions { interval: Duration::from_millis(20), roots: roots(), ..MachineOptions::default() };
    let monitor = MachineSampler::new(&options);
    for _ in 0..3 {
        monitor.sample_now();
    }
    let latest = monitor.latest();
    let value = |name: &str| latest.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
    for (name, expected) in [
        ("gpu.0.utilization_percent", 75.0),
        ("gpu.0.memory_utilization_percent", 40.0),
        ("gpu.0.memory_used_bytes", 20.0 * 1_073_741_824.0),
        ("gpu.0.memory_total_bytes", 80.0 * 1_073_741_824.0),
        ("gpu.0.process_memory_bytes", 3.0 * 1_073_741_824.0),
        ("gpu.0.power_w", 350.5),
        ("gpu.0.temperature_c", 61.0),
        ("gpu.0.sm_clock_mhz", 1980.0),
        ("gpu.0.memory_clock_mhz", 2619.0),
        ("gpu.0.throttled", 1.0),
        ("gpu.1.throttled", 0.0),
        // Without GPM by the library's own, slow, count; with it by GPM's 21, in MiB.
        ("gpu.1.pcie_receive_bytes_per_s", 2_097_152.0),
        ("gpu.0.pcie_receive_bytes_per_s", 210.0 * 1_048_576.0),
        // The library numbers SM utilization 2, occupancy 3, any tensor 5, memory bandwidth 10.
        ("gpu.0.sm_active_percent", 20.0),
        ("gpu.0.sm_occupancy_percent", 30.0),
        ("gpu.0.tensor_active_percent", 50.0),
        ("gpu.0.dram_active_percent", 100.0),
    ] {
        assert_eq!(value(name), Some(expected), "{name}");
    }
    // Energy is a count that grows: 5 J with each reading. It is read when someone asks and at both ends, else seldom.
    let series = |name: &str| monitor.series(name, 0, i64::MAX).unwrap();
    monitor.start();
    until("ten samples by the monitor's own thread", || {
        (series("gpu.0.utilization_percent").0.len() >= 3 + 1 + 10).then_some(())
    });
    monitor.stop();
    let (at_ns, joules) = series("gpu.0.energy_j");
    assert!(joules.windows(2).all(|pair| pair[1] - pair[0] == 5.0), "{joules:?}");
    // Three that were asked for, one at the start and one at the end; between these two, at most one in two seconds.
    assert!(at_ns.len() >= 5, "{at_ns:?}");
    let mut between = at_ns[3..at_ns.len() - 1].windows(2);
    assert!(between.all(|pair| pair[1] - pair[0] >= 2_000_000_000), "{at_ns:?}");
    assert!(series("gpu.0.utilization_percent").0.len() > joules.len());
    assert_eq!(value("gpu.1.energy_j"), None);
    assert_eq!(value("gpu.1.sm_active_percent"), None);
    let lacking: Vec<&str> = monitor.missing().iter().map(|missing| missing.what.as_str()).collect();
    assert!(
        lacking.contains(&"GPU 1 energy") && lacking.iter().any(|what| what.starts_with("GPU 1 SM")),
        "{lacking:?}"
    );
}

#[test]
fn whoever_watches_for_weeks_asks_slow_sensors_rarely() {
    let options = MachineOptions { roots: roots(), ..MachineOptions::default() };
    // What is read rarely is read again after 5 s: a machine that stalls for that long gets another try.
    let (monitor, sampled) = until("ten samples within 5 s", || {
        let (monitor, mut sampled, began) = (MachineSampler::of_machine(&options), Vec::new(), Instant::now());
        for sample in 0..=10 {
            monitor.sample_into(sample == 10, &mut |place, value| sampled.push((place, value)));
        }
        (began.elapsed() < Duration::from_secs(5)).then_some((monitor, sampled))
    });
    let names: Vec<&str> = monitor.counters().iter().map(|counter| counter.name.as_str()).collect();
    assert!(names.iter().all(|name| !name.starts_with("process.") && !name.ends_with("process_memory_bytes")));
    let seen: Vec<(&str, f64)> = sampled.into_iter().map(|(place, value)| (names[place], value)).collect();
    let of = |name: &str| seen.iter().filter(|(n, _)| *n == name).map(|(_, v)| *v).collect::<Vec<_>>();
    assert_eq!(of("gpu.0.utilization_percent"), [75.0; 11]);
    // At the start and at the end.
    let joules = of("gpu.0.energy_j");
    assert!(joules.len() == 2 && joules[1] - joules[0] == 5.0, "{joules:?}");
    assert_eq!(of("gpu.0.temperature_c"), [61.0; 2]);
    assert_eq!(of("gpu.0.sm_active_percent"), [20.0; 2]);
    // Nothing is kept here.
    assert!(monitor.latest().is_empty());
}

#[test]
fn what_a_process_uses_of_each_device() {
    let devices = Devices::open(&roots()).unwrap();
    let used = devices.used_by(&[std::process::id()]);
    let expected = |index| DeviceUse {
        index,
        busy: Some(0.75),
        process_bytes: Some(3 << 30),
        used_bytes: Some(20 << 30),
        power_w: Some(350.5),
    };
    assert_eq!(used, [expected(0), expected(1)]);
    // A process that the driver does not know, and that has opened no device.
    assert_eq!(devices.used_by(&[1]), []);
}

#[test]
fn the_doctor_names_driver_and_devices() {
    let checks = doctor(&roots());
    let found = |what: &str| checks.iter().find(|check| check.what == what).map(|check| check.detail.as_str());
    assert_eq!(found("NVIDIA driver"), Some("999.1"));
    assert_eq!(found("GPU 1"), Some("Fake GPU"));
    assert!(
        checks.iter().any(|check| check.area == "GPU"
            && check.state == CheckState::Absent
            && check.what.contains("GPU 1"))
    );
}

#[test]
fn without_the_library_it_says_so() {
    let roots = Roots { nvml: Some("/no/such/library.so".into()), ..Roots::default() };
    let monitor = MachineSampler::new(&MachineOptions { roots, ..MachineOptions::default() });
    let missing = monitor.missing().iter().find(|missing| missing.what == "NVIDIA GPU").unwrap();
    assert!(missing.reason.contains("libnvidia-ml") && missing.fix.contains("driver"));
    assert!(monitor.counters().iter().all(|counter| !counter.name.starts_with("gpu.")));
}
