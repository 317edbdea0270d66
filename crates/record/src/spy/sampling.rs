//! Samples processes again and again, and keeps what it sees: a run of equal stacks of a thread is one entry.

use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::following::ChildTracker;
use super::lock::ThreadActivity;
use super::program::{OwnNames, ProgramCode};
use super::sampled::{FrameLine, Function, LockRun, SampledThread, StackRun};
use super::self_reported_name::{is_named, loader_name};
use super::tasks::is_ending;
use super::{CodeId, Frame, Mode, Process, Spy, SpyError, Stats, ThreadSample, resume_stragglers};
use crate::lock::Lock;

/// Runs that are kept; later ones are counted only.
const MAX_RUNS: usize = 20_000_000;
/// The same of the children of a program that samples itself, whose memory it is: 100 MB.
const MAX_CHILD_RUNS: usize = 2_000_000;
/// Processes that are kept.
const MAX_PROCESSES: usize = 10_000;
/// How long, in samples, a process or a thread without a name is asked for it again.
const MAX_UNNAMED: u32 = 512;
/// Children for which files stay open, and how many of each: descriptors are the program's.
const MAX_WITH_FILES: usize = 16;
const MAX_FILES: usize = 2;
/// A sample that comes so many periods after the one before, and so long after it, does not say what ran in between.
const HELD_UP_PERIODS: i64 = 5;
const HELD_UP_NS: i64 = 50_000_000;
/// After `exec`, every sample tries to find the new Python for this long; that is enough unless the machine is busy.
const EAGER_ATTACH_NS: i64 = 1_000_000_000;
/// From then on, the time between two tries.
const ATTACH_RETRY_NS: i64 = 100_000_000;
/// When to give up.
const MAX_ATTACH_NS: i64 = 30_000_000_000;
/// A process of `multiprocessing` that runs nothing of the program.
const RESOURCE_TRACKER: &str = "multiprocessing.resource_tracker";
/// Another one; the processes that it makes have the same command line.
const FORK_SERVER: &str = "multiprocessing.forkserver";

/// One process that is sampled, as long as it is.
#[derive(Debug, Default)]
struct Target {
    spy: Option<Spy>,
    /// By code: its number among all functions.
    functions: HashMap<CodeId, u32, RandomState>,
    /// The same, where only the program's frames count.
    parts: ProgramCode,
    /// By Python's number of a thread.
    threads: HashMap<u64, ThreadState, RandomState>,
    /// Its threads, by the system's number: their numbers among all.
    met: HashMap<u32, Vec<u32>, RandomState>,
    samples: u32,
    has_tried: bool,
    is_loader: bool,
    given_name: Option<String>,
}

impl Target {
    /// It has ended, or runs another program: what is known of its memory is not true any more.
    fn forget(&mut self) -> Option<Spy> {
        self.functions = HashMap::default();
        self.parts = ProgramCode::default();
        self.threads = HashMap::default();
        self.samples = 0;
        self.has_tried = false;
        self.spy.take()
    }
}

/// A process that runs another program, in which no Python was found yet.
#[derive(Debug)]
struct PendingExec {
    pid: u32,
    since_ns: i64,
    next_ns: i64,
    what: String,
}

#[derive(Copy, Clone, Debug)]
struct ThreadState {
    index: u32,
    native_id: Option<u32>,
    activity: ThreadActivity,
    samples: u32,
    /// The runs that go on, if the last sample saw the thread.
    run: Option<usize>,
    lock_run: Option<usize>,
    last_ns: i64,
}

impl ThreadState {
    /// Whether it is this thread's: Python's number of one that has ended is soon another's. Where the system's is not known, one
    /// that the sample before did not see is taken for a new one.
    fn is_of(&self, thread: &ThreadSample, before_ns: i64) -> bool {
        match (self.native_id, thread.native_id) {
            (Some(known), Some(number)) => known == number,
            _ => self.last_ns == before_ns,
        }
    }
}

