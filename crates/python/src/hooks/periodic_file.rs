//! Writes what was counted so far while the program still runs, so that a crash leaves it.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use stepscope_ground::WholeFile;

use super::ticks;

/// The file is written so rarely that it takes one part in so many of the time at the most.
const MIN_TIME_RATIO: u64 = 100;

/// A file that is written now and then.
pub(super) struct PeriodicFile {
    path: PathBuf,
    every: u64,
}

impl PeriodicFile {
    /// Into this file, every so many nanoseconds, and when it is due first.
    pub(super) fn new(path: PathBuf, every_ns: u64) -> (PeriodicFile, u64) {
        let every = ticks::from_ns(every_ns).max(1);
        (PeriodicFile { path, every }, ticks::now().saturating_add(every))
    }

    /// Writes it, whole or not at all; when it is due again. If it cannot be written there is no one to tell now: the end
    /// of the run will.
    pub(super) fn write(&self, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> u64 {
        // Pipes and devices are written to once, at the end: nothing may take their place.
        if fs::metadata(&self.path).is_ok_and(|info| !info.is_file()) {
            return u64::MAX;
        }
        let began = ticks::now();
        let mut file = WholeFile::new(&self.path);
        if content(&mut file).and_then(|()| file.keep()).is_err() {
            return u64::MAX;
        }
        let now = ticks::now();
        now.saturating_add(self.every.max(now.saturating_sub(began).saturating_mul(MIN_TIME_RATIO)))
    }
}
