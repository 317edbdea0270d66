//! The Python functions of a trace as a profile: what was on the stack, and for how long.
//!
//! Where calls were recorded (PyTorch with stacks, VizTracer), the profile also counts them. Where a sampler looked at the
//! stacks, no one knows how often a function was called.

use std::borrow::Cow;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{
    Attr, CallRow, Caller, Domain, Frame, FrameId, Kind, LaneId, LineIs, LineRow, Ns, Profile, SAMPLES_OF,
    Sample, SliceId, StackId, StrId, Trace, ValueKind, ValueUnit,
};

use crate::names::python_frame::{PythonFrame, python_frame};

/// The category of py-spy's traces, which are sampled too.
const PY_SPY: &str = "py-spy";
/// Frames a stack may have; the time of deeper ones counts in the last.
const MAX_DEPTH: usize = 2_000;

/// The profile, or none where the trace holds no Python function.
pub fn python_calls(trace: &Trace) -> Option<Profile> {
    let slices = trace.slices();
    let lanes: Vec<LaneId> = trace
        .lanes()
        .iter()
        .filter(|(_, lane)| lane.key.domain == Domain::Host)
        .map(|(id, _)| id)
        .filter(|&id| slices.of_lane(id).any(|slice| slices.kind(slice) == Kind::PythonFunction))
        .collect();
    let sampled = |lane: &LaneId| is_sampled(trace, *lane);
    // Recorded calls say more than samples of the same threads do.
    let counted = lanes.iter().any(|lane| !sampled(lane));
    let mut making = ProfileBuilder {
        trace,
        profile: Profile::new(vec![ValueKind { name: "time".to_owned(), unit: ValueUnit::Nanoseconds }]),
        frames: HashMap::default(),
        own: HashMap::default(),
        lines: HashMap::default(),
        calls: counted.then(CallTable::default),
    };
    making.profile.line_is = LineIs::Start;
    making.profile.source = trace.meta().source.clone();
    let lanes: Vec<LaneId> = lanes.into_iter().filter(|lane| sampled(lane) != counted).collect();
    for &lane in &lanes {
        making.lane(lanes[0], lane);
    }
    let lines = std::mem::take(&mut making.lines);
    let mut profile = making.profile;
    profile.lines = rows_of_lines(lines);
    if let Some(calls) = making.calls {
        profile.calls = calls.rows();
    }
    (!profile.is_empty()).then_some(profile)
}

fn is_sampled(trace: &Trace, lane: LaneId) -> bool {
    let slices = trace.slices();
    trace.text(trace.lanes().get(lane).thread_name).starts_with(SAMPLES_OF)
        || slices.of_lane(lane).next().is_some_and(|id| trace.category(slices.cat(id)) == PY_SPY)
}

/// The thread of a lane in words; with its process if that is not the first one's.
fn thread(trace: &Trace, first: LaneId, lane: LaneId) -> Cow<'_, str> {
    let (about, first) = (trace.lanes().get(lane), trace.lanes().get(first));
    let name = trace.text(about.thread_name).trim();
    let name = match name.strip_prefix(SAMPLES_OF).unwrap_or(name) {
        "" => Cow::Owned(format!("thread {}", lane.index())),
        name => Cow::Borrowed(name),
    };
    match trace.text(about.process_name).trim() {
        process if about.key.process != first.key.process && !process.is_empty() => {
            Cow::Owned(format!("{process}, {name}"))
        }
        _ => name,
    }
}

struct ProfileBuilder<'a> {
    trace: &'a Trace,
    profile: Profile,
    frames: HashMap<StrId, FrameId, RandomState>,
    /// Time of each stack's own on the thread at hand.
    own: HashMap<StackId, Ns, RandomState>,
    /// A sampled function's own time by line.
    lines: HashMap<(FrameId, u32), Ns, RandomState>,
    calls: Option<CallTable>,
}

