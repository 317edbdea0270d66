//! Counters of a directory that never fall, whichever processes come and go.
//!
//! Why adding up the directory is right: a minute of a process is a block in a file that only grows, and it stays there
//! when its process ends or is killed. The sum over all files is therefore what all processes together have counted; it does
//! not matter which of them lives, or which one serves the numbers. `ServiceDir::hour` counts each block once, whenever it reads.
//!
//! Three things would make that sum fall, and Prometheus takes a counter that falls for one that began at 0 again, so that
//! a sum that lost an hour of thirty days shows as thirty days of requests in one moment:
//!
//! - Retention removes old hours. An hour that is over for [`SETTLED_HOURS`] is added to sums in memory once and not looked
//!   at again, so it may go. Before that, what was read of an hour stays even if its files vanish.
//! - The exporter starts again, or another worker takes over the port. The sums of settled hours are kept in the
//!   directory (`saved_totals.rs`), with the hours that are in them, so everyone gets the same sums whenever they start.
//!   Where the directory cannot be written, counters begin anew with what is there, and that is said.
//! - The directory is gone for a moment (a mount). Without its mark nothing is read, and the numbers from before stay.
//!
//! What is written to a settled hour later (by a clock that was set back, or a disk that was full for hours) is in reports
//! and not in these counters.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use stepscope_ground::Problem;
use stepscope_ground::utc::{HOUR_NS, MINUTE_NS};
use stepscope_service::{Exemplar, Hour, Period, Process, ServiceDir};

use crate::saved_totals::SavedTotals;
use crate::totals::{Limits, Totals};

/// Hours before the present one that may still be written to.
const SETTLED_HOURS: i64 = 3;
/// Hours that are not settled at most: more are in the future, of a clock that is wrong.
const MAX_OPEN_HOURS: usize = 12;
/// Requests that are remembered as examples.
const MAX_EXEMPLARS: usize = 2_000;
/// A process that answered nothing for so many minutes is not counted as one that runs.
const MINUTES_ALIVE: i64 = 5;

/// The processes that answered requests in the last minutes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Workers {
    pub processes: u64,
    /// Memory that they hold together.
    pub rss_bytes: u64,
    /// Memory of the largest.
    pub max_rss_bytes: u64,
}

/// What is exported, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub totals: Totals,
    /// Processes; `None` where none answered anything lately.
    pub workers: Option<Workers>,
    /// Requests of the last hours that were kept whole, the latest first.
    pub exemplars: Vec<Exemplar>,
    /// When counting began, in nanoseconds since 1970.
    pub began_ns: i64,
    /// When this was read.
    pub taken_ns: i64,
    /// What could not be read or written.
    pub notes: Vec<String>,
}

/// An hour that may still change.
#[derive(Debug, Default)]
struct OpenHour {
    /// Of its files; the same files are not read again.
    signature: u64,
    totals: Totals,
    exemplars: Vec<Exemplar>,
    /// The last minute of each process, with the memory it held.
    processes: BTreeMap<Process, (i64, u64)>,
    began: Option<i64>,
    notes: Vec<String>,
}

/// The counters of a directory.
#[derive(Debug)]
pub(crate) struct Ledger {
    folder: PathBuf,
    limits: Limits,
    /// Whether sums of settled hours are kept in the directory.
    keeps: bool,
    settled: Totals,
    /// Hours in `settled` that are still in the directory.
    settled_hours: BTreeSet<i64>,
    open: BTreeMap<i64, OpenHour>,
    began: Option<i64>,
    seen: bool,
    started: bool,
    notes: BTreeSet<String>,
}

impl Ledger {
    pub(crate) fn new(folder: &Path, limits: Limits, keeps: bool) -> Self {
        Self {
            folder: folder.to_owned(),
            limits,
            keeps,
            settled: Totals::default(),
            settled_hours: BTreeSet::new(),
            open: BTreeMap::new(),
            began: None,
            seen: false,
            started: false,
            notes: BTreeSet::new(),
        }
    }

    /// Reads the directory. If that fails, the numbers are those from before.
    pub(crate) fn refresh(&mut self, now_ns: i64) -> Result<(), Problem> {
        if !self.seen && !self.folder.exists() {
            // A service that has not answered anything yet.
            return Ok(());
        }
        let dir = ServiceDir::open(&self.folder)?;
        let marked = ServiceDir::is_one(&self.folder);
        if self.seen && !marked {
            return Err(Problem::new(
                format!("the directory of the service is empty: {}", self.folder.display()),
                "check that it is mounted; counters stay as they were",
            ));
        }
        self.seen |= marked;
        if !self.started {
            self.start();
        }
        let found = self.signatures()?;
        let last_settled = now_ns.div_euclid(HOUR_NS) - SETTLED_HOURS;
        let mut changed = false;
        for (&hour, &signature) in &found {
            if self.settled_hours.contains(&hour) {
                continue;
            }
            if self.open.get(&hour).is_none_or(|known| known.signature != signature) {
                let read = dir.hour(hour)?;
                self.open.entry(hour).or_default().take(read, signature, self.limits);
            }
            if hour <= last_settled {
                changed |= self.settle(hour, true);
            }
        }
        // Those whose files are gone, and those of the future.
        let over: Vec<i64> = self.open.range(..=last_settled).map(|(hour, _)| *hour).collect();
        for hour in over {
            changed |= self.settle(hour, found.contains_key(&hour));
        }
        while self.open.len() > MAX_OPEN_HOURS
            && let Some(hour) = self.open.keys().next().copied()
        {
            changed |= self.settle(hour, found.contains_key(&hour));
        }
        self.settled_hours.retain(|hour| found.contains_key(hour));
        if changed && self.keeps {
            self.keep();
        }
        Ok(())
    }

