//! Counters on their way to disk: every sample is written as it comes, every minute when it is over.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use stepscope_ground::Problem;
use stepscope_ground::utc::MINUTE_NS;

use super::codec::{Columns, Entry, MAX_COLUMNS, Minute, Sample, Values};
use super::{Column, Totals};
use crate::retention::{self, Retention};
use crate::segment::{self, Process};
use crate::wire;

/// Minutes that are kept at full rate.
pub const RECENT_MINUTES: i64 = 10;
/// Samples that are kept at full rate, whatever their rate, …
const MAX_RECENT: usize = 6_000;
/// … and values of all of them together.
const MAX_RECENT_VALUES: usize = 1_000_000;
/// Closed minutes that wait for the disk; older ones are lost.
const MAX_WAITING: usize = 60;
/// Two clocks that drift apart by more than this between two samples: one was set.
const JUMP_NS: i64 = 2_000_000_000;
/// After the clock was set, nothing is removed for so long: it may be wrong by years.
const TRUST_AFTER_NS: u64 = 3_600_000_000_000;

/// Writes counters into a folder.
#[derive(Debug)]
pub struct CounterWriter {
    folder: PathBuf,
    process: Process,
    retention: Retention,
    watched: Option<u32>,
    columns: Vec<Column>,
    open: OpenMinute,
    waiting: VecDeque<Minute>,
    recent: VecDeque<Entry>,
    log: Option<SampleLog>,
    /// The last moment, on the wall clock and on a monotonic one.
    last: Option<(i64, u64)>,
    hour: Option<i64>,
    jumped_ns: Option<u64>,
    /// What was said last about the disk; nothing while all is well.
    trouble: Option<String>,
    totals: Vec<Option<Totals>>,
    lost_minutes: u64,
}

/// The minute that is not over.
#[derive(Debug, Default)]
struct OpenMinute {
    minute: i64,
    sequence: u64,
    counters: Vec<Option<Totals>>,
}

/// The file of samples.
#[derive(Debug)]
struct SampleLog {
    file: File,
    path: PathBuf,
    hour: i64,
    bytes: u64,
    samples: usize,
}

impl CounterWriter {
    /// Makes the folder ready; fails where nothing could be kept. `watched`: the process that some counters are of.
    pub fn open(
        folder: &Path,
        columns: Vec<Column>,
        watched: Option<u32>,
        retention: Retention,
        now_ns: i64,
    ) -> Result<Self, Problem> {
        make_ready(folder)?;
        let mut columns = columns;
        columns.truncate(MAX_COLUMNS);
        let process = Process { host: segment::host(), id: std::process::id(), token: (now_ns >> 10) as u32 };
        let mut writer = Self {
            folder: folder.to_owned(),
            process,
            retention,
            watched,
            open: OpenMinute { counters: vec![None; columns.len()], sequence: 1, ..OpenMinute::default() },
            waiting: VecDeque::new(),
            recent: VecDeque::new(),
            log: None,
            last: None,
            hour: None,
            jumped_ns: None,
            trouble: None,
            totals: vec![None; columns.len()],
            columns,
            lost_minutes: 0,
        };
        writer.begin_log(now_ns.div_euclid(60 * MINUTE_NS)).map_err(|error| unwritable(folder, &error))?;
        Ok(writer)
    }

