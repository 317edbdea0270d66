//! The runs: which there are, which are in memory, how far the others have been read.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_ground::{Problem, lock};

use crate::backend::{Backend, RunFile};
use crate::cached_run::CachedRun;

/// Traces kept in memory; the one unused for longest makes room.
pub(crate) const MAX_CACHED_RUNS: usize = 6;

/// Versions of growing runs that a page may still be looking at.
const MAX_OLD_VERSIONS: usize = 3;

/// All runs, shared by every request.
pub(crate) struct Runs {
    pub(crate) backend: Arc<dyn Backend>,
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    list: Vec<Entry>,
    /// Numbers are never used twice: the page may still ask for a file that has since changed.
    next: u32,
    /// Runs that have grown since, the newest last.
    outgrown: VecDeque<Entry>,
    problem: Option<Problem>,
}

struct Entry {
    id: u32,
    found: RunFile,
    state: State,
    used: Instant,
}

#[derive(Clone)]
enum State {
    Waiting,
    Loading(Arc<dyn Fn() -> (u64, u64) + Send + Sync>),
    Ready(Arc<CachedRun>),
    Failed(Problem),
}

/// A run as the page lists it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListedRun {
    id: u32,
    /// For people: a path that is not Unicode is shown as well as it can be, and asked for by its number.
    path: String,
    label: String,
    /// Stored bytes; a report does not tell.
    bytes: Option<u64>,
    modified_ms: Option<u64>,
    state: RunState,
    read_bytes: u64,
    total_bytes: u64,
    error: Option<Problem>,
    /// Still being recorded: asking for fresh runs gives a newer one.
    recording: bool,
}

/// How far a run is from being asked about.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunState {
    /// No one asked for it yet.
    Waiting,
    /// It is being read.
    Loading,
    /// It is in memory.
    Ready,
    /// It cannot be read.
    Failed,
}

/// What came of asking for a run.
pub(crate) enum RunLookup {
    Ready(Arc<CachedRun>),
    /// Stored bytes read and in total.
    Loading(u64, u64),
    Failed(Problem),
    Unknown,
}

