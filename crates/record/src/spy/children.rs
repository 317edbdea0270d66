//! Samples the children of this process from a thread of its own, as `record --subprocesses` does from outside: nothing runs in
//! the children. What is seen is kept here, so that a child may die as it likes.

use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stepscope_ground::lock;

use super::SpyError;
use super::program::OwnNames;
use super::sampling::Sampling;
use crate::clock::now_ns;
use crate::stoppable_thread::StoppableThread;

/// Begins to sample the children that there are and those to come, so often per second.
pub fn sample_children(hz: f64, names: OwnNames) -> Result<(StoppableThread, Arc<Mutex<Sampling>>), SpyError> {
    if !cfg!(target_os = "linux") {
        return Err(SpyError::new("child processes are sampled on Linux only", "use --functions"));
    }
    let seen = Arc::new(Mutex::new(Sampling::of_children(std::process::id(), names, now_ns())));
    let sampling = seen.clone();
    let period = Duration::from_secs_f64(1.0 / hz.clamp(0.1, 10_000.0));
    let thread = StoppableThread::start("stepscope-child", move |stopped| {
        let (mut due, mut rest) = (Instant::now(), Duration::ZERO);
        loop {
            let now = Instant::now();
            // Samples that were missed are not made up for, nor those that there is nothing for.
            while due <= now + rest {
                due += period;
            }
            if stopped.recv_timeout(due - now) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let mut sampling = lock(&sampling);
            let now_ns = now_ns();
            rest = match sampling.sample(now_ns, period) {
                true => Duration::ZERO,
                false => sampling.until_search(now_ns),
            };
        }
    });
    Ok((thread.map_err(SpyError::no_thread)?, seen))
}
