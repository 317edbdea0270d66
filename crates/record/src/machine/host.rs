//! The machine as a whole: processors, memory, disks, network. From `/proc`, whose files stay open: ten samples per second
//! must not be felt.

use std::io;

use super::series::CounterInfo;
use super::source::{MissingSensor, ProcFile, Rate, Roots, Source};

const SECTOR_BYTES: f64 = 512.0;
/// Over fewer a share would be all or nothing.
const MIN_TICKS: f64 = 4.0;

/// The system works it out every five seconds.
const LOAD_EVERY_NS: i64 = 1_000_000_000;

fn counter(name: &str, label: &str, unit: &'static str, source: &'static str) -> CounterInfo {
    CounterInfo { name: name.to_owned(), label: label.to_owned(), unit, source }
}

/// `/proc/stat`: how busy the processors are.
pub(super) struct Processors {
    stat: ProcFile,
    load: Option<ProcFile>,
    load_at_ns: i64,
    cores: usize,
    /// Busy, waiting for disks, all: in ticks, of all cores, then of each.
    before: Vec<[f64; 3]>,
    per_core: bool,
}

impl Processors {
    pub(super) fn new(roots: &Roots, per_core: bool) -> io::Result<Processors> {
        let mut stat = ProcFile::open(&roots.proc.join("stat"))?;
        let before = ticks(stat.read()?);
        let load = ProcFile::open(&roots.proc.join("loadavg")).ok();
        Ok(Processors {
            stat,
            load,
            load_at_ns: i64::MIN / 2,
            cores: before.len().saturating_sub(1),
            before,
            per_core,
        })
    }
}

/// Of all cores, then of each.
fn ticks(stat: &str) -> Vec<[f64; 3]> {
    let lines = stat.lines().take_while(|line| line.starts_with("cpu"));
    let numbers = lines.map(|line| {
        let all: Vec<f64> = line.split_ascii_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guests are within user.
        let sum: f64 = all.iter().take(8).sum();
        let (idle, wait) = (all.get(3).copied().unwrap_or(0.0), all.get(4).copied().unwrap_or(0.0));
        [sum - idle - wait, wait, sum]
    });
    numbers.collect()
}

impl Source for Processors {
    fn counters(&self) -> Vec<CounterInfo> {
        let mut all = vec![
            counter("host.cpu_percent", "CPU", "%", "/proc/stat"),
            counter("host.io_wait_percent", "CPU waiting for disks", "%", "/proc/stat"),
            counter("host.load_1m", "load", "tasks", "/proc/loadavg"),
        ];
        if self.per_core {
            all.extend((0..self.cores).map(|core| {
                let (name, label) = (format!("host.core.{core}.percent"), format!("CPU core {core}"));
                counter(&name, &label, "%", "/proc/stat")
            }));
        }
        all
    }

    fn sample(&mut self, now_ns: i64, _: bool, out: &mut dyn FnMut(usize, f64)) {
        let Ok(text) = self.stat.read() else { return };
        let now = ticks(text);
        let passed = now.first().zip(self.before.first()).map_or(0.0, |(new, old)| new[2] - old[2]);
        if passed < MIN_TICKS * self.cores.max(1) as f64 {
            return;
        }
        let share = |line: usize, part: usize| {
            let (old, new) = (self.before.get(line)?, now.get(line)?);
            let all = new[2] - old[2];
            (all > 0.0).then(|| (100.0 * (new[part] - old[part]) / all).clamp(0.0, 100.0))
        };
        for (place, value) in [(0, share(0, 0)), (1, share(0, 1))] {
            value.into_iter().for_each(|value| out(place, value));
        }
        if self.per_core {
            for core in 0..self.cores {
                share(core + 1, 0).into_iter().for_each(|value| out(3 + core, value));
            }
        }
        self.before = now;
        if now_ns - self.load_at_ns < LOAD_EVERY_NS {
            return;
        }
        self.load_at_ns = now_ns;
        let load = self.load.as_mut().and_then(|file| file.read().ok());
        if let Some(load) = load.and_then(|text| text.split(' ').next()?.parse().ok()) {
            out(2, load);
        }
    }
}

/// `/proc/meminfo`.
pub(super) struct Memory(ProcFile);

impl Memory {
    pub(super) fn new(roots: &Roots) -> io::Result<Memory> {
        Ok(Memory(ProcFile::open(&roots.proc.join("meminfo"))?))
    }
}

impl Source for Memory {
    fn counters(&self) -> Vec<CounterInfo> {
        vec![
            counter("host.memory_used_bytes", "memory used", "bytes", "/proc/meminfo"),
            counter("host.memory_total_bytes", "memory", "bytes", "/proc/meminfo"),
            counter("host.memory_percent", "memory used", "%", "/proc/meminfo"),
            counter("host.swap_used_bytes", "swap used", "bytes", "/proc/meminfo"),
        ]
    }

