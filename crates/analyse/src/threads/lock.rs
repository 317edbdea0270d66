//! What threads did with the interpreter's lock, and which tasks of `asyncio` ran, as our sampler saw it.
//!
//! The sampler leaves a lane of states beside each thread it looks at: one slice for as long as neighboring looks saw the same.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{ASYNCIO_TASKS_OF, Domain, LOCK_OF, Lane, LaneId, Order, SAMPLES_OF, StrId, Tag, Trace};

use crate::scope::definition::{Definition, definitions};
use crate::scope::share::share;

/// The category of slices that say what a thread does with the lock.
pub const LOCK_CATEGORY: &str = "interpreter_lock";
/// The category of slices that say which task runs.
pub const TASK_CATEGORY: &str = "asyncio_task";
/// Slices of [`LOCK_CATEGORY`] are called so: it holds it, …
pub const HOLDS_LOCK: &str = "holds the lock";
pub const WITHOUT_LOCK: &str = "runs without the lock";
pub const WAITS_FOR_LOCK: &str = "waits for the lock";
/// … or waits for something else.
pub const IDLE_SLICE: &str = "idle";
/// What comes before the thread in the names of such lanes.
const LANE_PREFIXES: [&str; 2] = [LOCK_OF, ASYNCIO_TASKS_OF];

pub const DEFINITIONS: &[Definition] = definitions! {
    "seen_ns", "Sampled" =>
        "How long the thread was sampled: the sum of the four states. Each sample covers the time since the one before.";
    "holds_ns", "Holds" =>
        "Time in which the thread held the GIL: it ran Python code, or C code that keeps the GIL, and no other thread of \
         its process could run Python.";
    "without_ns", "Without" =>
        "Time in which the thread was running, or ready to, without the GIL: C code that has released it, such as NumPy, \
         PyTorch or compression.";
    "waits_ns", "Waits" => "Time in which the thread slept until it could get the GIL: another thread held it.";
    "idle_ns", "Idle" =>
        "Time in which the thread slept for another reason: input and output, a lock of the program's, a queue, sleep.";
    "holds_share", "Holds %" => "Holds divided by sampled.";
    "without_share", "Without %" => "Without divided by sampled.";
    "waits_share", "Waits %" => "Waits divided by sampled.";
    "idle_share", "Idle %" => "Idle divided by sampled.";
    "threads", "Threads" => "Threads of the process that were sampled.";
    "span_ns", "Time" => "From the first to the last sample of any thread of the process.";
    "held_ns", "Lock held" =>
        "Time in which a thread of the process held the GIL: the sum over its threads, since only one can hold it at a \
         time.";
    "held_share", "Lock held %" => "Lock held divided by time.";
    "waiting_ns", "Waited" => "Time in which threads of the process waited for the GIL, added up over threads.";
    "running_ns", "Running" =>
        "Time in which the event loop ran this task: its coroutine and all that it called, until it next awaited. Anything \
         shorter than the time between two samples may be missed.";
    "share", "Share" => "Running divided by the time in which the event loops of the process ran any task.";
    "first_ns", "First" => "When it was first seen, counted from the trace's first event.";
    "last_ns", "Last" => "When it was last seen, counted from the trace's first event.";
};

#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ThreadRow {
    pub thread: String,
    pub process: String,
    /// How long it was sampled.
    pub seen_ns: i64,
    /// The share of that with the lock.
    pub holds_share: f64,
    /// The share at work without it.
    pub without_share: f64,
    /// The share spent waiting for it.
    pub waits_share: f64,
    /// The share spent waiting for something else.
    pub idle_share: f64,
    /// Time with the lock.
    pub holds_ns: i64,
    /// Time at work without it.
    pub without_ns: i64,
    /// Time spent waiting for it.
    pub waits_ns: i64,
    /// Time spent waiting for something else.
    pub idle_ns: i64,
}

/// One process and its lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LockRow {
    pub process: String,
    /// Threads that were sampled.
    pub threads: u64,
    /// From the first look to the last.
    pub span_ns: i64,
    /// Time in which a thread held the lock.
    pub held_ns: i64,
    /// The same as a share.
    pub held_share: f64,
    /// Time in which threads waited for it.
    pub waiting_ns: i64,
}

/// One task of an event loop, or several of the same name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TaskRow {
    /// Its name, and its coroutine.
    pub task: String,
    /// The thread of its loop.
    pub thread: String,
    pub process: String,
    /// Time in which it ran.
    pub running_ns: i64,
    /// Its share of the time in which any task ran.
    pub share: f64,
    /// When it was first seen.
    pub first_ns: i64,
    /// When it was last seen.
    pub last_ns: i64,
}

#[derive(Clone, Debug, Default)]
pub struct Locks {
    /// A row per thread, the one that held the lock for the longest first.
    pub threads: Vec<ThreadRow>,
    /// A row per process, in the order of the file.
    pub processes: Vec<LockRow>,
    /// A row per task, the one that ran for the longest first.
    pub tasks: Vec<TaskRow>,
}

