//! What was recorded from a start to a stop, as a trace.

use std::sync::{Arc, Mutex};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_ground::lock;
use stepscope_model::{
    ASYNCIO_TASKS_OF, ArgValue, Attr, Decimal, Domain, Kind, LOCK_OF, LaneId, LaneKey, NewSlice, Ns,
    SAMPLES_OF, Series, StartUpParts, StrId, Tag, Trace, TraceBuilder, Unit,
};

use crate::clock::now_ns;
use crate::lanes::lanes_of;
use crate::machine::MachineSampler;
use crate::regions::{self, Mark, NO_STACK, Region, name_of, thread_number};
use crate::samples::{Sample, Waits, merge, states};
use crate::spy::Sampling;
use crate::start_up::start_up;
use crate::trace_names::{ANNOTATION, CALL_STACK, LINE_TIMES, LOCK, PYTHON, TASK, WAITING, name_lane};

/// Which of a thread's lanes: there is more to show of a thread than nests.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum ThreadLane {
    Main,
    /// Regions of tasks that take turns on it; see [`lanes_of`].
    Tasks(u32),
    Samples,
    /// What it does with the interpreter's lock.
    Lock,
    Running,
}

impl ThreadLane {
    /// What a lane's name has before "thread 7".
    fn prefix(self) -> String {
        match self {
            ThreadLane::Main => String::new(),
            ThreadLane::Tasks(1) => "tasks of ".to_owned(),
            ThreadLane::Tasks(number) => format!("tasks ({number}) of "),
            ThreadLane::Samples => SAMPLES_OF.to_owned(),
            ThreadLane::Lock => LOCK_OF.to_owned(),
            ThreadLane::Running => ASYNCIO_TASKS_OF.to_owned(),
        }
    }
}

/// A value of a counter that the program gave itself.
#[derive(Clone, Debug)]
pub struct CounterValue {
    pub name: String,
    pub at_ns: i64,
    pub value: f64,
}

/// A slice that the program gave itself.
#[derive(Clone, Debug)]
pub struct GivenSlice {
    pub name: String,
    pub category: String,
    pub start_ns: i64,
    pub end_ns: i64,
    /// The system's number of its thread.
    pub thread: u32,
    pub args: Vec<(String, String)>,
}

/// What the name of a step begins with.
const STEP: &str = "ProfilerStep#";

impl GivenSlice {
    fn is_step(&self) -> bool {
        self.name.starts_with(STEP)
    }
}

/// What of a recording the journal has.
struct JournalPosition {
    regions: Mark,
    given: usize,
    samples: usize,
    counters: usize,
    monitor_until_ns: i64,
    children_until_ns: Option<i64>,
}

/// From a start to a stop.
#[derive(Default)]
pub struct Recording {
    monitor: Option<Arc<MachineSampler>>,
    start: Option<(i64, Mark)>,
    stop_ns: Option<i64>,
    journal: Option<JournalPosition>,
    regions: Vec<Region>,
    lost: u64,
    given: Vec<GivenSlice>,
    samples: Vec<Sample>,
    thread_names: HashMap<u32, String, RandomState>,
    counters: Vec<CounterValue>,
    children: Option<Arc<Mutex<Sampling>>>,
}

impl Recording {
    /// With the counters of a monitor, or without.
    pub fn new(monitor: Option<Arc<MachineSampler>>) -> Recording {
        Recording { monitor, ..Recording::default() }
    }

    /// Begins. What was recorded before is forgotten.
    pub fn start(&mut self) {
        if self.is_running() {
            return;
        }
        let monitor = self.monitor.take();
        *self = Recording::new(monitor);
        if let Some(monitor) = &self.monitor {
            monitor.start();
        }
        let mark = regions::start();
        let start_ns = now_ns();
        self.start = Some((start_ns, mark));
        self.journal = Some(JournalPosition {
            regions: mark,
            given: 0,
            samples: 0,
            counters: 0,
            monitor_until_ns: start_ns,
            children_until_ns: None,
        });
    }

    /// Ends.
    pub fn stop(&mut self) {
        let Some((_, mark)) = self.start.filter(|_| self.stop_ns.is_none()) else { return };
        self.stop_ns = Some(now_ns());
        (self.regions, self.lost) = regions::stop(mark);
        if let Some(monitor) = &self.monitor {
            monitor.stop();
        }
    }

    /// Whether it was started and not stopped.
    pub fn is_running(&self) -> bool {
        self.start.is_some() && self.stop_ns.is_none()
    }

    /// A forked child has nothing to record: the files are its parent's.
    pub fn forget_after_fork(&mut self) {
        let monitor = self.monitor.take();
        if let Some(monitor) = &monitor {
            monitor.forget_after_fork();
        }
        *self = Recording::new(monitor);
    }

