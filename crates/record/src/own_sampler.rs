//! Samples the Python of this very process, from a thread that Python knows nothing of: reading one's own memory needs no
//! permission, and no look waits for the interpreter's lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::clock::now_ns;
use crate::lock::Lock;
use crate::recording::{Look, Recording};
use crate::regions;
use crate::spy::asyncio::Asyncio;
use crate::spy::lock::Standing;
use crate::spy::program::{OwnNames, Parts};
use crate::spy::{Frame, Seen, Spy, SpyError};

/// The thread that looks.
#[derive(Debug)]
pub struct OwnSampler {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    samples: Arc<AtomicU64>,
}

/// Threads, by Python's numbers of them, that are not the program's.
static HIDDEN: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// This thread is not the program's: no stack of it is kept.
pub fn hide_thread(ident: u64) {
    with_hidden(|hidden| hidden.push(ident));
}

/// Not at any price: a thread of the parent may have held the lock when this process was forked.
fn with_hidden(change: impl FnOnce(&mut Vec<u64>)) {
    for _ in 0..100 {
        match HIDDEN.try_lock() {
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

impl OwnSampler {
    /// Begins to look, so often per second. Fails where this Python is not known.
    pub fn start(recording: Arc<Mutex<Recording>>, hz: f64, names: OwnNames) -> Result<OwnSampler, SpyError> {
        let spy = Spy::attach(std::process::id())?;
        let (stop, stopped) = channel();
        let samples = Arc::new(AtomicU64::new(0));
        let mut looking = Looking {
            spy,
            names,
            recording,
            samples: samples.clone(),
            parts: Parts::default(),
            asyncio: Asyncio::default(),
            threads: HashMap::default(),
            failed: 0,
        };
        let period = Duration::from_secs_f64(1.0 / hz.clamp(0.1, 10_000.0));
        let thread = std::thread::Builder::new().name("stepscope-look".to_owned()).spawn(move || {
            let mut due = Instant::now();
            loop {
                let now = Instant::now();
                // Looks that were missed are not made up for.
                while due <= now {
                    due += period;
                }
                if stopped.recv_timeout(due - now) != Err(RecvTimeoutError::Timeout) || !looking.look() {
                    return;
                }
            }
        });
        let failed =
            |error: std::io::Error| SpyError::new(format!("no thread can be started: {error}"), "end others");
        Ok(OwnSampler { stop: Some(stop), thread: Some(thread.map_err(failed)?), samples })
    }

    /// Ends; no sample is added afterwards.
    pub fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Lets go of a thread that a forked child does not have.
    pub fn forget_after_fork(&mut self) {
        std::mem::forget(self.thread.take());
        std::mem::forget(self.stop.take());
    }

    /// How many stacks were seen.
    pub fn samples(&self) -> u64 {
        self.samples.load(Ordering::Relaxed)
    }
}

struct Looking {
    spy: Spy,
    names: OwnNames,
    recording: Arc<Mutex<Recording>>,
    samples: Arc<AtomicU64>,
    parts: Parts,
    asyncio: Asyncio,
    threads: HashMap<u64, Known, RandomState>,
    /// Looks in a row that saw nothing.
    failed: u32,
}

struct Known {
    number: u32,
    name: String,
    /// Whether the program has told its name. A thread runs for a moment before it has one.
    is_named: bool,
    looks: u32,
    standing: Standing,
}

/// How long, in looks, a thread without a name is asked for it again.
const MAX_UNNAMED: u32 = 256;
/// So many looks in a row may see nothing.
const MAX_FAILED: u32 = 100;

impl Looking {
    /// Looks once; false when there is nothing left to look at.
    fn look(&mut self) -> bool {
        let at_ns = now_ns();
        let seen = match self.spy.look() {
            Ok(seen) => seen,
            // Stacks may change faster than they are read; if they never make sense again, Python ends. What was seen stays.
            Err(_) => {
                self.failed += 1;
                return self.failed < MAX_FAILED;
            }
        };
        self.failed = 0;
        let mut found = Vec::with_capacity(seen.len());
        let hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for thread in seen {
            // A thread that is about to start has no frames, and still its parent's number.
            if hidden.contains(&thread.ident) || thread.frames.is_empty() {
                continue;
            }
            let (stack, line) = self.stack(&thread.frames);
            let (waits, lock) = self.standing(&thread);
            let task = self.asyncio.task(&mut self.spy, &thread.frames).map(|name| regions::intern(&name));
            // A thread that runs nothing of the program is none of its.
            let lock = lock.filter(|_| !stack.is_empty());
            found.push((thread.ident, Look { at_ns, waits, lock, task, stack, line }));
        }
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        for (ident, look) in found {
            if let Some(known) = self.threads.get(&ident) {
                recording.seen(known.number, &known.name, look);
                self.samples.fetch_add(1, Ordering::Relaxed);
            }
        }
        true
    }

    fn standing(&mut self, thread: &Seen) -> (bool, Option<Lock>) {
        // Python's number of a thread that has ended is soon another's.
        let is_another = |known: &Known| thread.native_id.is_some_and(|number| number != known.number);
        if self.threads.get(&thread.ident).is_some_and(is_another) {
            self.threads.remove(&thread.ident);
            self.spy.forget_thread(thread.ident);
        }
        if !self.threads.contains_key(&thread.ident) {
            let number = thread.native_id.unwrap_or((thread.ident >> 6) as u32 & 0x7fff_ffff);
            let name = format!("thread {:x}", thread.ident);
            let known = Known { number, name, is_named: false, looks: 0, standing: Standing::new() };
            self.threads.insert(thread.ident, known);
        }
        let Some(known) = self.threads.get_mut(&thread.ident) else { return (false, None) };
        known.looks = known.looks.saturating_add(1);
        if !known.is_named
            && known.looks.is_power_of_two()
            && known.looks <= MAX_UNNAMED
            && let Some(name) = self.spy.thread_name(thread.ident)
        {
            (known.name, known.is_named) = (name, true);
        }
        known.standing.now(&mut self.spy, thread, Some(known.number))
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
