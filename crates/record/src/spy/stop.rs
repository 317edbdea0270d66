//! Stops threads of a process for a moment and lets them go on. A thread is held only within one sample; should this process end
//! meanwhile, the system lets it go.

use std::io;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use stepscope_ground::lock;

use super::processes::parent;
use super::system::{Halt, ask_to_stop, halted, let_go};

/// How long threads may take to stop. One that waits for a device or a network disk cannot, until that answers.
const MAX_STOP_WAIT: Duration = Duration::from_millis(50);
/// So often a thread is asked at once whether it has stopped; afterwards with a pause.
const MAX_BUSY_POLLS: u32 = 200;
const POLL_INTERVAL: Duration = Duration::from_micros(50);

/// Why no thread could be stopped.
const NO_SUCH_PROCESS: i32 = 3;

/// A thread that is stopped.
#[derive(Copy, Clone, Debug)]
pub(super) struct Stopped {
    pub(super) thread: u32,
    signal: i32,
}

/// Stops threads of one process.
#[derive(Debug)]
pub(super) struct Stopper {
    pid: u32,
    /// A child of ours is waited for elsewhere: its end must not be noted here.
    own_child: bool,
    /// Threads that were asked and have not stopped yet.
    late: Vec<u32>,
    /// Since when threads are stopped: the first of them. Until one has a processor to notice that it is to stop, it waits anyway.
    since: Option<Instant>,
}

impl Stopper {
    pub(super) fn new(pid: u32) -> Stopper {
        Stopper { pid, own_child: parent(pid) == Some(std::process::id()), late: Vec::new(), since: None }
    }

    fn halted(&self, thread: u32) -> Halt {
        // A thread that is unknown has ended.
        halted(thread, !(self.own_child && thread == self.pid)).unwrap_or(Halt::Ended)
    }

    /// Stops these threads, as many as can be; the first refusal is an error.
    pub(super) fn stop(&mut self, threads: &[u32]) -> io::Result<Vec<Stopped>> {
        self.resume_stragglers();
        let mut asked = Vec::with_capacity(threads.len());
        let mut refused = None;
        for &thread in threads.iter().filter(|thread| !self.late.contains(thread)) {
            match ask_to_stop(thread) {
                Ok(()) => asked.push(thread),
                Err(error) if error.raw_os_error() == Some(NO_SUCH_PROCESS) => {}
                Err(error) => refused = Some(error),
            }
        }
        let mut stopped = Vec::with_capacity(asked.len());
        let (began, mut tries) = (Instant::now(), 0);
        let mut since = None;
        while !asked.is_empty() && began.elapsed() < MAX_STOP_WAIT {
            asked.retain(|&thread| match self.halted(thread) {
                Halt::NotYet => true,
                Halt::Still(signal) => {
                    since = since.or_else(|| Some(Instant::now()));
                    stopped.push(Stopped { thread, signal });
                    false
                }
                Halt::Ended => false,
            });
            tries += 1;
            if tries > MAX_BUSY_POLLS {
                std::thread::sleep(POLL_INTERVAL);
            } else {
                std::thread::yield_now();
            }
        }
        self.late.extend(asked);
        self.since = since;
        match refused {
            Some(error) if stopped.is_empty() => Err(error),
            _ => Ok(stopped),
        }
    }

    /// Lets them go on, with the signals that were on their way. For how long they stood still.
    pub(super) fn release(&mut self, stopped: &[Stopped]) -> Duration {
        for one in stopped {
            let _ = let_go(one.thread, one.signal);
        }
        self.since.take().map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn resume_stragglers(&mut self) {
        let late = std::mem::take(&mut self.late);
        for thread in late {
            match self.halted(thread) {
                Halt::NotYet => self.late.push(thread),
                Halt::Still(signal) => {
                    let _ = let_go(thread, signal);
                }
                Halt::Ended => {}
            }
        }
    }
}

/// Threads that were asked to stop by a [`Stopper`] that is gone, and whether their end is to be noted here.
static STRAGGLERS: Mutex<Vec<(u32, bool)>> = Mutex::new(Vec::new());

impl Drop for Stopper {
    fn drop(&mut self) {
        self.resume_stragglers();
        let left = self.late.iter().map(|thread| (*thread, !(self.own_child && *thread == self.pid)));
        lock(&STRAGGLERS).extend(left);
    }
}

/// Resumes threads that stopped too late to be waited for. Called while something waits for their process.
pub fn resume_stragglers() {
    lock(&STRAGGLERS).retain(|(thread, reap)| match halted(*thread, *reap).unwrap_or(Halt::Ended) {
        Halt::NotYet => true,
        Halt::Still(signal) => {
            let _ = let_go(*thread, signal);
            false
        }
        Halt::Ended => false,
    });
}
