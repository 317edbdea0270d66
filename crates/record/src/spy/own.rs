//! Samples the Python of this very process, from a thread that Python knows nothing of: reading one's own memory needs no
//! permission, and no look waits for the interpreter's lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{Code, CodeId, Doing, Frame, Seen, Spy, SpyError};
use crate::clock::now_ns;
use crate::recording::Recording;
use crate::regions;

/// Frames kept of one stack, counted from its outermost: a runaway recursion must not fill the memory.
const MAX_FRAMES: usize = 500;
/// How long a thread that waited and did not move is believed to wait still.
const BELIEVED_NS: i64 = 50_000_000;

/// A function, by what its code object says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePlace {
    /// Its file.
    pub file: String,
    /// Its name.
    pub name: String,
    /// The line it starts at.
    pub first_line: u32,
}

impl CodePlace {
    fn is(&self, code: &Code) -> bool {
        self.file == code.file && self.name == code.name && self.first_line == code.first_line
    }
}

/// How frames are named, and which are the program's.
#[derive(Clone, Debug, Default)]
pub struct OwnNames {
    /// Folders below which files are named, the longest first.
    pub roots: Vec<String>,
    /// Time in files below here is their caller's: the profiler's own.
    pub own_folder: String,
    /// A file whose frames stand between a function and its caller, and count for neither.
    pub between: String,
    /// A stack begins after this function.
    pub root: Option<CodePlace>,
    /// A stack that comes from this function and not through the root is none of the program's.
    pub launcher: Option<CodePlace>,
}

/// What a code object is for a stack.
#[derive(Copy, Clone, Debug)]
enum Part {
    Root,
    Launcher,
    Own,
    Between,
    Frame(u32),
}

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
            parts: HashMap::default(),
            threads: HashMap::default(),
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
    parts: HashMap<CodeId, Part, RandomState>,
    threads: HashMap<u64, Known, RandomState>,
}

struct Known {
    number: u32,
    name: String,
    position: u64,
    waits: bool,
    asked_ns: i64,
}

impl Looking {
    /// Looks once; false when there is nothing left to look at.
    fn look(&mut self) -> bool {
        let at_ns = now_ns();
        let Ok(seen) = self.spy.look() else {
            // Python ends; what was seen stays.
            return false;
        };
        let mut found = Vec::with_capacity(seen.len());
        let hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for thread in seen {
            if hidden.contains(&thread.ident) {
                continue;
            }
            let (stack, line) = self.stack(&thread.frames);
            let waits = self.waits(&thread, at_ns);
            found.push((thread.ident, waits, stack, line));
        }
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        for (ident, waits, stack, line) in found {
            if let Some(known) = self.threads.get(&ident) {
                recording.seen(known.number, &known.name, at_ns, waits, stack, line);
                self.samples.fetch_add(1, Ordering::Relaxed);
            }
        }
        true
    }

    fn waits(&mut self, thread: &Seen, at_ns: i64) -> bool {
        if !self.threads.contains_key(&thread.ident) {
            let number = thread.native_id.unwrap_or((thread.ident >> 6) as u32 & 0x7fff_ffff);
            let name =
                self.spy.thread_name(thread.ident).unwrap_or_else(|| format!("thread {:x}", thread.ident));
            let known = Known { number, name, position: 0, waits: false, asked_ns: i64::MIN };
            self.threads.insert(thread.ident, known);
        }
        let Some(known) = self.threads.get_mut(&thread.ident) else { return false };
        let still = known.position == thread.position && known.waits && !thread.holds_gil;
        known.position = thread.position;
        if !still || at_ns.saturating_sub(known.asked_ns) >= BELIEVED_NS {
            known.waits = self.spy.doing(known.number) == Some(Doing::Waiting);
            known.asked_ns = at_ns;
        }
        known.waits
    }

    /// The program's frames, outermost first, and the line that the innermost is at.
    fn stack(&mut self, frames: &[Frame]) -> (Vec<u32>, u32) {
        let (mut stack, mut line) = (Vec::new(), 0);
        for frame in frames {
            match self.part(frame.code) {
                Part::Root => break,
                Part::Launcher => return (Vec::new(), 0),
                Part::Own => stack.clear(),
                Part::Between => {}
                Part::Frame(name) => {
                    if stack.is_empty() {
                        line = frame.line;
                    }
                    stack.push(name);
                }
            }
        }
        stack.reverse();
        if stack.len() > MAX_FRAMES {
            stack.truncate(MAX_FRAMES);
            line = 0;
        }
        (stack, line)
    }

    fn part(&mut self, id: CodeId) -> Part {
        if let Some(part) = self.parts.get(&id) {
            return *part;
        }
        let Some(code) = self.spy.code(id) else { return Part::Between };
        let names = &self.names;
        let part = if names.root.as_ref().is_some_and(|root| root.is(code)) {
            Part::Root
        } else if names.launcher.as_ref().is_some_and(|launcher| launcher.is(code)) {
            Part::Launcher
        } else if !names.own_folder.is_empty() && code.file.starts_with(&names.own_folder) {
            Part::Own
        } else if code.file == names.between {
            Part::Between
        } else {
            let below = names.roots.iter().find_map(|root| code.file.strip_prefix(root.as_str()));
            let file = below.unwrap_or(&code.file);
            Part::Frame(regions::intern(&format!("{file}({}): {}", code.first_line, code.name)))
        };
        self.parts.insert(id, part);
        part
    }
}
