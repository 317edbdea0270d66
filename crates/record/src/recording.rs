//! What was recorded from a start to a stop, as a trace.

use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{
    ArgValue, Attr, Decimal, Domain, Kind, LaneId, LaneKey, NewPoint, NewSlice, Ns, PointKind, Series, StrId,
    Tag, Trace, TraceBuilder, Unit,
};

use crate::clock::now_ns;
use crate::lanes::lanes_of;
use crate::lock::Lock;
use crate::monitor::Monitor;
use crate::regions::{self, Mark, NO_STACK, Region, name_of, thread_number};
use crate::samples::{Sample, Waits, merge, states};
use crate::spy::Sampling;
use crate::trace_names::{
    ANNOTATION, CALL_STACK, LINE_TIMES, LOCK, LOCK_OF, PYTHON, RUNNING_OF, SAMPLES_OF, TASK, WAITING,
};

/// Which of a thread's lanes: there is more to show of a thread than nests.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum Beside {
    /// The thread itself.
    Nothing,
    /// Regions of tasks that take turns on it; see [`lanes_of`].
    Tasks(u32),
    /// What its Python stacks look like.
    Samples,
    /// What it does with the interpreter's lock.
    Lock,
    /// Which tasks its event loop runs.
    Running,
}

impl Beside {
    /// What stands before "of thread 7".
    fn words(self) -> String {
        match self {
            Beside::Nothing => String::new(),
            Beside::Tasks(1) => "tasks of ".to_owned(),
            Beside::Tasks(number) => format!("tasks ({number}) of "),
            Beside::Samples => SAMPLES_OF.to_owned(),
            Beside::Lock => LOCK_OF.to_owned(),
            Beside::Running => RUNNING_OF.to_owned(),
        }
    }
}

/// A value of a counter that the program gave itself.
#[derive(Clone, Debug)]
pub struct CounterValue {
    /// The counter's name.
    pub name: String,
    /// When.
    pub at_ns: i64,
    /// The value.
    pub value: f64,
}

/// A slice that the program gave itself.
#[derive(Clone, Debug)]
pub struct Told {
    /// Its name.
    pub name: String,
    /// Its category.
    pub category: String,
    /// When it began.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// The system's number of its thread.
    pub thread: u32,
    /// Its arguments, as JSON.
    pub args: Vec<(String, String)>,
}

/// A look at a thread from outside of it.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) at_ns: i64,
    /// Whether the thread waits.
    pub(crate) waits: bool,
    /// What it did with the interpreter's lock, where that is known.
    pub(crate) lock: Option<Lock>,
    /// The task of an event loop that it ran, by the number of its name.
    pub(crate) task: Option<u32>,
    /// Frames by their numbers ([`regions::intern`]), the outermost first.
    pub(crate) stack: Vec<u32>,
    /// The line of the innermost.
    pub(crate) line: u32,
}

/// What of a recording the journal has.
struct Journaled {
    regions: Mark,
    told: usize,
    samples: usize,
    counters: usize,
    monitor_until_ns: i64,
    children_until_ns: Option<i64>,
}

/// From a start to a stop.
#[derive(Default)]
pub struct Recording {
    monitor: Option<Arc<Monitor>>,
    start: Option<(i64, Mark)>,
    stop_ns: Option<i64>,
    /// Where the journal has come to.
    journal: Option<Journaled>,
    regions: Vec<Region>,
    lost: u64,
    told: Vec<Told>,
    samples: Vec<Sample>,
    thread_names: HashMap<u32, String, RandomState>,
    counters: Vec<CounterValue>,
    children: Option<Arc<Mutex<Sampling>>>,
}

