//! Times lines of functions that are watched.
//!
//! The time from one line of a function to its next belongs to the first of the two, with what the line calls. Two things
//! interrupt it. While another call of the same function runs (recursion), the time is that call's, so the lines of a
//! function add up to the time spent in it. And where each moment may belong to only one line ([`Share::Own`]), the time
//! in any other watched function is that function's.
//!
//! A line counts when it begins. Times are ticks of whatever clock the caller reads.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::calls::FunctionId;

/// What the time of a line holds.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Share {
    /// The time in everything it calls too.
    Total,
    /// The same without watched functions that it calls.
    Own,
}

/// Lines this close to the beginning of their function are found by an index.
const MAX_NEAR: u32 = 1 << 14;
const NO_CELL: u32 = u32::MAX;

/// A call of a watched function that has not ended.
struct OpenCall {
    key: usize,
    code: u32,
    /// Its line, or none yet.
    cell: u32,
    since: u64,
    runs: bool,
    waiting: u32,
}

struct Code {
    function: FunctionId,
    first_line: u32,
    near: Vec<u32>,
    far: HashMap<u32, u32, RandomState>,
    /// The innermost open call of it.
    innermost: u32,
}

#[derive(Copy, Clone)]
struct Cell {
    code: u32,
    line: u32,
    hits: u64,
    ticks: u64,
}

/// A line, how often it began and how long it ran.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LineSum {
    pub function: FunctionId,
    /// The line, counted from 1.
    pub line: u32,
    pub hits: u64,
    pub ticks: u64,
}

pub struct ThreadLines {
    share: Share,
    /// Ticks that an event takes on its way here: they are in no line.
    cost: u64,
    stack: Vec<OpenCall>,
    codes: Vec<Code>,
    numbers: HashMap<usize, u32, RandomState>,
    cells: Vec<Cell>,
    events: u64,
}

/// What has to be known about a watched function when it is first seen in a thread: its number and its first line.
pub type Watched = (FunctionId, u32);

impl ThreadLines {
    /// Nothing yet. Every event is taken to cost so many ticks, which are not a line's.
    pub fn new(share: Share, cost: u64) -> ThreadLines {
        ThreadLines {
            share,
            cost,
            stack: Vec::new(),
            codes: Vec::new(),
            numbers: HashMap::default(),
            cells: Vec::new(),
            events: 0,
        }
    }

    /// A watched function starts, or goes on in the middle of `line`.
    pub fn enter(&mut self, key: usize, watched: impl FnOnce() -> Watched, line: Option<u32>, now: u64) {
        self.events += 1;
        let code = self.code(key, watched);
        let cell = line.map_or(NO_CELL, |line| {
            let cell = self.cell(code, line);
            // A generator that has not begun is on the line of its `def`, which is none that runs.
            if self.cells[cell as usize].hits > 0 { cell } else { NO_CELL }
        });
        self.push(key, code, cell, now);
    }

    /// A line begins. A function that ran before it was watched is first seen here.
    #[inline]
    pub fn line(&mut self, key: usize, watched: impl FnOnce() -> Watched, line: u32, now: u64) {
        self.events += 1;
        if self.stack.last().is_none_or(|open| open.key != key) {
            let code = self.code(key, watched);
            self.push(key, code, NO_CELL, now);
        }
        let Some(open) = self.stack.last_mut() else { return };
        if open.cell != NO_CELL && open.runs {
            self.cells[open.cell as usize].ticks += now.saturating_sub(open.since);
        }
        let code = open.code;
        let known = self.codes[code as usize]
            .near
            .get(line.wrapping_sub(self.codes[code as usize].first_line) as usize)
            .copied();
        open.since = now + self.cost;
        open.runs = true;
        match known {
            Some(cell) if cell != NO_CELL => {
                open.cell = cell;
                self.cells[cell as usize].hits += 1;
            }
            _ => {
                let cell = self.cell(code, line);
                self.cells[cell as usize].hits += 1;
                if let Some(open) = self.stack.last_mut() {
                    open.cell = cell;
                }
            }
        }
    }

