//! What a source of counters is, and small readers of the system's own files.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::series::CounterInfo;

/// A sensor that is not there or not permitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingSensor {
    pub what: String,
    pub reason: String,
    /// What to do about it; empty if nothing can be done.
    pub fix: String,
}

impl MissingSensor {
    pub(crate) fn new(
        what: impl Into<String>,
        reason: impl Into<String>,
        fix: impl Into<String>,
    ) -> MissingSensor {
        MissingSensor { what: what.into(), reason: reason.into(), fix: fix.into() }
    }
}

/// Where the system's files are; tests put others in their place.
#[derive(Clone, Debug)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// NVIDIA's management library, where it is not the usual one.
    pub nvml: Option<PathBuf>,
}

impl Default for Roots {
    fn default() -> Roots {
        Roots {
            proc: "/proc".into(),
            sys: "/sys".into(),
            nvml: std::env::var_os("STEPSCOPE_NVML").map(PathBuf::from),
        }
    }
}

/// The counters of one kind. It says at the start which there are; each sample gives values by their place in that list.
pub(crate) trait Source: Send {
    fn counters(&self) -> Vec<CounterInfo>;
    /// `edge`: the sampler starts or stops, or a sample is asked for; what is read seldom is read then too.
    fn sample(&mut self, now_ns: i64, edge: bool, out: &mut dyn FnMut(usize, f64));
}

/// A file of the system that is read again and again: opened once, into one buffer, from its start each time.
#[derive(Debug)]
pub(crate) struct ProcFile {
    file: File,
    bytes: Vec<u8>,
}

impl ProcFile {
    pub(crate) fn open(path: &Path) -> io::Result<ProcFile> {
        let mut reread = ProcFile { file: File::open(path)?, bytes: vec![0; 4096] };
        reread.read()?;
        Ok(reread)
    }

    pub(crate) fn read(&mut self) -> io::Result<&str> {
        let mut length = 0;
        loop {
            match self.file.read_at(&mut self.bytes[length..], length as u64) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if length == self.bytes.len() {
                self.bytes.resize(2 * length, 0);
            }
        }
        std::str::from_utf8(&self.bytes[..length])
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    pub(crate) fn number(&mut self) -> Option<f64> {
        self.read().ok()?.trim().parse().ok()
    }
}

/// Rates over less than this say nothing: the system counts in hundredths of a second.
const SHORTEST_RATE_S: f64 = 0.04;

#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Rate(Option<(i64, f64)>);

impl Rate {
    /// The growth a second since the last value; nothing at the first, too soon, or if a counter started again.
    pub(crate) fn per_second(&mut self, now_ns: i64, total: f64) -> Option<f64> {
        let Some((then, before)) = self.0 else {
            self.0 = Some((now_ns, total));
            return None;
        };
        let seconds = (now_ns - then) as f64 / 1e9;
        if (0.0..SHORTEST_RATE_S).contains(&seconds) {
            return None;
        }
        self.0 = Some((now_ns, total));
        (seconds > 0.0 && total >= before).then(|| (total - before) / seconds)
    }
}
