//! Something that is worth doing now and then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(super) struct RateLimit {
    begun: Instant,
    every_ns: u64,
    next_ns: AtomicU64,
}

impl RateLimit {
    pub(super) fn new(every: Duration) -> Self {
        Self { begun: Instant::now(), every_ns: every.as_nanos() as u64, next_ns: AtomicU64::new(0) }
    }

    /// Whether it is time again; whoever asks first gets the yes.
    pub(super) fn is_time(&self) -> bool {
        let now_ns = self.begun.elapsed().as_nanos() as u64;
        let next_ns = self.next_ns.load(Ordering::Relaxed);
        let later_ns = now_ns + self.every_ns;
        now_ns >= next_ns
            && self.next_ns.compare_exchange(next_ns, later_ns, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}
