//! XProf's framework operators (`framework_op_stats`): time by operator, on the host and on devices.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{AllocationId, Attr, Domain, Kind, LaneId, Ns, Order, SliceId, StrId, Trace};

use super::hlo::device_ops;
use super::op_name;
use super::recorded_name::recorded_name;
use super::saturating::add;
use crate::scope::share::share;

/// XProf shows no more operators of one side.
const MAX_ROWS: usize = 500;
/// What XProf calls the time without any operator.
pub(super) const IDLE_OP: &str = "IDLE";

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum XprofSide {
    Device,
    Host,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct XprofOpRow {
    pub side: XprofSide,
    #[serde(rename = "type")]
    pub kind: String,
    pub operation: String,
    pub occurrences: u64,
    pub total_ns: i64,
    pub mean_ns: f64,
    /// Without what it called.
    pub self_ns: i64,
    /// Its share of its side's time, idle time included.
    pub share: f64,
    /// Its share of its side's time without idle time; none for idle time itself.
    pub busy_share: Option<f64>,
}

/// Sums of one operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OpSums {
    pub(super) kind: String,
    pub(super) occurrences: u64,
    pub(super) total_ns: i64,
    pub(super) self_ns: i64,
}

/// The operators of one side, by name.
#[derive(Clone, Debug, Default)]
struct Side {
    ops: BTreeMap<String, OpSums>,
    /// The time of all operators.
    busy_ns: i64,
    idle_ns: i64,
    /// Whether there is anything that could have been idle.
    exists: bool,
}

/// XProf's table: devices first, then the host; the most time of its own first.
pub fn ops(trace: &Trace) -> Vec<XprofOpRow> {
    let mut rows = on_devices(trace).into_rows(XprofSide::Device);
    rows.extend(on_host(trace).into_rows(XprofSide::Host));
    rows
}

impl Side {
    fn into_rows(self, side: XprofSide) -> Vec<XprofOpRow> {
        let (busy, all) = (self.busy_ns, self.busy_ns.saturating_add(self.idle_ns));
        let mut ops = self.ops;
        if self.exists {
            let idle = OpSums {
                kind: IDLE_OP.to_owned(),
                total_ns: self.idle_ns,
                self_ns: self.idle_ns,
                occurrences: 0,
            };
            ops.insert(IDLE_OP.to_owned(), idle);
        }
        let mut rows: Vec<XprofOpRow> = ops
            .into_iter()
            .map(|(operation, of)| XprofOpRow {
                side,
                busy_share: (operation != IDLE_OP).then(|| share(of.self_ns, busy)),
                kind: of.kind,
                operation,
                occurrences: of.occurrences,
                total_ns: of.total_ns,
                mean_ns: if of.occurrences > 0 { of.total_ns as f64 / of.occurrences as f64 } else { 0.0 },
                self_ns: of.self_ns,
                share: share(of.self_ns, all),
            })
            .collect();
        rows.order_by(|a, b| b.self_ns.cmp(&a.self_ns).then_with(|| a.operation.cmp(&b.operation)));
        rows.truncate(MAX_ROWS);
        rows
    }
}

/// Operators of devices go by the framework's name for them; of several instructions with one name, the number of times is
/// that of the one that ran most often.
fn on_devices(trace: &Trace) -> Side {
    let found = device_ops(trace);
    let mut side = Side {
        busy_ns: found.busy_ns,
        idle_ns: found.idle_ns,
        exists: found.devices > 0,
        ops: BTreeMap::new(),
    };
    for ((_, name), of) in found.ops {
        let (name, kind) = match op_name::parse(&of.framework_op) {
            _ if of.framework_op.is_empty() => (name.as_str(), ""),
            Some(op) => (op.name, op.kind),
            None => (of.framework_op.as_str(), ""),
        };
        let sums = side.ops.entry(name.to_owned()).or_default();
        sums.kind = if kind.is_empty() { "Unknown".to_owned() } else { kind.to_owned() };
        sums.occurrences = sums.occurrences.max(of.occurrences);
        add(&mut sums.total_ns, of.total_ns);
        add(&mut sums.self_ns, of.total_ns);
    }
    side
}

/// An operator on the host that has begun and not ended.
struct OpenOp {
    number: usize,
    op: usize,
    start: Ns,
    inside: Ns,
}

/// Operators that were looked up, by their names.
#[derive(Default)]
struct OpLookup {
    by_name: HashMap<StrId, Option<usize>, RandomState>,
    ops: Vec<(String, OpSums)>,
}