/// The lines of a function together and rising, the function with the most time first.
fn rows_of_lines(lines: HashMap<(FrameId, u32), Ns, RandomState>) -> Vec<LineRow> {
    let mut sums: HashMap<FrameId, Ns, RandomState> = HashMap::default();
    for ((function, _), ns) in &lines {
        *sums.entry(*function).or_default() += *ns;
    }
    // No one counted how often a line ran.
    let row = |((function, line), ns)| LineRow { function, line, hits: 0, ns };
    let mut rows: Vec<LineRow> = lines.into_iter().map(row).collect();
    rows.sort_unstable_by_key(|row| (std::cmp::Reverse(sums[&row.function]), row.function, row.line));
    rows
}

/// A function that has begun.
struct OpenCall {
    slice: SliceId,
    frame: FrameId,
    stack: StackId,
    own: Ns,
    /// Whether a profiler does its own work there.
    profiler: bool,
}

impl ProfileBuilder<'_> {
    fn lane(&mut self, first: LaneId, lane: LaneId) {
        let slices = self.trace.slices();
        let part = self.profile.parts.len();
        self.profile.parts.push(thread(self.trace, first, lane).into_owned());
        let mut open: Vec<OpenCall> = Vec::new();
        let mut now = Ns::MIN;
        self.own.clear();
        for slice in slices.of_lane(lane) {
            // py-spy puts the process and the thread around every stack.
            let is_frame = slices.kind(slice) == Kind::PythonFunction && !is_owner(self.trace.name(slice));
            if !is_frame {
                continue;
            }
            let start = slices.start(slice);
            self.close(&mut open, &mut now, start);
            if let Some(inner) = open.last_mut() {
                inner.own += start - now;
                self.add(inner.stack, start - now, inner.profiler);
            }
            now = start;
            let frame = self.frame(slices.name(slice));
            let above = open.last().is_some_and(|open| open.profiler);
            let profiler = self.calls.is_none() && is_profilers(python_frame(self.trace.name(slice)), above);
            let times = self.trace.args(slice).text(Attr::LineTimes).filter(|_| !profiler);
            if let Some(times) = times {
                for (line, ns) in line_times(times) {
                    *self.lines.entry((frame, line)).or_default() += ns;
                }
            }
            let below = open.last().map_or(StackId::EMPTY, |open| open.stack);
            let stack = if open.len() < MAX_DEPTH { self.profile.stacks.push(below, frame) } else { below };
            if let Some(calls) = &mut self.calls {
                calls.begin(frame, open.last().map(|open| open.frame));
            }
            open.push(OpenCall { slice, frame, stack, own: Ns::ZERO, profiler });
        }
        self.close(&mut open, &mut now, Ns::MAX);
        let mut own: Vec<(StackId, Ns)> = self.own.drain().filter(|(_, own)| *own > Ns::ZERO).collect();
        own.sort_unstable();
        for (stack, own) in own {
            self.profile.add(Sample::new(part, stack, &[own.0]));
        }
    }

    /// Ends the functions that end by then; each gets the time since, as it was the innermost.
    fn close(&mut self, open: &mut Vec<OpenCall>, now: &mut Ns, until: Ns) {
        let slices = self.trace.slices();
        while let Some(inner) = open.last_mut()
            && slices.end(inner.slice) <= until
        {
            let end = slices.end(inner.slice);
            if end > *now {
                let own = end - *now;
                inner.own += own;
                *now = end;
                let (stack, profiler) = (inner.stack, inner.profiler);
                self.add(stack, own, profiler);
            }
            if let Some(ended) = open.pop()
                && let Some(calls) = &mut self.calls
            {
                calls.end(ended.frame, open.last().map(|open| open.frame), ended.own, slices.dur(ended.slice));
            }
        }
    }

    /// Time of a stack; what a profiler does is not the program's.
    fn add(&mut self, stack: StackId, own: Ns, profiler: bool) {
        if !profiler {
            *self.own.entry(stack).or_default() += own;
        }
    }

    fn frame(&mut self, name: StrId) -> FrameId {
        let (trace, stacks) = (self.trace, &mut self.profile.stacks);
        *self.frames.entry(name).or_insert_with(|| {
            let found = python_frame(trace.text(name));
            let (name, file) = (stacks.intern(found.name), stacks.intern(found.file));
            stacks.frame(Frame { name, file, line: found.line })
        })
    }
}