    pub fn start_ns(&self) -> Option<i64> {
        self.start.map(|(at, _)| at)
    }

    /// When it ended.
    pub fn stop_ns(&self) -> Option<i64> {
        self.stop_ns
    }

    /// How many regions it holds.
    pub fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// Regions, steps, slices and samples of stacks: whatever took some of the program's time.
    pub fn slice_count(&self) -> usize {
        self.regions.len() + self.given.len() + self.samples.len()
    }

    /// How many steps were marked.
    pub fn step_count(&self) -> usize {
        self.given.iter().filter(|given| given.is_step()).count()
    }

    /// Regions that there was no room for.
    pub fn lost_regions(&self) -> u64 {
        self.lost
    }

    /// A step of the calling thread.
    pub fn add_step(&mut self, number: i64, start_ns: i64, end_ns: i64) {
        self.add_slice(format!("{STEP}{number}"), ANNOTATION.to_owned(), start_ns, end_ns, Vec::new());
    }

    /// Steps that were marked at the end of a call begin with the call: `began(thread, moment)` says when the one began that
    /// a moment lies in. Where calls tell of steps, a step with an end outside of all calls is cut, by the start or the
    /// end of the recording, and left out.
    pub fn begin_steps_with_calls(&mut self, began: impl Fn(u32, i64) -> Option<i64>) {
        let ends = |step: &GivenSlice| began(step.thread, step.start_ns).zip(began(step.thread, step.end_ns));
        let told = self.given.iter().any(|given| given.is_step() && ends(given).is_some());
        if !told {
            return;
        }
        self.given.retain_mut(|given| {
            if !given.is_step() {
                return true;
            }
            let Some((start_ns, end_ns)) = ends(given) else { return false };
            (given.start_ns, given.end_ns) = (start_ns, end_ns);
            start_ns < end_ns
        });
    }

    /// A slice on the calling thread.
    pub fn add_slice(
        &mut self,
        name: String,
        category: String,
        start_ns: i64,
        end_ns: i64,
        args: Vec<(String, String)>,
    ) {
        self.given.push(GivenSlice { name, category, start_ns, end_ns, thread: thread_number(), args });
    }

    /// Forgets the steps of all threads: what was taken for steps was none.
    pub fn drop_steps(&mut self) {
        let stays = |given: &GivenSlice| !given.is_step();
        if let Some(journal) = &mut self.journal {
            journal.given = self.given[..journal.given].iter().filter(|given| stays(given)).count();
        }
        self.given.retain(stays);
    }

    /// What a thread did between two moments, as far as samples tell, without what is the recorder's `own` time.
    pub fn start_up(&self, thread: u32, window: (i64, i64), own: &[(i64, i64)]) -> Option<StartUpParts> {
        start_up(&self.samples, thread, window, own, name_of)
    }

    /// A sample of a thread's stack, outermost frame first, and the processor time the thread has used where that is known.
    pub fn sample(&mut self, thread: u32, thread_name: &str, at_ns: i64, cpu_ns: Option<i64>, stack: &[&str]) {
        self.thread_names.entry(thread).or_insert_with(|| thread_name.to_owned());
        self.samples.push(Sample {
            thread,
            at_ns,
            waits: cpu_ns.map_or(Waits::Unknown, Waits::Used),
            lock: None,
            task: None,
            stack: stack.iter().map(|frame| regions::intern(frame)).collect(),
            line: 0,
        });
    }

    pub(crate) fn add_sample(&mut self, thread_name: &str, sample: Sample) {
        if self.thread_names.get(&sample.thread).is_none_or(|known| known != thread_name) {
            self.thread_names.insert(sample.thread, thread_name.to_owned());
        }
        self.samples.push(sample);
    }

    /// What is seen of child processes belongs to this recording.
    pub fn with_children(&mut self, children: Arc<Mutex<Sampling>>) {
        self.children = Some(children);
    }

    /// What was seen of child processes.
    pub fn children(&self) -> Option<&Mutex<Sampling>> {
        self.children.as_deref()
    }

    /// A counter's value.
    pub fn count(&mut self, value: CounterValue) {
        self.counters.push(value);
    }

    /// All of it as a trace; times are given since `base_ns`.
    pub fn trace(&self, base_ns: i64, entries: &[(String, String)]) -> Trace {
        self.written(base_ns, entries, false)
    }

    /// All of it, to be read with what another profiler has on the same threads: operators of all tasks are there, so
    /// that no task's region can.
    pub fn trace_beside(&self, base_ns: i64) -> Trace {
        self.written(base_ns, &[], true)
    }

