//! Samples the threads of another Python process, or of this one, without stopping it and without its interpreter's lock.
//!
//! A process's memory is read as it is (`memory.rs`), Python is found in it (`find.rs`, `elf.rs`), its structures are known from
//! tables (`layouts.rs`, one entry per version), and its threads' stacks are walked (`walk.rs`). Nothing that is read is
//! trusted: lengths, lists and depths are bounded, and a stack that changed while it was read is read again.

pub(crate) mod asyncio;
mod call_sites;
mod children;
mod codes;
mod command_line;
mod elf;
mod error;
mod find;
mod following;
mod layout;
mod layouts;
mod line_table;
pub(crate) mod lock;
mod memory;
mod naming;
mod native;
mod numbers;
mod objects;
mod permission;
mod processes;
pub(crate) mod program;
mod sampled;
mod sampled_trace;
mod sampling;
mod self_reported_name;
mod sockets;
mod stop;
mod stopped;
mod system;
mod tasks;
mod walk;

use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use call_sites::CallSites;
use codes::Codes;
use error::Unreadable;
use find::{Files, Python};
use layout::Locals;
use memory::{Memory, Pages};
use stopped::StopSampler;
use tasks::{Tasks, ThreadNumbers};
use walk::Walk;

pub use crate::lock::Lock;
pub use children::sample_children;
pub use codes::{Code, CodeId};
pub use error::SpyError;
pub use processes::{Process, children, python_processes};
pub use program::{CodePlace, OwnNames};
pub use sampled::{FrameLine, Function, LockRun, SampledThread, StackRun};
pub use sampled_trace::SampleFilter;
pub use sampling::Sampling;
pub use stop::resume_stragglers;
pub use stopped::{Mode, OtherThread};
pub use system::{has_ended, ignore_stops, interrupted, notice_interrupts, requested_end};
pub use tasks::TaskState;
pub use walk::{Frame, MAX_FRAMES, Stats, ThreadSample};

/// How often a sample of threads that come and go is tried.
const MAX_ATTEMPTS: usize = 5;
/// For how long memory need not be read while all threads sleep.
const MAX_UNREAD_TIME: Duration = Duration::from_millis(100);
const MAX_LOCALS: usize = 512;
const MAX_NAME: usize = 256;
/// What Python calls the thread that a program begins with.
const MAIN_THREAD: &str = "MainThread";
/// Where glibc keeps a thread's number in its own structure on 64-bit machines; looked for if it is not there.
const NATIVE_ID_OFFSET: usize = 720;
const THREAD_STRUCTURE_BYTES: usize = 1024;
/// No interpreter's lock is longer: four words, two conditions of 48 bytes, two mutexes of 40.
const GIL_BYTES: u64 = 224;

/// A process with a Python in it.
pub struct Spy {
    pid: u32,
    python: Python,
    pages: Pages,
    codes: Codes,
    sites: CallSites,
    tasks: Tasks,
    /// What the last sample saw, and when memory was last read for it.
    last: Vec<ThreadSample>,
    read_at: Option<Instant>,
    tops: Vec<u64>,
    /// Where the locks of its interpreters are.
    gils: Vec<u64>,
    stats: Stats,
    names: HashMap<u64, String, RandomState>,
    numbers: HashMap<u64, Option<u32>, RandomState>,
    contained: ThreadNumbers,
    mode: Mode,
    stopping: Option<StopSampler>,
}

impl std::fmt::Debug for Spy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Spy({}, Python {})", self.pid, self.python.version)
    }
}

impl Spy {
    /// Finds the Python of a process, by its number.
    pub fn attach(pid: u32) -> Result<Spy, SpyError> {
        Spy::attach_knowing(pid, &mut Files::default())
    }

