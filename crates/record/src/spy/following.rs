//! Which child processes there are to sample: found soon, tried until Python runs in them, at a bounded cost.

use std::time::Instant;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::Spy;
use super::find::Files;
use super::processes::children;

/// New children are looked for this often at the most, …
const MIN_INTERVAL_NS: i64 = 10_000_000;
/// … this often at the least, …
const MAX_INTERVAL_NS: i64 = 1_000_000_000;
/// … and so rarely that it takes one part in so many of a processor, …
const BUSY_COST_RATIO: i64 = 300;
/// … or, where there was no child for a while, so many.
const IDLE_COST_RATIO: i64 = 1000;
const ALONE_AFTER_NS: i64 = 2_000_000_000;
/// A child in which no Python is found is tried in every sample at first: it is about to start.
const MAX_EAGER_TRIES: u32 = 30;
/// After that it is tried again after this, and after twice as long each time, …
const MIN_RETRY_NS: i64 = 20_000_000;
/// … up to this: it may be no Python at all.
const MAX_RETRY_NS: i64 = 5_000_000_000;

/// Children of a process, and theirs.
#[derive(Debug)]
pub(super) struct ChildTracker {
    root: u32,
    pub(super) due_ns: i64,
    /// When there was a child for the last time.
    seen_ns: i64,
    tried: HashMap<u32, ChildAttempts, RandomState>,
    files: Files,
    /// Why some may not be sampled.
    pub(super) denied: Option<String>,
}

#[derive(Copy, Clone, Debug, Default)]
struct ChildAttempts {
    count: u32,
    next_ns: i64,
}

impl ChildAttempts {
    fn is_due(&mut self, now_ns: i64) -> bool {
        if now_ns < self.next_ns {
            return false;
        }
        self.count = self.count.saturating_add(1);
        if let Some(more) = self.count.checked_sub(MAX_EAGER_TRIES) {
            let wait_ns = MIN_RETRY_NS.saturating_mul(1i64 << more.min(30));
            self.next_ns = now_ns + wait_ns.min(MAX_RETRY_NS);
        }
        true
    }
}

impl ChildTracker {
    pub(super) fn new(root: u32) -> ChildTracker {
        ChildTracker {
            root,
            due_ns: i64::MIN,
            seen_ns: i64::MIN,
            tried: HashMap::default(),
            files: Files::default(),
            denied: None,
        }
    }

    /// Children that Python runs in, but for those that are known.
    pub(super) fn attach_new(&mut self, now_ns: i64, is_known: impl Fn(u32) -> bool) -> Vec<Spy> {
        let began = Instant::now();
        if now_ns >= self.due_ns {
            let there = children(self.root);
            if !there.is_empty() {
                self.seen_ns = now_ns;
            }
            self.tried.retain(|pid, _| there.binary_search(pid).is_ok());
            for pid in there {
                self.tried.entry(pid).or_default();
            }
            let took_ns = i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX);
            let alone = now_ns.saturating_sub(self.seen_ns) > ALONE_AFTER_NS;
            let share = if alone { IDLE_COST_RATIO } else { BUSY_COST_RATIO };
            self.due_ns = now_ns + took_ns.saturating_mul(share).clamp(MIN_INTERVAL_NS, MAX_INTERVAL_NS);
        }
        let mut found = Vec::new();
        for (&pid, tries) in &mut self.tried {
            if pid == std::process::id() || is_known(pid) || !tries.is_due(now_ns) {
                continue;
            }
            match Spy::attach_knowing(pid, &mut self.files) {
                Ok(mut spy) => {
                    if spy.is_itself() {
                        found.push(spy);
                    }
                }
                Err(error) if error.denied => self.denied = Some(error.problem.what),
                Err(_) => {}
            }
        }
        // A child that is sampled now and runs another program later is tried anew.
        for spy in &found {
            self.tried.insert(spy.pid(), ChildAttempts::default());
        }
        found.sort_by_key(Spy::pid);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_is_no_python_is_tried_ever_more_rarely() {
        let mut tries = ChildAttempts::default();
        // Ten seconds of samples every 10 ms.
        let tried: Vec<i64> = (0..1000).map(|at| at * 10).filter(|ms| tries.is_due(ms * 1_000_000)).collect();
        assert_eq!(tried[..30], (0..30).map(|at| at * 10).collect::<Vec<i64>>()[..]);
        assert!(tried.len() < 45, "{tried:?}");
        assert!(tried.windows(2).skip(32).all(|pair| pair[1] - pair[0] >= 20), "{tried:?}");
        // However long it goes on.
        assert!((0..100).all(|at| ChildAttempts { count: u32::MAX, next_ns: 0 }.is_due(at)));
    }
}
