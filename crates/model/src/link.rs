//! Finds the links between slices when a trace is finished.
//!
//! Correlations and External ids are unique only within one process and one recording: merged files and files of
//! several profiler spans repeat them. Of several slices with an id, the nearest in the asker's process counts.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::kind::Kind;
use crate::lanes::{LaneId, Tag};
use crate::slices::SliceId;
use crate::time::Ns;
use crate::trace::Trace;

/// Is in the map for an id that several slices have.
const SEVERAL_SLICES: u32 = u32::MAX;

/// One slice of several with the same id.
#[derive(Copy, Clone)]
struct Candidate {
    id: i64,
    /// The process in which it is looked for; every candidate also is listed once without, for those who look anywhere.
    process: Option<Tag>,
    start: Ns,
    slice: u32,
}

/// Slices by their ids. In most files no id repeats, and one lookup in the map is enough.
struct SlicesById {
    one: HashMap<i64, u32, RandomState>,
    /// Those of ids that repeat, by id, process and start.
    several: Vec<Candidate>,
}

impl SlicesById {
    fn new(trace: &Trace, pairs: impl Iterator<Item = (usize, i64)>, expected: usize) -> SlicesById {
        let mut one: HashMap<i64, u32, RandomState> =
            HashMap::with_capacity_and_hasher(expected, RandomState::default());
        let mut repeated: Vec<(i64, u32)> = Vec::new();
        for (slice, id) in pairs {
            match one.entry(id) {
                Entry::Vacant(free) => drop(free.insert(slice as u32)),
                Entry::Occupied(mut taken) => {
                    let first = taken.insert(SEVERAL_SLICES);
                    if first != SEVERAL_SLICES {
                        repeated.push((id, first));
                    }
                    repeated.push((id, slice as u32));
                }
            }
        }
        SlicesById { one, several: candidates(trace, repeated) }
    }

    /// The slice of this id for one at this time: of several the last that began by then, else the first.
    fn anywhere(&self, id: i64, at: Ns) -> Option<u32> {
        match *self.one.get(&id)? {
            SEVERAL_SLICES => nearest(self.group(id, None), at),
            slice => Some(slice),
        }
    }

    /// As [`SlicesById::anywhere`], but of several only those of the process, or of the one process that has any.
    fn in_process(&self, id: i64, process: Tag, at: Ns) -> Option<u32> {
        match *self.one.get(&id)? {
            SEVERAL_SLICES => match self.group(id, Some(process)) {
                [] => nearest(self.only_process(id), at),
                own => nearest(own, at),
            },
            slice => Some(slice),
        }
    }

    fn group(&self, id: i64, process: Option<Tag>) -> &[Candidate] {
        let from = self.several.partition_point(|c| (c.id, c.process) < (id, process));
        let group = &self.several[from..];
        &group[..group.partition_point(|c| (c.id, c.process) == (id, process))]
    }

    /// The candidates of an id if all are of one process.
    fn only_process(&self, id: i64) -> &[Candidate] {
        let from = self.several.partition_point(|c| (c.id, c.process) <= (id, None));
        let group = &self.several[from..];
        let group = &group[..group.partition_point(|c| c.id == id)];
        match (group.first(), group.last()) {
            (Some(first), Some(last)) if first.process == last.process => group,
            _ => &[],
        }
    }
}

/// The last that began by this time, else the first.
fn nearest(group: &[Candidate], at: Ns) -> Option<u32> {
    let after = group.partition_point(|c| c.start <= at);
    group.get(after.saturating_sub(1)).map(|c| c.slice)
}

