//! Samples the children of this process from a thread of its own, as `record --subprocesses` does from outside: nothing runs in
//! the children. What is seen is kept here, so that a child may die as it likes.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::SpyError;
use super::program::OwnNames;
use super::sampling::Sampling;
use crate::clock::now_ns;

/// The thread that looks.
#[derive(Debug)]
pub struct ChildSampler {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ChildSampler {
    /// Begins to look, so often per second: at children that there are and those to come.
    pub fn start(hz: f64, names: OwnNames) -> Result<(ChildSampler, Arc<Mutex<Sampling>>), SpyError> {
        if !cfg!(target_os = "linux") {
            return Err(SpyError::new("child processes are sampled on Linux only", "use --functions"));
        }
        let seen = Arc::new(Mutex::new(Sampling::of_children(std::process::id(), names, now_ns())));
        let sampling = seen.clone();
        let (stop, stopped) = channel();
        let period = Duration::from_secs_f64(1.0 / hz.clamp(0.1, 10_000.0));
        let thread = std::thread::Builder::new().name("stepscope-child".to_owned()).spawn(move || {
            let (mut due, mut rest) = (Instant::now(), Duration::ZERO);
            loop {
                let now = Instant::now();
                // Looks that were missed are not made up for, nor those that there is nothing for.
                while due <= now + rest {
                    due += period;
                }
                if stopped.recv_timeout(due - now) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let mut sampling = sampling.lock().unwrap_or_else(PoisonError::into_inner);
                let now_ns = now_ns();
                rest = match sampling.look(now_ns, period) {
                    true => Duration::ZERO,
                    false => sampling.until_search(now_ns),
                };
            }
        });
        let failed =
            |error: std::io::Error| SpyError::new(format!("no thread can be started: {error}"), "end others");
        Ok((ChildSampler { stop: Some(stop), thread: Some(thread.map_err(failed)?) }, seen))
    }

    /// Ends; nothing is seen afterwards.
    pub fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Lets go of a thread that a forked child does not have.
    pub fn forget_after_fork(&mut self) {
        std::mem::forget(self.thread.take());
        std::mem::forget(self.stop.take());
    }
}
