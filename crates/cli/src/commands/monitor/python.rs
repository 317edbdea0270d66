//! Stacks of the Python processes that are watched, a few samples per second, counted by the hour.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};

use stepscope_ground::utc::now_ns as wall_ns;
use stepscope_record::clock::now_ns;
use stepscope_record::spy::{SampleFilter, Sampling, Spy, SpyError};
use stepscope_service::{StackFrame, StackWriter, Tree};

use super::target::Target;
use crate::failure::Failure;

/// Stacks that were seen are counted this often, …
const COUNT_EVERY: Duration = Duration::from_secs(5);
/// … and written this often: a killed monitor loses as much.
const WRITE_EVERY: Duration = Duration::from_secs(30);
/// Processes that are looked at, at most.
const MAX_SAMPLED: usize = 64;
/// Different stacks of one process that are remembered; beyond that it is begun anew.
const MAX_STACKS: usize = 200_000;
/// A process without a Python is tried again after this, and after twice as long each time, …
const RETRY_PERIOD: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(300);

pub(super) struct PythonStacks {
    period: Duration,
    due: Instant,
    writer: StackWriter,
    sampled: BTreeMap<u32, SampledProcess>,
    /// Processes that could not be looked at: how long to wait, and until when.
    tried: HashMap<u32, (Duration, Instant)>,
    counted: Instant,
    written: Instant,
    words: Option<String>,
    seen_any: bool,
    /// Why the last process could not be looked at.
    why_not: Option<SpyError>,
}

struct SampledProcess {
    sampling: Sampling,
    /// Numbers of frames in this hour, by function.
    frames: HashMap<u32, u32>,
}

impl PythonStacks {
    /// Fails where a process that runs has no Python, or may not be looked at; one that is started gets there.
    pub(super) fn open(folder: &Path, hz: f64, target: &Target) -> Result<PythonStacks, Failure> {
        if target.pid().is_none() {
            return Err(Failure::wrong_use(
                "stacks are those of a process, and none is given",
                "name one with --pid PID, or put a program behind --",
            ));
        }
        let period = Duration::from_secs_f64(1.0 / hz);
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        let now = Instant::now();
        let mut stacks = PythonStacks {
            period,
            due: now,
            writer: StackWriter::open(folder, period_ns, wall_ns())?,
            sampled: BTreeMap::new(),
            tried: HashMap::new(),
            counted: now,
            written: now,
            words: None,
            seen_any: false,
            why_not: None,
        };
        if let Some(tree) = target.tree() {
            stacks.find(tree);
        }
        match stacks.why_not.take() {
            Some(error) if stacks.sampled.is_empty() && !target.is_program() => Err(error.into()),
            _ => Ok(stacks),
        }
    }

    /// Begins to look at processes that are new.
    pub(super) fn find(&mut self, tree: &Tree) {
        let now = Instant::now();
        let pids: Vec<u32> = tree.pids().collect();
        self.tried.retain(|pid, _| pids.contains(pid));
        for pid in pids {
            if self.sampled.contains_key(&pid) || self.sampled.len() >= MAX_SAMPLED {
                continue;
            }
            if self.tried.get(&pid).is_some_and(|(_, until)| now < *until) {
                continue;
            }
            self.attach(pid);
        }
    }

    fn attach(&mut self, pid: u32) {
        match Spy::attach(pid) {
            Ok(spy) => {
                let sampling = Sampling::new(spy, false, now_ns());
                self.sampled.insert(pid, SampledProcess { sampling, frames: HashMap::new() });
                self.tried.remove(&pid);
                self.seen_any = true;
            }
            Err(error) => {
                let wait = self.tried.get(&pid).map_or(RETRY_PERIOD, |(wait, _)| (*wait * 2).min(MAX_RETRY));
                self.tried.insert(pid, (wait, Instant::now() + wait));
                self.why_not = Some(error);
            }
        }
    }

    /// Looks at all processes if it is time to; when the next sample is due.
    pub(super) fn look_if_due(&mut self) -> Instant {
        let now = Instant::now();
        if now < self.due {
            return self.due;
        }
        // Missed samples are not made up for.
        while self.due <= now {
            self.due += self.period;
        }
        let at_ns = now_ns();
        let mut gone = Vec::new();
        for (pid, one) in &mut self.sampled {
            if !one.sampling.sample(at_ns, self.period) {
                gone.push(*pid);
            }
        }
        if !gone.is_empty() || self.counted.elapsed() >= COUNT_EVERY {
            self.count();
        }
        for pid in gone {
            self.sampled.remove(&pid);
        }
        if self.written.elapsed() >= WRITE_EVERY {
            self.written = Instant::now();
            self.words = self.words.take().or(self.writer.write());
        }
        self.due
    }

    /// Counts what was seen since the last time.
    fn count(&mut self) {
        self.counted = Instant::now();
        for one in self.sampled.values_mut() {
            let mut stack = Vec::new();
            for run in one.sampling.take_runs() {
                let samples = u64::from(SampleFilter::default().count(&run));
                if samples == 0 {
                    continue;
                }
                stack.clear();
                for place in one.sampling.places(run.stack) {
                    let Some(function) = one.sampling.functions.get(place.function as usize) else { continue };
                    let frame = *one.frames.entry(place.function).or_insert_with(|| {
                        self.writer.frame(&StackFrame {
                            name: function.name.clone(),
                            file: function.file.clone(),
                            line: function.first_line,
                        })
                    });
                    stack.push(frame);
                }
                stack.reverse();
                self.writer.add(&stack, samples);
            }
        }
        let new_hour = self.writer.is_new_hour(wall_ns());
        // What a sampler remembers grows with the stacks it has seen: each hour begins with nothing.
        let full = |one: &SampledProcess| one.sampling.stack_count() > MAX_STACKS;
        let again: Vec<u32> =
            self.sampled.iter().filter(|(_, one)| new_hour || full(one)).map(|(pid, _)| *pid).collect();
        for pid in again {
            self.sampled.remove(&pid);
            self.attach(pid);
        }
    }

    /// What there is to say, once.
    pub(super) fn take_words(&mut self) -> Option<String> {
        self.words.take()
    }

    /// Writes what is left.
    pub(super) fn finish(&mut self) -> Option<String> {
        self.count();
        let words = self.writer.write();
        if self.seen_any {
            return words;
        }
        let why = self.why_not.as_ref().map_or_else(String::new, |error| format!(": {}", error.what));
        Some(format!("no Python was seen, so there are no stacks{why}"))
    }
}
