//! The one clock of everything that is recorded: nanoseconds since 1970. PyTorch's traces are on it too, so what both
//! record can be laid on one timeline.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now. A clock that stands before 1970 gives 0.
pub fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}
