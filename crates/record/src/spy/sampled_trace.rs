//! What was sampled, as a trace and as a profile.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{
    ArgValue, Attr, Domain, Frame, Kind, LOCK_OF, LaneId, LaneKey, NewSlice, Ns, Profile, SAMPLES_OF, Sample,
    StackId, StrId, Tag, Trace, TraceBuilder, ValueKind, ValueUnit,
};

use super::sampled::StackRun;
use super::sampling::Sampling;
use crate::samples::{Interval, stretches};
use crate::trace_names::{LINE_TIMES, LOCK, PYTHON, WAITING, name_lane};

#[derive(Copy, Clone, Debug, Default)]
pub struct SampleFilter {
    /// Also those at threads that waited.
    pub idle: bool,
    /// Only those at the thread that held the interpreter's lock.
    pub gil: bool,
    /// Frames without their lines: one per function.
    pub functions: bool,
}

impl SampleFilter {
    pub fn count(self, run: &StackRun) -> u32 {
        match (self.gil, run.waits && !self.idle) {
            (true, _) => run.gil_samples,
            (false, true) => 0,
            (false, false) => run.samples,
        }
    }
}

impl Sampling {
    /// All of it as a trace: a lane per thread, a slice for as long as a function was seen.
    pub fn trace(&self, hz: f64) -> Trace {
        let base = self.began_ns;
        let mut builder = TraceBuilder::new();
        let stats = self.stats();
        builder.meta().extra.extend([
            ("schemaVersion".to_owned(), "1".to_owned()),
            ("displayTimeUnit".to_owned(), "\"ms\"".to_owned()),
            ("baseTimeNanoseconds".to_owned(), base.to_string()),
            (
                "sampling".to_owned(),
                format!(
                    "{{\"rate\": {hz}, \"looks\": {}, \"late\": {}, \"stacks\": {}, \"read_again\": {}, \"torn\": {}, \
                     \"memory_reads\": {}}}",
                    stats.samples, self.late, stats.stacks, stats.again, stats.torn, stats.reads
                ),
            ),
        ]);
        self.put(&mut builder, base, None);
        builder.finish()
    }

    /// Puts all of it into a trace whose times count from `base_ns`; or what came after a moment.
    pub(crate) fn put(&self, builder: &mut TraceBuilder, base_ns: i64, since_ns: Option<i64>) {
        let since_ns = since_ns.unwrap_or(i64::MIN);
        let line_times = builder.key(LINE_TIMES, Attr::LineTimes);
        let names: Vec<StrId> = self
            .functions
            .iter()
            .map(|f| builder.intern(&format!("{}({}): {}", f.file, f.first_line, f.name)))
            .collect();
        let waiting = names.len() as u32;
        let waiting_name = builder.intern(WAITING);
        let category = builder.category(PYTHON);
        let mut lanes: HashMap<(u32, bool), LaneId, RandomState> = HashMap::default();
        for stretch in stretches(&self.intervals(waiting, since_ns)) {
            let lane = *lanes
                .entry((stretch.thread, false))
                .or_insert_with(|| self.lane(builder, stretch.thread, SAMPLES_OF));
            if let Some(times) = stretch.line_times() {
                let times = builder.intern(&times);
                builder.push_arg(line_times, ArgValue::Str(times));
            }
            let args = builder.commit_args();
            builder.slice(NewSlice {
                start: Ns(stretch.start_ns - base_ns),
                dur: Ns(stretch.end_ns - stretch.start_ns),
                name: names.get(stretch.frame as usize).copied().unwrap_or(waiting_name),
                cat: category,
                kind: Kind::PythonFunction,
                lane,
                args,
                ..NewSlice::default()
            });
        }
        let category = builder.category(LOCK);
        for run in self.locks.iter().filter(|run| run.end_ns > since_ns && !self.is_of_helper(run.thread)) {
            let lane =
                *lanes.entry((run.thread, true)).or_insert_with(|| self.lane(builder, run.thread, LOCK_OF));
            let start_ns = run.start_ns.max(since_ns);
            let (name, args) = (builder.intern(run.lock.label()), builder.commit_args());
            builder.slice(NewSlice {
                start: Ns(start_ns - base_ns),
                dur: Ns(run.end_ns - start_ns),
                name,
                cat: category,
                lane,
                args,
                ..NewSlice::default()
            });
        }
        self.names(builder, &lanes);
    }

