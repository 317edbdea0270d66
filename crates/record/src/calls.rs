//! Counts calls: who called whom how often, and how long that took.
//!
//! The rules are those of Python's `cProfile`, so that its readers read ours. A call counts when it ends. It is primitive if
//! no other call of the function is open in the thread, and only primitive calls add to a function's total time, so time
//! in recursion counts once. The same holds for each pair of caller and called.
//!
//! Times are ticks of whatever clock the caller reads; [`CallTotals::profile`] turns them into nanoseconds.

mod edge_table;
mod pattern;
mod totals;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use edge_table::EdgeTable;
pub use pattern::{Pattern, plain_name};
pub use totals::CallTotals;

/// Names a function in the caller's own list.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// The caller of what runs at the bottom of a stack.
const NO_CALLER: u32 = u32::MAX;

/// A call that has not ended.
#[derive(Clone)]
struct OpenCall {
    key: usize,
    edge: u32,
    function: u32,
    start: u64,
    /// Ticks in what it called.
    inner: u64,
}

/// One function's calls of another.
#[derive(Clone)]
struct Edge {
    caller: u32,
    called: u32,
    calls: u64,
    primitive: u64,
    own: u64,
    total: u64,
    open: u32,
}

/// What a function took in this thread, beyond what its edges say.
#[derive(Clone)]
struct Function {
    id: FunctionId,
    primitive: u64,
    total: u64,
    open: u32,
}

#[derive(Clone, Default)]
pub struct ThreadCalls {
    stack: Vec<OpenCall>,
    edges: Vec<Edge>,
    functions: Vec<Function>,
    numbers: HashMap<FunctionId, u32, RandomState>,
    table: EdgeTable,
}

impl ThreadCalls {
    /// A function is called. `key` is its address or whatever else tells it from others; `name` is asked once for each.
    /// The clock is read last, so that the bookkeeping is not the function's time.
    #[inline]
    pub fn enter(&mut self, key: usize, name: impl FnOnce() -> FunctionId, clock: impl FnOnce() -> u64) {
        let caller = self.stack.last().map_or(NO_CALLER, |open| open.function);
        let edge = match self.table.find(caller, key) {
            Some(edge) => edge,
            None => self.add_edge(caller, key, name()),
        };
        let known = &mut self.edges[edge as usize];
        known.open += 1;
        let function = known.called;
        self.functions[function as usize].open += 1;
        self.stack.push(OpenCall { key, edge, function, start: 0, inner: 0 });
        if let Some(open) = self.stack.last_mut() {
            open.start = clock();
        }
    }

    /// A call ends. What was entered and never left above it ends with it; an end without a beginning is none.
    #[inline]
    pub fn leave(&mut self, key: usize, now: u64) {
        match self.stack.last() {
            Some(open) if open.key == key => self.end_innermost(now),
            _ => self.unwind(key, now),
        }
    }

    /// Whether no call is open.
    pub fn is_idle(&self) -> bool {
        self.stack.is_empty()
    }

    /// Ends every call that is open.
    pub fn end_all(&mut self, now: u64) {
        while !self.stack.is_empty() {
            self.end_innermost(now);
        }
    }

    #[inline]
    fn end_innermost(&mut self, now: u64) {
        let Some(open) = self.stack.pop() else { return };
        let took = now.saturating_sub(open.start);
        let own = took.saturating_sub(open.inner);
        let edge = &mut self.edges[open.edge as usize];
        edge.calls += 1;
        edge.own += own;
        edge.open -= 1;
        if edge.open == 0 {
            edge.primitive += 1;
            edge.total += took;
        }
        let function = &mut self.functions[open.function as usize];
        function.open -= 1;
        if function.open == 0 {
            function.primitive += 1;
            function.total += took;
        }
        if let Some(caller) = self.stack.last_mut() {
            caller.inner += took;
        }
    }

    #[cold]
    fn unwind(&mut self, key: usize, now: u64) {
        if let Some(at) = self.stack.iter().rposition(|open| open.key == key) {
            while self.stack.len() > at {
                self.end_innermost(now);
            }
        }
    }

