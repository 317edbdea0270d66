//! Which slice a moment lies in, and the tree of all slices of that kind.

use stepscope_model::{CallTree, Kind, SliceId, Trace};

use super::record::Record;

/// The slices of one kind around records.
pub(super) struct EnclosingSlices {
    pub(super) tree: CallTree,
    /// By record: the innermost one.
    innermost: Vec<Option<SliceId>>,
}

impl EnclosingSlices {
    pub(super) fn find(trace: &Trace, kind: Kind, by_lane: &[Vec<u32>], records: &[Record]) -> EnclosingSlices {
        let tree = CallTree::build(trace, |k| k == kind);
        let innermost = find(trace, &tree, kind, by_lane, records);
        EnclosingSlices { tree, innermost }
    }

    /// The innermost slice at a record's position.
    pub(super) fn at(&self, position: u32) -> Option<SliceId> {
        self.innermost[position as usize]
    }
}

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

/// For every record the innermost slice of one kind on its thread: the last that began at or before its time
/// and ends after it. `tree` is the tree of that kind alone. One walk along each lane's slices and records.
fn find(
    trace: &Trace,
    tree: &CallTree,
    kind: Kind,
    by_lane: &[Vec<u32>],
    records: &[Record],
) -> Vec<Option<SliceId>> {
    let slices = trace.slices();
    let mut found = vec![None; records.len()];
    for ((lane, _), positions) in trace.lanes().iter().zip(by_lane) {
        let mut ahead = slices.of_lane(lane).filter(|&id| slices.kind(id) == kind).peekable();
        // The last slice that began, or the nearest one around it that may still be open.
        let mut open: Option<SliceId> = None;
        for &i in positions {
            let at = records[i as usize].at;
            while let Some(id) = ahead.next_if(|&id| slices.start(id) <= at) {
                open = Some(id);
            }
            // What has ended stays ended: each step up is taken once.
            while let Some(id) = open
                && slices.end(id) <= at
            {
                open = tree.parent(id);
            }
            found[i as usize] = open;
        }
    }
    found
}