    /// Says which process is watched, before the first sample.
    pub fn watch(&mut self, pid: u32) {
        self.watched = Some(pid);
        if let Some(hour) = self.log.as_ref().map(|log| log.hour) {
            // What cannot be written now is said with the first sample.
            let _ = self.begin_log(hour);
        }
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Each counter since the start.
    pub fn totals(&self) -> &[Option<Totals>] {
        &self.totals
    }

    /// Adds a sample: a value for each column, where there is one. What it returns are words for the user, once.
    pub fn add(&mut self, wall_ns: i64, steady_ns: u64, values: &[Option<f64>]) -> Option<String> {
        let (last_wall, last_steady) = self.last.replace((wall_ns, steady_ns)).unwrap_or((wall_ns, steady_ns));
        let passed = steady_ns.saturating_sub(last_steady) as i64;
        if (wall_ns - last_wall - passed).abs() > JUMP_NS {
            self.jumped_ns = Some(steady_ns);
        }
        let minute = wall_ns.div_euclid(MINUTE_NS);
        if minute != self.open.minute {
            self.close(minute);
        }
        let known = |at: usize| values.get(at).copied().flatten().filter(|value| value.is_finite());
        let sample = Sample {
            sequence: self.open.sequence,
            at_ns: wall_ns,
            values: Values((0..self.columns.len()).map(known).collect()),
        };
        for (at, value) in sample.values.0.iter().enumerate() {
            if let Some(value) = value {
                Totals::add(&mut self.open.counters[at], *value);
                Totals::add(&mut self.totals[at], *value);
            }
        }
        let hour = minute.div_euclid(60);
        let new_hour = self.hour.replace(hour) != Some(hour);
        let written = self.write(sample, hour);
        let trusted = self.jumped_ns.is_none_or(|at| steady_ns.saturating_sub(at) > TRUST_AFTER_NS);
        if written.is_ok() && new_hour && trusted {
            // What cannot be removed is tried again in an hour.
            let _ = retention::apply(&self.folder, self.retention, hour);
        }
        self.say(written)
    }

    /// Writes what is left; nothing comes after it.
    pub fn finish(&mut self) -> Option<String> {
        self.close(self.open.minute);
        let written = self.write_waiting();
        // What could not be written is lost now, even if that was said before.
        self.trouble = None;
        self.say(written)
    }

    /// Minutes that could not be written in time.
    pub fn lost_minutes(&self) -> u64 {
        self.lost_minutes
    }

    fn say(&mut self, written: io::Result<()>) -> Option<String> {
        let words = written.err().map(|error| {
            let Problem { what, hint } = unwritable(&self.folder, &error);
            format!("counters are measured but not kept: {what}\nhint: {hint}")
        });
        let is_new = words.is_some() && words != self.trouble;
        self.trouble.clone_from(&words);
        words.filter(|_| is_new)
    }

    fn close(&mut self, minute: i64) {
        let counters = std::mem::replace(&mut self.open.counters, vec![None; self.columns.len()]);
        let known: Vec<(Column, Totals)> = (self.columns.iter().zip(counters))
            .filter_map(|(column, totals)| Some((column.clone(), totals?)))
            .collect();
        if !known.is_empty() {
            self.waiting.push_back(Minute {
                minute: self.open.minute,
                sequence: self.open.sequence,
                watched: self.watched,
                counters: known,
            });
            self.open.sequence += 1;
        }
        self.open.minute = minute;
        while self.waiting.len() > MAX_WAITING {
            self.waiting.pop_front();
            self.lost_minutes += 1;
        }
    }

    fn write(&mut self, sample: Sample, hour: i64) -> io::Result<()> {
        let oldest_ns = sample.at_ns - RECENT_MINUTES * MINUTE_NS;
        let entry = Entry { columns: None, sample: Some(sample) };
        let bytes = segment::record(&wire::encode(&entry));
        let most = MAX_RECENT.min(MAX_RECENT_VALUES / self.columns.len().max(1));
        self.recent.push_back(entry);
        // A clock that was set back leaves samples of the future, which go by their number.
        let is_old = |entry: &Entry| entry.sample.as_ref().is_some_and(|sample| sample.at_ns < oldest_ns);
        while self.recent.front().is_some_and(is_old) || self.recent.len() > most {
            self.recent.pop_front();
        }
        self.write_waiting()?;
        let most_in_log = 2 * self.recent.len().max(60);
        match &mut self.log {
            Some(log) if log.hour == hour && log.samples < most_in_log => {
                if let Err(error) = log.file.write_all(&bytes) {
                    // What is half there would hide all that comes after it.
                    let _ = log.file.set_len(log.bytes);
                    self.log = None;
                    return Err(error);
                }
                log.bytes += bytes.len() as u64;
                log.samples += 1;
                Ok(())
            }
            _ => self.begin_log(hour),
        }
    }

    fn write_waiting(&mut self) -> io::Result<()> {
        while let Some(minute) = self.waiting.front() {
            let name = segment::name_of(minute.minute.div_euclid(60), &self.process, segment::COUNTERS);
            if let Err(error) = segment::append_record(&self.folder.join(name), &wire::encode(minute)) {
                if error.kind() == io::ErrorKind::NotFound {
                    // The folder was removed; the next sample may find it again.
                    let _ = make_ready(&self.folder);
                }
                return Err(error);
            }
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Writes the last samples as a whole, under the name of this hour.
    fn begin_log(&mut self, hour: i64) -> io::Result<()> {
        let columns = Columns { watched: self.watched, columns: self.columns.clone() };
        let mut records = segment::record(&wire::encode(&Entry { columns: Some(columns), sample: None }));
        for entry in &self.recent {
            records.extend_from_slice(&segment::record(&wire::encode(entry)));
        }
        let path = self.folder.join(segment::name_of(hour, &self.process, segment::SAMPLES));
        let old = self.log.take();
        let file = match segment::replace_records(&path, &records) {
            Ok(file) => file,
            Err(error) => {
                let _ = make_ready(&self.folder);
                return Err(error);
            }
        };
        let bytes = file.metadata()?.len();
        if let Some(old) = old.filter(|old| old.path != path) {
            let _ = fs::remove_file(old.path);
        }
        self.log = Some(SampleLog { file, path, hour, bytes, samples: self.recent.len() });
        Ok(())
    }
}

/// Makes a folder, or finds that it may be written to.
pub(crate) fn make_ready(folder: &Path) -> Result<(), Problem> {
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    match segment::check_mark(folder, true).map_err(|error| unwritable(folder, &error))? {
        Ok(()) => Ok(()),
        Err(schema) => Err(Problem::new(
            format!("this directory was written by a newer version (schema {schema}): {}", folder.display()),
            "update stepscope, or choose another directory",
        )),
    }
}

/// Why nothing can be written, and what to do.
pub(crate) fn unwritable(folder: &Path, error: &io::Error) -> Problem {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "choose a directory that you may write to"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "free some space; closed minutes wait for an hour and are written then"
        }
        _ => "choose another directory",
    };
    Problem::new(format!("cannot write to {}: {text}", folder.display()), hint)
}