impl Runs {
    pub(crate) fn new(backend: Arc<dyn Backend>) -> Arc<Runs> {
        Arc::new(Runs { backend, inner: Mutex::default(), changed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// Looks for traces again. A file that was written anew is a new run in the old one's place.
    pub(crate) fn refresh(&self) {
        let found = match self.backend.discover() {
            Ok(found) => found,
            Err(problem) => {
                // Traces already read stay readable.
                self.lock().problem = Some(problem);
                return;
            }
        };
        let mut inner = self.lock();
        inner.problem = None;
        let old = std::mem::take(&mut inner.list).into_iter();
        let mut old: HashMap<PathBuf, Entry> = old.map(|entry| (entry.found.path.clone(), entry)).collect();
        for found in found {
            let known = old.remove(&found.path);
            let entry = match known {
                Some(entry) if entry.found == found => entry,
                known => {
                    if let Some(known) = known.filter(|entry| entry.found.recording) {
                        inner.outgrown.push_back(known);
                    }
                    let id = inner.next;
                    inner.next += 1;
                    Entry { id, found, state: State::Waiting, used: Instant::now() }
                }
            };
            inner.list.push(entry);
        }
        while inner.outgrown.len() > MAX_OLD_VERSIONS {
            inner.outgrown.pop_front();
        }
    }

    /// Whether one of them is still being recorded.
    pub(crate) fn is_recording(&self) -> bool {
        self.lock().list.iter().any(|entry| entry.found.recording)
    }

    /// Why the last sample failed, if it did.
    pub(crate) fn problem(&self) -> Option<Problem> {
        self.lock().problem.clone()
    }

    pub(crate) fn list(&self) -> Vec<ListedRun> {
        self.lock().list.iter().map(Entry::listed).collect()
    }

    /// Starts reading the first run, before anyone asks.
    pub(crate) fn start_first(self: &Arc<Self>) {
        let first = self.lock().list.first().map(|entry| entry.id);
        if let Some(id) = first {
            self.get(id, Duration::ZERO);
        }
    }

    /// A run, read first if it is not in memory; waits for that for a while.
    pub(crate) fn get(self: &Arc<Self>, id: u32, patience: Duration) -> RunLookup {
        let until = Instant::now() + patience;
        let mut inner = self.lock();
        loop {
            let Some(entry) = inner.entry(id) else { return RunLookup::Unknown };
            entry.used = Instant::now();
            match &entry.state {
                State::Ready(run) => return RunLookup::Ready(run.clone()),
                State::Failed(problem) => return RunLookup::Failed(problem.clone()),
                State::Waiting => self.start(entry),
                State::Loading(progress) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        let (read, total) = progress();
                        return RunLookup::Loading(read, total);
                    }
                    inner = self.changed.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    fn start(self: &Arc<Self>, entry: &mut Entry) {
        let loading = self.backend.open(&entry.found.path);
        entry.state = State::Loading(Arc::from(loading.progress));
        let (runs, id) = (self.clone(), entry.id);
        let (sources, thresholds) = (self.backend.sources(), self.backend.thresholds());
        std::thread::spawn(move || {
            let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let run = stepscope_analyse::run::Run::from_document;
                (loading.read)().map(|document| CachedRun::new(Arc::new(run(document)), sources, thresholds))
            }));
            let state = match read {
                Ok(Ok(run)) => State::Ready(Arc::new(run)),
                Ok(Err(problem)) => State::Failed(problem),
                Err(_) => State::Failed(Problem::new(
                    "reading this trace failed inside Stepscope",
                    "please report it, with the trace if you can",
                )),
            };
            runs.finish(id, state);
        });
    }

    fn finish(&self, id: u32, state: State) {
        let mut inner = self.lock();
        if let Some(entry) = inner.entry(id) {
            entry.state = state;
        }
        let ready = |entry: &&mut Entry| matches!(entry.state, State::Ready(_)) && entry.id != id;
        let in_memory = inner.list.iter_mut().filter(ready).count();
        if in_memory >= MAX_CACHED_RUNS
            && let Some(oldest) = inner.list.iter_mut().filter(ready).min_by_key(|entry| entry.used)
        {
            oldest.state = State::Waiting;
        }
        self.changed.notify_all();
    }
}

impl Inner {
    fn entry(&mut self, id: u32) -> Option<&mut Entry> {
        self.list.iter_mut().chain(&mut self.outgrown).find(|entry| entry.id == id)
    }
}

impl ListedRun {
    /// A run inside a report, which has its name only.
    pub(crate) fn in_report(id: u32, label: &str) -> ListedRun {
        ListedRun {
            id,
            path: label.to_owned(),
            label: label.to_owned(),
            bytes: None,
            modified_ms: None,
            state: RunState::Ready,
            read_bytes: 0,
            total_bytes: 0,
            error: None,
            recording: false,
        }
    }
}

impl Entry {
    fn listed(&self) -> ListedRun {
        let (read_bytes, total_bytes) = match &self.state {
            State::Loading(progress) => progress(),
            _ => (0, self.found.bytes),
        };
        let (state, error) = match &self.state {
            State::Waiting => (RunState::Waiting, None),
            State::Loading(_) => (RunState::Loading, None),
            State::Ready(_) => (RunState::Ready, None),
            State::Failed(problem) => (RunState::Failed, Some(problem.clone())),
        };
        ListedRun {
            id: self.id,
            path: self.found.path.display().to_string(),
            label: self.found.label.clone(),
            bytes: Some(self.found.bytes),
            modified_ms: self.found.modified_ms,
            state,
            read_bytes,
            total_bytes,
            error,
            recording: self.found.recording,
        }
    }
}
