//! What lines do to the memory of the process: the difference between what is in memory after a line and before it.
//!
//! Asking the system takes as long as ten lines do, so that it is asked where something may have changed: memory was
//! allocated or freed since, or time has passed.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::calls::FunctionId;

/// Changes that are worth asking for.
const WORTH_BYTES: u64 = 4_096;

/// What is known about one line.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct LineGrowth {
    pub hits: u64,
    /// The most that was in memory after it.
    pub most_bytes: u64,
    /// What was in memory after it and not before, over all its runs.
    pub increment_bytes: i64,
}

#[derive(Clone, Debug)]
struct OpenCall {
    code: usize,
    function: FunctionId,
    /// The line that runs, and what was in memory before it.
    line: Option<(u32, u64)>,
}

/// The lines of one thread's calls, and what they added.
#[derive(Clone, Debug, Default)]
pub struct LineMemories {
    open: HashMap<u64, Vec<OpenCall>, RandomState>,
    sums: HashMap<(FunctionId, u32), LineGrowth, RandomState>,
    asked: u64,
    asked_live: u64,
    asked_at: u64,
    every: u64,
    events: u64,
}

impl LineMemories {
    /// The system is asked after so many ticks of the clock at the latest.
    pub fn new(every: u64) -> LineMemories {
        LineMemories { every, ..LineMemories::default() }
    }

    fn now(&mut self, live: u64, clock: impl Fn() -> u64, ask: impl Fn() -> u64) -> u64 {
        self.events += 1;
        if live.abs_diff(self.asked_live) < WORTH_BYTES && self.asked != 0 {
            let now = clock();
            if now.wrapping_sub(self.asked_at) < self.every {
                return self.asked;
            }
            self.asked_at = now;
        } else {
            self.asked_at = clock();
        }
        self.asked_live = live;
        self.asked = ask();
        self.asked
    }

    /// A function starts or goes on.
    pub fn enter(&mut self, thread: u64, code: usize, function: FunctionId) {
        self.open.entry(thread).or_default().push(OpenCall { code, function, line: None });
    }

    /// A line begins: the one before it has ended.
    pub fn line(
        &mut self,
        thread: u64,
        code: usize,
        line: u32,
        live: u64,
        clock: impl Fn() -> u64,
        ask: impl Fn() -> u64,
    ) {
        let now = self.now(live, clock, ask);
        let Some(open) =
            self.open.get_mut(&thread).and_then(|open| open.last_mut()).filter(|open| open.code == code)
        else {
            return;
        };
        let before = open.line.replace((line, now));
        let function = open.function;
        if let Some((line, started)) = before {
            self.ended(function, line, started, now);
        }
    }

    /// A function ends or pauses.
    pub fn leave(
        &mut self,
        thread: u64,
        code: usize,
        live: u64,
        clock: impl Fn() -> u64,
        ask: impl Fn() -> u64,
    ) {
        let now = self.now(live, clock, ask);
        let Some(open) = self.open.get_mut(&thread) else { return };
        let Some(at) = open.iter().rposition(|open| open.code == code) else { return };
        let gone = open.split_off(at);
        if open.is_empty() {
            self.open.remove(&thread);
        }
        if let Some(OpenCall { function, line: Some((line, started)), .. }) = gone.first() {
            self.ended(*function, *line, *started, now);
        }
    }

    fn ended(&mut self, function: FunctionId, line: u32, before: u64, after: u64) {
        let known = self.sums.entry((function, line)).or_default();
        known.hits += 1;
        known.most_bytes = known.most_bytes.max(after);
        known.increment_bytes += after as i64 - before as i64;
    }

    pub fn events(&self) -> u64 {
        self.events
    }

    /// Every line that ran to its end.
    pub fn sums(&self) -> impl Iterator<Item = (FunctionId, u32, LineGrowth)> + '_ {
        self.sums.iter().map(|(&(function, line), &growth)| (function, line, growth))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_line_gets_what_grew_until_the_next() {
        let (rss, live, asked) = (Cell::new(1_000_000u64), Cell::new(0u64), Cell::new(0));
        let mut lines = LineMemories::new(1_000);
        let ask = || {
            asked.set(asked.get() + 1);
            rss.get()
        };
        let f = FunctionId(0);
        lines.enter(1, 7, f);
        lines.line(1, 7, 10, live.get(), || 0, ask);
        rss.set(1_500_000);
        live.set(500_000);
        lines.line(1, 7, 11, live.get(), || 0, ask);
        // Nothing was allocated and no time passed, so that no one is asked.
        rss.set(1_500_100);
        lines.line(1, 7, 12, live.get(), || 10, ask);
        assert_eq!(asked.get(), 2);
        rss.set(1_200_000);
        live.set(200_000);
        lines.leave(1, 7, live.get(), || 10, ask);
        // A function that is not open ends.
        lines.leave(1, 7, live.get(), || 10, ask);
        let mut found: Vec<_> = lines.sums().map(|(_, line, growth)| (line, growth)).collect();
        found.sort_by_key(|(line, _)| *line);
        let growth = |most_bytes, increment_bytes| LineGrowth { hits: 1, most_bytes, increment_bytes };
        assert_eq!(
            found,
            [(10, growth(1_500_000, 500_000)), (11, growth(1_500_000, 0)), (12, growth(1_200_000, -300_000))]
        );
    }
}
