//! The one clock of everything that is recorded: nanoseconds since 1970. PyTorch's traces are on it too, so what both
//! record can be laid on one timeline.

use rustix::time::{ClockId, clock_gettime};

pub use stepscope_ground::utc::now_ns;

/// Nanoseconds on a monotonic clock: for how long something took, where it need not be laid beside anything else.
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
