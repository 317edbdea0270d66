//! Samples a process whose Python threads are stopped for a moment: no stack changes while it is read, and native frames can
//! be read too. Only threads that Python knows are stopped, not the hundreds that libraries start.

use std::io;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::codes::CodeId;
use super::error::{SpyError, Unreadable};
use super::native::{Native, NativeFunction, ThreadCopy, merged};
use super::stop::{Stopped, Stopper};
use super::walk::{Frame, ThreadSample};
use super::{Spy, TaskState, permission, tasks};

/// Other threads of a process that are sampled.
const MAX_OTHERS: usize = 4096;

/// How a process is sampled.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Running,
    /// Its Python threads are stopped for each sample.
    Stopped,
    /// The same, with native frames between the Python ones.
    Native,
}

/// A thread that Python does not know.
#[derive(Clone, Debug)]
pub struct OtherThread {
    /// The system's number of it.
    pub native_id: u32,
    /// What the program calls it.
    pub name: String,
    /// Its frames, the innermost first.
    pub frames: Vec<Frame>,
}

/// What is kept from sample to sample.
#[derive(Debug)]
pub(super) struct StopSampler {
    stopper: Stopper,
    native: Native,
    /// The threads that Python knew in the last sample.
    threads: Vec<u32>,
    /// What they did before they were stopped: afterwards each of them runs, if only to wait again.
    pub(super) doing: HashMap<u32, TaskState, RandomState>,
    /// By native function: its number among all codes.
    codes: HashMap<usize, CodeId, RandomState>,
    /// Threads that slept when they were last stopped.
    asleep: HashMap<u32, SleepingThread, RandomState>,
}

/// A thread that sleeps in a call of the system. As long as it is in the same call, with the same end of its stack and the same
/// Python frames, it need not be woken to see the same native frames again.
#[derive(Debug)]
struct SleepingThread {
    call: String,
    python: Vec<Frame>,
    all: Vec<Frame>,
}

type SampleAttempt = Result<Option<Vec<ThreadSample>>, Unreadable>;