    /// The same, with files that were read before.
    fn attach_knowing(pid: u32, files: &mut Files) -> Result<Spy, SpyError> {
        if !cfg!(target_os = "linux") {
            return Err(SpyError::new(
                "other processes can be read on Linux only",
                "`stepscope run` works on every system",
            ));
        }
        let mut memory = Memory::new(pid);
        let python = find::find(pid, &mut memory, files)?;
        let mut spy = Spy {
            pid,
            python,
            pages: Pages::new(memory),
            codes: Codes::default(),
            sites: CallSites::default(),
            tasks: Tasks::new(pid),
            last: Vec::new(),
            read_at: None,
            tops: Vec::new(),
            gils: Vec::new(),
            stats: Stats::default(),
            names: HashMap::default(),
            numbers: HashMap::default(),
            contained: ThreadNumbers::new(pid),
            mode: Mode::default(),
            stopping: None,
        };
        // A first sample, so that what cannot be read is said now. A process that just starts has no threads for a moment.
        spy.sample()?;
        spy.stats = Stats::default();
        Ok(spy)
    }

    /// The number of the process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its Python: `3.11.7`, or `3.9` where only that is known.
    pub fn version(&self) -> &str {
        &self.python.version
    }

    /// All its threads as they are now, in Python's order: the newest first.
    pub fn sample(&mut self) -> Result<Vec<ThreadSample>, SpyError> {
        if self.mode == Mode::Running && self.nothing_moved() {
            self.stats.samples += 1;
            return Ok(self.last.clone());
        }
        let mut last = Unreadable::Nonsense;
        for _ in 0..MAX_ATTEMPTS {
            let attempt = match self.mode {
                Mode::Running => self.try_sample(),
                Mode::Stopped | Mode::Native => self.sample_stopped()?,
            };
            match attempt {
                Ok(Some(mut seen)) => {
                    self.stats.samples += 1;
                    for thread in &mut seen {
                        if thread.native_id.is_none() {
                            thread.native_id = self.number(thread.ident);
                        }
                    }
                    self.last.clone_from(&seen);
                    return Ok(seen);
                }
                // A code object is another one now.
                Ok(None) => {}
                Err(error @ (Unreadable::Gone | Unreadable::Denied)) => {
                    return Err(permission::unreadable(self.pid, error));
                }
                Err(error) => last = error,
            }
        }
        Err(permission::unreadable(self.pid, last))
    }

    /// Whether all its threads have slept since the last sample: then its memory is what it was. A thread that Python does not
    /// know yet may call into it at any time, so memory is read now and then all the same.
    fn nothing_moved(&mut self) -> bool {
        let is_recent = self.read_at.is_some_and(|at| at.elapsed() < MAX_UNREAD_TIME);
        let mut slept = !self.last.is_empty();
        for thread in &self.last {
            slept &= thread.native_id.is_some_and(|number| self.tasks.slept(number));
        }
        slept && is_recent
    }

    fn try_sample(&mut self) -> Result<Option<Vec<ThreadSample>>, Unreadable> {
        let before = self.pages.memory.calls;
        let now = Instant::now();
        self.read_at = Some(now);
        self.pages.begin(&self.tops)?;
        let tops = std::mem::take(&mut self.tops);
        let mut walk = Walk {
            python: &self.python,
            pages: &mut self.pages,
            codes: &mut self.codes,
            sites: &mut self.sites,
            stats: &mut self.stats,
            now,
            native: self.mode == Mode::Native,
            tops: Vec::with_capacity(tops.len()),
            gils: Vec::new(),
            doubts: Vec::new(),
            trail: Vec::new(),
        };
        let seen = walk.threads();
        (self.tops, self.gils) = (walk.tops, walk.gils);
        let changed = self.codes.recheck(&mut self.pages.memory, &self.python.layout, now);
        self.stats.reads += self.pages.memory.calls - before;
        let mut seen = seen?;
        for thread in &mut seen {
            thread.native_id = thread.native_id.and_then(|number| self.contained.ours(number));
        }
        Ok((!changed).then_some(seen))
    }

