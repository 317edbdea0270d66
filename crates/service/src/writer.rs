//! Minutes of one process on their way to disk.
//!
//! What was counted since the last tick goes into the minute that is open; that minute is written as a whole each time, so
//! a process that is killed loses what came since. A disk that is full loses nothing for an hour: closed minutes wait.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::{fs, io};

use stepscope_ground::utc::MINUTE_NS;

use crate::block::{Block, Gauges};
use crate::recorder::Recorder;
use crate::retention::{self, Retention};
use crate::segment::{self, Name, Process};
use crate::stats::RouteStats;

/// Closed minutes that wait for the disk; older ones are lost, and that is said.
const MAX_WAITING: usize = 60;
/// Two clocks that drift apart by more than this between two ticks: one was set.
const JUMP_NS: i64 = 2_000_000_000;
/// After the clock was set, nothing is removed for so long: it may be wrong by years.
const TRUST_AFTER_NS: u64 = 3_600_000_000_000;

#[derive(Copy, Clone, Debug)]
pub(crate) struct Now {
    /// Nanoseconds since 1970.
    pub wall_ns: i64,
    /// Nanoseconds on a monotonic clock.
    pub steady_ns: u64,
    /// Processor time of the process.
    pub cpu_ns: u64,
    pub rss_bytes: u64,
}

#[derive(Debug)]
pub(crate) struct Writer {
    folder: PathBuf,
    process: Process,
    retention: Retention,
    open: Block,
    waiting: VecDeque<Block>,
    /// Whether the open minute has anything that is not on disk.
    unwritten: bool,
    /// The name that the open minute has on disk.
    open_path: Option<PathBuf>,
    last: Option<Now>,
    hour: Option<i64>,
    jumped_ns: Option<u64>,
    /// Whether the folder is there and ours.
    ready: bool,
    /// A folder of a newer version is left alone for good.
    refused: bool,
    lost_requests: u64,
}

impl Writer {
    pub(crate) fn new(folder: PathBuf, retention: Retention, token: u32) -> Self {
        let process = Process { host: segment::host(), id: std::process::id(), token };
        Self {
            folder,
            process,
            retention,
            open: Block::default(),
            waiting: VecDeque::new(),
            unwritten: false,
            open_path: None,
            last: None,
            hour: None,
            jumped_ns: None,
            ready: false,
            refused: false,
            lost_requests: 0,
        }
    }

    /// Takes what was counted, and writes. What it returns are words for the user. Also hands back what was counted.
    pub(crate) fn tick(
        &mut self,
        recorder: &Recorder,
        now: Now,
    ) -> (BTreeMap<String, RouteStats>, Option<String>) {
        recorder.set_rss(now.rss_bytes);
        let drained = recorder.drain();
        let last = self.last.replace(now).unwrap_or(now);
        let passed = now.steady_ns.saturating_sub(last.steady_ns);
        let jumped = (now.wall_ns - last.wall_ns - passed as i64).abs() > JUMP_NS;
        if jumped {
            self.jumped_ns = Some(now.steady_ns);
        }
        // What was counted since the last tick ended, on average, in the middle.
        let minute = (now.wall_ns - passed as i64 / 2).div_euclid(MINUTE_NS);
        if minute != self.open.minute {
            self.close(recorder, minute);
        }
        let hour = minute.div_euclid(60);
        let new_hour = self.hour.replace(hour) != Some(hour);
        if new_hour {
            recorder.begin_hour();
        }
        self.open.gauges.merge(&Gauges {
            watched_ns: passed,
            cpu_ns: now.cpu_ns.saturating_sub(last.cpu_ns),
            max_rss_bytes: now.rss_bytes,
            lost_requests: 0,
            clock_jumps: u64::from(jumped),
        });
        for (route, stats) in &drained {
            self.open.routes.entry(route.clone()).or_default().merge(stats);
        }
        // A minute without requests is written when it closes, if anything was asked in it at all.
        self.unwritten |= !drained.is_empty();
        let said = self.write(recorder, new_hour, now).err();
        (drained, said)
    }

    /// Ends the open minute and begins another one.
    fn close(&mut self, recorder: &Recorder, minute: i64) {
        if self.open.routes.is_empty() {
            // What is counted now, and its examples, are of the new minute.
            self.open.minute = minute;
            return;
        }
        let sequence = self.open.sequence + 1;
        let mut closed = std::mem::replace(&mut self.open, Block { minute, sequence, ..Block::default() });
        recorder.begin_block(sequence);
        closed.exemplars = recorder.exemplars(closed.sequence);
        self.waiting.push_back(closed);
        self.unwritten = false;
        while self.waiting.len() > MAX_WAITING {
            self.lost_requests += self.waiting.pop_front().map_or(0, |block| block.requests());
        }
    }

    fn path(&self, minute: i64, open: bool) -> PathBuf {
        let name = Name { hour: minute.div_euclid(60), process: self.process.clone(), open };
        self.folder.join(name.text())
    }

    fn write(&mut self, recorder: &Recorder, new_hour: bool, now: Now) -> Result<(), String> {
        if self.refused || (self.waiting.is_empty() && !self.unwritten) {
            return Ok(());
        }
        if !self.ready {
            fs::create_dir_all(&self.folder).map_err(|error| self.warning(&error))?;
            if let Err(schema) =
                segment::check_mark(&self.folder, true).map_err(|error| self.warning(&error))?
            {
                self.refused = true;
                return Err(format!(
                    "requests are counted but not kept: {} was written by a newer version (schema {schema})\nhint: update stepscope, or choose another directory",
                    self.folder.display()
                ));
            }
            self.ready = true;
        }
        while let Some(block) = self.waiting.front_mut() {
            block.gauges.lost_requests += std::mem::take(&mut self.lost_requests);
            let path = {
                let minute = block.minute;
                self.path(minute, false)
            };
            let Some(block) = self.waiting.front() else { break };
            if let Err(error) = segment::append(&path, block) {
                self.ready = error.kind() != io::ErrorKind::NotFound;
                return Err(self.warning(&error));
            }
            self.waiting.pop_front();
        }
        if self.unwritten {
            self.open.exemplars = recorder.exemplars(self.open.sequence);
            let path = self.path(self.open.minute, true);
            if let Err(error) = segment::replace(&path, &self.open) {
                self.ready = error.kind() != io::ErrorKind::NotFound;
                return Err(self.warning(&error));
            }
            self.unwritten = false;
            // The one of the hour before holds a minute that is closed by now.
            if let Some(old) = self.open_path.replace(path.clone()).filter(|old| *old != path) {
                let _ = fs::remove_file(old);
            }
        }
        let trusted = self.jumped_ns.is_none_or(|at| now.steady_ns.saturating_sub(at) > TRUST_AFTER_NS);
        if new_hour && trusted {
            // What cannot be removed is tried again in an hour.
            let _ = retention::apply(&self.folder, self.retention, now.wall_ns.div_euclid(60 * MINUTE_NS));
        }
        Ok(())
    }

    fn warning(&self, error: &io::Error) -> String {
        let text = error.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "choose a directory that this process may write to"
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                "free some space; closed minutes wait for an hour and are written then"
            }
            _ => "choose another directory",
        };
        format!(
            "requests are counted but not kept: cannot write to {}: {text}\nhint: {hint}",
            self.folder.display()
        )
    }
}

#[cfg(test)]
mod tests;
