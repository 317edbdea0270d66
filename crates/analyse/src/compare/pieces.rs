//! The steps of a run, cut into pieces: every nanosecond on one device has one cause and one place.
//!
//! Causes are those of [`crate::causes::account`], and pieces of one cause add up to its time there. While several kernels run at
//! once, a moment belongs to the one that began first. Pieces are disjoint in time, so that they cost as much as the work, the gaps
//! and the steps together, never their product.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Kind, Ns, Order, SliceId, StrId, Tag};

use crate::causes::cause::Cause;
use crate::names::comm::{Comm, CommRule};
use crate::names::ranges::step_number;
use crate::names::shapes::Shapes;
use crate::run::Run;
use crate::scope::windows::{Windows, length, signed};
use crate::tables::modules::Homes;

/// Where time was spent. Texts, because two files have no numbers in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PiecePlace {
    pub(super) cause: Cause,
    /// The path of the module.
    pub(super) module: Option<String>,
    /// Whether it is the module's backward pass.
    pub(super) backward: bool,
    /// The operator that launched it, or that the host was in.
    pub(super) op: Option<String>,
    /// The kernel or copy; for idle time, what the host was in.
    pub(super) name: Option<String>,
    /// The operator's input shapes.
    pub(super) shapes: Option<String>,
}

/// Time at one place.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) place: PiecePlace,
    /// In all counted steps.
    pub(super) total_ns: i64,
    /// Kernels and copies, or stretches of idle time.
    pub(super) count: u64,
    /// The sum of the squares of what each step has of it.
    pub(super) squares: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Pieces {
    pub(super) device: Option<i64>,
    /// How long each counted step took.
    pub(super) steps_ns: Vec<i64>,
    /// They add up to the steps.
    pub(super) pieces: Vec<Piece>,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Key {
    cause: Cause,
    /// Its number plus one, and whether it is its backward pass; 0 for none.
    module: (u32, bool),
    op: StrId,
    name: StrId,
    /// Plus one; 0 for none.
    shapes: u32,
}

impl Key {
    fn for_cause(cause: Cause) -> Key {
        Key { cause, module: (0, false), op: StrId::EMPTY, name: StrId::EMPTY, shapes: 0 }
    }
}

#[derive(Copy, Clone, Default)]
struct StepSum {
    total: i64,
    count: u64,
    squares: f64,
    step: usize,
    in_step: i64,
}

impl StepSum {
    fn add(&mut self, step: usize, ns: i64) {
        if step != self.step {
            self.close();
            self.step = step;
        }
        self.in_step = self.in_step.saturating_add(ns);
        self.total = self.total.saturating_add(ns);
    }

    fn close(&mut self) {
        self.squares += (self.in_step as f64).powi(2);
        self.in_step = 0;
    }
}

/// Adds up stretches of time by place and step.
struct PieceSums {
    windows: Windows,
    sums: HashMap<Key, StepSum, RandomState>,
}

impl PieceSums {
    /// Time from one moment to another, in order of time for each key.
    fn add(&mut self, key: Key, stretch: (Ns, Ns)) {
        for window in self.windows.touching(stretch) {
            let (from, to) = self.windows.span(window);
            let ns = signed(length(stretch.0.max(from), stretch.1.min(to)));
            self.sums.entry(key).or_default().add(window, ns);
        }
    }

    fn count(&mut self, key: Key, at: Ns) {
        if !self.windows.touching((at, at + Ns(1))).is_empty() {
            self.sums.entry(key).or_default().count += 1;
        }
    }
}

struct Namer<'a> {
    run: &'a Run,
    homes: Homes,
    shapes: Shapes<'a>,
    comm: Comm<'a>,
}