/// What was seen of one or more processes.
#[derive(Debug)]
pub struct Sampling {
    /// All functions that were seen.
    pub functions: Vec<Function>,
    /// All threads that were seen.
    pub threads: Vec<SampledThread>,
    /// All processes, the first one first.
    pub processes: Vec<Process>,
    /// Runs of equal stacks, in the order they began.
    pub runs: Vec<StackRun>,
    /// What threads did with the interpreter's lock, in the order it began.
    pub locks: Vec<LockRun>,
    /// When the samples were: the first is when sampling began.
    pub began_ns: i64,
    /// When the last sample was.
    pub ended_ns: i64,
    /// Samples that came more than a period late.
    pub late: u64,
    /// How long the sampler itself was held up; what ran meanwhile is not known.
    pub unseen_ns: i64,
    /// Runs that there was no room for.
    pub dropped: u64,
    /// Processes that could not be sampled, in words.
    pub left_out: Vec<String>,
    following: Option<ChildTracker>,
    pending_exec: Option<PendingExec>,
    mode: Mode,
    /// How the program's frames are named, where only those count.
    names: Option<OwnNames>,
    max_runs: usize,
    /// Processes that there was no room for.
    pub dropped_processes: u64,
    targets: Vec<Target>,
    live: Vec<usize>,
    /// By number and start: which process it is.
    numbers: HashMap<(u32, u64), usize, RandomState>,
    function_numbers: HashMap<Function, u32, RandomState>,
    stacks: Vec<(u32, FrameLine)>,
    stack_numbers: HashMap<(u32, FrameLine), u32, RandomState>,
    ended: Stats,
}

impl Sampling {
    /// Begins with a process that can be read. `follow`: with its children, and theirs.
    pub fn new(spy: Spy, follow: bool, now_ns: i64) -> Sampling {
        let mut sampling = Sampling::empty(now_ns);
        sampling.mode = spy.mode();
        sampling.following = follow.then(|| ChildTracker::new(spy.pid()));
        sampling.add(spy);
        sampling
    }

    /// The same where the Python is a child of the program that was started: all of that program's children are followed.
    pub fn of_program(program: u32, spy: Spy, now_ns: i64) -> Sampling {
        let mut sampling = Sampling::new(spy, false, now_ns);
        sampling.following = Some(ChildTracker::new(program));
        sampling
    }

    /// The children of a process, and theirs; itself is not sampled. Frames are named, and left out, as its own are.
    pub(super) fn of_children(pid: u32, names: OwnNames, now_ns: i64) -> Sampling {
        let mut sampling = Sampling::empty(now_ns);
        sampling.following = Some(ChildTracker::new(pid));
        sampling.names = Some(names);
        sampling.max_runs = MAX_CHILD_RUNS;
        sampling.processes.push(Process::with_pid(pid).unwrap_or_else(|| Process::unknown(pid)));
        sampling.targets.push(Target::default());
        sampling
    }

    fn empty(now_ns: i64) -> Sampling {
        Sampling {
            functions: Vec::new(),
            threads: Vec::new(),
            processes: Vec::new(),
            runs: Vec::new(),
            locks: Vec::new(),
            began_ns: now_ns,
            ended_ns: now_ns,
            late: 0,
            unseen_ns: 0,
            dropped: 0,
            left_out: Vec::new(),
            following: None,
            pending_exec: None,
            mode: Mode::default(),
            names: None,
            max_runs: MAX_RUNS,
            dropped_processes: 0,
            targets: Vec::new(),
            live: Vec::new(),
            numbers: HashMap::default(),
            function_numbers: HashMap::default(),
            stacks: Vec::new(),
            stack_numbers: HashMap::default(),
            ended: Stats::default(),
        }
    }

    fn add(&mut self, mut spy: Spy) {
        spy.set_mode(self.mode);
        let process = Process::with_pid(spy.pid()).unwrap_or_else(|| Process::unknown(spy.pid()));
        if self.names.is_some() {
            if process.command.contains(RESOURCE_TRACKER) {
                return;
            }
            spy.keep_open(if self.live.len() < MAX_WITH_FILES { MAX_FILES } else { 0 });
        }
        let key = (process.pid, process.started);
        let at = match self.numbers.get(&key) {
            Some(&at) => {
                self.processes[at] = process;
                at
            }
            None if self.processes.len() >= MAX_PROCESSES => {
                self.dropped_processes += 1;
                return;
            }
            None => {
                self.processes.push(process);
                self.targets.push(Target::default());
                self.targets.len() - 1
            }
        };
        self.numbers.insert(key, at);
        self.targets[at].spy = Some(spy);
        if !self.live.contains(&at) {
            self.live.push(at);
        }
    }

