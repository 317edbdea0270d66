//! The ranges and calls by which an engine says where its iterations are.

use stepscope_model::{Domain, Kind, Ns, SliceId, StrId, Trace};

use super::FoundBy;
use crate::names::by_name::ByName;
use crate::names::serving::{
    EngineCall, IterationInfo, IterationKind, engine_call, is_forward_pass, iteration,
};

/// One iteration as the trace has it.
#[derive(Copy, Clone, Debug)]
pub(in crate::steps) struct MarkedIteration {
    pub(in crate::steps) name: StrId,
    pub(in crate::steps) start: Ns,
    pub(in crate::steps) end: Ns,
    pub(in crate::steps) host: Option<Ns>,
    pub(in crate::steps) said: IterationInfo,
}

/// What a slice is to the iterations.
#[derive(Copy, Clone)]
enum Mark {
    /// One of them, unless it is inside of one.
    Iteration(IterationInfo),
    /// Says something about the one it is in.
    Inside(IterationInfo),
}

/// The iterations in order, and how many there are on other threads.
pub(in crate::steps) fn iterations(trace: &Trace) -> (FoundBy, Vec<MarkedIteration>, u64) {
    let is_range = |kind| matches!(kind, Kind::HostAnnotation | Kind::HostOp);
    let range = |name: &str| iteration(name).map(Mark::Iteration);
    let forward = |name: &str| is_forward_pass(name).then(|| Mark::Iteration(IterationInfo::default()));
    let call = |name: &str| match engine_call(name)? {
        EngineCall::Iteration => Some(Mark::Iteration(IterationInfo::default())),
        EngineCall::Says(kind) => Some(Mark::Inside(IterationInfo { kind, ..IterationInfo::default() })),
    };
    let (found, others) = marked(trace, Domain::Host, is_range, range);
    if !found.is_empty() {
        return (FoundBy::Range, found, others);
    }
    let (found, others) = marked(trace, Domain::Host, |kind| kind == Kind::PythonFunction, call);
    if !found.is_empty() {
        return (FoundBy::PythonCall, found, others);
    }
    let (mut found, others) = marked(trace, Domain::Device, |kind| kind == Kind::DeviceAnnotation, range);
    if !found.is_empty() {
        found.iter_mut().for_each(|f| f.host = None);
        return (FoundBy::DeviceRange, found, others);
    }
    let (found, others) = marked(trace, Domain::Host, is_range, forward);
    if !found.is_empty() {
        return (FoundBy::ForwardPass, found, others);
    }
    (FoundBy::Nothing, Vec::new(), 0)
}

/// The outermost marked slices of the lane that has most of them, and how many the others have.
fn marked(
    trace: &Trace,
    domain: Domain,
    counts: impl Fn(Kind) -> bool,
    mark: impl Fn(&str) -> Option<Mark>,
) -> (Vec<MarkedIteration>, u64) {
    let slices = trace.slices();
    let mut marks = ByName::new(trace, mark);
    let (mut most, mut all): (Vec<MarkedIteration>, usize) = (Vec::new(), 0);
    for (lane, info) in trace.lanes().iter() {
        if (info.key.domain == Domain::Device) != (domain == Domain::Device) {
            continue;
        }
        let mut of_lane: Vec<MarkedIteration> = Vec::new();
        for id in slices.of_lane(lane).filter(|&id| counts(slices.kind(id))) {
            let Some(mark) = marks.get(slices.name(id)) else { continue };
            add(trace, &mut of_lane, id, mark);
        }
        all += of_lane.len();
        if of_lane.len() > most.len() {
            most = of_lane;
        }
    }
    let others = (all - most.len()) as u64;
    (most, others)
}

/// Slices of a lane come by start and falling end, so what is inside of an iteration comes after it.
fn add(trace: &Trace, found: &mut Vec<MarkedIteration>, id: SliceId, mark: Mark) {
    let (start, end) = (trace.slices().start(id), trace.slices().end(id));
    match (found.last_mut().filter(|last| start < last.end), mark) {
        (Some(outer), Mark::Iteration(said) | Mark::Inside(said)) => outer.said.fill(said),
        (None, Mark::Iteration(said)) => {
            let name = trace.slices().name(id);
            found.push(MarkedIteration { name, start, end, host: Some(end - start), said });
        }
        (None, Mark::Inside(_)) => {}
    }
}

impl MarkedIteration {
    /// An iteration of which only device work is known.
    pub(in crate::steps) fn on_device(name: StrId, start: Ns, end: Ns) -> MarkedIteration {
        let said = IterationInfo { kind: IterationKind::Unknown, ..IterationInfo::default() };
        MarkedIteration { name, start, end, host: None, said }
    }
}
