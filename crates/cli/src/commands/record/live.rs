//! A recording that the browser shows while it grows. The thread that samples is the only one that touches what was sampled: the
//! server asks it for a trace and waits.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use stepscope_analyse::findings::Thresholds;
use stepscope_formats::{OpenOptions, read, write_chrome};
use stepscope_ground::{Problem, lock};
use stepscope_model::{Document, Trace};
use stepscope_serve::{Backend, PendingRun, RunFile, SourceFiles};

use crate::config;
use crate::failure::Failure;

/// How long at least until there is something newer to see.
const MIN_REFRESH_PERIOD: Duration = Duration::from_secs(2);
/// Making traces may take one part in this many of the time.
const MAX_REFRESH_FRACTION: u32 = 20;
/// How long the server waits for a trace.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// What the server and the sampling thread share.
#[derive(Debug)]
pub(super) struct Live {
    path: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    wanted: usize,
    made: Option<Trace>,
    cost: Duration,
    /// When the version that is shown was begun.
    version_at: Option<Instant>,
    version_ms: u64,
    has_ended: bool,
}

impl Live {
    /// `path`: where the recording will be saved.
    pub(super) fn new(path: &Path) -> Live {
        let state = State {
            wanted: 0,
            made: None,
            cost: Duration::ZERO,
            version_at: None,
            version_ms: 0,
            has_ended: false,
        };
        Live { path: path.to_owned(), state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Makes a trace if someone waits for one.
    pub(super) fn answer(&self, make: impl FnOnce() -> Trace) {
        if self.lock().wanted == 0 {
            return;
        }
        let began = Instant::now();
        let made = make();
        let mut state = self.lock();
        state.cost = began.elapsed();
        state.made = Some(made);
        self.changed.notify_all();
    }

    /// Nothing comes any more; what is there can still be asked for.
    pub(super) fn end(&self) {
        self.lock().has_ended = true;
    }

    fn trace(&self) -> Option<Trace> {
        let until = Instant::now() + MAX_WAIT;
        let mut state = self.lock();
        state.wanted += 1;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if state.made.is_some() || left.is_zero() {
                state.wanted -= 1;
                return state.made.take();
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

pub(super) struct LiveBackend(pub(super) std::sync::Arc<Live>);

impl Backend for LiveBackend {
    fn discover(&self) -> Result<Vec<RunFile>, Problem> {
        let mut state = self.0.lock();
        let pause = MIN_REFRESH_PERIOD.max(state.cost * MAX_REFRESH_FRACTION);
        if !state.has_ended && state.version_at.is_none_or(|at| at.elapsed() >= pause) {
            state.version_at = Some(Instant::now());
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            state.version_ms = now.as_millis() as u64;
        }
        let name = self.0.path.file_name().unwrap_or_default().to_string_lossy();
        let label = name.trim_end_matches(".gz").trim_end_matches(".json").to_owned();
        Ok(vec![RunFile {
            path: self.0.path.clone(),
            label,
            bytes: 0,
            modified_ms: Some(state.version_ms),
            recording: !state.has_ended,
        }])
    }

    fn sources(&self) -> SourceFiles {
        crate::sources::source_files()
    }

    fn thresholds(&self) -> Arc<Thresholds> {
        // What is wrong in the file is said at the end, with the summary.
        config::thresholds(None).unwrap_or_default()
    }

    fn open(&self, _: &Path) -> PendingRun {
        let live = self.0.clone();
        PendingRun {
            progress: Box::new(|| (0, 0)),
            read: Box::new(move || {
                let trace = live.trace().ok_or_else(|| {
                    Problem::new("the recording did not answer", "the machine may be too busy; reload the page")
                })?;
                as_file(&trace, &live.path)
            }),
        }
    }
}

/// What a reader makes of the file that the trace would be: the page must show what will be saved.
fn as_file(trace: &Trace, path: &Path) -> Result<Document, Problem> {
    let mut bytes = Vec::new();
    write_chrome(trace, &mut bytes).map_err(|error| Problem::new(error.to_string(), ""))?;
    read(&bytes[..], &path.display().to_string(), &OpenOptions::default()).map_err(|error| {
        let failure = Failure::from(error);
        Problem::new(failure.to_string(), failure.hint().unwrap_or_default())
    })
}
