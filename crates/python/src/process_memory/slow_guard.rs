//! A question that is asked as long as it is answered quickly.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// So many slow answers in a row, and it is not asked again. One may be a busy machine.
const MAX_SLOW_ANSWERS: u32 = 3;

pub(crate) struct SlowGuard {
    slow_in_a_row: AtomicU32,
}

impl SlowGuard {
    pub(crate) const fn new() -> SlowGuard {
        SlowGuard { slow_in_a_row: AtomicU32::new(0) }
    }

    /// The answer; nothing once it took longer than `limit` too often.
    pub(crate) fn ask<T>(&self, limit: Duration, question: impl FnOnce() -> Option<T>) -> Option<T> {
        if self.slow_in_a_row.load(Ordering::Relaxed) >= MAX_SLOW_ANSWERS {
            return None;
        }
        let began = Instant::now();
        let answer = question();
        if began.elapsed() <= limit {
            self.slow_in_a_row.store(0, Ordering::Relaxed);
        } else {
            self.slow_in_a_row.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }
}