    fn is_of_helper(&self, thread: u32) -> bool {
        self.is_helper(self.threads[thread as usize].process)
    }

    fn intervals(&self, waiting: u32, since_ns: i64) -> Vec<Interval> {
        let new = |run: &&StackRun| run.end_ns > since_ns && !self.is_of_helper(run.thread);
        let mut runs: Vec<&StackRun> = self.runs.iter().filter(new).collect();
        runs.sort_by_key(|run| (run.thread, run.start_ns));
        let interval = |run: &StackRun| {
            let mut stack: Vec<u32> = self.places(run.stack).map(|place| place.function).collect();
            stack.reverse();
            stack.extend(run.waits.then_some(waiting));
            let innermost = self.places(run.stack).next().filter(|_| !run.waits);
            let line = innermost.map_or(0, |place| place.line);
            let start_ns = run.start_ns.max(since_ns);
            Interval { thread: run.thread, start_ns, end_ns: run.end_ns, stack, line }
        };
        runs.into_iter().map(interval).collect()
    }

    fn lane(&self, builder: &mut TraceBuilder, thread: u32, of: &str) -> LaneId {
        let thread = &self.threads[thread as usize];
        let tag = Tag::Str(builder.intern(&format!("{of}{}", thread.number)));
        let pid = i64::from(self.processes[thread.process].pid);
        builder.lane(LaneKey { process: Tag::Int(pid), thread: tag, domain: Domain::Host })
    }

    /// What processes and threads are called, as metadata of the trace.
    fn names(&self, builder: &mut TraceBuilder, lanes: &HashMap<(u32, bool), LaneId, RandomState>) {
        let mut named = Vec::new();
        let mut lanes: Vec<((u32, bool), LaneId)> = lanes.iter().map(|(key, lane)| (*key, *lane)).collect();
        lanes.sort_unstable();
        for ((at, is_lock), lane) in lanes {
            let thread = &self.threads[at as usize];
            let of = if is_lock { LOCK_OF } else { SAMPLES_OF };
            let words = format!("{of}thread {} ({})", thread.number, thread.name);
            name_lane(builder, "thread_name", &words, lane);
            if !named.contains(&thread.process) {
                named.push(thread.process);
                name_lane(builder, "process_name", &self.process_name(thread.process), lane);
            }
        }
    }

    /// All of it as weighted stacks: samples and time, a part per thread.
    pub fn profile(&self, filter: SampleFilter) -> Profile {
        let value = |name: &str, unit| ValueKind { name: name.to_owned(), unit };
        let mut profile =
            Profile::new(vec![value("samples", ValueUnit::Plain), value("time", ValueUnit::Nanoseconds)]);
        let several = self.processes.len() > 1;
        for thread in &self.threads {
            let process =
                if several { format!("{}, ", self.process_name(thread.process)) } else { String::new() };
            profile.parts.push(format!("{process}thread {} ({})", thread.number, thread.name));
        }
        let mut sums: HashMap<(u32, u32), (i64, i64), RandomState> = HashMap::default();
        for run in &self.runs {
            let samples = i64::from(filter.count(run));
            if samples > 0 {
                let sum = sums.entry((run.thread, run.stack)).or_default();
                sum.0 += samples;
                // Where only some of its samples count, so much of its time does.
                sum.1 += (run.end_ns - run.start_ns) / i64::from(run.samples.max(1)) * samples;
            }
        }
        let mut sums: Vec<((u32, u32), (i64, i64))> = sums.into_iter().collect();
        sums.sort_unstable();
        for ((thread, stack), (samples, ns)) in sums {
            let mut places: Vec<_> = self.places(stack).collect();
            places.reverse();
            let mut id = StackId::EMPTY;
            for place in places {
                let function = &self.functions[place.function as usize];
                let (name, file) =
                    (profile.stacks.intern(&function.name), profile.stacks.intern(&function.file));
                let line = if filter.functions { function.first_line } else { place.line };
                let frame = profile.stacks.frame(Frame { name, file, line });
                id = profile.stacks.push(id, frame);
            }
            profile.add(Sample::new(thread as usize, id, &[samples, ns]));
        }
        profile
    }
}
