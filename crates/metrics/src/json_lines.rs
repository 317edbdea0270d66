//! JSON lines: one for each minute and route, for log shippers and notebooks. Times are whole nanoseconds.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use stepscope_ground::Problem;
use stepscope_ground::utc::{MINUTE_NS, minute_text};
use stepscope_service::{Period, RouteStats, ServiceDir, Sketch};

/// Monitors write once per second; after so long a minute is whole, unless a disk is full.
const WHOLE_AFTER_NS: i64 = 5_000_000_000;

/// Minutes of a directory, each once when it is over.
#[derive(Debug)]
pub struct JsonLines {
    dir: ServiceDir,
    /// The first minute that was not written.
    next: i64,
}

#[derive(Debug)]
pub enum LinesError {
    /// The directory cannot be read.
    Read(Problem),
    /// The lines cannot be written.
    Write(io::Error),
}

impl JsonLines {
    /// Minutes from this one on (in minutes since 1970).
    pub fn new(dir: ServiceDir, from: i64) -> Self {
        Self { dir, next: from }
    }

    /// Writes the minutes that are over by now.
    pub fn write(&mut self, now_ns: i64, out: &mut dyn Write) -> Result<(), LinesError> {
        let until = (now_ns - WHOLE_AFTER_NS).div_euclid(MINUTE_NS);
        if until > self.next {
            lines(&self.dir, Period { from: self.next, until }, out)?;
            self.next = until;
        }
        Ok(())
    }
}

/// Writes the minutes of a period.
pub fn lines(dir: &ServiceDir, period: Period, out: &mut dyn Write) -> Result<(), LinesError> {
    let wanted = period.from.div_euclid(60)..=(period.until - 1).div_euclid(60);
    for hour in dir.hours().map_err(LinesError::Read)?.into_iter().filter(|hour| wanted.contains(hour)) {
        let hour = dir.hour(hour).map_err(LinesError::Read)?;
        for (minute, of) in hour.minutes.range(period.from..period.until) {
            for (route, stats) in &of.routes {
                let line = line(*minute, route, stats);
                writeln!(out, "{line}").map_err(LinesError::Write)?;
            }
        }
    }
    out.flush().map_err(LinesError::Write)
}

fn line(minute: i64, route: &str, stats: &RouteStats) -> Value {
    let regions: Map<String, Value> = stats
        .regions
        .iter()
        .map(|(name, region)| {
            let mut of = spread(&region.duration);
            of.insert("self_ns".to_owned(), json!(region.self_ns));
            (name.clone(), Value::Object(of))
        })
        .collect();
    let targets: Map<String, Value> = stats
        .targets
        .iter()
        .map(|(name, count)| (name.clone(), json!({"requests": count.requests, "missed": count.missed})))
        .collect();
    json!({
        "minute": minute_text(minute),
        "route": route,
        "requests": stats.requests(),
        "errors": stats.errors,
        "samples": stats.samples,
        "tokens": stats.tokens,
        // Of the requests it was measured for; unknown where there are none.
        "cpu_ns": stats.cpu_ns.checked_div(stats.cpu_requests),
        "max_rss_bytes": stats.max_rss_bytes,
        "latency": spread(&stats.latency),
        "targets": targets,
        "regions": regions,
    })
}

fn spread(sketch: &Sketch) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("count".to_owned(), json!(sketch.count()));
    out.insert("sum_ns".to_owned(), json!(sketch.sum()));
    for (name, share) in [("p50_ns", 0.5), ("p90_ns", 0.9), ("p95_ns", 0.95), ("p99_ns", 0.99), ("max_ns", 1.0)]
    {
        out.insert(name.to_owned(), json!(sketch.quantile(share)));
    }
    out
}

#[cfg(test)]
mod tests;