impl Spy {
    /// How it is sampled from now on.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    fn begin_stopping(&mut self) -> StopSampler {
        self.stopping.take().unwrap_or_else(|| StopSampler {
            stopper: Stopper::new(self.pid),
            native: Native::new(self.pid, &self.python.path),
            threads: Vec::new(),
            doing: HashMap::default(),
            codes: HashMap::default(),
            asleep: HashMap::default(),
        })
    }

    pub(super) fn sample_stopped(&mut self) -> Result<SampleAttempt, SpyError> {
        let mut stopping = self.begin_stopping();
        let attempt = self.sample_with(&mut stopping);
        self.stopping = Some(stopping);
        attempt
    }

    fn sample_with(&mut self, stopping: &mut StopSampler) -> Result<SampleAttempt, SpyError> {
        if stopping.threads.is_empty() {
            match self.try_sample() {
                Ok(Some(seen)) => stopping.threads = self.native_ids(&seen),
                other => return Ok(other),
            }
        }
        let doing = stopping.threads.iter().filter_map(|thread| Some((*thread, self.tasks.doing(*thread)?)));
        stopping.doing = doing.collect();
        let calls = self.calls_of_sleepers(stopping);
        let awake: Vec<u32> = (stopping.threads.iter().copied())
            .filter(|thread| match (calls.get(thread), stopping.asleep.get(thread)) {
                (Some(now), Some(before)) => *now != before.call,
                _ => true,
            })
            .collect();
        let stopped = match stopping.stopper.stop(&awake) {
            Ok(stopped) => stopped,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(permission::not_stopped(self.pid));
            }
            Err(_) => return Err(permission::denied(self.pid)),
        };
        let attempt = self.try_sample();
        let copied = self.copy_all(stopping, &stopped);
        let stood = stopping.stopper.release(&stopped);
        self.stats.stops += u64::from(!stopped.is_empty());
        self.stats.stopped_ns += u64::try_from(stood.as_nanos()).unwrap_or(u64::MAX);
        let mut seen = match attempt {
            Ok(Some(seen)) => seen,
            other => return Ok(other),
        };
        // A thread that is new ran on while it was read; it is stopped the next time.
        stopping.threads = self.native_ids(&seen);
        stopping.asleep.retain(|thread, _| stopping.threads.binary_search(thread).is_ok());
        let mut again = false;
        for thread in &mut seen {
            let Some(number) = thread.native_id.or_else(|| self.number(thread.ident)) else { continue };
            let Some(copy) = copied.iter().find(|copy| copy.thread == number) else {
                match stopping.asleep.get(&number).filter(|_| !awake.contains(&number)) {
                    Some(before) if before.python == thread.frames => thread.frames.clone_from(&before.all),
                    // It was in the same call, and yet elsewhere: it has to be stopped after all.
                    Some(_) => {
                        stopping.asleep.remove(&number);
                        again = true;
                    }
                    None => {}
                }
                continue;
            };
            let (frames, more) = self.native_frames(stopping, copy, &thread.frames);
            // More of its stack was needed than was copied: once more, with that.
            again |= more;
            let python = std::mem::replace(&mut thread.frames, frames);
            match calls.get(&number).filter(|call| tasks::stack_in(call) == Some(copy.stack_end()) && !more) {
                Some(call) => {
                    let all = thread.frames.clone();
                    stopping.asleep.insert(number, SleepingThread { call: call.clone(), python, all });
                }
                None => {
                    stopping.asleep.remove(&number);
                }
            }
        }
        Ok(Ok((!again).then_some(seen)))
    }

    /// The calls of the system in which threads sleep, where native frames are wanted.
    fn calls_of_sleepers(&self, stopping: &StopSampler) -> HashMap<u32, String, RandomState> {
        if self.mode != Mode::Native {
            return HashMap::default();
        }
        let sleepers = stopping.doing.iter().filter(|(_, doing)| **doing == TaskState::Waiting);
        sleepers.filter_map(|(thread, _)| Some((*thread, tasks::whole_call(self.pid, *thread)?))).collect()
    }

    fn copy_all(&mut self, stopping: &StopSampler, stopped: &[Stopped]) -> Vec<ThreadCopy> {
        if self.mode != Mode::Native {
            return Vec::new();
        }
        let memory = &mut self.pages.memory;
        stopped.iter().filter_map(|one| stopping.native.copy(memory, one.thread)).collect()
    }

    /// A thread's frames with the native ones between them; and whether more of its stack should have been copied.
    fn native_frames(
        &mut self,
        stopping: &mut StopSampler,
        copy: &ThreadCopy,
        python: &[Frame],
    ) -> (Vec<Frame>, bool) {
        let StopSampler { native, codes: numbers, .. } = stopping;
        let (frames, more) = native.frames(&mut self.pages.memory, copy);
        let codes = &mut self.codes;
        let mut made = |index: usize, function: &NativeFunction| {
            let code = match numbers.get(&index) {
                Some(code) => *code,
                None => {
                    let unnamed = || format!("[{}]", file_name(&function.file));
                    let name = function.name.clone().unwrap_or_else(unnamed);
                    let code = codes.add_native(&name, &function.file)?;
                    numbers.insert(index, code);
                    code
                }
            };
            Some(Frame { code, line: 0, at: 0, called_by_c: None })
        };
        let mut all = merged(&frames, python, |index| native.function(index).cloned(), &mut made);
        // Several addresses of one file without a name in a row are one frame.
        all.dedup_by(|a, b| a.at == 0 && b.at == 0 && a == b && codes.is_unnamed(a.code));
        (all, more)
    }

    fn native_ids(&mut self, seen: &[ThreadSample]) -> Vec<u32> {
        let mut found: Vec<u32> =
            seen.iter().filter_map(|thread| thread.native_id.or_else(|| self.number(thread.ident))).collect();
        found.sort_unstable();
        found.dedup();
        // What a process says about itself must not make us stop another.
        found.retain(|thread| tasks::belongs(self.pid, *thread));
        found
    }

    /// Threads that Python does not know, stopped one after the other: those of libraries.
    pub fn other_threads(&mut self) -> Vec<OtherThread> {
        let mut stopping = self.begin_stopping();
        let mut found = Vec::new();
        let others = tasks::threads(self.pid).into_iter().filter(|thread| !stopping.threads.contains(thread));
        for thread in others.take(MAX_OTHERS).collect::<Vec<u32>>() {
            // Once more where a stack is deeper than expected.
            for _ in 0..3 {
                let Ok(stopped) = stopping.stopper.stop(&[thread]) else { break };
                let copied =
                    stopped.iter().find_map(|one| stopping.native.copy(&mut self.pages.memory, one.thread));
                stopping.stopper.release(&stopped);
                let Some(copied) = copied else { break };
                let (frames, more) = self.native_frames(&mut stopping, &copied, &[]);
                if !more {
                    let name = tasks::name(self.pid, thread).unwrap_or_default();
                    found.push(OtherThread { native_id: thread, name, frames });
                    break;
                }
            }
        }
        self.stopping = Some(stopping);
        found
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
