//! Looks at processes again and again, and keeps what it sees: a run of equal stacks of a thread is one entry.

use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{CodeId, Doing, Frame, Mode, Process, Seen, Spy, SpyError, Stats, children, let_late_ones_go};

/// How long a thread that waited and did not move is believed to wait still: asking the system about a hundred idle threads at
/// every look would cost more than reading their stacks.
const BELIEVED_NS: i64 = 50_000_000;
/// How often new child processes are looked for.
const CHILDREN_NS: i64 = 300_000_000;
/// How often a child that has no Python (yet) is tried.
const MAX_TRIES: u32 = 30;
/// Runs that are kept; later ones are counted only.
const MAX_RUNS: usize = 20_000_000;

/// A function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Its name, with its class where Python says that.
    pub name: String,
    /// Its file.
    pub file: String,
    /// The line it starts at.
    pub first_line: u32,
}

/// A function and the line it was at.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Its number in [`Sampling::functions`].
    pub function: u32,
    /// The line.
    pub line: u32,
}

/// A thread that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledThread {
    /// Which process it is of, by its number in [`Sampling::processes`].
    pub process: usize,
    /// The system's number of it; Python's, cut, where that is not known.
    pub number: u32,
    /// What the program calls it.
    pub name: String,
}

/// The same stack, look after look.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct StackRun {
    /// Which thread, by its number in [`Sampling::threads`].
    pub thread: u32,
    /// Which stack; see [`Sampling::places`].
    pub stack: u32,
    /// Whether the thread waited.
    pub waits: bool,
    /// Since when: the look before the first.
    pub start_ns: i64,
    /// When it was last seen.
    pub end_ns: i64,
    /// In how many looks.
    pub looks: u32,
    /// In how many of them the thread held the interpreter's lock.
    pub gil_looks: u32,
}

/// One process that is looked at.
#[derive(Debug)]
struct Target {
    spy: Option<Spy>,
    /// By code: its number among all functions.
    functions: HashMap<CodeId, u32, RandomState>,
    /// By Python's number of a thread.
    threads: HashMap<u64, ThreadState, RandomState>,
}

#[derive(Copy, Clone, Debug)]
struct ThreadState {
    index: u32,
    position: u64,
    doing: Option<Doing>,
    asked_ns: i64,
    /// The run that goes on, if the last look saw the thread.
    run: Option<usize>,
    last_ns: i64,
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
    /// When the looks were: the first is when sampling began.
    pub began_ns: i64,
    /// When the last look was.
    pub ended_ns: i64,
    /// Looks that came more than a period late.
    pub late: u64,
    /// Runs that there was no room for.
    pub dropped: u64,
    /// Processes that could not be looked at, in words.
    pub left_out: Vec<String>,
    follow: bool,
    mode: Mode,
    targets: Vec<Target>,
    function_numbers: HashMap<Function, u32, RandomState>,
    stacks: Vec<(u32, Place)>,
    stack_numbers: HashMap<(u32, Place), u32, RandomState>,
    children_ns: i64,
    tries: HashMap<u32, u32, RandomState>,
    ended: Stats,
}

impl Sampling {
    /// Begins with a process that can be read. `follow`: with its children, and theirs.
    pub fn new(spy: Spy, follow: bool, now_ns: i64) -> Sampling {
        let mut sampling = Sampling {
            functions: Vec::new(),
            threads: Vec::new(),
            processes: Vec::new(),
            runs: Vec::new(),
            began_ns: now_ns,
            ended_ns: now_ns,
            late: 0,
            dropped: 0,
            left_out: Vec::new(),
            follow,
            mode: spy.mode(),
            targets: Vec::new(),
            function_numbers: HashMap::default(),
            stacks: Vec::new(),
            stack_numbers: HashMap::default(),
            children_ns: i64::MIN,
            tries: HashMap::default(),
            ended: Stats::default(),
        };
        sampling.add(spy);
        sampling
    }

    fn add(&mut self, spy: Spy) {
        let pid = spy.pid();
        self.processes.push(Process::of(pid).unwrap_or_else(|| Process::unknown(pid)));
        self.targets.push(Target {
            spy: Some(spy),
            functions: HashMap::default(),
            threads: HashMap::default(),
        });
    }

