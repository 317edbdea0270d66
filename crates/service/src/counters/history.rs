//! Counters as they were, read from a folder: over any stretch of time, and the last minutes at full rate.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_ground::Problem;
use stepscope_ground::utc::MINUTE_NS;

use super::codec::{Entry, Minute, Sample};
use super::labels::counter_label;
use super::writer::RECENT_MINUTES;
use super::{Column, Totals};
use crate::period::Period;
use crate::segment::{self, Process};
use crate::service_dir::ServiceDir;

/// Points of one counter at most: longer stretches of time have more minutes per point.
const MAX_POINTS: i64 = 1_500;
/// Counters of all machines at most.
const MAX_SERIES: usize = 2_000;
/// Values of all counters at full rate at most.
const MAX_RECENT_VALUES: usize = 4_000_000;

/// All counters over a stretch of time.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Counters {
    /// Minutes per point.
    pub step_minutes: i64,
    /// Each counter, by machine, process, name and device.
    pub series: Vec<CounterHistory>,
    /// What could not be read, or is too much.
    pub notes: Vec<String>,
}

/// A counter over a stretch of time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CounterHistory {
    /// Its name: `gpu.power_w`.
    pub name: String,
    /// What a person would call it: `GPU 0 power`.
    pub label: String,
    pub unit: String,
    pub device: Option<u32>,
    /// The machine.
    pub host: String,
    /// The process that was watched, where the counter is of one and its children.
    pub process: Option<u32>,
    /// Its values, in the order of time. A minute without any is not there.
    pub points: Vec<CounterPoint>,
}

/// A counter in a minute, or in some.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CounterPoint {
    /// The first minute, in minutes since 1970.
    pub minute: i64,
    /// The mean of its samples.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// The largest.
    pub max: f64,
    pub last: f64,
}

/// A counter at full rate.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RecentCounter {
    pub name: String,
    /// What a person would call it.
    pub label: String,
    pub unit: String,
    pub device: Option<u32>,
    /// The machine.
    pub host: String,
    /// The process that was watched, where the counter is of one and its children.
    pub process: Option<u32>,
    /// When, in nanoseconds since 1970.
    pub at_ns: Vec<i64>,
    pub values: Vec<f64>,
}

/// Whose counter it is, and which.
type Key = (String, Option<u32>, Column);

/// The counters of a folder over a period, in no more points than a chart can show.
pub fn counters(folder: &Path, period: Period) -> Result<Counters, Problem> {
    let step = period.minutes().max(1).saturating_add(MAX_POINTS - 1) / MAX_POINTS;
    counters_by(folder, period, step)
}

/// The same with so many minutes per point. Points begin at multiples of that.
pub fn counters_by(folder: &Path, period: Period, step_minutes: i64) -> Result<Counters, Problem> {
    read(folder, period, step_minutes, MAX_SERIES)
}

/// The file of minutes is the truth. Samples count only where they are of a later minute of the same process: of the one that is
/// open, or of one that a killed process did not close.
pub(super) fn read(
    folder: &Path,
    period: Period,
    step_minutes: i64,
    max_series: usize,
) -> Result<Counters, Problem> {
    let dir = ServiceDir::open(folder)?;
    let step = step_minutes.max(1);
    let mut gathered = CollectedSeries { period, step, max_series, ..CollectedSeries::default() };
    let hours = period.from.div_euclid(60)..=(period.until - 1).div_euclid(60);
    // Samples first: a minute that closes meanwhile is then found in both places, and its number says so.
    let mut open: Vec<(Process, SampleFile)> = Vec::new();
    // The file has the name of the hour of its newest sample.
    for (hour, process, path) in listed(dir.folder(), segment::SAMPLES)? {
        if hour >= *hours.start() && hour <= hours.end() + 1 {
            open.push((process, gathered.log(&path)));
        }
    }
    let mut closed: HashMap<Process, u64> = HashMap::new();
    for (hour, process, path) in listed(dir.folder(), segment::COUNTERS)? {
        // The last closed minute of a process may be of the hour before the one that is open.
        let wanted = hours.contains(&hour);
        let has_log = open.iter().any(|(known, _)| *known == process);
        let tells_what_is_closed = has_log && hour >= hours.start() - 1;
        if !wanted && !tells_what_is_closed {
            continue;
        }
        let Some(contents) = segment::read_records(&path, "minutes", Minute::decode) else { continue };
        if wanted {
            gathered.note(&path, contents.trouble);
        }
        for minute in contents.blocks {
            let newest = closed.entry(process.clone()).or_default();
            *newest = minute.sequence.max(*newest);
            if wanted {
                gathered.minute(&process.host, minute);
            }
        }
    }
    for (process, log) in open {
        let newest = closed.get(&process).copied().unwrap_or(0);
        gathered.samples(&process.host, log, newest);
    }
    Ok(gathered.finish())
}