    /// A watched function ends or pauses. What was missed above it ends too; an end without a beginning is none.
    #[inline]
    pub fn leave(&mut self, key: usize, now: u64) {
        self.events += 1;
        let Some(at) = self.stack.iter().rposition(|open| open.key == key) else { return };
        while self.stack.len() > at {
            self.pop(now);
        }
    }

    /// Counts the time up to now, and from now on none until [`resume`](Self::resume).
    pub fn pause(&mut self, now: u64) {
        self.settle(now);
        if let Some(open) = self.stack.last_mut() {
            open.runs = false;
        }
    }

    /// Counts time again.
    pub fn resume(&mut self, now: u64) {
        if let Some(open) = self.stack.last_mut() {
            open.runs = true;
            open.since = now;
        }
    }

    /// Counts the time up to now of the lines that run.
    pub fn settle(&mut self, now: u64) {
        for open in self.stack.iter_mut().filter(|open| open.runs) {
            if open.cell != NO_CELL {
                self.cells[open.cell as usize].ticks += now.saturating_sub(open.since);
            }
            open.since = now;
        }
    }

    /// Ends every call that is open.
    pub fn end_all(&mut self, now: u64) {
        while !self.stack.is_empty() {
            self.pop(now);
        }
    }

    /// Whether no watched function runs.
    pub fn is_idle(&self) -> bool {
        self.stack.is_empty()
    }

    /// How many events were reported.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The lines that ran, in no order.
    pub fn sums(&self) -> impl Iterator<Item = LineSum> {
        self.cells.iter().filter(|cell| cell.hits > 0).map(|cell| LineSum {
            function: self.codes[cell.code as usize].function,
            line: cell.line,
            hits: cell.hits,
            ticks: cell.ticks,
        })
    }

    fn push(&mut self, key: usize, code: u32, cell: u32, now: u64) {
        let at = self.stack.len() as u32;
        let waiting = match self.share {
            Share::Own => at.checked_sub(1).unwrap_or(NO_CELL),
            Share::Total => self.codes[code as usize].innermost,
        };
        if let Some(below) = self.stack.get_mut(waiting as usize).filter(|below| below.runs) {
            if below.cell != NO_CELL {
                self.cells[below.cell as usize].ticks += now.saturating_sub(below.since);
            }
            below.runs = false;
        }
        self.codes[code as usize].innermost = at;
        self.stack.push(OpenCall { key, code, cell, since: now + self.cost, runs: true, waiting });
    }

    fn pop(&mut self, now: u64) {
        let Some(open) = self.stack.pop() else { return };
        if open.cell != NO_CELL && open.runs {
            self.cells[open.cell as usize].ticks += now.saturating_sub(open.since);
        }
        let innermost = match self.share {
            Share::Total => open.waiting,
            Share::Own => NO_CELL,
        };
        self.codes[open.code as usize].innermost = innermost;
        if let Some(below) = self.stack.get_mut(open.waiting as usize) {
            below.runs = true;
            below.since = now + self.cost;
        }
    }

    fn code(&mut self, key: usize, watched: impl FnOnce() -> Watched) -> u32 {
        if let Some(&code) = self.numbers.get(&key) {
            return code;
        }
        let (function, first_line) = watched();
        let code = self.codes.len() as u32;
        let near = Vec::new();
        self.codes.push(Code { function, first_line, near, far: HashMap::default(), innermost: NO_CELL });
        self.numbers.insert(key, code);
        code
    }