    /// Looks at every process once. False when all of them have ended.
    pub fn look(&mut self, now_ns: i64, period: Duration) -> bool {
        if self.follow && now_ns.saturating_sub(self.children_ns) >= CHILDREN_NS {
            self.children_ns = now_ns;
            self.find_children();
        }
        let_late_ones_go();
        let before = self.ended_ns;
        let period_ns = i64::try_from(period.as_nanos()).unwrap_or(i64::MAX);
        self.late += u64::from(now_ns - before > period_ns.saturating_mul(2));
        self.ended_ns = now_ns;
        for at in 0..self.targets.len() {
            let Some(spy) = &mut self.targets[at].spy else { continue };
            match spy.look() {
                Ok(seen) => self.keep(at, &seen, before, now_ns),
                Err(error) => self.lost(at, &error),
            }
        }
        self.targets.iter().any(|target| target.spy.is_some())
    }

    /// A process that could not be read has ended, or runs another program now.
    fn lost(&mut self, at: usize, error: &SpyError) {
        let target = &mut self.targets[at];
        let Some(spy) = target.spy.take() else { return };
        self.ended = sum(self.ended, spy.stats());
        if error.gone {
            return;
        }
        match Spy::attach(spy.pid()) {
            Ok(mut again) => {
                again.set_mode(self.mode);
                target.spy = Some(again);
                target.functions.clear();
                target.threads.clear();
            }
            Err(error) if error.gone => {}
            // A process that ends takes its Python down first.
            Err(_) if Process::of(spy.pid()).is_none_or(|process| process.command.is_empty()) => {}
            Err(error) => self.left_out.push(error.what),
        }
    }

    fn find_children(&mut self) {
        let Some(first) = self.processes.first() else { return };
        for pid in children(first.pid) {
            if pid == std::process::id() || self.processes.iter().any(|process| process.pid == pid) {
                continue;
            }
            let tries = self.tries.entry(pid).or_default();
            *tries += 1;
            if *tries <= MAX_TRIES
                && let Ok(mut spy) = Spy::attach(pid)
            {
                spy.set_mode(self.mode);
                self.add(spy);
            }
        }
    }

    fn keep(&mut self, at: usize, seen: &[Seen], before_ns: i64, now_ns: i64) {
        for thread in seen {
            if thread.frames.is_empty() {
                continue;
            }
            let stack = self.stack(at, &thread.frames);
            let mut state = match self.targets[at].threads.get(&thread.ident) {
                Some(state) => *state,
                None => self.meet(at, thread),
            };
            let waits = self.waits(at, thread, &mut state, now_ns);
            self.extend(&mut state, stack, waits, thread.holds_gil, before_ns, now_ns);
            self.targets[at].threads.insert(thread.ident, state);
        }
        let numbers: Vec<u32> = seen.iter().filter_map(|thread| thread.native_id).collect();
        if let Some(spy) = &mut self.targets[at].spy {
            spy.keep(&numbers);
        }
    }

    fn waits(&mut self, at: usize, thread: &Seen, state: &mut ThreadState, now_ns: i64) -> bool {
        let stood_still = state.position == thread.position && state.doing == Some(Doing::Waiting);
        state.position = thread.position;
        let believed = stood_still && !thread.holds_gil && now_ns.saturating_sub(state.asked_ns) < BELIEVED_NS;
        if !believed {
            let spy = self.targets[at].spy.as_mut();
            state.doing = spy.zip(thread.native_id).and_then(|(spy, number)| spy.doing(number));
            state.asked_ns = now_ns;
        }
        state.doing == Some(Doing::Waiting)
    }

    fn extend(
        &mut self,
        state: &mut ThreadState,
        stack: u32,
        waits: bool,
        gil: bool,
        before_ns: i64,
        now_ns: i64,
    ) {
        let goes_on = state.last_ns == before_ns;
        state.last_ns = now_ns;
        if let Some(run) = state.run.filter(|_| goes_on).and_then(|at| self.runs.get_mut(at))
            && run.stack == stack
            && run.waits == waits
        {
            run.end_ns = now_ns;
            run.looks += 1;
            run.gil_looks += u32::from(gil);
            return;
        }
        if self.runs.len() >= MAX_RUNS {
            self.dropped += 1;
            state.run = None;
            return;
        }
        state.run = Some(self.runs.len());
        self.runs.push(StackRun {
            thread: state.index,
            stack,
            waits,
            start_ns: before_ns,
            end_ns: now_ns,
            looks: 1,
            gil_looks: u32::from(gil),
        });
    }

