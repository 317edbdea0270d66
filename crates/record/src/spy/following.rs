//! Which child processes there are to look at: found soon, tried until Python runs in them, at a bounded cost.

use std::time::Instant;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::find::Files;
use super::{Spy, children};

/// New children are looked for this often at the most, …
const EVERY_NS: i64 = 10_000_000;
/// … this often at the least, …
const AT_LEAST_NS: i64 = 1_000_000_000;
/// … and so rarely that it takes one part in so many of a processor, …
const SHARE: i64 = 300;
/// … or, where there was no child for a while, so many.
const SHARE_ALONE: i64 = 1000;
const A_WHILE_NS: i64 = 2_000_000_000;
/// A child in which no Python is found is tried again after this, and after twice as long each time, …
const FIRST_TRY_NS: i64 = 5_000_000;
/// … up to this: it may be no Python at all.
const LAST_TRY_NS: i64 = 5_000_000_000;

/// Children of a process, and theirs.
#[derive(Debug)]
pub(super) struct Following {
    root: u32,
    pub(super) due_ns: i64,
    /// When there was a child for the last time.
    seen_ns: i64,
    /// Those that are not looked at, by their numbers: when to try next, and how long to wait after that.
    tried: HashMap<u32, (i64, i64), RandomState>,
    files: Files,
    /// Why some may not be looked at.
    pub(super) denied: Option<String>,
}

impl Following {
    pub(super) fn new(root: u32) -> Following {
        Following {
            root,
            due_ns: i64::MIN,
            seen_ns: i64::MIN,
            tried: HashMap::default(),
            files: Files::default(),
            denied: None,
        }
    }

    /// Children that Python runs in, but for those that are known.
    pub(super) fn found(&mut self, now_ns: i64, is_known: impl Fn(u32) -> bool) -> Vec<Spy> {
        let began = Instant::now();
        if now_ns >= self.due_ns {
            let there = children(self.root);
            if !there.is_empty() {
                self.seen_ns = now_ns;
            }
            self.tried.retain(|pid, _| there.binary_search(pid).is_ok());
            for pid in there {
                self.tried.entry(pid).or_insert((now_ns, FIRST_TRY_NS));
            }
            let took_ns = i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX);
            let alone = now_ns.saturating_sub(self.seen_ns) > A_WHILE_NS;
            let share = if alone { SHARE_ALONE } else { SHARE };
            self.due_ns = now_ns + took_ns.saturating_mul(share).clamp(EVERY_NS, AT_LEAST_NS);
        }
        let mut found = Vec::new();
        for (&pid, (next_ns, wait_ns)) in &mut self.tried {
            if now_ns < *next_ns || pid == std::process::id() || is_known(pid) {
                continue;
            }
            *next_ns = now_ns + *wait_ns;
            *wait_ns = wait_ns.saturating_mul(2).min(LAST_TRY_NS);
            match Spy::attach_knowing(pid, &mut self.files) {
                Ok(mut spy) => {
                    if spy.is_itself() {
                        found.push(spy);
                    }
                }
                Err(error) if error.denied => self.denied = Some(error.what),
                Err(_) => {}
            }
        }
        // A child that is looked at now and runs another program later is tried anew.
        for spy in &found {
            self.tried.insert(spy.pid(), (now_ns, FIRST_TRY_NS));
        }
        found.sort_by_key(Spy::pid);
        found
    }
}
