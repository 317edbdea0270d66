//! This process: processor time, memory, threads, bytes read and written. From `/proc/self`.

use std::io;
use std::time::{Duration, Instant};

use super::series::CounterInfo;
use super::source::{ProcFile, Rate, Roots, Source};

/// The shared part of memory is worked out by walking all pages: not more often than this …
const PSS_EVERY: Duration = Duration::from_secs(1);
/// … and never again once a sample took so long.
const PSS_MOST: Duration = Duration::from_millis(5);

pub(super) struct Process {
    stat: ProcFile,
    io: Option<ProcFile>,
    pss: Option<ProcFile>,
    pss_at: Option<Instant>,
    page: f64,
    ticks_per_second: f64,
    cpu: Rate,
    read: Rate,
    written: Rate,
}

impl Process {
    pub(super) fn new(roots: &Roots) -> io::Result<Process> {
        let own = roots.proc.join("self");
        Ok(Process {
            stat: ProcFile::open(&own.join("stat"))?,
            io: ProcFile::open(&own.join("io")).ok(),
            pss: ProcFile::open(&own.join("smaps_rollup")).ok(),
            pss_at: None,
            page: rustix::param::page_size() as f64,
            ticks_per_second: rustix::param::clock_ticks_per_second() as f64,
            cpu: Rate::default(),
            read: Rate::default(),
            written: Rate::default(),
        })
    }

    fn shared_out_memory(&mut self) -> Option<f64> {
        if self.pss_at.is_some_and(|at| at.elapsed() < PSS_EVERY) {
            return None;
        }
        let began = Instant::now();
        let value = field(self.pss.as_mut()?.read().ok()?, "Pss:").map(|kilobytes| kilobytes * 1024.0);
        if began.elapsed() > PSS_MOST {
            self.pss = None;
        }
        self.pss_at = Some(began);
        value
    }
}

fn field(text: &str, name: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

impl Source for Process {
    fn counters(&self) -> Vec<CounterInfo> {
        let list = [
            ("process.cpu_percent", "process CPU (100 = one core)", "%"),
            ("process.rss_bytes", "process memory (RSS)", "bytes"),
            ("process.threads", "process threads", "threads"),
            ("process.pss_bytes", "process memory (PSS)", "bytes"),
            ("process.read_bytes_per_s", "process reads", "bytes/s"),
            ("process.write_bytes_per_s", "process writes", "bytes/s"),
        ];
        let of = |(name, label, unit): (&str, &str, &'static str)| CounterInfo {
            name: name.to_owned(),
            label: label.to_owned(),
            unit,
            source: "/proc/self",
        };
        list.into_iter().map(of).collect()
    }

    fn sample(&mut self, now_ns: i64, _: bool, out: &mut dyn FnMut(usize, f64)) {
        let (page, ticks_per_second) = (self.page, self.ticks_per_second);
        // The name in brackets may hold anything, spaces and brackets too.
        let numbers = self.stat.read().ok().and_then(|text| text.rsplit_once(')')).map(|(_, rest)| {
            rest.split_ascii_whitespace().map(|n| n.parse::<f64>().unwrap_or(0.0)).collect::<Vec<_>>()
        });
        if let Some(numbers) = numbers {
            let at = |place: usize| numbers.get(place).copied().unwrap_or(0.0);
            if let Some(rate) = self.cpu.per_second(now_ns, (at(11) + at(12)) / ticks_per_second) {
                out(0, 100.0 * rate);
            }
            out(1, at(21) * page);
            out(2, at(17));
        }
        if let Some(bytes) = self.shared_out_memory() {
            out(3, bytes);
        }
        let Some(text) = self.io.as_mut().and_then(|file| file.read().ok()) else { return };
        let (read, written) = (field(text, "read_bytes:"), field(text, "write_bytes:"));
        if let Some(rate) = read.and_then(|bytes| self.read.per_second(now_ns, bytes)) {
            out(4, rate);
        }
        if let Some(rate) = written.and_then(|bytes| self.written.per_second(now_ns, bytes)) {
            out(5, rate);
        }
    }
}