    fn meet(&mut self, at: usize, thread: &Seen) -> ThreadState {
        let name = self.targets[at].spy.as_mut().map(|spy| spy.name_of(thread)).unwrap_or_default();
        let index = self.threads.len() as u32;
        let number = thread.native_id.unwrap_or((thread.ident >> 6) as u32 & 0x7fff_ffff);
        // The same number and name is the same thread, whose process runs another program now.
        let known = self.threads.iter().position(|known| known.process == at && known.number == number);
        let index = match known {
            Some(known) if self.threads[known].name == name => known as u32,
            _ => {
                self.threads.push(SampledThread { process: at, number, name });
                index
            }
        };
        ThreadState { index, position: 0, doing: None, asked_ns: i64::MIN, run: None, last_ns: i64::MIN }
    }

    /// Takes the runs so far, for somebody who watches and keeps sums only.
    pub fn take_runs(&mut self) -> Vec<StackRun> {
        for state in self.targets.iter_mut().flat_map(|target| target.threads.values_mut()) {
            state.run = None;
        }
        std::mem::take(&mut self.runs)
    }

    /// The number of a stack; frames come with the innermost first.
    fn stack(&mut self, at: usize, frames: &[Frame]) -> u32 {
        let mut stack = 0;
        for frame in frames.iter().rev() {
            let function = self.function(at, frame.code);
            let key = (stack, Place { function, line: frame.line });
            let stacks = &mut self.stacks;
            stack = *self.stack_numbers.entry(key).or_insert_with(|| {
                stacks.push(key);
                stacks.len() as u32
            });
        }
        stack
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
    pub fn places(&self, stack: u32) -> impl Iterator<Item = Place> {
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

    /// Which processes still run.
    pub fn running(&self) -> impl Iterator<Item = u32> {
        self.targets.iter().filter_map(|target| target.spy.as_ref()).map(Spy::pid)
    }

    /// What a process is for, from its command line and the functions it was seen in.
    pub fn process_name(&self, process: usize) -> String {
        let Some(known) = self.processes.get(process) else { return String::new() };
        if process > 0 && known.rank.is_none_or(|rank| self.processes[0].rank == Some(rank)) {
            let roles = [
                ("_worker_loop", "torch/utils/data/_utils/worker.py", "DataLoader worker"),
                ("worker", "multiprocessing/pool.py", "Pool worker"),
                ("_process_worker", "concurrent/futures/process.py", "ProcessPoolExecutor worker"),
                ("BaseProcess._bootstrap", "multiprocessing/process.py", "multiprocessing worker"),
                ("_bootstrap", "multiprocessing/process.py", "multiprocessing worker"),
            ];
            let mut seen: Vec<u32> = self
                .runs
                .iter()
                .filter(|run| self.threads[run.thread as usize].process == process)
                .map(|run| run.stack)
                .collect();
            seen.sort_unstable();
            seen.dedup();
            let functions: Vec<&Function> = seen
                .iter()
                .flat_map(|stack| self.places(*stack))
                .filter_map(|place| self.functions.get(place.function as usize))
                .collect();
            for (name, file, role) in roles {
                if functions.iter().any(|function| function.name == name && function.file.ends_with(file)) {
                    return format!("{role} {}", known.pid);
                }
            }
        }
        format!("{} {}", known.name(), known.pid)
    }
}

fn sum(a: Stats, b: Stats) -> Stats {
    Stats {
        looks: a.looks + b.looks,
        stacks: a.stacks + b.stacks,
        reads: a.reads + b.reads,
        again: a.again + b.again,
        torn: a.torn + b.torn,
        stops: a.stops + b.stops,
        stopped_ns: a.stopped_ns + b.stopped_ns,
    }
}