    /// Samples every process once. False when all of them have ended.
    pub fn sample(&mut self, now_ns: i64, period: Duration) -> bool {
        if let Some(mut following) = self.following.take() {
            let is_known = |pid: u32| self.live.iter().any(|&at| self.processes[at].pid == pid);
            let found = following.attach_new(now_ns, is_known);
            self.following = Some(following);
            for spy in found {
                self.add(spy);
            }
        }
        resume_stragglers();
        self.try_again(now_ns);
        let before = self.ended_ns;
        let period_ns = i64::try_from(period.as_nanos()).unwrap_or(i64::MAX);
        self.late += u64::from(now_ns - before > period_ns.saturating_mul(2));
        self.ended_ns = now_ns;
        // What ran while the sampler itself was held up is not known.
        let is_known = now_ns - before <= period_ns.saturating_mul(HELD_UP_PERIODS).max(HELD_UP_NS);
        let since = if is_known { before } else { now_ns - period_ns };
        self.unseen_ns += since - before;
        for at in self.live.clone() {
            let Some(spy) = &mut self.targets[at].spy else { continue };
            match spy.sample() {
                Ok(seen) => {
                    // One that is new was not there, or not to be seen, in the sample before.
                    let is_new = self.targets[at].samples == 0;
                    let since = if is_new { since.max(now_ns - period_ns) } else { since };
                    self.keep(at, &seen, before, since, now_ns);
                }
                Err(error) => self.lost(at, &error),
            }
        }
        let targets = &self.targets;
        self.live.retain(|&at| targets[at].spy.is_some());
        !self.live.is_empty() || self.pending_exec.is_some()
    }

    /// A process that could not be read has ended, or runs another program now.
    fn lost(&mut self, at: usize, error: &SpyError) {
        let target = &mut self.targets[at];
        let Some(spy) = target.forget() else { return };
        self.ended = sum(self.ended, spy.stats());
        if error.gone {
            return;
        }
        match Spy::attach(spy.pid()) {
            Ok(again) => self.add(again),
            Err(error) if error.gone => {}
            // It is tried again with all that is followed.
            Err(_) if self.following.is_some() && at > 0 => {}
            Err(_) if is_ending(spy.pid()) => {}
            Err(error) => {
                let (since_ns, next_ns) = (self.ended_ns, self.ended_ns);
                self.pending_exec =
                    Some(PendingExec { pid: spy.pid(), since_ns, next_ns, what: error.problem.what });
            }
        }
    }

    /// A process that runs another program now has no Python at first; it is tried again for a while.
    fn try_again(&mut self, now_ns: i64) {
        let Some(mut pending_exec) = self.pending_exec.take_if(|pending_exec| now_ns >= pending_exec.next_ns)
        else {
            return;
        };
        let for_ns = now_ns.saturating_sub(pending_exec.since_ns);
        let is_late = for_ns >= EAGER_ATTACH_NS;
        match Spy::attach(pending_exec.pid) {
            Ok(spy) => {
                self.left_out.retain(|what| *what != pending_exec.what);
                self.add(spy);
            }
            Err(error) if error.gone || for_ns >= MAX_ATTACH_NS || is_ending(pending_exec.pid) => {}
            Err(_) => {
                // Said as long as it is true.
                if is_late && !self.left_out.contains(&pending_exec.what) {
                    self.left_out.push(pending_exec.what.clone());
                }
                pending_exec.next_ns = now_ns + if is_late { ATTACH_RETRY_NS } else { 0 };
                self.pending_exec = Some(pending_exec);
            }
        }
    }

    /// How long nothing new can be seen where there is no process to sample.
    pub(super) fn until_search(&self, now_ns: i64) -> Duration {
        let due_ns = self.following.as_ref().map_or(now_ns, |following| following.due_ns);
        Duration::from_nanos(u64::try_from(due_ns.saturating_sub(now_ns)).unwrap_or(0))
    }

    /// Why some children may not be sampled.
    pub fn denied(&self) -> Option<&str> {
        self.following.as_ref()?.denied.as_deref()
    }

    /// What a process says that it is.
    pub(super) fn given_name(&self, process: usize) -> Option<&str> {
        self.targets.get(process)?.given_name.as_deref()
    }

    /// Whether a process runs nothing of the program.
    pub(super) fn is_helper(&self, process: usize) -> bool {
        let command = self.processes.get(process).map_or("", |process| process.command.as_str());
        self.names.is_some() && command.contains(FORK_SERVER) && self.given_name(process).is_none()
    }