/// Adds up the lanes of states.
pub fn locks(trace: &Trace) -> Locks {
    let mut found = Locks::default();
    let mut known = ProcessSpans::default();
    for (id, lane) in trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Host) {
        let Some(first) = trace.slices().of_lane(id).next() else { continue };
        match trace.category(trace.slices().cat(first)) {
            LOCK_CATEGORY => add_thread(trace, id, lane, &mut found, &mut known),
            TASK_CATEGORY => add_tasks(trace, id, lane, &mut found.tasks),
            _ => {}
        }
    }
    for (row, (first, last)) in found.processes.iter_mut().zip(known.spans) {
        row.span_ns = last.saturating_sub(first);
        row.held_share = share(row.held_ns, row.span_ns);
    }
    let mut running: HashMap<String, i64, RandomState> = HashMap::default();
    for row in &found.tasks {
        let sum = running.entry(row.process.clone()).or_default();
        *sum = sum.saturating_add(row.running_ns);
    }
    for row in &mut found.tasks {
        row.share = share(row.running_ns, running.get(&row.process).copied().unwrap_or(0));
    }
    found.threads.order_by(|a, b| {
        (b.holds_ns, b.without_ns, &a.process, &a.thread).cmp(&(
            a.holds_ns,
            a.without_ns,
            &b.process,
            &b.thread,
        ))
    });
    found.tasks.order_by(|a, b| (b.running_ns, &a.task, &a.thread).cmp(&(a.running_ns, &b.task, &b.thread)));
    found
}

/// Processes by their names: where each is among the rows, and from when to when it was looked at.
#[derive(Default)]
struct ProcessSpans {
    rows: HashMap<String, usize, RandomState>,
    spans: Vec<(i64, i64)>,
}

fn add_thread(trace: &Trace, id: LaneId, lane: &Lane, found: &mut Locks, known: &mut ProcessSpans) {
    let slices = trace.slices();
    let mut row =
        ThreadRow { thread: thread(trace, lane), process: process(trace, lane), ..ThreadRow::default() };
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for slice in slices.of_lane(id) {
        let ns = slices.dur(slice).0;
        let sum = match trace.name(slice) {
            HOLDS_LOCK => &mut row.holds_ns,
            WITHOUT_LOCK => &mut row.without_ns,
            WAITS_FOR_LOCK => &mut row.waits_ns,
            IDLE_SLICE => &mut row.idle_ns,
            _ => continue,
        };
        *sum = sum.saturating_add(ns);
        first = first.min(slices.start(slice).0);
        last = last.max(slices.end(slice).0);
    }
    let states = [row.holds_ns, row.without_ns, row.waits_ns, row.idle_ns];
    row.seen_ns = states.into_iter().fold(0, i64::saturating_add);
    if row.seen_ns == 0 {
        return;
    }
    row.holds_share = share(row.holds_ns, row.seen_ns);
    row.without_share = share(row.without_ns, row.seen_ns);
    row.waits_share = share(row.waits_ns, row.seen_ns);
    row.idle_share = share(row.idle_ns, row.seen_ns);
    let at = *known.rows.entry(row.process.clone()).or_insert_with(|| {
        found.processes.push(LockRow { process: row.process.clone(), ..LockRow::default() });
        known.spans.push((i64::MAX, i64::MIN));
        known.spans.len() - 1
    });
    let process = &mut found.processes[at];
    process.threads += 1;
    process.held_ns = process.held_ns.saturating_add(row.holds_ns);
    process.waiting_ns = process.waiting_ns.saturating_add(row.waits_ns);
    let span = &mut known.spans[at];
    *span = (span.0.min(first), span.1.max(last));
    found.threads.push(row);
}

fn add_tasks(trace: &Trace, id: LaneId, lane: &Lane, found: &mut Vec<TaskRow>) {
    let slices = trace.slices();
    let (thread, process) = (thread(trace, lane), process(trace, lane));
    let mut places: HashMap<StrId, usize, RandomState> = HashMap::default();
    for slice in slices.of_lane(id) {
        let at = *places.entry(slices.name(slice)).or_insert_with(|| {
            found.push(TaskRow {
                task: trace.name(slice).to_owned(),
                thread: thread.clone(),
                process: process.clone(),
                first_ns: slices.start(slice).0,
                ..TaskRow::default()
            });
            found.len() - 1
        });
        let row = &mut found[at];
        row.running_ns = row.running_ns.saturating_add(slices.dur(slice).0);
        row.last_ns = row.last_ns.max(slices.end(slice).0);
    }
}

/// Whether a lane has states of a thread: those of the lock, or the tasks that it ran.
pub(crate) fn is_states(trace: &Trace, lane: LaneId) -> bool {
    let first = trace.slices().of_lane(lane).next();
    first
        .is_some_and(|first| matches!(trace.category(trace.slices().cat(first)), LOCK_CATEGORY | TASK_CATEGORY))
}

/// The process and the number of the thread that a lane belongs to, or accompanies.
pub(crate) fn thread_of(trace: &Trace, lane: LaneId) -> Option<(Tag, i64)> {
    let key = trace.lanes().get(lane).key;
    let number = match key.thread {
        Tag::Int(number) => number,
        Tag::Str(text) => {
            let text = trace.text(text);
            let beside = LANE_PREFIXES.iter().chain([&SAMPLES_OF]).find_map(|beside| text.strip_prefix(beside));
            beside?.parse().ok()?
        }
        Tag::None => return None,
    };
    Some((key.process, number))
}

/// The thread of a lane in words, without what says that its states are there.
fn thread(trace: &Trace, lane: &Lane) -> String {
    let name = trace.text(lane.thread_name);
    LANE_PREFIXES.iter().find_map(|beside| name.strip_prefix(beside)).unwrap_or(name).to_owned()
}

fn process(trace: &Trace, lane: &Lane) -> String {
    match (trace.text(lane.process_name), lane.key.process) {
        ("", Tag::Int(number)) => format!("process {number}"),
        (name, _) => name.to_owned(),
    }
}