    fn written(&self, base_ns: i64, entries: &[(String, String)], tasks_apart: bool) -> Trace {
        let mut writer = Writer::new(base_ns);
        writer.builder.meta().extra.extend(entries.iter().cloned());
        writer.regions(&self.regions, tasks_apart);
        for given in &self.given {
            writer.given(given);
        }
        writer.samples(&self.samples, self.start.map(|(start_ns, _)| start_ns));
        if let Some(((start, _), stop)) = self.start.zip(self.stop_ns) {
            writer.monitor(self.monitor.as_deref(), start, stop);
        }
        for counter in &self.counters {
            writer.counter(&counter.name, "value", counter.at_ns, counter.value);
        }
        writer.names(&self.thread_names);
        if let Some(children) = &self.children {
            let children = lock(children);
            children.put(&mut writer.builder, base_ns, None);
        }
        writer.builder.finish()
    }

    /// What came since the last call, for a file that survives the process. A Python function that goes on is cut in two.
    pub fn journal(&mut self, base_ns: i64) -> Trace {
        let mut writer = Writer::new(base_ns);
        if let Some(done) = self.journal.as_mut().filter(|_| self.stop_ns.is_none()) {
            let (regions, next) = regions::peek(done.regions);
            writer.regions(&regions, false);
            for given in &self.given[done.given..] {
                writer.given(given);
            }
            let start = self.start.map(|(start_ns, _)| start_ns);
            let before = done.samples.checked_sub(1).map(|last| self.samples[last].at_ns).or(start);
            writer.samples(&self.samples[done.samples..], before);
            for counter in &self.counters[done.counters..] {
                writer.counter(&counter.name, "value", counter.at_ns, counter.value);
            }
            let until_ns = now_ns();
            writer.monitor(self.monitor.as_deref(), done.monitor_until_ns, until_ns);
            *done = JournalPosition {
                regions: next,
                given: self.given.len(),
                samples: self.samples.len(),
                counters: self.counters.len(),
                monitor_until_ns: until_ns + 1,
                children_until_ns: done.children_until_ns,
            };
            if let Some(children) = &self.children {
                let children = lock(children);
                children.put(&mut writer.builder, base_ns, done.children_until_ns);
                done.children_until_ns = Some(children.ended_ns);
            }
        }
        writer.names(&self.thread_names);
        writer.builder.finish()
    }
}

/// Puts what was recorded into a trace.
struct Writer {
    builder: TraceBuilder,
    base_ns: i64,
    process: i64,
    lanes: HashMap<(u32, ThreadLane), LaneId, RandomState>,
    named: Vec<(u32, ThreadLane)>,
    call_stack: StrId,
    line_times: StrId,
}

impl Writer {
    fn new(base_ns: i64) -> Writer {
        let process = i64::from(std::process::id());
        let mut builder = TraceBuilder::new();
        let call_stack = builder.key(CALL_STACK, Attr::CallStack);
        let line_times = builder.key(LINE_TIMES, Attr::LineTimes);
        Writer {
            builder,
            base_ns,
            process,
            lanes: HashMap::default(),
            named: Vec::new(),
            call_stack,
            line_times,
        }
    }

    fn at(&self, unix_ns: i64) -> Ns {
        Ns(unix_ns - self.base_ns)
    }

    /// The lane of a thread, or one beside it.
    fn lane(&mut self, thread: u32, thread_lane: ThreadLane) -> LaneId {
        if let Some(&lane) = self.lanes.get(&(thread, thread_lane)) {
            return lane;
        }
        self.named.push((thread, thread_lane));
        let tag = match thread_lane {
            ThreadLane::Main => Tag::Int(i64::from(thread)),
            _ => Tag::Str(self.builder.intern(&format!("{}{thread}", thread_lane.prefix()))),
        };
        let key = LaneKey { process: Tag::Int(self.process), thread: tag, domain: Domain::Host };
        let lane = self.builder.lane(key);
        self.lanes.insert((thread, thread_lane), lane);
        lane
    }

    fn slice(&mut self, name: StrId, cat: &str, kind: Kind, lane: LaneId, start_ns: i64, end_ns: i64) {
        let cat = self.builder.category(cat);
        let args = self.builder.commit_args();
        let (start, dur) = (self.at(start_ns), Ns((end_ns - start_ns).max(0)));
        self.builder.slice(NewSlice { start, dur, name, cat, kind, lane, args, ..NewSlice::default() });
    }

    fn regions(&mut self, regions: &[Region], tasks_apart: bool) {
        let mut texts: HashMap<u32, StrId, RandomState> = HashMap::default();
        for (region, lane) in regions.iter().zip(lanes_of(regions, tasks_apart)) {
            let builder = &mut self.builder;
            let name = *texts.entry(region.name).or_insert_with(|| builder.intern(&name_of(region.name)));
            if region.stack != NO_STACK {
                let builder = &mut self.builder;
                let stack = *texts.entry(region.stack).or_insert_with(|| {
                    let text = name_of(region.stack);
                    let id = builder.intern(&text);
                    let frames = text.split(';').filter(|frame| !frame.is_empty());
                    let frames: Vec<StrId> = frames.map(|frame| builder.intern(frame)).collect();
                    let stack = builder.stack(frames.into_iter().rev());
                    builder.name_stack(id, stack);
                    id
                });
                builder.push_arg(self.call_stack, ArgValue::Str(stack));
            }
            let lane =
                self.lane(region.thread, if lane == 0 { ThreadLane::Main } else { ThreadLane::Tasks(lane) });
            let end = region.start_ns + region.dur_ns;
            self.slice(name, ANNOTATION, Kind::HostAnnotation, lane, region.start_ns, end);
        }
    }