    #[cold]
    fn cell(&mut self, code: u32, line: u32) -> u32 {
        let known = &mut self.codes[code as usize];
        let place = match line.checked_sub(known.first_line) {
            Some(near) if near < MAX_NEAR => {
                if known.near.len() <= near as usize {
                    known.near.resize(near as usize + 1, NO_CELL);
                }
                &mut known.near[near as usize]
            }
            _ => known.far.entry(line).or_insert(NO_CELL),
        };
        if *place == NO_CELL {
            *place = self.cells.len() as u32;
            self.cells.push(Cell { code, line, hits: 0, ticks: 0 });
        }
        *place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F: usize = 100;
    const G: usize = 200;

    fn watched(key: usize) -> impl FnOnce() -> Watched {
        move || (FunctionId(key as u32), key as u32)
    }

    fn enter(lines: &mut ThreadLines, key: usize, now: u64) {
        lines.enter(key, watched(key), None, now);
    }

    fn line(lines: &mut ThreadLines, key: usize, line: u32, now: u64) {
        lines.line(key, watched(key), line, now);
    }

    fn sums(lines: &ThreadLines) -> Vec<(u32, u64, u64)> {
        let mut found: Vec<_> = lines.sums().map(|sum| (sum.line, sum.hits, sum.ticks)).collect();
        found.sort_unstable();
        found
    }

    /// f (lines 101, 102) runs from 0 to 100; its line 102 calls g (line 201) from 40 to 70.
    fn one_calls_another(share: Share) -> Vec<(u32, u64, u64)> {
        let mut lines = ThreadLines::new(share, 0);
        enter(&mut lines, F, 0);
        line(&mut lines, F, 101, 5);
        line(&mut lines, F, 102, 30);
        enter(&mut lines, G, 40);
        line(&mut lines, G, 201, 45);
        lines.leave(G, 70);
        lines.leave(F, 100);
        assert!(lines.is_idle());
        assert_eq!(lines.events(), 7);
        sums(&lines)
    }

    #[test]
    fn a_line_has_the_time_of_what_it_calls_or_not() {
        assert_eq!(one_calls_another(Share::Total), [(101, 1, 25), (102, 1, 70), (201, 1, 25)]);
        // 30 to 40 and 70 to 100; the first 5 ticks of g are no one's.
        assert_eq!(one_calls_another(Share::Own), [(101, 1, 25), (102, 1, 40), (201, 1, 25)]);
    }

    #[test]
    fn the_lines_of_a_recursive_function_add_up_to_the_time_spent_in_it() {
        for share in [Share::Total, Share::Own] {
            let mut lines = ThreadLines::new(share, 0);
            for (depth, at) in [(0, 0), (1, 10), (2, 20)] {
                enter(&mut lines, F, at);
                line(&mut lines, F, 101 + depth, at);
            }
            for at in [50, 70, 100] {
                lines.leave(F, at);
            }
            assert_eq!(sums(&lines), [(101, 1, 10 + 30), (102, 1, 10 + 20), (103, 1, 30)]);
        }
    }

    #[test]
    fn a_generator_goes_on_in_its_line_and_rests_in_between() {
        let mut lines = ThreadLines::new(Share::Total, 0);
        // Before it has begun it is on its first line, which does not run.
        lines.enter(F, watched(F), Some(100), 0);
        line(&mut lines, F, 102, 10);
        lines.leave(F, 30);
        lines.enter(F, watched(F), Some(102), 1000);
        lines.leave(F, 1005);
        assert_eq!(sums(&lines), [(102, 1, 25)]);
    }

    #[test]
    fn a_function_that_ran_before_is_seen_at_its_next_line() {
        let mut lines = ThreadLines::new(Share::Own, 0);
        lines.leave(G, 5);
        line(&mut lines, F, 105, 10);
        lines.settle(20);
        assert_eq!(sums(&lines), [(105, 1, 10)]);
        lines.pause(30);
        lines.resume(90);
        lines.end_all(100);
        assert_eq!(sums(&lines), [(105, 1, 30)]);
    }

    #[test]
    fn what_events_cost_is_no_lines_time() {
        let mut lines = ThreadLines::new(Share::Own, 3);
        enter(&mut lines, F, 0);
        line(&mut lines, F, 101, 10);
        line(&mut lines, F, 102, 20);
        enter(&mut lines, G, 22);
        lines.leave(G, 30);
        lines.leave(F, 40);
        // 13 to 20; 23 is after 22; 33 to 40.
        assert_eq!(sums(&lines), [(101, 1, 7), (102, 1, 7)]);
    }

    #[test]
    fn lines_far_from_their_function() {
        let mut lines = ThreadLines::new(Share::Total, 0);
        for at in [1, u32::MAX, 1] {
            line(&mut lines, F, at, 0);
        }
        assert_eq!(sums(&lines), [(1, 2, 0), (u32::MAX, 1, 0)]);
        assert_eq!(lines.codes[0].near.len(), 0);
    }
}