impl Recording {
    /// With the counters of a monitor, or without.
    pub fn new(monitor: Option<Arc<Monitor>>) -> Recording {
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
        self.journal = Some(Journaled {
            regions: mark,
            told: 0,
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

    /// When it began.
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

    /// Regions, steps, slices and looks at stacks: whatever took some of the program's time.
    pub fn slice_count(&self) -> usize {
        self.regions.len() + self.told.len() + self.samples.len()
    }

    /// Regions that there was no room for.
    pub fn lost_regions(&self) -> u64 {
        self.lost
    }

    /// A slice on the calling thread.
    pub fn tell(
        &mut self,
        name: String,
        category: String,
        start_ns: i64,
        end_ns: i64,
        args: Vec<(String, String)>,
    ) {
        self.told.push(Told { name, category, start_ns, end_ns, thread: thread_number(), args });
    }

    /// A look at a thread's stack, outermost frame first, and the processor time the thread has used where that is known.
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

    pub(crate) fn seen(&mut self, thread: u32, name: &str, look: Look) {
        if self.thread_names.get(&thread).is_none_or(|known| known != name) {
            self.thread_names.insert(thread, name.to_owned());
        }
        let Look { at_ns, waits, lock, task, stack, line } = look;
        self.samples.push(Sample { thread, at_ns, waits: Waits::Known(waits), lock, task, stack, line });
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

    /// All of it, to be read with what another profiler has on the same threads: operators of all tasks stand there, so
    /// that no task's region can.
    pub fn trace_beside(&self, base_ns: i64) -> Trace {
        self.written(base_ns, &[], true)
    }

    fn written(&self, base_ns: i64, entries: &[(String, String)], tasks_apart: bool) -> Trace {
        let mut writer = Writer::new(base_ns);
        writer.builder.meta().extra.extend(entries.iter().cloned());
        writer.regions(&self.regions, tasks_apart);
        for told in &self.told {
            writer.told(told);
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
            let children = children.lock().unwrap_or_else(PoisonError::into_inner);
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
            for told in &self.told[done.told..] {
                writer.told(told);
            }
            let start = self.start.map(|(start_ns, _)| start_ns);
            let before = done.samples.checked_sub(1).map(|last| self.samples[last].at_ns).or(start);
            writer.samples(&self.samples[done.samples..], before);
            for counter in &self.counters[done.counters..] {
                writer.counter(&counter.name, "value", counter.at_ns, counter.value);
            }
            let until_ns = now_ns();
            writer.monitor(self.monitor.as_deref(), done.monitor_until_ns, until_ns);
            *done = Journaled {
                regions: next,
                told: self.told.len(),
                samples: self.samples.len(),
                counters: self.counters.len(),
                monitor_until_ns: until_ns + 1,
                children_until_ns: done.children_until_ns,
            };
            if let Some(children) = &self.children {
                let children = children.lock().unwrap_or_else(PoisonError::into_inner);
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
    lanes: HashMap<(u32, Beside), LaneId, RandomState>,
    named: Vec<(u32, Beside)>,
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
    fn lane(&mut self, thread: u32, beside: Beside) -> LaneId {
        if let Some(&lane) = self.lanes.get(&(thread, beside)) {
            return lane;
        }
        self.named.push((thread, beside));
        let tag = match beside {
            Beside::Nothing => Tag::Int(i64::from(thread)),
            _ => Tag::Str(self.builder.intern(&format!("{}{thread}", beside.words()))),
        };
        let key = LaneKey { process: Tag::Int(self.process), thread: tag, domain: Domain::Host };
        let lane = self.builder.lane(key);
        self.lanes.insert((thread, beside), lane);
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
            let lane = self.lane(region.thread, if lane == 0 { Beside::Nothing } else { Beside::Tasks(lane) });
            let end = region.start_ns + region.dur_ns;
            self.slice(name, ANNOTATION, Kind::HostAnnotation, lane, region.start_ns, end);
        }
    }

    fn told(&mut self, told: &Told) {
        for (key, json) in &told.args {
            let (key, json) = (self.builder.intern(key), self.builder.intern(json));
            self.builder.push_arg(key, ArgValue::Json(json));
        }
        let name = self.builder.intern(&told.name);
        let lane = self.lane(told.thread, Beside::Nothing);
        let kind = match told.category.as_str() {
            ANNOTATION => Kind::HostAnnotation,
            "cpu_op" => Kind::HostOp,
            PYTHON => Kind::PythonFunction,
            _ => Kind::Other,
        };
        self.slice(name, &told.category, kind, lane, told.start_ns, told.end_ns);
    }

    fn samples(&mut self, samples: &[Sample], before_ns: Option<i64>) {
        let mut texts: HashMap<u32, StrId, RandomState> = HashMap::default();
        for stretch in merge(samples, before_ns, regions::intern(WAITING)) {
            let builder = &mut self.builder;
            let name = *texts.entry(stretch.frame).or_insert_with(|| builder.intern(&name_of(stretch.frame)));
            let lane = self.lane(stretch.thread, Beside::Samples);
            if let Some(times) = stretch.line_times() {
                let (key, times) = (self.line_times, self.builder.intern(&times));
                self.builder.push_arg(key, ArgValue::Str(times));
            }
            self.slice(name, PYTHON, Kind::PythonFunction, lane, stretch.start_ns, stretch.end_ns);
        }
        for stretch in states(samples, before_ns, |sample| sample.lock) {
            let lane = self.lane(stretch.thread, Beside::Lock);
            let name = self.builder.intern(stretch.state.words());
            self.slice(name, LOCK, Kind::Other, lane, stretch.start_ns, stretch.end_ns);
        }
        for stretch in states(samples, before_ns, |sample| sample.task) {
            let lane = self.lane(stretch.thread, Beside::Running);
            let name = self.builder.intern(&name_of(stretch.state));
            self.slice(name, TASK, Kind::Other, lane, stretch.start_ns, stretch.end_ns);
        }
    }

    fn monitor(&mut self, monitor: Option<&Monitor>, start_ns: i64, stop_ns: i64) {
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
            self.name("process_name", process.trim(), lane);
        }
        for (thread, beside) in std::mem::take(&mut self.named) {
            let comm = || std::fs::read_to_string(format!("/proc/self/task/{thread}/comm")).unwrap_or_default();
            let name = given.get(&thread).cloned().unwrap_or_else(comm);
            let name = format!("{}thread {thread} ({})", beside.words(), name.trim());
            let lane = self.lane(thread, beside);
            self.name("thread_name", &name, lane);
        }
    }

    fn name(&mut self, what: &str, text: &str, lane: LaneId) {
        let (key, text) = (self.builder.intern("name"), self.builder.intern(text));
        self.builder.push_arg(key, ArgValue::Str(text));
        let (name, args) = (self.builder.intern(what), self.builder.commit_args());
        self.builder.point(NewPoint {
            at: Ns::ZERO,
            name,
            lane,
            args,
            kind: PointKind::Metadata,
            ..NewPoint::default()
        });
    }
}
