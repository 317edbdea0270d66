//! Work that is repeated at an interval.

use std::time::{Duration, Instant};

/// How soon a request to stop is noticed.
const STOP_POLL: Duration = Duration::from_millis(100);

/// Does something at once and then at an interval, until it fails or `stop` says so.
pub fn repeat_every<E>(
    interval: Duration,
    stop: &dyn Fn() -> bool,
    mut work: impl FnMut() -> Result<(), E>,
) -> Result<(), E> {
    loop {
        let begun = Instant::now();
        work()?;
        loop {
            if stop() {
                return Ok(());
            }
            let left = interval.saturating_sub(begun.elapsed());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(STOP_POLL));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_repeated_until_it_is_stopped_or_fails() {
        let times = std::cell::Cell::new(0);
        let work = || {
            times.set(times.get() + 1);
            Ok::<_, ()>(())
        };
        repeat_every(Duration::from_millis(1), &|| times.get() >= 3, work).unwrap();
        assert_eq!(times.get(), 3);
        assert_eq!(repeat_every(Duration::from_secs(60), &|| false, || Err("no")), Err("no"));
    }
}