    /// A function that was seen.
    pub fn code(&self, id: CodeId) -> Option<&Code> {
        self.codes.get(id)
    }

    /// All functions that were seen, by their numbers.
    pub fn codes(&self) -> &[Code] {
        self.codes.all()
    }

    /// How reading went since the start.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Whether a thread runs, by the system's number of it.
    pub fn doing(&mut self, thread: u32) -> Option<TaskState> {
        if let Some(stopping) = self.stopping.as_ref().filter(|_| self.mode != Mode::Running)
            && let Some(doing) = stopping.doing.get(&thread)
        {
            return Some(*doing);
        }
        if self.mode == Mode::Running && self.tasks.is_asleep(thread) {
            return Some(TaskState::Waiting);
        }
        self.tasks.doing(thread)
    }

    /// Whether a thread slept from the sample before the last one to the last.
    fn slept(&self, thread: u32) -> bool {
        self.mode == Mode::Running && self.tasks.is_asleep(thread)
    }

    /// From now on no more files of this process than these stay open here.
    fn keep_open(&mut self, most: usize) {
        self.tasks.keep_open(most);
    }

    /// Whether a thread waits for the interpreter's lock at this address.
    fn awaits(&self, thread: u32, lock_at: u64) -> bool {
        tasks::awaits(self.pid, thread, lock_at)
    }

    /// Whether what was read is this process's own. A child that was forked to start another program still has its parent's
    /// memory, and with it the parent's threads, until it does.
    fn is_itself(&mut self) -> bool {
        let threads = tasks::threads(self.pid);
        let is_of = |seen: &ThreadSample| seen.native_id.is_some_and(|number| threads.contains(&number));
        self.sample().is_ok_and(|seen| seen.iter().any(is_of))
    }

    /// Says which threads there are, so that nothing is kept for others.
    pub fn keep(&mut self, threads: &[u32]) {
        self.tasks.keep(threads);
    }

    /// The system call that a thread waits in, in words.
    pub fn waits_in(&self, thread: u32) -> Option<String> {
        tasks::waits_in(self.pid, thread)
    }

    /// Whether a thread waits for the interpreter's lock: then what it waits for lies in that lock.
    pub fn waits_for_gil(&self, thread: u32) -> bool {
        let at = tasks::waits_at(self.pid, thread);
        at.is_some_and(|at| self.gils.iter().any(|gil| (*gil..gil.saturating_add(GIL_BYTES)).contains(&at)))
    }

    /// The function of the kernel that a thread waits in.
    pub fn kernel_function(&self, thread: u32) -> Option<String> {
        tasks::kernel_function(self.pid, thread)
    }

    /// What the program calls a thread, where it was started by Python's `threading`.
    pub fn thread_name(&mut self, ident: u64) -> Option<String> {
        if let Some(name) = self.names.get(&ident) {
            return Some(name.clone());
        }
        // All at once: threads that are new come in groups. Names of those that are gone may be another's now.
        self.names = self.thread_names().unwrap_or_default();
        self.names.get(&ident).cloned()
    }

    /// A thread has ended, and another has its number: what is known of the first is not true any more.
    pub fn forget_thread(&mut self, ident: u64) {
        self.names.remove(&ident);
        self.numbers.remove(&ident);
    }

    /// The same with the system's number at hand: without `threading` only the first thread has a name.
    pub fn name_of(&mut self, thread: &ThreadSample) -> String {
        let first = thread.native_id == Some(self.pid);
        let name = self.thread_name(thread.ident);
        name.unwrap_or_else(|| if first { MAIN_THREAD.to_owned() } else { String::new() })
    }