    /// `before_ns` is when the sample before was, `since_ns` since when what is seen now is taken to have been so.
    fn keep(&mut self, at: usize, seen: &[ThreadSample], before_ns: i64, since_ns: i64, now_ns: i64) {
        for thread in seen {
            if thread.frames.is_empty() {
                continue;
            }
            let Some(stack) = self.stack(at, &thread.frames) else { continue };
            let mut state = match self.targets[at].threads.get(&thread.ident) {
                Some(state) if state.is_of(thread, before_ns) => *state,
                _ => self.meet(at, thread),
            };
            let Some(spy) = &mut self.targets[at].spy else { return };
            let (waits, lock) = state.activity.now(spy, thread, thread.native_id);
            if since_ns != before_ns || state.last_ns != before_ns {
                (state.run, state.lock_run) = (None, None);
            }
            self.extend(&mut state, stack, waits, thread.holds_gil, since_ns, now_ns);
            self.extend_lock(&mut state, lock, since_ns, now_ns);
            state.last_ns = now_ns;
            self.name_again(at, thread, &mut state);
            self.targets[at].threads.insert(thread.ident, state);
        }
        let target = &mut self.targets[at];
        let Some(spy) = &mut target.spy else { return };
        let numbers: Vec<u32> = seen.iter().filter_map(|thread| thread.native_id).collect();
        spy.keep(&numbers);
        // A process is named some time after it has begun. Reading the name takes a millisecond: it is tried where it must be
        // there, and when the process was sampled twice as often.
        target.samples = target.samples.saturating_add(1);
        if at == 0 || target.is_loader || target.samples > MAX_UNNAMED {
            return;
        }
        if let Some(name) = loader_name(spy, seen) {
            (target.given_name, target.is_loader) = (Some(name), true);
        } else if target.given_name.is_none() {
            let is_new = !target.has_tried && is_named(spy, seen);
            target.has_tried |= is_new;
            if is_new || target.samples.is_power_of_two() {
                target.given_name = spy.multiprocessing_name();
            }
        }
    }

    /// A thread runs for a moment before it has a name.
    fn name_again(&mut self, at: usize, thread: &ThreadSample, state: &mut ThreadState) {
        state.samples = state.samples.saturating_add(1);
        let known = &mut self.threads[state.index as usize];
        if known.name.is_empty()
            && state.samples.is_power_of_two()
            && state.samples <= MAX_UNNAMED
            && let Some(spy) = &mut self.targets[at].spy
        {
            known.name = spy.name_of(thread);
        }
    }

    fn extend_lock(&mut self, state: &mut ThreadState, lock: Option<Lock>, since_ns: i64, now_ns: i64) {
        let Some(lock) = lock else {
            state.lock_run = None;
            return;
        };
        if let Some(run) = state.lock_run.and_then(|at| self.locks.get_mut(at))
            && run.lock == lock
        {
            run.end_ns = now_ns;
            return;
        }
        // Stacks that there is no room for are counted: this goes with them.
        let fits = self.locks.len() < self.max_runs;
        state.lock_run = fits.then_some(self.locks.len());
        if fits {
            self.locks.push(LockRun { thread: state.index, lock, start_ns: since_ns, end_ns: now_ns });
        }
    }

    fn extend(
        &mut self,
        state: &mut ThreadState,
        stack: u32,
        waits: bool,
        gil: bool,
        since_ns: i64,
        now_ns: i64,
    ) {
        if let Some(run) = state.run.and_then(|at| self.runs.get_mut(at))
            && run.stack == stack
            && run.waits == waits
        {
            run.end_ns = now_ns;
            run.samples += 1;
            run.gil_samples += u32::from(gil);
            return;
        }
        if self.runs.len() >= self.max_runs {
            self.dropped += 1;
            state.run = None;
            return;
        }
        state.run = Some(self.runs.len());
        self.runs.push(StackRun {
            thread: state.index,
            stack,
            waits,
            start_ns: since_ns,
            end_ns: now_ns,
            samples: 1,
            gil_samples: u32::from(gil),
        });
    }

