//! Synchronization as the profiler recorded it: which stream or event a call waited for, and which stream waited for
//! work of another. Only recordings with `enable_cuda_sync_events` have it; without,
//! `causes::waits` and `replay` tell from times.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, Kind, SliceId, Tag, Trace};

use crate::devices::streams::Stream;
use crate::names::by_name::ByName;

type Map<K, V> = HashMap<K, V, RandomState>;

#[derive(Default)]
pub(crate) struct SyncEvents {
    /// By waiting call: the work it waited for.
    pub(crate) awaited: Map<SliceId, SliceId>,
    /// By work that its stream held back: the work of another stream it waited for.
    pub(crate) dependency: Map<SliceId, SliceId>,
}

impl SyncEvents {
    pub(crate) fn find(trace: &Trace, streams: &[Stream]) -> SyncEvents {
        let mut found = SyncEvents::default();
        let slices = trace.slices();
        let syncs: Vec<SliceId> = slices.ids().filter(|&id| slices.kind(id) == Kind::DeviceSync).collect();
        if syncs.is_empty() {
            return found;
        }
        let records = record_calls(trace);
        let mut numbered: Map<(Tag, i64), &Stream> = Map::default();
        for stream in streams {
            if let Some(number) = stream.number {
                numbered.entry((stream.device, number)).or_insert(stream);
            }
        }
        for sync in syncs {
            let Some(call) = trace.links().launch(sync) else { continue };
            let device = trace.lanes().get(slices.lane(sync)).key.process;
            let on = |number: i64| numbered.get(&(device, number)).copied();
            let int = |attr| trace.args(sync).int(attr);
            let recorded = int(Attr::WaitOnRecord).and_then(|id| records.get(&id));
            // An event marks the work that its stream had been given when it was recorded.
            let event = recorded.zip(int(Attr::WaitOnStream).and_then(on));
            let event = event.and_then(|(&record, stream)| stream.last_launched_before(slices.start(record)));
            match (trace.name(sync), event) {
                ("Stream Wait Event", Some(awaited)) => {
                    let held =
                        int(Attr::Stream).and_then(on).and_then(|s| s.first_launched_after(slices.start(call)));
                    found.dependency.extend(held.map(|held| (held.slice, awaited.slice)));
                }
                (_, Some(awaited)) => drop(found.awaited.insert(call, awaited.slice)),
                ("Stream Sync", None) => {
                    let last =
                        int(Attr::Stream).and_then(on).and_then(|s| s.last_launched_before(slices.start(call)));
                    found.awaited.extend(last.map(|work| (call, work.slice)));
                }
                _ => {}
            }
        }
        found
    }
}

/// Calls that record an event, by correlation.
fn record_calls(trace: &Trace) -> Map<i64, SliceId> {
    let slices = trace.slices();
    let mut records = ByName::new(trace, |name| name.contains("EventRecord"));
    let calls = slices.ids().filter(|&id| slices.kind(id).is_runtime() && records.get(slices.name(id)));
    calls.filter_map(|id| Some((trace.args(id).int(Attr::Correlation)?, id))).collect()
}
