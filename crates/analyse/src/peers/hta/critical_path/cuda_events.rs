//! Which work a CUDA event represents: the last launched on its stream before it was recorded; and which work waits
//! for it: the first launched after the wait.
//!
//! Known only where the profiler recorded synchronization events that name the call that recorded the event.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, Kind, LaneId, Ns, SliceId, Trace};

use super::super::launch_calls::fills_queue;
use super::super::loading::HtaTrace;
use super::window::{Clip, Sync, stream_lane, sync_lane};
use crate::names::by_name::ByName;

type Map<K, V> = HashMap<K, V, RandomState>;

/// The launches of a stream by the start of their calls, and what they launched.
type Launches = Vec<(Ns, SliceId)>;

pub(super) struct CudaEvents<'a> {
    trace: &'a Trace,
    /// By the correlation of the recording call: the work recorded.
    recorded: Map<i64, SliceId>,
    /// By stream and host thread.
    launches: Map<(LaneId, LaneId), Launches>,
}

impl<'a> CudaEvents<'a> {
    pub(super) fn new(loaded: &HtaTrace<'a>, clip: &Clip) -> CudaEvents<'a> {
        let trace = loaded.trace;
        let mut events = CudaEvents { trace, recorded: Map::default(), launches: Map::default() };
        // The search is for these alone; without them it is not needed.
        if clip.syncs.iter().any(|(sync, _)| matches!(sync, Sync::Event | Sync::StreamWait)) {
            events.find(loaded);
        }
        events
    }

    /// The work a synchronization event waits for.
    pub(super) fn awaited(&self, sync: SliceId) -> Option<SliceId> {
        self.recorded.get(&waits_on(self.trace, sync)?).copied()
    }

    /// The work that a waiting stream does next.
    pub(super) fn next_work(&self, loaded: &HtaTrace<'_>, sync: SliceId) -> Option<SliceId> {
        let call = loaded.launch(sync)?;
        if self.trace.name(call) != "cudaStreamWaitEvent" {
            return None;
        }
        let launches = self.launches.get(&(sync_lane(self.trace, sync), self.trace.slices().lane(call)))?;
        let next = launches.partition_point(|l| l.0 < loaded.start(call));
        launches.get(next).map(|l| l.1)
    }

    fn find(&mut self, loaded: &HtaTrace<'_>) {
        let trace = self.trace;
        let slices = trace.slices();
        let mut of_stream: Map<LaneId, Launches> = Map::default();
        let mut launches = ByName::new(trace, fills_queue);
        let mut stream_of_record: Map<i64, LaneId> = Map::default();
        for id in slices.ids().filter(|&id| slices.kind(id).is_device() && loaded.keeps(id)) {
            if slices.kind(id).is_device_work() {
                let call = loaded.launch(id).filter(|&call| launches.get(slices.name(call)));
                let Some(call) = call else { continue };
                let launch = (loaded.start(call), id);
                of_stream.entry(slices.lane(id)).or_default().push(launch);
                self.launches.entry((slices.lane(id), slices.lane(call))).or_default().push(launch);
            } else if slices.kind(id) == Kind::DeviceSync
                && let Some(record) = waits_on(trace, id)
                && let Some(stream) = trace.args(id).int(Attr::WaitOnStream)
                && stream > -1
                && let Some(lane) = stream_lane(trace, id, stream)
            {
                stream_of_record.entry(record).or_insert(lane);
            }
        }
        for launches in of_stream.values_mut().chain(self.launches.values_mut()) {
            launches.sort_unstable();
        }
        let Some(record_name) = trace.strings().find("cudaEventRecord") else { return };
        for id in slices.ids().filter(|&id| slices.name(id) == record_name && loaded.keeps(id)) {
            if let Some(correlation) = trace.args(id).int(Attr::Correlation)
                && let Some(lane) = stream_of_record.get(&correlation)
                && let Some(launches) = of_stream.get(lane)
                && let Some(before) = launches.partition_point(|l| l.0 <= loaded.start(id)).checked_sub(1)
            {
                self.recorded.insert(correlation, launches[before].1);
            }
        }
    }
}

/// The correlation of the call that recorded the event waited for.
fn waits_on(trace: &Trace, sync: SliceId) -> Option<i64> {
    trace.args(sync).int(Attr::WaitOnRecord).filter(|&id| id >= 0)
}
