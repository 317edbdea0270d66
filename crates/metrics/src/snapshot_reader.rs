//! Reads the directory of a service for exports: by one thread at a time, and not again while the last numbers are fresh enough.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stepscope_ground::utc::now_ns;
use stepscope_ground::{Problem, lock};

use crate::ledger::{Ledger, Snapshot};
use crate::totals::Limits;

/// Reading takes a twentieth of the time at most, as long as numbers are no older than this. A full hour of
/// eight workers, 20 routes and 80 regions is 11 MB, which an unoptimized build reads in 0.4 s.
const MAX_THROTTLED_AGE: Duration = Duration::from_secs(10);
const COST_RATIO: u32 = 20;

/// The numbers of a directory, read when they are asked for.
#[derive(Debug)]
pub struct SnapshotReader {
    state: Mutex<ReaderState>,
}

#[derive(Debug)]
struct ReaderState {
    ledger: Ledger,
    last: Option<(Instant, Arc<Snapshot>)>,
    cost: Duration,
}

impl SnapshotReader {
    /// Reads a directory, and keeps sums of old hours there, so that counters go on after a restart.
    pub fn new(folder: &Path) -> Self {
        Self::with(Ledger::new(folder, Limits::default(), true))
    }

    /// Only reads.
    pub fn reading(folder: &Path) -> Self {
        Self::with(Ledger::new(folder, Limits::default(), false))
    }

    fn with(ledger: Ledger) -> Self {
        Self { state: Mutex::new(ReaderState { ledger, last: None, cost: Duration::ZERO }) }
    }

    /// The numbers, no older than this.
    pub fn snapshot(&self, max_age: Duration) -> Result<Arc<Snapshot>, Problem> {
        self.read(|_| max_age)
    }

    /// The numbers, no older than this; but older where reading takes long, so that it costs a service little however often
    /// it is asked.
    pub fn throttled_snapshot(&self, max_age: Duration) -> Result<Arc<Snapshot>, Problem> {
        self.read(|cost| max_age.max((cost * COST_RATIO).min(MAX_THROTTLED_AGE)))
    }

    fn read(&self, max_age: impl FnOnce(Duration) -> Duration) -> Result<Arc<Snapshot>, Problem> {
        let mut state = lock(&self.state);
        let max_age = max_age(state.cost);
        if let Some((_, last)) = state.last.as_ref().filter(|(read, _)| read.elapsed() < max_age) {
            return Ok(last.clone());
        }
        let now = now_ns();
        let begun = Instant::now();
        let refreshed = state.ledger.refresh(now);
        state.cost = begun.elapsed();
        refreshed?;
        let snapshot = Arc::new(state.ledger.snapshot(now));
        state.last = Some((Instant::now(), snapshot.clone()));
        Ok(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{block, folder, write};

    #[test]
    fn a_read_that_takes_long_is_not_repeated_often() {
        let folder = folder("cost");
        let minute = now_ns() / 60_000_000_000;
        let add =
            |count| write(&folder, minute / 60, 1, "open", &[block(minute, 0, "/a", &vec![5_000; count])]);
        let reader = SnapshotReader::reading(&folder);
        let requests = |snapshot: Result<Arc<Snapshot>, Problem>| snapshot.unwrap().totals.requests();
        // Moves the last read to another moment: how long this machine takes for one is not what is tested.
        let set_last_read = |moment: Instant, cost: Duration| {
            let mut state = reader.state.lock().unwrap();
            state.last.as_mut().unwrap().0 = moment;
            state.cost = cost;
        };
        add(1);
        assert_eq!(requests(reader.throttled_snapshot(Duration::ZERO)), 1);
        add(2);
        let slow = Duration::from_secs(3);
        set_last_read(Instant::now() + MAX_THROTTLED_AGE, slow);
        assert_eq!(requests(reader.throttled_snapshot(Duration::ZERO)), 1);
        set_last_read(Instant::now(), slow);
        assert_eq!(requests(reader.snapshot(Duration::ZERO)), 2);
        // That read has a cost of its own.
        assert_ne!(reader.state.lock().unwrap().cost, slow);
        add(3);
        set_last_read(Instant::now() - Duration::from_millis(21), Duration::from_millis(1));
        assert_eq!(requests(reader.throttled_snapshot(Duration::ZERO)), 3);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