    fn sample(&mut self, _: i64, _: bool, out: &mut dyn FnMut(usize, f64)) {
        let Ok(text) = self.0.read() else { return };
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().next()?.parse::<f64>().ok().map(|kb| kb * 1024.0)
        };
        if let (Some(total), Some(free)) = (field("MemTotal:"), field("MemAvailable:")) {
            out(0, total - free);
            out(1, total);
            if total > 0.0 {
                out(2, 100.0 * (total - free) / total);
            }
        }
        if let (Some(total), Some(free)) = (field("SwapTotal:"), field("SwapFree:")) {
            out(3, total - free);
        }
    }
}

/// `/proc/diskstats`: whole disks, not their partitions.
pub(super) struct Disks {
    stats: ProcFile,
    disks: Vec<String>,
    read: Rate,
    written: Rate,
    busy: Vec<Rate>,
}

impl Disks {
    pub(super) fn new(roots: &Roots) -> Result<Disks, MissingSensor> {
        let stats = ProcFile::open(&roots.proc.join("diskstats"));
        let listed = std::fs::read_dir(roots.sys.join("block"));
        let (Ok(stats), Ok(listed)) = (stats, listed) else {
            return Err(MissingSensor::new(
                "disk",
                "cannot read /proc/diskstats or /sys/block",
                "run outside the sandbox",
            ));
        };
        let names = listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let unreal = ["loop", "ram", "zram", "dm-", "md"];
        let mut disks: Vec<String> = names.filter(|n| !unreal.iter().any(|u| n.starts_with(u))).collect();
        disks.sort();
        if disks.is_empty() {
            return Err(MissingSensor::new("disk", "/sys/block lists no disks", ""));
        }
        let busy = vec![Rate::default(); disks.len()];
        Ok(Disks { stats, disks, read: Rate::default(), written: Rate::default(), busy })
    }
}

impl Source for Disks {
    fn counters(&self) -> Vec<CounterInfo> {
        vec![
            counter("host.disk_read_bytes_per_s", "disk read", "bytes/s", "/proc/diskstats"),
            counter("host.disk_write_bytes_per_s", "disk write", "bytes/s", "/proc/diskstats"),
            counter("host.disk_busy_percent", "busiest disk", "%", "/proc/diskstats"),
        ]
    }

    fn sample(&mut self, now_ns: i64, _: bool, out: &mut dyn FnMut(usize, f64)) {
        let Ok(text) = self.stats.read() else { return };
        let (mut read, mut written, mut busiest) = (0.0, 0.0, None);
        for line in text.lines() {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let Some(disk) = fields.get(2).and_then(|name| self.disks.iter().position(|d| d == name)) else {
                continue;
            };
            let number = |at: usize| fields.get(at).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0);
            read += number(5) * SECTOR_BYTES;
            written += number(9) * SECTOR_BYTES;
            // Milliseconds in which anything was under way.
            if let Some(busy) = self.busy[disk].per_second(now_ns, number(12)) {
                busiest = Some(f64::max(busiest.unwrap_or(0.0), (busy / 10.0).min(100.0)));
            }
        }
        for (place, value) in [
            (0, self.read.per_second(now_ns, read)),
            (1, self.written.per_second(now_ns, written)),
            (2, busiest),
        ] {
            value.into_iter().for_each(|value| out(place, value));
        }
    }
}

/// `/proc/net/dev`, the loopback left out.
pub(super) struct Network {
    stats: ProcFile,
    received: Rate,
    sent: Rate,
}

impl Network {
    pub(super) fn new(roots: &Roots) -> io::Result<Network> {
        let stats = ProcFile::open(&roots.proc.join("net/dev"))?;
        Ok(Network { stats, received: Rate::default(), sent: Rate::default() })
    }
}

impl Source for Network {
    fn counters(&self) -> Vec<CounterInfo> {
        vec![
            counter("host.network_receive_bytes_per_s", "network received", "bytes/s", "/proc/net/dev"),
            counter("host.network_send_bytes_per_s", "network sent", "bytes/s", "/proc/net/dev"),
        ]
    }

    fn sample(&mut self, now_ns: i64, _: bool, out: &mut dyn FnMut(usize, f64)) {
        let Ok(text) = self.stats.read() else { return };
        let (mut received, mut sent) = (0.0, 0.0);
        for (name, numbers) in text.lines().filter_map(|line| line.split_once(':')) {
            if name.trim() == "lo" {
                continue;
            }
            let fields: Vec<f64> = numbers.split_ascii_whitespace().filter_map(|n| n.parse().ok()).collect();
            received += fields.first().copied().unwrap_or(0.0);
            sent += fields.get(8).copied().unwrap_or(0.0);
        }
        for (place, value) in
            [(0, self.received.per_second(now_ns, received)), (1, self.sent.per_second(now_ns, sent))]
        {
            value.into_iter().for_each(|value| out(place, value));
        }
    }
}