    fn given(&mut self, given: &GivenSlice) {
        for (key, json) in &given.args {
            let (key, json) = (self.builder.intern(key), self.builder.intern(json));
            self.builder.push_arg(key, ArgValue::Json(json));
        }
        let name = self.builder.intern(&given.name);
        let lane = self.lane(given.thread, ThreadLane::Main);
        let kind = match given.category.as_str() {
            ANNOTATION => Kind::HostAnnotation,
            "cpu_op" => Kind::HostOp,
            PYTHON => Kind::PythonFunction,
            _ => Kind::Other,
        };
        self.slice(name, &given.category, kind, lane, given.start_ns, given.end_ns);
    }

    fn samples(&mut self, samples: &[Sample], before_ns: Option<i64>) {
        let mut texts: HashMap<u32, StrId, RandomState> = HashMap::default();
        for stretch in merge(samples, before_ns, regions::intern(WAITING)) {
            let builder = &mut self.builder;
            let name = *texts.entry(stretch.frame).or_insert_with(|| builder.intern(&name_of(stretch.frame)));
            let lane = self.lane(stretch.thread, ThreadLane::Samples);
            if let Some(times) = stretch.line_times() {
                let (key, times) = (self.line_times, self.builder.intern(&times));
                self.builder.push_arg(key, ArgValue::Str(times));
            }
            self.slice(name, PYTHON, Kind::PythonFunction, lane, stretch.start_ns, stretch.end_ns);
        }
        for stretch in states(samples, before_ns, |sample| sample.lock) {
            let lane = self.lane(stretch.thread, ThreadLane::Lock);
            let name = self.builder.intern(stretch.state.label());
            self.slice(name, LOCK, Kind::Other, lane, stretch.start_ns, stretch.end_ns);
        }
        for stretch in states(samples, before_ns, |sample| sample.task) {
            let lane = self.lane(stretch.thread, ThreadLane::Running);
            let name = self.builder.intern(&name_of(stretch.state));
            self.slice(name, TASK, Kind::Other, lane, stretch.start_ns, stretch.end_ns);
        }
    }

    fn monitor(&mut self, monitor: Option<&MachineSampler>, start_ns: i64, stop_ns: i64) {
        let Some(monitor) = monitor else { return };
        for info in monitor.counters() {
            let Some((at, values)) = monitor.series(&info.name, start_ns, stop_ns) else { continue };
            for (at, value) in at.into_iter().zip(values) {
                self.counter(&info.label, info.unit, at, value);
            }
        }
    }

    fn counter(&mut self, name: &str, unit: &str, at_ns: i64, value: f64) {
        // Three decimals are more than any sensor gives.
        let number = (value * 1e3).round();
        let mantissa = number as i64;
        let exact = mantissa % 1000 == 0;
        let value = match exact {
            true => Decimal { mantissa: mantissa / 1000, scale: 0 },
            false => Decimal { mantissa, scale: 3 },
        };
        let (name, part, cat) =
            (self.builder.intern(name), self.builder.intern(unit), self.builder.category("monitor"));
        let key = LaneKey { process: Tag::Int(self.process), thread: Tag::None, domain: Domain::Host };
        let lane = self.builder.lane(key);
        let at = self.at(at_ns);
        let series = Series { name, part, unit: Unit::of_symbol(unit), lane, cat };
        if let Some(series) = self.builder.series(series) {
            self.builder.count(at, &[(series, value)]);
        }
    }

    /// What threads and the process are called, as metadata of the trace.
    fn names(&mut self, given: &HashMap<u32, String, RandomState>) {
        let process = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
        let any = self.lanes.values().next().copied();
        if let Some(lane) = any {
            name_lane(&mut self.builder, "process_name", process.trim(), lane);
        }
        for (thread, thread_lane) in std::mem::take(&mut self.named) {
            let comm = || std::fs::read_to_string(format!("/proc/self/task/{thread}/comm")).unwrap_or_default();
            let name = given.get(&thread).cloned().unwrap_or_else(comm);
            let name = format!("{}thread {thread} ({})", thread_lane.prefix(), name.trim());
            let lane = self.lane(thread, thread_lane);
            name_lane(&mut self.builder, "thread_name", &name, lane);
        }
    }
}