/// Orders the slices of ids that repeat.
fn candidates(trace: &Trace, mut repeated: Vec<(i64, u32)>) -> Vec<Candidate> {
    repeated.sort_unstable();
    let mut found = Vec::with_capacity(repeated.len() * 2);
    let mut outer: Option<(i64, LaneId, Ns)> = None;
    for (id, slice) in repeated {
        let at = SliceId(slice);
        let (lane, end) = (trace.slices.lane(at), trace.slices.end(at));
        // A driver call inside a runtime call shares its number: the outer one counts, and it comes first.
        if outer.is_some_and(|o| (o.0, o.1) == (id, lane) && end <= o.2) {
            continue;
        }
        outer = Some((id, lane, end));
        let start = trace.slices.start(at);
        for process in [None, Some(process_of(trace, slice))] {
            found.push(Candidate { id, process, start, slice });
        }
    }
    let key = |c: &Candidate| (c.id, c.process, c.start);
    // Stable: of two that start together the first in column order counts, whatever the file's order.
    found.sort_by_key(key);
    found.dedup_by_key(|c| key(c));
    found
}

fn process_of(trace: &Trace, slice: u32) -> Tag {
    trace.lanes.get(trace.slices.lane(SliceId(slice))).key.process
}

/// Ties device work to the call that launched it, by correlation.
pub(crate) fn launches(trace: &mut Trace, correlations: &[(usize, i64)]) {
    let kinds = &trace.slices.kind;
    let calls = correlations.iter().copied().filter(|&(slice, _)| kinds[slice].is_runtime());
    let calls = SlicesById::new(trace, calls, correlations.len() / 2);
    for &(slice, correlation) in correlations {
        if kinds[slice].is_device()
            && let Some(launch) = calls.anywhere(correlation, trace.slices.start[slice])
        {
            trace.links.launch[slice] = launch;
        }
    }
}

/// Ties calls and device work to their operator, by External id. Needs the launches.
pub(crate) fn ops(trace: &mut Trace, externals: &[(usize, i64)]) {
    let kinds = &trace.slices.kind;
    let is_op = |slice: usize| matches!(kinds[slice], Kind::HostOp | Kind::HostAnnotation);
    let own = externals.iter().copied().filter(|&(slice, id)| is_op(slice) && id != 0);
    let owners = SlicesById::new(trace, own, externals.len() / 2);
    for &(slice, external) in externals {
        if is_op(slice) {
            continue;
        }
        // Device work knows its device, not its process; the call that launched it does, and when.
        let asks = if kinds[slice].is_device() { trace.links.launch(SliceId(slice as u32)) } else { None };
        let asks = asks.map_or(slice, SliceId::index);
        let at = trace.slices.start[asks];
        let op = if kinds[asks].is_device() {
            owners.anywhere(external, at)
        } else {
            owners.in_process(external, process_of(trace, asks as u32), at)
        };
        if let Some(op) = op {
            trace.links.op[slice] = op;
        }
    }
}