    #[cold]
    fn add_edge(&mut self, caller: u32, key: usize, id: FunctionId) -> u32 {
        let functions = &mut self.functions;
        let called = *self.numbers.entry(id).or_insert_with(|| {
            functions.push(Function { id, primitive: 0, total: 0, open: 0 });
            functions.len() as u32 - 1
        });
        let edge = self.edges.len() as u32;
        self.edges.push(Edge { caller, called, calls: 0, primitive: 0, own: 0, total: 0, open: 0 });
        self.table.insert(caller, key, edge);
        edge
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_model::{Ns, Profile};

    /// (name, calls, primitive calls, own, total) of every function, and the same of each of its callers.
    type Row = (String, u64, u64, i64, i64, Vec<(String, u64, u64, i64, i64)>);

    fn rows(profile: &Profile) -> Vec<Row> {
        let name = |frame| profile.stacks.name(frame).to_owned();
        profile
            .calls
            .iter()
            .map(|row| {
                let callers = row
                    .callers
                    .iter()
                    .map(|c| (name(c.frame), c.calls, c.primitive_calls, c.self_ns.0, c.total_ns.0))
                    .collect();
                (name(row.frame), row.calls, row.primitive_calls, row.self_ns.0, row.total_ns.0, callers)
            })
            .collect()
    }

    fn profile(threads: &mut [ThreadCalls], now: u64, names: &[&str]) -> Profile {
        let mut totals = CallTotals::default();
        for thread in threads {
            thread.end_all(now);
            totals.add(thread);
        }
        totals.profile(
            |ticks| Ns(ticks as i64),
            |id| Some(("a.py".to_owned(), id.0, (*names.get(id.0 as usize)?).to_owned())),
        )
    }

    /// Enters the function whose key and number are the same.
    fn enter(calls: &mut ThreadCalls, function: u32, now: u64) {
        calls.enter(function as usize, || FunctionId(function), || now);
    }

    #[test]
    fn a_call_counts_for_its_caller_and_its_inner_calls_are_not_its_own_time() {
        let mut calls = ThreadCalls::default();
        enter(&mut calls, 0, 0);
        for start in [10, 40] {
            enter(&mut calls, 1, start);
            calls.leave(1, start + 20);
        }
        calls.leave(0, 100);
        let found = rows(&profile(&mut [calls], 100, &["main", "work"]));
        assert_eq!(
            found,
            [
                ("main".into(), 1, 1, 60, 100, vec![]),
                ("work".into(), 2, 2, 40, 40, vec![("main".into(), 2, 2, 40, 40)]),
            ]
        );
    }

    #[test]
    fn time_in_recursion_counts_once() {
        // main 0..100 calls a 10..90, a calls b 20..80, b calls a 30..60.
        let mut calls = ThreadCalls::default();
        for (function, at) in [(0, 0), (1, 10), (2, 20), (1, 30)] {
            enter(&mut calls, function, at);
        }
        for (function, at) in [(1, 60), (2, 80), (1, 90), (0, 100)] {
            calls.leave(function, at);
        }
        let found = rows(&profile(&mut [calls], 100, &["main", "a", "b"]));
        assert_eq!(
            found,
            [
                ("main".into(), 1, 1, 20, 100, vec![]),
                // Own: 80 - 60 outside and 30 inside; total: the outer call only.
                ("a".into(), 2, 1, 50, 80, vec![("main".into(), 1, 1, 20, 80), ("b".into(), 1, 1, 30, 30)]),
                ("b".into(), 1, 1, 30, 60, vec![("a".into(), 1, 1, 30, 60)]),
            ]
        );
    }

    #[test]
    fn a_function_that_calls_itself_has_one_primitive_call() {
        let mut calls = ThreadCalls::default();
        for at in 0..3 {
            enter(&mut calls, 0, at * 10);
        }
        for at in 3..6 {
            calls.leave(0, at * 10);
        }
        let found = rows(&profile(&mut [calls], 60, &["f"]));
        // Called by itself twice; the outer of these two took 30, the inner 10 of it.
        assert_eq!(found, [("f".into(), 3, 1, 50, 50, vec![("f".into(), 2, 1, 30, 30)])]);
    }

    #[test]
    fn ends_without_a_beginning_and_beginnings_without_an_end() {
        let mut calls = ThreadCalls::default();
        calls.leave(7, 5);
        enter(&mut calls, 0, 10);
        enter(&mut calls, 1, 20);
        calls.leave(7, 25);
        // The end of 1 was missed.
        calls.leave(0, 30);
        assert!(calls.is_idle());
        enter(&mut calls, 1, 40);
        let found = rows(&profile(&mut [calls], 50, &["f", "g"]));
        assert_eq!(
            found,
            [("f".into(), 1, 1, 10, 20, vec![]), ("g".into(), 2, 2, 20, 20, vec![("f".into(), 1, 1, 10, 10)]),]
        );
    }

    #[test]
    fn threads_are_added_up_and_names_that_are_the_same_are_one_row() {
        let mut threads = [ThreadCalls::default(), ThreadCalls::default()];
        for (at, thread) in threads.iter_mut().enumerate() {
            enter(thread, 0, 0);
            enter(thread, 1 + at as u32, 10);
            thread.leave(1 + at, 20);
        }
        let mut totals = CallTotals::default();
        for thread in &mut threads {
            thread.end_all(30);
            totals.add(thread);
        }
        let profile = totals.profile(
            |ticks| Ns(2 * ticks as i64),
            |id| Some(("a.py".to_owned(), id.0.min(1), if id.0 == 0 { "f" } else { "g" }.to_owned())),
        );
        assert_eq!(
            rows(&profile),
            [("f".into(), 2, 2, 80, 120, vec![]), ("g".into(), 2, 2, 40, 40, vec![("f".into(), 2, 2, 40, 40)]),]
        );
    }

    #[test]
    fn a_function_without_a_name_is_in_no_row() {
        let mut calls = ThreadCalls::default();
        enter(&mut calls, 1, 0);
        enter(&mut calls, 0, 10);
        let found = rows(&profile(&mut [calls], 30, &["f"]));
        assert_eq!(found, [("f".into(), 1, 1, 20, 20, vec![])]);
    }

    #[test]
    fn many_pairs_are_found_again() {
        let mut calls = ThreadCalls::default();
        for _ in 0..2 {
            for caller in 0..40 {
                enter(&mut calls, caller, 0);
                for called in 40..140 {
                    enter(&mut calls, called, 0);
                    calls.leave(called as usize, 1);
                }
                calls.leave(caller as usize, 2);
            }
        }
        assert_eq!(calls.edges.len(), 40 + 40 * 100);
        assert!(calls.edges.iter().all(|edge| edge.calls == 2 && edge.open == 0));
    }
}
