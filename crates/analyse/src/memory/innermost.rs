//! Which slice a moment lies in.

use stepscope_model::{CallTree, Kind, SliceId, Trace};

use super::record::Record;

/// The positions of the records of each lane, in order of time.
pub(super) fn by_lane(trace: &Trace, records: &[Record]) -> Vec<Vec<u32>> {
    let mut lanes = vec![Vec::new(); trace.lanes().len()];
    for (i, record) in records.iter().enumerate() {
        if let Some(lane) = lanes.get_mut(record.lane.index()) {
            lane.push(i as u32);
        }
    }
    lanes
}

/// Gives every record the innermost slice of one kind on its thread: the last that began at or before its time
/// and ends after it. `tree` is the tree of that kind alone. One walk along each lane's slices and records.
pub(super) fn mark(
    trace: &Trace,
    tree: &CallTree,
    kind: Kind,
    by_lane: &[Vec<u32>],
    records: &mut [Record],
    field: impl Fn(&mut Record) -> &mut Option<SliceId>,
) {
    let slices = trace.slices();
    for ((lane, _), positions) in trace.lanes().iter().zip(by_lane) {
        let mut ahead = slices.of_lane(lane).filter(|&id| slices.kind(id) == kind).peekable();
        // The last slice that began, or the nearest one around it that may still be open.
        let mut open: Option<SliceId> = None;
        for &i in positions {
            let record = &mut records[i as usize];
            while let Some(id) = ahead.next_if(|&id| slices.start(id) <= record.at) {
                open = Some(id);
            }
            // What has ended stays ended: each step up is taken once.
            while let Some(id) = open
                && slices.end(id) <= record.at
            {
                open = tree.parent(id);
            }
            *field(record) = open;
        }
    }
}
