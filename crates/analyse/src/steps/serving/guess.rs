//! Where iterations of an engine may be if it does not say: a heuristic, for traces of an engine's kernels alone.

use stepscope_model::{Attr, Domain, Kind, Ns, SliceId, StrId, Trace};

use super::FoundBy;
use super::marked::MarkedIteration;
use crate::names::by_name::ByName;
use crate::names::calls::is_graph_launch;
use crate::names::copies::{Direction, copy_name};
use crate::names::serving::is_engines;

/// Tokens of a batch that were sampled take no more than this: 8 bytes for each of 8,192 requests.
const MAX_SAMPLED_BYTES: i64 = 64 << 10;

/// An iteration of any model has more kernels than this.
const MIN_KERNELS: u32 = 8;

/// Iterations by heuristics, if the names in the trace are an engine's.
pub(super) fn iterations(trace: &Trace) -> (FoundBy, Vec<MarkedIteration>) {
    let slices = trace.slices();
    let mut engines = ByName::new(trace, is_engines);
    let named = |kind| matches!(kind, Kind::HostOp | Kind::Kernel | Kind::PythonFunction);
    let is_engines = slices.ids().any(|id| named(slices.kind(id)) && engines.get(slices.name(id)));
    if !is_engines {
        return (FoundBy::Nothing, Vec::new());
    }
    let work = work_of_first_device(trace);
    let found = between_copies(trace, &work);
    if found.len() > 1 {
        return (FoundBy::CopiesToHost, found);
    }
    let found = replays(trace, &work);
    match found.len() > 1 {
        true => (FoundBy::GraphLaunch, found),
        false => (FoundBy::Nothing, Vec::new()),
    }
}

/// The work of the device with the lowest number, by start.
fn work_of_first_device(trace: &Trace) -> Vec<SliceId> {
    let slices = trace.slices();
    let devices = || trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Device);
    let has_work = |lane| slices.of_lane(lane).any(|id| slices.kind(id).is_device_work());
    let first = devices().filter(|&(id, _)| has_work(id)).map(|(_, lane)| lane.key.process).min();
    let lanes = devices().filter(|(_, lane)| Some(lane.key.process) == first).map(|(id, _)| id);
    let mut work: Vec<SliceId> =
        lanes.flat_map(|lane| slices.of_lane(lane)).filter(|&id| slices.kind(id).is_device_work()).collect();
    work.sort_by_key(|&id| (slices.start(id), id));
    work
}

/// Work from one small copy to the host to the next.
fn between_copies(trace: &Trace, work: &[SliceId]) -> Vec<MarkedIteration> {
    let slices = trace.slices();
    let mut to_host = ByName::new(trace, |name| copy_name(name).0 == Direction::DeviceToHost);
    let mut found: Vec<MarkedIteration> = Vec::new();
    let mut open: Option<(StrId, Ns, u32)> = None;
    for &id in work {
        let (kind, name) = (slices.kind(id), slices.name(id));
        let (_, start, kernels) = open.get_or_insert((name, slices.start(id), 0));
        *kernels += u32::from(kind == Kind::Kernel);
        let small = || trace.args(id).int(Attr::Bytes).is_some_and(|bytes| bytes <= MAX_SAMPLED_BYTES);
        if kind == Kind::Memcpy && *kernels >= MIN_KERNELS && to_host.get(name) && small() {
            // Copies on another stream may still run when the next iteration has begun.
            let start = found.last().map_or(*start, |last| last.end.max(*start));
            found.push(MarkedIteration::on_device(name, start, slices.end(id).max(start)));
            open = None;
        }
    }
    found
}

/// The work of each replay of a graph.
fn replays(trace: &Trace, work: &[SliceId]) -> Vec<MarkedIteration> {
    let slices = trace.slices();
    let mut is_graph = ByName::new(trace, is_graph_launch);
    let mut found: Vec<(SliceId, MarkedIteration)> = Vec::new();
    for &id in work {
        let Some(call) = trace.links().launch(id).filter(|&call| is_graph.get(slices.name(call))) else {
            continue;
        };
        let (start, end) = (slices.start(id), slices.end(id));
        match found.last_mut() {
            Some((last, replay)) if *last == call => replay.end = replay.end.max(end),
            last => {
                let start = last.map_or(start, |(_, replay)| replay.end.max(start));
                found.push((call, MarkedIteration::on_device(slices.name(call), start, end.max(start))));
            }
        }
    }
    found.into_iter().map(|(_, replay)| replay).collect()
}