/// The last minutes of every counter at full rate, up to a moment.
pub fn recent_counters(folder: &Path, now_ns: i64) -> Result<Vec<RecentCounter>, Problem> {
    let dir = ServiceDir::open(folder)?;
    let from_ns = now_ns.saturating_sub(RECENT_MINUTES * MINUTE_NS);
    let hour = now_ns.div_euclid(60 * MINUTE_NS);
    let mut gathered = CollectedSeries::default();
    let mut found: BTreeMap<Key, Vec<(i64, f64)>> = BTreeMap::new();
    let mut room = MAX_RECENT_VALUES;
    for (of, process, path) in listed(dir.folder(), segment::SAMPLES)? {
        if of < hour - 1 || of > hour {
            continue;
        }
        let log = gathered.log(&path);
        for sample in log.samples.iter().filter(|sample| (from_ns..=now_ns).contains(&sample.at_ns)) {
            for (column, value) in log.columns.iter().zip(&sample.values.0) {
                let Some(value) = value.filter(|_| room > 0) else { continue };
                room -= 1;
                found.entry(key(&process.host, log.watched, column)).or_default().push((sample.at_ns, value));
            }
        }
    }
    let counters = found.into_iter().map(|((host, process, column), mut points)| {
        points.sort_by_key(|(at, _)| *at);
        let (at_ns, values) = points.into_iter().unzip();
        let label = counter_label(&column.name, column.device);
        let Column { name, unit, device } = column;
        RecentCounter { name, label, unit, device, host, process, at_ns, values }
    });
    Ok(counters.collect())
}

fn listed(folder: &Path, ending: &str) -> Result<Vec<(i64, Process, std::path::PathBuf)>, Problem> {
    segment::list_beside(folder, ending).map_err(|error| {
        Problem::new(
            format!("cannot read the directory {}: {error}", folder.display()),
            "check that you may read it",
        )
    })
}

/// Only counters of processes are of a process; the machine is the same whoever asks.
fn key(host: &str, watched: Option<u32>, column: &Column) -> Key {
    (host.to_owned(), watched.filter(|_| column.name.starts_with("process.")), column.clone())
}

#[derive(Debug, Default)]
struct SampleFile {
    watched: Option<u32>,
    columns: Vec<Column>,
    samples: Vec<Sample>,
}

#[derive(Debug)]
struct CollectedSeries {
    period: Period,
    step: i64,
    max_series: usize,
    series: BTreeMap<Key, BTreeMap<i64, Totals>>,
    left_out: bool,
    notes: Vec<String>,
}

impl Default for CollectedSeries {
    fn default() -> Self {
        let period = Period { from: 0, until: 0 };
        Self { period, step: 1, max_series: 0, series: BTreeMap::new(), left_out: false, notes: Vec::new() }
    }
}

impl CollectedSeries {
    fn note(&mut self, path: &Path, trouble: Option<String>) {
        if let Some(trouble) = trouble {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            self.notes.push(format!("{name} {trouble}"));
        }
    }

    fn log(&mut self, path: &Path) -> SampleFile {
        let mut log = SampleFile::default();
        let mut columns = 0;
        let decode = |bytes: &[u8], schema| {
            let entry = Entry::decode(bytes, schema, columns)?;
            columns = entry.columns.as_ref().map_or(columns, |all| all.columns.len());
            Some(entry)
        };
        let Some(contents) = segment::read_records(path, "samples", decode) else { return log };
        self.note(path, contents.trouble);
        for entry in contents.blocks {
            match entry.columns {
                Some(found) if log.columns.is_empty() => {
                    (log.watched, log.columns) = (found.watched, found.columns);
                }
                // One process has the same counters for all its life.
                Some(_) => break,
                None => log.samples.extend(entry.sample),
            }
        }
        log
    }

    fn add(&mut self, key: Key, minute: i64, totals: &Totals) {
        if !self.period.contains(minute) {
            return;
        }
        if !self.series.contains_key(&key) && self.series.len() >= self.max_series {
            self.left_out = true;
            return;
        }
        let point = minute.div_euclid(self.step) * self.step;
        let points = self.series.entry(key).or_default();
        match points.get_mut(&point) {
            Some(known) => known.merge(totals),
            None => drop(points.insert(point, *totals)),
        }
    }

    fn minute(&mut self, host: &str, minute: Minute) {
        for (column, totals) in &minute.counters {
            self.add(key(host, minute.watched, column), minute.minute, totals);
        }
    }

    fn samples(&mut self, host: &str, log: SampleFile, newest_closed: u64) {
        let open = log.samples.iter().filter(|sample| sample.sequence > newest_closed);
        for sample in open {
            for (column, value) in log.columns.iter().zip(&sample.values.0) {
                if let Some(value) = value {
                    let key = key(host, log.watched, column);
                    self.add(key, sample.at_ns.div_euclid(MINUTE_NS), &Totals::from_value(*value));
                }
            }
        }
    }

    fn finish(mut self) -> Counters {
        if self.left_out {
            self.notes.push(format!("only {} counters are shown; there are more", self.max_series));
        }
        let series = self.series.into_iter().map(|((host, process, column), points)| {
            let label = counter_label(&column.name, column.device);
            let Column { name, unit, device } = column;
            let point = |(minute, totals): (i64, Totals)| CounterPoint {
                minute,
                mean: totals.mean(),
                min: totals.min,
                max: totals.max,
                last: totals.last,
            };
            let points = points.into_iter().map(point).collect();
            CounterHistory { name, label, unit, device, host, process, points }
        });
        Counters { step_minutes: self.step, series: series.collect(), notes: self.notes }
    }
}