    /// What a module calls by this name, if it was imported.
    fn global(&mut self, module: &str, name: &str) -> Option<u64> {
        let layout = &self.python.layout;
        let memory = &mut self.pages.memory;
        let interp = memory.word(self.python.runtime + layout.runtime_interpreters_head as u64).ok()?;
        let modules = memory.word(interp.wrapping_add(layout.interp_modules as u64)).ok()?;
        let module = objects::item(memory, layout, modules, module).ok()??;
        // A module's dictionary is the first thing behind the head of every object.
        let dictionary = memory.word(module.wrapping_add(layout.var_size as u64)).ok()?;
        objects::item(memory, layout, dictionary, name).ok()?
    }

    fn thread_names(&mut self) -> Result<HashMap<u64, String, RandomState>, Unreadable> {
        let mut names = HashMap::default();
        let Some(active) = self.global("threading", "_active") else { return Ok(names) };
        let layout = &self.python.layout;
        let memory = &mut self.pages.memory;
        for (ident, thread) in objects::dict(memory, layout, active, usize::MAX)? {
            let Ok(Ok(ident)) = objects::whole(memory, layout, ident) else { continue };
            let Ok(Some(name)) = objects::attribute(memory, layout, thread, "_name") else { continue };
            if let Ok(name) = objects::text(memory, layout, name, MAX_NAME) {
                names.insert(ident as u64, name);
            }
        }
        Ok(names)
    }

    /// What `multiprocessing` calls this process, where it made it.
    fn multiprocessing_name(&mut self) -> Option<String> {
        let process = self.global("multiprocessing.process", "_current_process")?;
        let layout = &self.python.layout;
        let memory = &mut self.pages.memory;
        let name = objects::attribute(memory, layout, process, "_name").ok()??;
        let name = objects::text(memory, layout, name, MAX_NAME).ok()?;
        (name != "MainProcess").then_some(name)
    }

    /// The system's number of a thread, from the C library's own structure: Python has it from 3.11 on only.
    fn number(&mut self, ident: u64) -> Option<u32> {
        if let Some(number) = self.numbers.get(&ident) {
            return *number;
        }
        let threads = tasks::threads(self.pid);
        let bytes = self.pages.memory.bytes(ident, THREAD_STRUCTURE_BYTES).ok();
        let found = bytes.and_then(|bytes| {
            let mut at = |offset: usize| {
                let ours = self.contained.ours(numbers::int(&bytes, offset))?;
                Some(ours).filter(|number| threads.contains(number))
            };
            at(NATIVE_ID_OFFSET).or_else(|| (0..THREAD_STRUCTURE_BYTES - 4).step_by(4).find_map(at))
        });
        self.numbers.insert(ident, found);
        found
    }

    /// The local variables of a frame that was just seen: names and values in words. Meanwhile they may have changed.
    pub fn locals(&mut self, frame: &Frame) -> Vec<(String, String)> {
        if frame.at == 0 {
            return Vec::new();
        }
        self.try_locals(frame).unwrap_or_default()
    }

    fn try_locals(&mut self, frame: &Frame) -> Result<Vec<(String, String)>, Unreadable> {
        let layout = &self.python.layout;
        let memory = &mut self.pages.memory;
        let code = memory.word(frame.at.wrapping_add(layout.frame_code as u64))?;
        let tuples = match layout.locals {
            Locals::Tuples { locals, cells, frees } => vec![locals, cells, frees],
            Locals::Together { names } => vec![names],
        };
        let mut found = Vec::new();
        let mut at = frame.at.wrapping_add(layout.frame_locals as u64);
        for tuple in tuples {
            let tuple = memory.word(code.wrapping_add(tuple as u64))?;
            for name in objects::tuple(memory, layout, tuple, MAX_LOCALS)?.0 {
                let value = memory.word(at)?;
                at = at.wrapping_add(8);
                // A variable without a value yet; what CPython keeps for itself begins with a dot.
                let name = objects::text(memory, layout, name, MAX_NAME)?;
                if value != 0 {
                    found.push((name, objects::shown(memory, layout, value)));
                }
            }
        }
        Ok(found)
    }
}
