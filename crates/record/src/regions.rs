//! Named regions of the program, as cheap as they can be: while nothing records, a region costs one load; while
//! something does, two readings of the clock and one push.
//!
//! All recordings of a process share one log; each takes the part that was written while it ran.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_ground::lock;

use crate::clock::now_ns;

/// Regions that one log takes; about 2 GB. What comes after is counted, not kept.
pub const MAX_REGIONS: usize = 50_000_000;

/// Where a region was entered is not known.
pub const NO_STACK: u32 = u32::MAX;

/// The region is of no task: only the thread tells what it runs in.
pub const NO_TASK: u64 = 0;

/// One region that has ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Number of its name in the log.
    pub name: u32,
    /// The system's number of its thread.
    pub thread: u32,
    pub start_ns: i64,
    pub dur_ns: i64,
    /// Number of the text of the stack it was entered from, or [`NO_STACK`].
    pub stack: u32,
    /// The task it belongs to, or [`NO_TASK`]. Two tasks share a number only if the first was gone before the second came.
    pub task: u64,
    /// Whether it ended out of order, though of no task.
    pub interleaved: bool,
}

/// What a region that is open knows.
#[derive(Copy, Clone, Debug)]
pub struct RegionToken {
    start_ns: i64,
    depth: u32,
    task: u64,
}

impl RegionToken {
    /// For callers that keep it in pieces.
    pub fn parts(self) -> (i64, u32, u64) {
        (self.start_ns, self.depth, self.task)
    }

    /// Back from its pieces.
    pub fn from_parts(start_ns: i64, depth: u32, task: u64) -> RegionToken {
        RegionToken { start_ns, depth, task }
    }
}

static RECORDINGS: AtomicU32 = AtomicU32::new(0);
/// The log, and spare ones for forked children: one that another thread held when the process forked is held for ever.
static LOGS: [Mutex<RegionLog>; 4] = [const { Mutex::new(RegionLog::new()) }; 4];
static CURRENT_LOG: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static THREAD: Cell<u32> = const { Cell::new(0) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

#[derive(Debug, Default)]
struct RegionLog {
    regions: Vec<Region>,
    /// Regions that were written before those held now.
    taken: usize,
    lost: u64,
    names: Vec<String>,
    numbers: Option<HashMap<String, u32, RandomState>>,
}

impl RegionLog {
    const fn new() -> RegionLog {
        RegionLog { regions: Vec::new(), taken: 0, lost: 0, names: Vec::new(), numbers: None }
    }

    fn mark(&self) -> Mark {
        Mark { written: self.taken + self.regions.len(), lost: self.lost }
    }

    fn since(&self, mark: Mark) -> &[Region] {
        &self.regions[mark.written.saturating_sub(self.taken).min(self.regions.len())..]
    }
}

fn current_log() -> &'static Mutex<RegionLog> {
    &LOGS[CURRENT_LOG.load(Ordering::Relaxed) % LOGS.len()]
}

fn log() -> MutexGuard<'static, RegionLog> {
    lock(current_log())
}

#[inline]
pub fn is_recording() -> bool {
    RECORDINGS.load(Ordering::Relaxed) > 0
}

/// The number of a name; it stays the same for the life of the process.
pub fn intern(name: &str) -> u32 {
    let mut log = log();
    let log = &mut *log;
    let numbers = log.numbers.get_or_insert_with(HashMap::default);
    if let Some(&number) = numbers.get(name) {
        return number;
    }
    let number = log.names.len() as u32;
    log.names.push(name.to_owned());
    numbers.insert(name.to_owned(), number);
    number
}

/// A region begins on this thread, in this task or in [`NO_TASK`].
#[inline]
pub fn begin(task: u64) -> RegionToken {
    // Tasks take turns: how deep one is says nothing about the others.
    let depth = if task == NO_TASK { enter() } else { 0 };
    RegionToken { start_ns: now_ns(), depth, task }
}

/// One more is open on this thread; how many were before.
#[inline]
pub fn enter() -> u32 {
    let depth = DEPTH.get();
    DEPTH.set(depth + 1);
    depth
}

/// One fewer is open on this thread; whether it was the last that was entered, given what [`enter`] said.
#[inline]
pub fn leave(entered: u32) -> bool {
    let depth = DEPTH.get().saturating_sub(1);
    DEPTH.set(depth);
    depth == entered
}

/// A region ends that was entered from `stack`. It is kept if anything records still.
#[inline]
pub fn end(token: RegionToken, stack: u32, name: impl FnOnce() -> u32) {
    let end_ns = now_ns();
    let in_order = token.task != NO_TASK || leave(token.depth);
    if !is_recording() {
        return;
    }
    let region = Region {
        name: name(),
        thread: thread_number(),
        start_ns: token.start_ns,
        dur_ns: (end_ns - token.start_ns).max(0),
        stack,
        task: token.task,
        interleaved: !in_order,
    };
    let mut log = log();
    if log.regions.len() < MAX_REGIONS {
        log.regions.push(region);
    } else {
        log.lost += 1;
    }
}

/// The system's number of this thread.
pub(crate) fn thread_number() -> u32 {
    let known = THREAD.get();
    if known != 0 {
        return known;
    }
    let number = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    THREAD.set(number);
    number
}

/// In a forked child nothing records: the files belong to the parent. Numbers of names are no longer valid.
pub fn forget_after_fork() {
    RECORDINGS.store(0, Ordering::Relaxed);
    THREAD.set(0);
    match current_log().try_lock() {
        Err(TryLockError::WouldBlock) => {
            // Another thread of the parent held it, and it is never released here.
            CURRENT_LOG.fetch_add(1, Ordering::Relaxed);
        }
        Ok(mut log) => *log = RegionLog::new(),
        Err(TryLockError::Poisoned(log)) => *log.into_inner() = RegionLog::new(),
    }
}

/// A place in the log: regions written before it, and regions lost before it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Mark {
    written: usize,
    lost: u64,
}

/// One more records from here on.
pub(crate) fn start() -> Mark {
    let log = log();
    RECORDINGS.fetch_add(1, Ordering::Relaxed);
    log.mark()
}

/// What was written since; then one fewer records.
pub(crate) fn stop(since: Mark) -> (Vec<Region>, u64) {
    let mut log = log();
    let found = log.since(since).to_vec();
    let lost = log.lost.saturating_sub(since.lost);
    let left = RECORDINGS.load(Ordering::Relaxed).saturating_sub(1);
    RECORDINGS.store(left, Ordering::Relaxed);
    if left == 0 {
        log.taken += log.regions.len();
        log.regions = Vec::new();
        log.lost = 0;
    }
    (found, lost)
}

/// What was written from one mark on, and the mark after it; recording goes on.
pub(crate) fn peek(since: Mark) -> (Vec<Region>, Mark) {
    let log = log();
    (log.since(since).to_vec(), log.mark())
}

/// The names behind the numbers.
pub(crate) fn name_of(number: u32) -> String {
    log().names.get(number as usize).cloned().unwrap_or_default()
}
