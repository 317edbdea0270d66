//! Whether time grows like the file, measured in CPU time, not wall time.
//!
//! What is asked runs on one thread, so that its own clock counts it all: whatever else the machine does, in this program
//! or another, does not.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Instant;

/// Seconds, by what they were for.
pub type Costs = BTreeMap<String, f64>;

thread_local! {
    static TOOK: RefCell<Costs> = RefCell::default();
}

pub fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let clock = Clock::start();
    let answer = work();
    let took = clock.seconds();
    TOOK.with_borrow_mut(|all| *all.entry(what.to_owned()).or_default() += took);
    answer
}

/// What was noted on this thread since the last time.
pub fn took() -> Costs {
    TOOK.take()
}

/// How many times as large the larger file is.
const TIMES: i64 = 4;
/// What is linear takes four times as long, with caches and sorting some more; what is quadratic, sixteen times.
const MOST: f64 = 10.0;
/// Seconds that say nothing: the system's clock is coarse.
const LITTLE: f64 = 0.01;
const TRIES: usize = 4;

thread_local! {
    /// A pool of one thread, which is this one: everything that is asked is counted.
    static POOL: rayon::ThreadPool =
        rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
}

struct Clock {
    begun: Option<f64>,
    wall: Instant,
}

impl Clock {
    fn start() -> Clock {
        Clock { begun: thread_seconds(), wall: Instant::now() }
    }

    fn seconds(&self) -> f64 {
        match (self.begun, thread_seconds()) {
            (Some(begun), Some(now)) => now - begun,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

/// Linux says how long a thread has run; elsewhere the clock on the wall must do.
fn thread_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

/// Asks about a file of some size and one four times as large, with [`timed`]. The best of several tries counts. What no longer
/// fits into a cache that others use, too, grows faster once; what is quadratic does so again, in a file larger still.
pub fn assert_linear(ask: impl Fn(i64) + Send + Sync) {
    let ask = |times: i64| POOL.with(|pool| pool.install(|| ask(times)));
    let mut slow = Vec::new();
    for small in [1, TIMES] {
        let mut best: [Costs; 2] = Default::default();
        for _ in 0..TRIES {
            for (at, times) in [small, small * TIMES].into_iter().enumerate() {
                took();
                ask(times);
                for (what, took) in took() {
                    let least = best[at].entry(what).or_insert(f64::INFINITY);
                    *least = least.min(took);
                }
            }
            let small = |what: &str| best[0].get(what).copied().unwrap_or(0.0);
            let grown = best[1].iter().filter(|(what, took)| **took > MOST * small(what).max(LITTLE));
            slow =
                grown.map(|(what, took)| format!("{what}: {:.3} s, then {took:.3} s", small(what))).collect();
            if slow.is_empty() {
                return;
            }
        }
    }
    panic!("grows faster than the file:\n{}", slow.join("\n"));
}
