//! What another process uses of the processors and the memory, from its files in `/proc`.

use std::fs;
use std::time::{Duration, Instant};

const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// A process that is looked at again and again.
#[derive(Debug)]
pub struct ProcessUsage {
    pid: u32,
    before: Option<(Instant, f64)>,
}

/// What it used since the look before; unknown where its files cannot be read.
#[derive(Copy, Clone, Debug, Default)]
pub struct ProcessUse {
    /// Processors, on average.
    pub cpu: Option<f64>,
    pub rss_bytes: Option<i64>,
}

impl ProcessUsage {
    pub fn new(pid: u32) -> ProcessUsage {
        ProcessUsage { pid, before: processor_seconds(pid).map(|used| (Instant::now(), used)) }
    }

    pub fn since_last(&mut self) -> ProcessUse {
        let now = Instant::now();
        let used = processor_seconds(self.pid);
        let cpu = self.before.zip(used).map(|((then, before), used)| {
            (used - before) / now.saturating_duration_since(then).max(MIN_INTERVAL).as_secs_f64()
        });
        self.before = used.map(|used| (now, used));
        ProcessUse { cpu, rss_bytes: rss_bytes(self.pid) }
    }
}

fn rss_bytes(pid: u32) -> Option<i64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: i64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(i64::try_from(rustix::param::page_size()).ok()?)
}

fn processor_seconds(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, spaces and brackets too.
    let (_, rest) = text.rsplit_once(')')?;
    let field = |at: usize| rest.split_ascii_whitespace().nth(at)?.parse::<f64>().ok();
    Some((field(11)? + field(12)?) / rustix::param::clock_ticks_per_second() as f64)
}
