//! The threads that analyses run on.
//!
//! Rayon's own pool is made once and never again. A forked child has the pool's data and none of its threads, so it would
//! wait for them for ever. Python programs fork (`multiprocessing` does it for data loaders), so ours is made anew in
//! each process.

use std::process;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::Python;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// What the main thread has on Linux: analyses should not know where they run.
const STACK_BYTES: usize = 8 << 20;

/// The pool of one process. Never freed: a child cannot end the threads of its parent, and must not wait for them.
struct Pool {
    process: u32,
    threads: ThreadPool,
}

static CURRENT: AtomicPtr<Pool> = AtomicPtr::new(null_mut());

/// Does work without holding the interpreter, on the threads of this process.
pub(crate) fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    py.detach(|| match pool() {
        Some(pool) => pool.threads.install(work),
        // There may be no more threads; few analyses need them.
        None => work(),
    })
}

fn pool() -> Option<&'static Pool> {
    let process = process::id();
    let known = CURRENT.load(Ordering::Acquire);
    // SAFETY: it is null, or was leaked below.
    if let Some(pool) = unsafe { known.as_ref() }.filter(|pool| pool.process == process) {
        return Some(pool);
    }
    let name = |at| format!("stepscope-{at}");
    let threads = ThreadPoolBuilder::new().stack_size(STACK_BYTES).thread_name(name).build().ok()?;
    let made: &'static Pool = Box::leak(Box::new(Pool { process, threads }));
    // Two threads that come at once make two pools, and both work. The later one is kept.
    CURRENT.store(std::ptr::from_ref(made).cast_mut(), Ordering::Release);
    Some(made)
}
