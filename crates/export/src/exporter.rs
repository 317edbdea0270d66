//! A directory of a service, read for whoever exports it: at most once per moment, by one thread at a time.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use stepscope_ground::Problem;
use stepscope_ground::moment::now_ns;

use crate::ledger::{Ledger, Snapshot};
use crate::totals::Limits;

/// How soon a wish to stop is noticed.
const LOOK: Duration = Duration::from_millis(100);
/// Reading takes a twentieth of the time at most, as long as nobody waits longer than this for new numbers. A full hour of
/// eight workers, 20 routes and 80 regions is 11 MB, which an unoptimized build reads in 0.4 s.
const MAX_PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE: u32 = 20;

/// Reads a directory.
#[derive(Debug)]
pub struct Exporter {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    ledger: Ledger,
    last: Option<(Instant, Arc<Snapshot>)>,
    /// How long the last look took.
    cost: Duration,
}

impl Exporter {
    /// Reads a directory, and keeps sums of old hours there, so that counters go on after a restart.
    pub fn new(folder: &Path) -> Self {
        Self::with(Ledger::new(folder, Limits::default(), true))
    }

    /// Only reads.
    pub fn reading(folder: &Path) -> Self {
        Self::with(Ledger::new(folder, Limits::default(), false))
    }

    fn with(ledger: Ledger) -> Self {
        Self { state: Mutex::new(State { ledger, last: None, cost: Duration::ZERO }) }
    }

    /// The numbers, no older than this.
    pub fn snapshot(&self, max_age: Duration) -> Result<Arc<Snapshot>, Problem> {
        self.look(|_| max_age)
    }

    /// The numbers, no older than this; but older where a look takes long, so that it costs a service little however often
    /// somebody asks.
    pub fn affordable(&self, max_age: Duration) -> Result<Arc<Snapshot>, Problem> {
        self.look(|cost| max_age.max((cost * PATIENCE).min(MAX_PATIENCE)))
    }

    fn look(&self, max_age: impl FnOnce(Duration) -> Duration) -> Result<Arc<Snapshot>, Problem> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let max_age = max_age(state.cost);
        if let Some((_, last)) = state.last.as_ref().filter(|(read, _)| read.elapsed() < max_age) {
            return Ok(last.clone());
        }
        let now = now_ns();
        let begun = Instant::now();
        let looked = state.ledger.look(now);
        state.cost = begun.elapsed();
        looked?;
        let snapshot = Arc::new(state.ledger.snapshot(now));
        state.last = Some((Instant::now(), snapshot.clone()));
        Ok(snapshot)
    }
}

/// Whether to go on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Again after the interval.
    On,
    /// No more.
    End,
}

/// Does something at once and then in intervals, until that or somebody else says stop.
pub fn every<E>(
    interval: Duration,
    stop: &dyn Fn() -> bool,
    mut work: impl FnMut() -> Result<Pace, E>,
) -> Result<(), E> {
    loop {
        let begun = Instant::now();
        if work()? == Pace::End {
            return Ok(());
        }
        loop {
            if stop() {
                return Ok(());
            }
            let left = interval.saturating_sub(begun.elapsed());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{block, folder, write};

    #[test]
    fn a_look_that_takes_long_is_not_taken_often() {
        let folder = folder("cost");
        let minute = now_ns() / 60_000_000_000;
        let add =
            |count| write(&folder, minute / 60, 1, "open", &[block(minute, 0, "/a", &vec![5_000; count])]);
        let exporter = Exporter::reading(&folder);
        let requests = |snapshot: Result<Arc<Snapshot>, Problem>| snapshot.unwrap().totals.requests();
        // Moves the last look to another moment: how long this machine takes for one is not what is tested.
        let looked_at = |moment: Instant, cost: Duration| {
            let mut state = exporter.state.lock().unwrap();
            state.last.as_mut().unwrap().0 = moment;
            state.cost = cost;
        };
        add(1);
        assert_eq!(requests(exporter.affordable(Duration::ZERO)), 1);
        add(2);
        let slow = Duration::from_secs(3);
        looked_at(Instant::now() + MAX_PATIENCE, slow);
        assert_eq!(requests(exporter.affordable(Duration::ZERO)), 1);
        looked_at(Instant::now(), slow);
        assert_eq!(requests(exporter.snapshot(Duration::ZERO)), 2);
        // That look has a cost of its own.
        assert_ne!(exporter.state.lock().unwrap().cost, slow);
        add(3);
        looked_at(Instant::now() - Duration::from_millis(21), Duration::from_millis(1));
        assert_eq!(requests(exporter.affordable(Duration::ZERO)), 3);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn work_is_repeated_until_somebody_says_stop() {
        let times = std::cell::Cell::new(0);
        let work = || {
            times.set(times.get() + 1);
            Ok::<_, ()>(Pace::On)
        };
        every(Duration::from_millis(1), &|| times.get() >= 3, work).unwrap();
        assert_eq!(times.get(), 3);
        assert_eq!(every(Duration::from_secs(60), &|| false, || Err::<Pace, _>("no")), Err("no"));
        assert_eq!(every(Duration::from_secs(60), &|| false, || Ok::<_, ()>(Pace::End)), Ok(()));
    }
}
