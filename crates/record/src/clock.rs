//! The one clock of everything that is recorded: nanoseconds since 1970. PyTorch's traces are on it too, so what both
//! record can be laid on one timeline.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Now. A clock that stands before 1970 gives 0.
pub fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}

/// Nanoseconds on a clock that nobody sets: for how long something took, where it need not be laid beside anything else.
pub fn steady_ns() -> i64 {
    nanoseconds(ClockId::Monotonic)
}

/// Processor time that this process has used, all threads together.
pub fn busy_ns() -> i64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

fn nanoseconds(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
