//! Samples the Python of this very process, from a thread that Python knows nothing of: reading one's own memory needs no
//! permission, and no sample waits for the interpreter's lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_ground::lock;

use crate::clock::now_ns;
use crate::lock::Lock;
use crate::recording::Recording;
use crate::regions;
use crate::samples::{Sample, Waits};
use crate::spy::asyncio::Asyncio;
use crate::spy::lock::ThreadActivity;
use crate::spy::program::{OwnNames, ProgramCode};
use crate::spy::{Frame, Spy, SpyError, ThreadSample};
use crate::stoppable_thread::StoppableThread;

/// Threads, by Python's numbers of them, that are not the program's.
static HIDDEN_THREADS: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// This thread is not the program's: no stack of it is kept.
pub fn hide_thread(ident: u64) {
    with_hidden(|hidden| hidden.push(ident));
}

/// Gives up after a while: a thread of the parent may have held the lock when this process was forked.
fn with_hidden(change: impl FnOnce(&mut Vec<u64>)) {
    for _ in 0..100 {
        match HIDDEN_THREADS.try_lock() {
            Ok(mut hidden) => return change(&mut hidden),
            Err(TryLockError::Poisoned(poisoned)) => return change(&mut poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Its number may be another thread's now.
pub fn show_thread(ident: u64) {
    with_hidden(|hidden| hidden.retain(|one| *one != ident));
}

/// Begins to sample, so often per second, and to count the stacks that are seen. Fails where this Python is not known.
pub fn sample_own_stacks(
    recording: Arc<Mutex<Recording>>,
    hz: f64,
    names: OwnNames,
    samples: Arc<AtomicU64>,
) -> Result<StoppableThread, SpyError> {
    let spy = Spy::attach(std::process::id())?;
    let mut sampler = Sampler {
        spy,
        names,
        recording,
        samples,
        parts: ProgramCode::default(),
        asyncio: Asyncio::default(),
        threads: HashMap::default(),
        failed: 0,
    };
    let period = Duration::from_secs_f64(1.0 / hz.clamp(0.1, 10_000.0));
    let thread = StoppableThread::start("stepscope-self", move |stopped| {
        let mut due = Instant::now();
        loop {
            let now = Instant::now();
            // Samples that were missed are not made up for.
            while due <= now {
                due += period;
            }
            if stopped.recv_timeout(due - now) != Err(RecvTimeoutError::Timeout) || !sampler.sample() {
                return;
            }
        }
    });
    thread.map_err(SpyError::no_thread)
}

struct Sampler {
    spy: Spy,
    names: OwnNames,
    recording: Arc<Mutex<Recording>>,
    samples: Arc<AtomicU64>,
    parts: ProgramCode,
    asyncio: Asyncio,
    threads: HashMap<u64, KnownThread, RandomState>,
    /// Samples in a row that failed.
    failed: u32,
}

struct KnownThread {
    number: u32,
    name: String,
    /// Whether the program has named it. A thread runs for a moment before it has one.
    is_named: bool,
    samples: u32,
    activity: ThreadActivity,
}

/// For how many samples a thread without a name is asked for it again.
const MAX_UNNAMED: u32 = 256;
/// So many samples in a row may fail.
const MAX_FAILED: u32 = 100;

impl Sampler {
    /// Takes one sample of every thread; false when there is nothing left to sample.
    fn sample(&mut self) -> bool {
        let at_ns = now_ns();
        let seen = match self.spy.sample() {
            Ok(seen) => seen,
            // Stacks may change faster than they are read; if they never make sense again, Python ends. What was seen stays.
            Err(_) => {
                self.failed += 1;
                return self.failed < MAX_FAILED;
            }
        };
        self.failed = 0;
        let mut found = Vec::with_capacity(seen.len());
        let hidden = lock(&HIDDEN_THREADS).clone();
        for thread in seen {
            // A thread that is about to start has no frames, and still its parent's number.
            if hidden.contains(&thread.ident) || thread.frames.is_empty() {
                continue;
            }
            let (stack, line) = self.stack(&thread.frames);
            let (waits, lock) = self.activity(&thread);
            let task = self.asyncio.task(&mut self.spy, &thread.frames).map(|name| regions::intern(&name));
            // A thread that runs nothing of the program is not the program's.
            let lock = lock.filter(|_| !stack.is_empty());
            let Some(known) = self.threads.get(&thread.ident) else { continue };
            let waits = Waits::Known(waits);
            found.push((thread.ident, Sample { thread: known.number, at_ns, waits, lock, task, stack, line }));
        }
        let mut recording = lock(&self.recording);
        for (ident, sample) in found {
            recording.add_sample(&self.threads[&ident].name, sample);
            self.samples.fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    fn activity(&mut self, thread: &ThreadSample) -> (bool, Option<Lock>) {
        // Python's number of a thread that has ended is soon another's.
        let is_another = |known: &KnownThread| thread.native_id.is_some_and(|number| number != known.number);
        if self.threads.get(&thread.ident).is_some_and(is_another) {
            self.threads.remove(&thread.ident);
            self.spy.forget_thread(thread.ident);
        }
        if !self.threads.contains_key(&thread.ident) {
            let number = thread.native_id.unwrap_or((thread.ident >> 6) as u32 & 0x7fff_ffff);
            let name = format!("thread {:x}", thread.ident);
            let known =
                KnownThread { number, name, is_named: false, samples: 0, activity: ThreadActivity::new() };
            self.threads.insert(thread.ident, known);
        }
        let Some(known) = self.threads.get_mut(&thread.ident) else { return (false, None) };
        known.samples = known.samples.saturating_add(1);
        if !known.is_named
            && known.samples.is_power_of_two()
            && known.samples <= MAX_UNNAMED
            && let Some(name) = self.spy.thread_name(thread.ident)
        {
            (known.name, known.is_named) = (name, true);
        }
        known.activity.now(&mut self.spy, thread, Some(known.number))
    }

    /// The program's frames, outermost first, and the line that the innermost is at.
    fn stack(&mut self, frames: &[Frame]) -> (Vec<u32>, u32) {
        let found = self.parts.of_program(&self.spy, &self.names, frames, |names, code| {
            regions::intern(&format!("{}({}): {}", names.file(&code.file), code.first_line, code.name))
        });
        let line = found.first().map_or(0, |(_, line)| *line);
        (found.into_iter().rev().map(|(name, _)| name).collect(), line)
    }
}
