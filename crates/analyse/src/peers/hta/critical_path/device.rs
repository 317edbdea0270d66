//! The edges of devices: through each kernel, to it from what held it back (its launch, the work before it on the
//! stream, an event of another stream), and back to the host calls that wait for it.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::{LaneId, Ns, SliceId};

use super::super::loading::HtaTrace;
use super::super::queue::Queues;
use super::cuda_events::CudaEvents;
use super::graph::{Edge, EdgeKind, Graph};
use super::window::{Clip, Sync, sync_lane};

/// From this gap on, two kernels of a stream are not taken to wait for each other: something unknown held the
/// second back. Compute streams need under 10 µs, communication about 1 ms.
const MAX_KERNEL_GAP: Ns = Ns(1_500_000);

/// Adds the edges and returns how many kernels, copies and memsets nothing leads to.
pub(super) fn connect(loaded: &HtaTrace<'_>, clip: &Clip, launch_always: bool, graph: &mut Graph) -> u64 {
    let slices = loaded.trace.slices();
    let mut walk = Walk {
        loaded,
        events: CudaEvents::new(loaded, clip),
        launch_always,
        at_launch: vec![NO_LENGTH; slices.len()],
        at_start: vec![NO_LENGTH; slices.len()],
        last: vec![None; loaded.trace.lanes().len()],
        streams: Vec::new(),
        awaits: HashMap::default(),
        waits: HashSet::default(),
        unconnected: 0,
    };
    // The queue is the whole trace's: work launched before the window may still be in it.
    for change in Queues::new(loaded).lanes.into_iter().flat_map(|(_, changes)| changes) {
        let lengths = if change.launch { &mut walk.at_launch } else { &mut walk.at_start };
        lengths[change.work.index()] = change.length;
    }
    // Waits take effect when they end: a wait for a stream overlaps the work it waits for.
    let waits = clip.syncs.iter().map(|&(sync, id)| (loaded.end(id), id, Some(sync)));
    let work = clip.work.iter().map(|&id| (loaded.start(id), id, None));
    let mut events: Vec<_> = work.chain(waits).collect();
    // Stable, because each stream is sorted already and the sort finds that.
    events.sort_by_key(|&(at, id, _)| (at, id));
    for (_, id, sync) in events {
        match sync {
            Some(sync) => walk.sync(graph, sync, id),
            None => walk.work(graph, id),
        }
    }
    walk.unconnected
}

const NO_LENGTH: i64 = i64::MIN;

struct Walk<'a> {
    loaded: &'a HtaTrace<'a>,
    events: CudaEvents<'a>,
    launch_always: bool,
    /// The queue length when the work was launched, and when it started.
    at_launch: Vec<i64>,
    at_start: Vec<i64>,
    /// The end of the last work of each stream.
    last: Vec<Option<u32>>,
    /// Streams with work so far.
    streams: Vec<LaneId>,
    /// Work that starts only after other work of another stream.
    awaits: HashMap<SliceId, SliceId, RandomState>,
    /// Pairs of work and call already joined: a call may have several synchronization events.
    waits: HashSet<(u32, u32), RandomState>,
    unconnected: u64,
}

impl Walk<'_> {
    fn sync(&mut self, graph: &mut Graph, sync: Sync, id: SliceId) {
        match sync {
            Sync::StreamWait => {
                let awaited = self.events.awaited(id);
                if let Some((next, awaited)) = self.events.next_work(self.loaded, id).zip(awaited) {
                    self.awaits.insert(next, awaited);
                }
            }
            Sync::Event => {
                let awaited = self.events.awaited(id).and_then(|work| graph.nodes_of(work));
                if let Some((_, end)) = awaited {
                    self.host_waits(graph, end, id);
                }
            }
            Sync::Stream => {
                if let Some(end) = self.last[sync_lane(self.loaded.trace, id).index()] {
                    self.host_waits(graph, end, id);
                }
            }
            Sync::Context => {
                for i in 0..self.streams.len() {
                    if let Some(end) = self.last[self.streams[i].index()] {
                        self.host_waits(graph, end, id);
                    }
                }
            }
        }
    }

    /// The call behind a synchronization event ends only after this.
    fn host_waits(&mut self, graph: &mut Graph, end: u32, sync: SliceId) {
        let call = self.loaded.launch(sync).and_then(|call| graph.nodes_of(call));
        if let Some((_, call_end)) = call
            && self.waits.insert((end, call_end))
        {
            graph.connect(end, call_end, EdgeKind::SyncDependency, None);
        }
    }

    fn work(&mut self, graph: &mut Graph, id: SliceId) {
        let Some((start, end)) = graph.nodes_of(id) else { return };
        let lane = self.loaded.trace.slices().lane(id);
        graph.connect(start, end, EdgeKind::OperatorKernel, Some(id));
        let awaited = self.awaits.remove(&id).and_then(|work| graph.nodes_of(work)).map(|(_, end)| end);
        if let Some(awaited) = awaited {
            graph.connect(awaited, start, EdgeKind::SyncDependency, None);
        }
        let call = self.loaded.launch(id);
        let call_start = call.and_then(|call| graph.nodes_of(call)).map(|(start, _)| start);
        let last = self.last[lane.index()];
        let over_before = |at: Ns| awaited.is_none_or(|awaited| graph.at(awaited) < at);
        let launched = call.map(|call| self.loaded.start(call)).filter(|&at| {
            let alone = self.at_launch[id.index()] == 1 && self.at_start[id.index()] == 0;
            alone && last.is_none_or(|last| graph.at(last) < at) && over_before(at)
        });
        let follows = last
            .filter(|&last| graph.at(start) - graph.at(last) < MAX_KERNEL_GAP && over_before(graph.at(last)));
        let by_launch = launched.and(call_start);
        match (by_launch, follows) {
            (Some(call), _) => graph.connect(call, start, EdgeKind::LaunchDelay, None),
            (None, Some(last)) => {
                let slice = graph.nodes[last as usize].slice;
                graph.connect(last, start, EdgeKind::KernelKernelDelay, Some(slice));
            }
            (None, None) => self.unconnected += u64::from(awaited.is_none()),
        }
        if self.launch_always
            && by_launch.is_none()
            && let Some(call) = call_start
        {
            let edge =
                Edge { from: call, to: start, kind: EdgeKind::LaunchDelay, weight: Ns::ZERO, slice: None };
            graph.add(edge);
        }
        if last.is_none() {
            self.streams.push(lane);
        }
        self.last[lane.index()] = Some(end);
    }
}
