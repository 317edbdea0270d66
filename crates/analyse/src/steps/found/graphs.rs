//! Launches of captured graphs: a program that replays one does so once in an iteration, or once for each part of it.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, SliceId, Trace};

use super::sequence::{self, Mark};
use super::{FoundBy, MIN_REPEATS, Repeats, cover_most};
use crate::names::by_name::ByName;
use crate::names::calls::is_graph_launch;

/// A graph of fewer kernels is not a model.
const MIN_WORK: u32 = 4;

#[derive(Default)]
struct Replay {
    /// The graph's number, where the producer says it.
    id: Option<i64>,
    /// The names of its work, in whatever order.
    names: u64,
    work: u32,
}

/// From one launch of the graph that begins an iteration to the next.
pub(super) fn launches(trace: &Trace) -> Option<Repeats> {
    let (slices, hasher) = (trace.slices(), RandomState::default());
    let mut is_graph = ByName::new(trace, is_graph_launch);
    let mut replays: HashMap<SliceId, Replay, RandomState> = HashMap::default();
    for id in slices.ids().filter(|&id| slices.kind(id).is_device_work()) {
        let Some(call) = trace.links().launch(id).filter(|&call| is_graph.get(slices.name(call))) else {
            continue;
        };
        let replay = replays.entry(call).or_default();
        replay.id = replay.id.or_else(|| trace.args(id).int(Attr::GraphId).filter(|&id| id != 0));
        replay.names = replay.names.wrapping_add(hasher.hash_one(slices.name(id)));
        replay.work += 1;
    }
    let mut calls: Vec<(SliceId, Replay)> = replays.into_iter().filter(|(_, of)| of.work >= MIN_WORK).collect();
    calls.sort_unstable_by_key(|(call, _)| *call);
    // Slices are sorted by thread: the one with most launches counts.
    let threads = calls.chunk_by(|a, b| slices.lane(a.0) == slices.lane(b.0));
    let calls = threads.max_by_key(|of| (of.len(), std::cmp::Reverse(of[0].0)))?;
    let marks: Vec<Mark> = calls
        .iter()
        .map(|(call, replay)| Mark {
            what: replay.id.map_or(replay.names, |id| hasher.hash_one(id)),
            start: slices.start(*call),
            end: slices.end(*call),
            place: call.index(),
        })
        .collect();
    let units = sequence::units(&marks)?;
    let all = slices.lane_range(slices.lane(calls[0].0));
    let recorded = all.clone().map(|at| slices.starts()[at] + slices.durs()[at]).max()?;
    let at = |place: usize| all.contains(&place).then(|| slices.starts()[place]);
    let windows = units.windows((recorded, all.end), at);
    let enough = windows.len() >= MIN_REPEATS && cover_most(trace, &windows);
    let name = trace.name(calls[0].0).to_owned();
    enough.then_some(Repeats { by: FoundBy::Graph, name, windows, on_device: false, apart: 0 })
}