    fn start(&mut self) {
        self.started = true;
        match SavedTotals::read(&self.folder) {
            Ok(Some(kept)) => {
                self.settled.add(&kept.totals, self.limits);
                (self.settled_hours, self.began) = (kept.hours, kept.began);
            }
            Ok(None) => {}
            Err(note) => drop(self.notes.insert(note)),
        }
    }

    fn keep(&mut self) {
        let kept = SavedTotals::new(self.first_minute(), self.settled_hours.clone(), self.settled.clone());
        if let Err(error) = kept.write(&self.folder) {
            self.notes.insert(format!(
                "sums of old hours cannot be kept in {}: {error}; counters begin anew when this starts again",
                self.folder.display()
            ));
        }
    }

    /// Moves an hour to the sums that stay.
    fn settle(&mut self, hour: i64, is_there: bool) -> bool {
        let Some(open) = self.open.remove(&hour) else { return false };
        self.settled.add(&open.totals, self.limits);
        self.began = [self.began, open.began].into_iter().flatten().min();
        if is_there {
            self.settled_hours.insert(hour);
        }
        true
    }

    fn first_minute(&self) -> Option<i64> {
        let open = self.open.values().filter_map(|hour| hour.began);
        self.began.into_iter().chain(open).min()
    }

    /// Names, sizes and times of the files of each hour that may change, as one number.
    fn signatures(&self) -> Result<BTreeMap<i64, u64>, Problem> {
        let wrong = |error: std::io::Error| {
            let words = format!("cannot read the directory {}: {error}", self.folder.display());
            Problem::new(words, "check that you may read it")
        };
        let mut files: BTreeMap<i64, Vec<(String, u64, u128)>> = BTreeMap::new();
        let mut known: (String, Option<i64>) = Default::default();
        for entry in fs::read_dir(&self.folder).map_err(wrong)? {
            let entry = entry.map_err(wrong)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let (true, Some((moment, _))) =
                (name.ends_with(".minutes") || name.ends_with(".open"), name.split_once('_'))
            else {
                continue;
            };
            if known.0 != moment {
                known = (moment.to_owned(), hour_of(moment));
            }
            let Some(hour) = known.1 else { continue };
            let of_hour = files.entry(hour).or_default();
            if self.settled_hours.contains(&hour) {
                continue;
            }
            // One that was just removed is not there.
            let Ok(about) = entry.metadata() else { continue };
            let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            of_hour.push((name, about.len(), changed.map_or(0, |since| since.as_nanos())));
        }
        let signed = files.into_iter().map(|(hour, mut files)| {
            files.sort_unstable();
            let mut hasher = DefaultHasher::new();
            files.hash(&mut hasher);
            (hour, hasher.finish())
        });
        Ok(signed.collect())
    }

    pub(crate) fn snapshot(&self, now_ns: i64) -> Snapshot {
        let mut totals = self.settled.clone();
        let mut exemplars: Vec<Exemplar> = Vec::new();
        let mut processes: BTreeMap<&Process, (i64, u64)> = BTreeMap::new();
        let mut notes = self.notes.clone();
        for hour in self.open.values() {
            totals.add(&hour.totals, self.limits);
            exemplars.extend(hour.exemplars.iter().cloned());
            notes.extend(hour.notes.iter().cloned());
            for (process, last) in &hour.processes {
                processes.entry(process).and_modify(|known| *known = (*known).max(*last)).or_insert(*last);
            }
        }
        latest(&mut exemplars);
        let this_minute = now_ns.div_euclid(MINUTE_NS);
        let alive = processes.values().filter(|(minute, _)| *minute > this_minute - MINUTES_ALIVE);
        let workers = alive.fold(Workers::default(), |sum, (_, rss)| Workers {
            processes: sum.processes + 1,
            rss_bytes: sum.rss_bytes.saturating_add(*rss),
            max_rss_bytes: sum.max_rss_bytes.max(*rss),
        });
        Snapshot {
            totals,
            workers: (workers.processes > 0).then_some(workers),
            exemplars,
            began_ns: self.first_minute().map_or(now_ns, |minute| minute.saturating_mul(MINUTE_NS)),
            taken_ns: now_ns,
            notes: notes.into_iter().collect(),
        }
    }
}

impl OpenHour {
    fn take(&mut self, hour: Hour, signature: u64, limits: Limits) {
        self.signature = signature;
        self.totals.grow(Totals::from_hour(&hour, limits));
        let first = hour.minutes.keys().next().copied();
        self.began = [self.began, first].into_iter().flatten().min();
        for (minute, of) in &hour.minutes {
            for (process, gauges) in &of.processes {
                self.processes.insert(process.clone(), (*minute, gauges.max_rss_bytes));
            }
        }
        self.exemplars = hour.exemplars;
        latest(&mut self.exemplars);
        self.notes = hour.notes;
        self.notes.truncate(20);
    }
}

/// The latest of these requests, each once.
fn latest(exemplars: &mut Vec<Exemplar>) {
    exemplars.sort_by(|a, b| (b.ended_ns, &a.route, a.key, b.slow).cmp(&(a.ended_ns, &b.route, b.key, a.slow)));
    exemplars.dedup_by(|later, first| (later.key, &later.route) == (first.key, &first.route));
    exemplars.truncate(MAX_EXEMPLARS);
}

/// The hour since 1970 of `20261117T01`.
fn hour_of(moment: &str) -> Option<i64> {
    if moment.len() != 11 || !moment.is_ascii() {
        return None;
    }
    let text = format!("{}-{}-{}", &moment[..4], &moment[4..6], &moment[6..]);
    Some(Period::parse(&text, 0).ok()?.from.div_euclid(60))
}

#[cfg(test)]
mod tests;