impl<'a> Namer<'a> {
    fn new(run: &'a Run) -> Namer<'a> {
        let trace = run.trace();
        Namer {
            run,
            homes: Homes::new(trace),
            shapes: Shapes::new(trace, true),
            comm: Comm::new(trace, CommRule::ByName),
        }
    }

    fn work(&mut self, work: SliceId) -> Key {
        let trace = self.run.trace();
        let cause = match trace.slices().kind(work) {
            Kind::Memcpy => Cause::Copy,
            Kind::Memset => Cause::Fill,
            _ if self.comm.kernel(work) => Cause::Communication,
            _ => Cause::Kernel,
        };
        let op = self.run.op_of(work);
        let launch = trace.links().launch(work);
        let module = [launch, op].into_iter().flatten().find_map(|host| self.homes.number(host));
        Key {
            cause,
            module: module.map_or((0, false), |(number, backward)| (number + 1, backward)),
            op: op.map_or(StrId::EMPTY, |op| trace.slices().name(op)),
            name: trace.slices().name(work),
            shapes: op.map_or(0, |op| self.shapes.number(op) + 1),
        }
    }

    /// What the host was in. A step is not an answer: everything is in one.
    fn host(&mut self, cause: Cause, innermost: Option<SliceId>) -> Key {
        let trace = self.run.trace();
        let Some(innermost) = innermost else { return Key::for_cause(cause) };
        let blamed = self.run.callers().blamed(innermost);
        let name = trace.slices().name(blamed);
        if step_number(trace.text(name)).is_some() {
            return Key::for_cause(cause);
        }
        let is_op = trace.slices().kind(blamed) == Kind::HostOp;
        let module = self.homes.number(blamed).filter(|_| is_op);
        Key {
            module: module.map_or((0, false), |(number, backward)| (number + 1, backward)),
            op: if is_op { name } else { StrId::EMPTY },
            name,
            ..Key::for_cause(cause)
        }
    }

    fn place(&self, key: Key) -> PiecePlace {
        let trace = self.run.trace();
        let text = |id: StrId| (id != StrId::EMPTY).then(|| trace.text(id).to_owned());
        let shapes =
            key.shapes.checked_sub(1).map(|number| self.shapes.text(number)).filter(|text| *text != "[]");
        PiecePlace {
            cause: key.cause,
            module: key.module.0.checked_sub(1).map(|number| self.homes.path(number).to_owned()),
            backward: key.module.1,
            op: text(key.op),
            name: text(key.name),
            shapes: shapes.map(str::to_owned),
        }
    }
}

/// Cuts the counted steps of a run, as one device sees them; the first one if none is named.
pub(super) fn pieces(run: &Run, device: Option<i64>) -> Pieces {
    let steps = run.steps();
    let all_partial = steps.steps.iter().all(|step| step.partial);
    let windows = Windows::new(&steps.windows(), |at| all_partial || !steps.steps[at].partial);
    let steps_ns = windows.spans().iter().map(|span| signed(length(span.0, span.1))).collect();
    let mut sums = PieceSums { windows, sums: HashMap::default() };
    let mut namer = Namer::new(run);
    let idle = run.idle();
    let chosen = idle.devices().iter().find(|(tag, _)| device.is_none() || tag.as_int() == device);
    match chosen {
        Some((tag, _)) => of_device(run, *tag, &mut namer, &mut sums),
        None => of_host(run, &mut namer, &mut sums),
    }
    let mut pieces: Vec<Piece> = (sums.sums.into_iter())
        .map(|(key, mut sum)| {
            sum.close();
            Piece { place: namer.place(key), total_ns: sum.total, count: sum.count, squares: sum.squares }
        })
        .collect();
    pieces.order_by(|a, b| a.place.cmp(&b.place));
    Pieces { device: chosen.and_then(|(tag, _)| tag.as_int()), steps_ns, pieces }
}

fn of_device(run: &Run, device: Tag, namer: &mut Namer<'_>, sums: &mut PieceSums) {
    let of_device = run.streams().iter().filter(|stream| stream.device == device);
    let mut work: Vec<(Ns, Ns, Key)> = Vec::new();
    for one in of_device.flat_map(|stream| &stream.work) {
        let key = namer.work(one.slice);
        sums.count(key, one.start);
        work.push((one.start, one.end, key));
    }
    work.sort_by_key(|one| one.0);
    alone(&work, |key, stretch| sums.add(key, stretch));
    for gap in run.idle().of_device(device) {
        for part in run.idle().parts(&gap) {
            let key = namer.host(part.cause, part.slice);
            sums.count(key, part.start);
            sums.add(key, (part.start, part.end));
        }
    }
}

/// Without any device, what the main thread did.
fn of_host(run: &Run, namer: &mut Namer<'_>, sums: &mut PieceSums) {
    for span in sums.windows.spans().to_vec() {
        let Some(main) = run.host().main() else {
            sums.add(Key::for_cause(Cause::Host(crate::threads::activity::Activity::Unrecorded)), span);
            continue;
        };
        run.host().doing(main, span, |segment| {
            let key = namer.host(Cause::Host(segment.activity), segment.slice);
            sums.count(key, segment.start);
            sums.add(key, (segment.start, segment.end));
        });
    }
}

/// Gives every moment to one of the pieces of work that run then: kernels before communication, copies and memsets, then the one that
/// began first. `work` is sorted by start.
fn alone(work: &[(Ns, Ns, Key)], mut piece: impl FnMut(Key, (Ns, Ns))) {
    let mut open: BinaryHeap<Reverse<(usize, Ns, usize)>> = BinaryHeap::new();
    let mut at = Ns::MIN;
    let mut until = |to: Ns, open: &mut BinaryHeap<Reverse<(usize, Ns, usize)>>| {
        while at < to {
            let Some(Reverse((_, _, first))) = open.peek() else { break };
            let (_, end, key) = work[*first];
            if end <= at {
                open.pop();
                continue;
            }
            let end = end.min(to);
            piece(key, (at, end));
            at = end;
        }
        at = at.max(to);
    };
    for (number, (start, _, key)) in work.iter().enumerate() {
        until(*start, &mut open);
        open.push(Reverse((key.cause.index(), *start, number)));
    }
    until(Ns::MAX, &mut open);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_belongs_to_one_piece_of_work() {
        let key = |cause, name: usize| Key { shapes: name as u32, ..Key::for_cause(cause) };
        let work = [
            (Ns(0), Ns(10), key(Cause::Copy, 1)),
            (Ns(2), Ns(6), key(Cause::Kernel, 2)),
            (Ns(4), Ns(8), key(Cause::Kernel, 3)),
            (Ns(20), Ns(25), key(Cause::Fill, 4)),
        ];
        let mut found = Vec::new();
        alone(&work, |key, (from, to)| found.push((key.shapes, from.0, to.0)));
        assert_eq!(found, [(1, 0, 2), (2, 2, 4), (2, 4, 6), (3, 6, 8), (1, 8, 10), (4, 20, 25)]);
    }
}