/// Whether a sampled function is a profiler at work: ours, or PyTorch's called by ours. What such a function calls of the
/// program's is the program's.
fn is_profilers(frame: PythonFrame<'_>, above: bool) -> bool {
    let ours = frame.file.starts_with("stepscope/") || frame.file.contains("/stepscope/_launch/");
    let theirs = frame.file.contains("torch/profiler/") || frame.file.contains("torch/autograd/profiler.py");
    // It surrounds every import that is waited for.
    (ours && frame.name != "exec_module") || (theirs && above)
}

/// `12:30000,15:1000`; what is written otherwise is not a time.
fn line_times(text: &str) -> impl Iterator<Item = (u32, Ns)> {
    text.split(',').filter_map(|pair| {
        let (line, ns) = pair.split_once(':')?;
        let ns = ns.parse().ok().filter(|ns| (0..i64::MAX / 1_000_000).contains(ns))?;
        Some((line.parse().ok()?, Ns(ns)))
    })
}

/// Whether a name is a process or a thread and no function: `process 12:"python a.py"`, `thread (13): name`.
fn is_owner(name: &str) -> bool {
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    name.strip_prefix("process ").is_some_and(|rest| number(rest) && rest.contains(':'))
        || name.strip_prefix("thread (").is_some_and(number)
}

/// Functions and who called them, as they are met.
#[derive(Default)]
struct CallTable {
    rows: Vec<CallRow>,
    places: HashMap<FrameId, usize, RandomState>,
    /// Where a caller is among those of a function.
    callers: HashMap<(FrameId, FrameId), usize, RandomState>,
    /// How many calls of a function are open, and of a function by another.
    open: HashMap<FrameId, u64, RandomState>,
    open_by: HashMap<(FrameId, FrameId), u64, RandomState>,
}

impl CallTable {
    fn row(&mut self, frame: FrameId) -> usize {
        let rows = &mut self.rows;
        *self.places.entry(frame).or_insert_with(|| {
            rows.push(CallRow {
                frame,
                calls: 0,
                primitive_calls: 0,
                self_ns: Ns::ZERO,
                total_ns: Ns::ZERO,
                callers: Vec::new(),
            });
            rows.len() - 1
        })
    }

    fn begin(&mut self, frame: FrameId, caller: Option<FrameId>) {
        let at = self.row(frame);
        let open = self.open.entry(frame).or_default();
        self.rows[at].calls += 1;
        self.rows[at].primitive_calls += u64::from(*open == 0);
        *open += 1;
        let Some(caller) = caller else { return };
        let callers = &mut self.rows[at].callers;
        let place = *self.callers.entry((caller, frame)).or_insert_with(|| {
            callers.push(Caller {
                frame: caller,
                calls: 0,
                primitive_calls: 0,
                self_ns: Ns::ZERO,
                total_ns: Ns::ZERO,
            });
            callers.len() - 1
        });
        let open = self.open_by.entry((caller, frame)).or_default();
        callers[place].calls += 1;
        callers[place].primitive_calls += u64::from(*open == 0);
        *open += 1;
    }

    fn end(&mut self, frame: FrameId, caller: Option<FrameId>, own: Ns, total: Ns) {
        let at = self.row(frame);
        let open = self.open.entry(frame).or_default();
        *open = open.saturating_sub(1);
        self.rows[at].self_ns += own;
        if *open == 0 {
            self.rows[at].total_ns += total;
        }
        let Some(caller) = caller else { return };
        let Some(&place) = self.callers.get(&(caller, frame)) else { return };
        let open = self.open_by.entry((caller, frame)).or_default();
        *open = open.saturating_sub(1);
        let row = &mut self.rows[at].callers[place];
        row.self_ns += own;
        if *open == 0 {
            row.total_ns += total;
        }
    }

    fn rows(self) -> Vec<CallRow> {
        self.rows
    }
}
