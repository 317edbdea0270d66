//! Which slices a critical path is searched among: those of one or several instances of a named range.
//!
//! Host slices count if they start in the window and have a length; device work counts if its call does. Where HTA
//! numbers instances in the order of the file, here they are in order of time, the host's before their shadows on a
//! device.

use stepscope_model::{Attr, Domain, Kind, LaneId, LaneKey, Ns, SliceId, Tag, Trace};

use super::super::loading::HtaTrace;
use super::no_path::NoPath;
use crate::names::by_name::ByName;

/// What a synchronization event is by its name.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Sync {
    /// The host waits for a stream.
    Stream,
    /// The host waits for all streams.
    Context,
    /// The host waits for an event.
    Event,
    /// A stream waits for an event.
    StreamWait,
}

impl Sync {
    pub(super) fn named(name: &str) -> Option<Sync> {
        match name {
            "Stream Sync" => Some(Sync::Stream),
            "Context Sync" => Some(Sync::Context),
            "Event Sync" => Some(Sync::Event),
            "Stream Wait Event" => Some(Sync::StreamWait),
            _ => None,
        }
    }
}

/// The lane of the stream a synchronization event names, or that of its own.
pub(super) fn sync_lane(trace: &Trace, id: SliceId) -> LaneId {
    let own = trace.slices().lane(id);
    match trace.args(id).int(Attr::Stream) {
        None => own,
        Some(stream) => stream_lane(trace, id, stream).unwrap_or(own),
    }
}

/// A stream of the same device as this slice.
pub(super) fn stream_lane(trace: &Trace, beside: SliceId, stream: i64) -> Option<LaneId> {
    let process = trace.lanes().get(trace.slices().lane(beside)).key.process;
    trace.lanes().find(LaneKey { domain: Domain::Device, process, thread: Tag::Int(stream) })
}

/// The time asked for.
pub(super) fn window(
    loaded: &HtaTrace<'_>,
    annotation: &str,
    instances: (u32, u32),
) -> Result<(Ns, Ns), NoPath> {
    if annotation.is_empty() {
        return Ok((Ns::MIN, Ns::MAX));
    }
    let slices = loaded.trace.slices();
    let mut wanted = ByName::new(loaded.trace, |name: &str| name.contains(annotation));
    let found = slices.ids().filter(|&id| wanted.get(slices.name(id)) && loaded.keeps(id));
    let mut found: Vec<_> =
        found.map(|id| (slices.kind(id).is_device(), loaded.start(id), id, loaded.end(id))).collect();
    if found.is_empty() {
        return Err(NoPath::NoAnnotation);
    }
    found.sort_unstable();
    let (first, last) = (instances.0 as usize, instances.1 as usize);
    let chosen = found.get(first..found.len().min(last.saturating_add(1))).unwrap_or_default();
    let start = chosen.iter().map(|f| f.1).min();
    let end = chosen.iter().map(|f| f.3).max();
    start.zip(end).ok_or(NoPath::NoInstance { instances: found.len() as u64 })
}

/// The slices of a window, in order of their lanes.
pub(super) struct Clip {
    /// Slices on host threads, whatever they are.
    pub(super) host: Vec<SliceId>,
    /// Kernels, copies and memsets.
    pub(super) work: Vec<SliceId>,
    pub(super) syncs: Vec<(Sync, SliceId)>,
}

impl Clip {
    pub(super) fn new(loaded: &HtaTrace<'_>, (start, end): (Ns, Ns)) -> Clip {
        let slices = loaded.trace.slices();
        let mut syncs = ByName::new(loaded.trace, Sync::named);
        let inside = |id: SliceId| {
            let at = loaded.start(id);
            at >= start && at <= end && loaded.dur(id) > Ns::ZERO
        };
        let launched_inside = |id: SliceId| loaded.launch(id).is_some_and(inside);
        let mut clip = Clip { host: Vec::new(), work: Vec::new(), syncs: Vec::new() };
        for id in slices.ids().filter(|&id| loaded.keeps(id)) {
            match slices.kind(id) {
                Kind::DeviceAnnotation => {}
                Kind::DeviceSync => {
                    let Some(sync) = syncs.get(slices.name(id)) else { continue };
                    let counts = match sync {
                        // Their kernels may lie in the window although the call does not.
                        Sync::StreamWait => true,
                        Sync::Context | Sync::Event if !has_stream(loaded.trace, id) => inside(id),
                        _ => launched_inside(id),
                    };
                    if counts {
                        clip.syncs.push((sync, id));
                    }
                }
                kind if kind.is_device_work() && launched_inside(id) => clip.work.push(id),
                kind if !kind.is_device_work() && inside(id) => clip.host.push(id),
                _ => {}
            }
        }
        clip
    }
}

fn has_stream(trace: &Trace, id: SliceId) -> bool {
    trace.args(id).int(Attr::Stream).is_some_and(|stream| stream != -1)
}