/// Gives device work without an operator that of the call which launched it. Needs launches and operators.
pub(crate) fn inherit(trace: &mut Trace, correlations: &[(usize, i64)]) {
    for &(slice, _) in correlations {
        let id = SliceId(slice as u32);
        if trace.links.op(id).is_none()
            && let Some(launch) = trace.links.launch(id)
        {
            trace.links.op[slice] = trace.links.op[launch.index()];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, LaneKey, NewSlice, TraceBuilder};

    /// Host processes and one device; slices are found again by their names.
    struct TestTrace(TraceBuilder);

    impl TestTrace {
        fn add(&mut self, kind: Kind, name: &str, process: i64, (start, end): (i64, i64), ids: (i64, i64)) {
            let domain = if kind.is_device() { Domain::Device } else { Domain::Host };
            let lane = self.0.lane(LaneKey { domain, process: Tag::Int(process), thread: Tag::Int(process) });
            let name = self.0.intern(name);
            let id = |id: i64| (id != 0).then_some(id);
            self.0.slice(NewSlice {
                start: Ns(start),
                dur: Ns(end - start),
                name,
                kind,
                lane,
                correlation: id(ids.0),
                external: id(ids.1),
                ..NewSlice::default()
            });
        }

        /// Every linked slice with the names of its launch and its operator.
        fn links(self) -> Vec<(String, String, String)> {
            let trace = self.0.finish();
            let name = |id: Option<SliceId>| id.map_or("", |id| trace.name(id)).to_owned();
            let links = trace.links();
            let of = |id| (trace.name(id).to_owned(), name(links.launch(id)), name(links.op(id)));
            let mut found: Vec<_> =
                trace.slices().ids().map(of).filter(|l| !l.1.is_empty() || !l.2.is_empty()).collect();
            found.sort();
            found
        }
    }

    fn expect(make: TestTrace, wanted: &[(&str, &str, &str)]) {
        let found = make.links();
        let found: Vec<_> = found.iter().map(|l| (l.0.as_str(), l.1.as_str(), l.2.as_str())).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn processes_with_equal_ids_keep_their_own() {
        let mut m = TestTrace(TraceBuilder::new());
        for (process, shift) in [(100, 0), (200, 1000)] {
            let name = |what: &str| format!("{what}{process}");
            m.add(Kind::HostOp, &name("op"), process, (shift, shift + 50), (0, 1));
            m.add(Kind::Runtime, &name("call"), process, (shift + 10, shift + 20), (7, 1));
            m.add(Kind::Driver, &name("driver"), process, (shift + 12, shift + 18), (7, 1));
            m.add(Kind::Kernel, &name("kernel"), process / 200, (shift + 30, shift + 60), (7, 1));
            m.add(Kind::Memset, &name("unlaunched"), process / 200, (shift + 70, shift + 80), (0, 1));
        }
        expect(
            m,
            &[
                ("call100", "", "op100"),
                ("call200", "", "op200"),
                ("driver100", "", "op100"),
                ("driver200", "", "op200"),
                ("kernel100", "call100", "op100"),
                ("kernel200", "call200", "op200"),
                ("unlaunched100", "", "op100"),
                ("unlaunched200", "", "op200"),
            ],
        );
    }

    #[test]
    fn an_operator_of_another_process_is_taken_only_without_doubt() {
        let mut m = TestTrace(TraceBuilder::new());
        m.add(Kind::HostOp, "a", 1, (0, 10), (0, 1));
        m.add(Kind::HostOp, "b", 2, (0, 10), (0, 1));
        m.add(Kind::HostOp, "c", 2, (20, 30), (0, 2));
        m.add(Kind::HostOp, "d", 2, (40, 50), (0, 3));
        m.add(Kind::HostOp, "e", 2, (60, 70), (0, 3));
        m.add(Kind::Runtime, "doubtful", 3, (5, 6), (0, 1));
        m.add(Kind::Runtime, "only", 3, (5, 6), (0, 2));
        m.add(Kind::Runtime, "only process", 3, (65, 66), (0, 3));
        expect(m, &[("only", "", "c"), ("only process", "", "e")]);
    }

    #[test]
    fn ids_that_begin_again_find_the_nearer_launch() {
        let mut m = TestTrace(TraceBuilder::new());
        // The second span is first in the file; what runs before its call has only the first left.
        for (span, at) in [("late", 1000), ("early", 100)] {
            let name = |what: &str| format!("{what} {span}");
            m.add(Kind::HostOp, &name("op"), 1, (at, at + 50), (0, 1));
            m.add(Kind::Runtime, &name("call"), 1, (at + 10, at + 20), (7, 1));
            m.add(Kind::Kernel, &name("kernel"), 0, (at + 500, at + 600), (7, 1));
        }
        m.add(Kind::Kernel, "before all", 0, (5, 10), (7, 1));
        expect(
            m,
            &[
                ("before all", "call early", "op early"),
                ("call early", "", "op early"),
                ("call late", "", "op late"),
                ("kernel early", "call early", "op early"),
                ("kernel late", "call late", "op late"),
            ],
        );
    }

    #[test]
    fn a_late_kernel_belongs_to_the_operator_of_its_launch() {
        let mut m = TestTrace(TraceBuilder::new());
        m.add(Kind::HostOp, "first", 1, (0, 50), (0, 1));
        m.add(Kind::Runtime, "call", 1, (10, 20), (7, 1));
        m.add(Kind::HostOp, "second", 1, (100, 150), (0, 1));
        m.add(Kind::Kernel, "kernel", 0, (120, 130), (7, 1));
        expect(m, &[("call", "", "first"), ("kernel", "call", "first")]);
    }
}
