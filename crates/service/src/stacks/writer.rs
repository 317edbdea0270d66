//! Counts stacks of the hour that it is, and writes them.

use std::path::{Path, PathBuf};

use stepscope_ground::Problem;
use stepscope_ground::utc::HOUR_NS;

use super::codec::StackCounts;
use super::{MAX_STACKS, StackFrame};
use crate::counters::{make_ready, unwritable};
use crate::segment::{self, Process};
use crate::wire;

/// Counts stacks into a folder.
#[derive(Debug)]
pub struct StackWriter {
    folder: PathBuf,
    process: Process,
    period_ns: u64,
    hour: i64,
    counted: StackCounts,
    most: usize,
    changed: bool,
    trouble: Option<String>,
}

impl StackWriter {
    /// Makes the folder ready. `period_ns`: the time from one sample to the next.
    pub fn open(folder: &Path, period_ns: u64, now_ns: i64) -> Result<Self, Problem> {
        Self::with(folder, period_ns, now_ns, MAX_STACKS)
    }

    pub(super) fn with(folder: &Path, period_ns: u64, now_ns: i64, most: usize) -> Result<Self, Problem> {
        make_ready(folder)?;
        let process = Process { host: segment::host(), id: std::process::id(), token: (now_ns >> 10) as u32 };
        let hour = now_ns.div_euclid(HOUR_NS);
        let counted = StackCounts::new(period_ns);
        Ok(Self {
            folder: folder.to_owned(),
            process,
            period_ns,
            hour,
            counted,
            most,
            changed: false,
            trouble: None,
        })
    }

    /// Says what time it is. In a new hour all is written and counted from nothing: numbers of frames are void, and it
    /// returns true.
    pub fn is_new_hour(&mut self, now_ns: i64) -> bool {
        let hour = now_ns.div_euclid(HOUR_NS);
        if hour == self.hour {
            return false;
        }
        // What cannot be written now never will be; that was said.
        let _ = self.write();
        self.hour = hour;
        self.counted = StackCounts::new(self.period_ns);
        true
    }

    /// The number of a frame, in this hour.
    pub fn frame(&mut self, frame: &StackFrame) -> u32 {
        self.counted.frame(frame)
    }

    /// Counts a stack that was seen in so many samples, the outermost frame first.
    pub fn add(&mut self, frames: &[u32], samples: u64) {
        if samples > 0 {
            self.counted.add(frames, samples, self.most);
            self.changed = true;
        }
    }

    /// Writes the hour so far. What it returns are words for the user, once.
    pub fn write(&mut self) -> Option<String> {
        if !self.changed || self.counted.is_empty() {
            return None;
        }
        let path = self.folder.join(segment::name_of(self.hour, &self.process, segment::STACKS));
        let written = segment::replace_records(&path, &segment::record(&wire::encode(&self.counted)));
        let words = written.err().map(|error| {
            let Problem { what, hint } = unwritable(&self.folder, &error);
            format!("stacks are counted but not kept: {what}\nhint: {hint}")
        });
        self.changed = words.is_some();
        let is_new = words.is_some() && words != self.trouble;
        self.trouble.clone_from(&words);
        words.filter(|_| is_new)
    }
}