    fn meet(&mut self, at: usize, thread: &ThreadSample) -> ThreadState {
        let target = &mut self.targets[at];
        let is_another = target.threads.contains_key(&thread.ident);
        let name = (target.spy.as_mut())
            .map(|spy| {
                if is_another {
                    spy.forget_thread(thread.ident);
                }
                spy.name_of(thread)
            })
            .unwrap_or_default();
        let number = thread.native_id.unwrap_or((thread.ident >> 6) as u32 & 0x7fff_ffff);
        // The same number and name is the same thread, whose process runs another program now.
        let is_same = |known: &SampledThread| known.number == number && known.name == name;
        // A program may start a thread for every request: only those of this number are looked through.
        let met = target.met.entry(number).or_default();
        let known = met.iter().copied().find(|&known| is_same(&self.threads[known as usize]));
        let index = known.unwrap_or_else(|| {
            self.threads.push(SampledThread { process: at, number, name });
            met.push(self.threads.len() as u32 - 1);
            self.threads.len() as u32 - 1
        });
        ThreadState {
            index,
            native_id: thread.native_id,
            activity: ThreadActivity::new(),
            samples: 0,
            run: None,
            lock_run: None,
            last_ns: i64::MIN,
        }
    }

    /// Takes the runs so far, for callers that keep sums only.
    pub fn take_runs(&mut self) -> Vec<StackRun> {
        for state in self.targets.iter_mut().flat_map(|target| target.threads.values_mut()) {
            state.run = None;
            state.lock_run = None;
        }
        self.locks.clear();
        std::mem::take(&mut self.runs)
    }

    /// The number of a stack, if anything of it counts; frames come with the innermost first.
    fn stack(&mut self, at: usize, frames: &[Frame]) -> Option<u32> {
        let places: Vec<(u32, u32)> = match &self.names {
            None => frames.iter().map(|frame| (self.function(at, frame.code), frame.line)).collect(),
            Some(names) => {
                let target = &mut self.targets[at];
                let (functions, numbers) = (&mut self.functions, &mut self.function_numbers);
                target.parts.of_program(target.spy.as_ref()?, names, frames, |names, code| {
                    let function = Function {
                        name: code.name.clone(),
                        file: names.file(&code.file).to_owned(),
                        first_line: code.first_line,
                    };
                    *numbers.entry(function).or_insert_with_key(|function| {
                        functions.push(function.clone());
                        functions.len() as u32 - 1
                    })
                })
            }
        };
        let mut stack = 0;
        for (function, line) in places.into_iter().rev() {
            let key = (stack, FrameLine { function, line });
            let stacks = &mut self.stacks;
            stack = *self.stack_numbers.entry(key).or_insert_with(|| {
                stacks.push(key);
                stacks.len() as u32
            });
        }
        (stack > 0).then_some(stack)
    }

    fn function(&mut self, at: usize, code: CodeId) -> u32 {
        if let Some(number) = self.targets[at].functions.get(&code) {
            return *number;
        }
        let Some(found) = self.targets[at].spy.as_ref().and_then(|spy| spy.code(code)) else { return 0 };
        let function = Function {
            name: found.qualified_name.clone(),
            file: found.file.clone(),
            first_line: found.first_line,
        };
        let functions = &mut self.functions;
        let number = *self.function_numbers.entry(function.clone()).or_insert_with(|| {
            functions.push(function);
            functions.len() as u32 - 1
        });
        self.targets[at].functions.insert(code, number);
        number
    }

    /// The places of a stack, the innermost first.
    pub fn places(&self, stack: u32) -> impl Iterator<Item = FrameLine> {
        let pop = |stack: u32| self.stacks.get((stack as usize).checked_sub(1)?).copied();
        std::iter::successors(pop(stack), move |&(below, _)| pop(below)).map(|(_, place)| place)
    }

    /// The number of stacks there are, for tables by stack.
    pub fn stack_count(&self) -> usize {
        self.stacks.len() + 1
    }

    /// How reading went, over all processes.
    pub fn stats(&self) -> Stats {
        let all = self.targets.iter().filter_map(|target| target.spy.as_ref());
        all.fold(self.ended, |stats, spy| sum(stats, spy.stats()))
    }

    pub fn running(&self) -> impl Iterator<Item = u32> {
        self.targets.iter().filter_map(|target| target.spy.as_ref()).map(Spy::pid)
    }
}

fn sum(a: Stats, b: Stats) -> Stats {
    Stats {
        samples: a.samples + b.samples,
        stacks: a.stacks + b.stacks,
        reads: a.reads + b.reads,
        again: a.again + b.again,
        torn: a.torn + b.torn,
        stops: a.stops + b.stops,
        stopped_ns: a.stopped_ns + b.stopped_ns,
    }
}