fn on_host(trace: &Trace) -> Side {
    let mut known = OpLookup::default();
    let mut side = Side::default();
    let allocations = allocations(trace);
    for (lane, described) in trace.lanes().iter() {
        if described.key.domain == Domain::Host {
            side.exists = true;
            let of_lane = allocations.get(&lane).map_or(&[][..], |of| of);
            of_thread(trace, lane, of_lane, &mut known, &mut side);
        }
    }
    for (name, sums) in known.ops {
        let all =
            side.ops.entry(name).or_insert_with(|| OpSums { kind: sums.kind.clone(), ..OpSums::default() });
        all.occurrences += sums.occurrences;
        add(&mut all.total_ns, sums.total_ns);
        add(&mut all.self_ns, sums.self_ns);
    }
    side
}

/// Allocations that say which operator they are for, by thread: marks without a length.
fn allocations(trace: &Trace) -> HashMap<LaneId, Vec<(Ns, StrId)>, RandomState> {
    let mut found: HashMap<LaneId, Vec<(Ns, StrId)>, RandomState> = HashMap::default();
    for at in 0..trace.allocations().len() {
        let id = AllocationId::from_index(at);
        if let Some(op) = trace.allocation_args(id).text_id(Attr::FrameworkOp) {
            let allocation = trace.allocation(id);
            found.entry(allocation.lane).or_default().push((allocation.at, op));
        }
    }
    found
}

/// Operators of one thread. XProf ends them in the order of time and takes what is still open inside for lost.
fn of_thread(trace: &Trace, lane: LaneId, marks: &[(Ns, StrId)], known: &mut OpLookup, side: &mut Side) {
    let slices = trace.slices();
    let mut moments: Vec<(Ns, bool, usize, usize)> = Vec::new();
    for id in slices.of_lane(lane) {
        if slices.kind(id) == Kind::PythonFunction {
            continue;
        }
        // Of its name, and of the operator that it says it belongs to.
        let mark = trace.args(id).text_id(Attr::FrameworkOp);
        let of_mark = mark.and_then(|mark| known.by_mark(trace, mark));
        for op in [known.by_name(trace, id), of_mark].into_iter().flatten() {
            let number = moments.len();
            moments.push((slices.start(id), true, number, op));
            moments.push((slices.end(id), false, number, op));
        }
    }
    for &(at, mark) in marks {
        if let Some(op) = known.by_mark(trace, mark) {
            let number = moments.len();
            moments.push((at, true, number, op));
            moments.push((at, false, number, op));
        }
    }
    // What happens at one moment stays in the order of the file.
    moments.sort_by_key(|moment| moment.0);
    let (Some(first), Some(last)) = (moments.first(), moments.last()) else { return };
    let length = last.0 - first.0;
    let mut open: Vec<OpenOp> = Vec::new();
    let mut busy = Ns::ZERO;
    for (at, begins, number, op) in moments {
        if begins {
            open.push(OpenOp { number, op, start: at, inside: Ns::ZERO });
            continue;
        }
        let ended = loop {
            match open.pop() {
                Some(top) if top.number == number => break Some(top),
                Some(_) => {}
                None => break None,
            }
        };
        let Some(ended) = ended else { continue };
        let total = at - ended.start;
        let sums = &mut known.ops[ended.op].1;
        sums.occurrences += 1;
        add(&mut sums.total_ns, total.0);
        add(&mut sums.self_ns, (total - ended.inside).0);
        busy += total - ended.inside;
        if let Some(around) = open.last_mut() {
            around.inside += total;
        }
    }
    add(&mut side.busy_ns, busy.0);
    add(&mut side.idle_ns, (length - busy).max(Ns::ZERO).0);
}

impl OpLookup {
    fn by_name(&mut self, trace: &Trace, id: SliceId) -> Option<usize> {
        let recorded = trace.args(id).text_id(Attr::RecordedName);
        let key = recorded.unwrap_or_else(|| trace.slices().name(id));
        self.op(key, || {
            op_name::parse(&recorded_name(trace, id)).map(|op| (op.name.to_owned(), op.kind.to_owned()))
        })
    }

    fn by_mark(&mut self, trace: &Trace, key: StrId) -> Option<usize> {
        let full = trace.text(key);
        let op = || match op_name::parse(full) {
            Some(op) => Some((op.name.to_owned(), op.kind.to_owned())),
            None => (!full.is_empty()).then(|| (full.to_owned(), String::new())),
        };
        self.op(key, op)
    }

    fn op(&mut self, key: StrId, name_and_kind: impl FnOnce() -> Option<(String, String)>) -> Option<usize> {
        if let Some(&known) = self.by_name.get(&key) {
            return known;
        }
        let op = name_and_kind().map(|(name, kind)| {
            self.ops.push((name, OpSums { kind, ..OpSums::default() }));
            self.ops.len() - 1
        });
        self.by_name.insert(key, op);
        op
    }
}
