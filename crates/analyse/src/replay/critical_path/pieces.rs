//! The critical path piece by piece.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Domain, LaneId, Tag, Trace};

use super::{CriticalPath, NOTHING_RECORDED, PathClass};
use crate::scope::slice_number;
use crate::tables::stacks::Frame;

/// One piece of the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PieceRow {
    /// A kernel, operator, range or call; what kind of gap, where there is no slice.
    pub name: String,
    pub class: PathClass,
    pub start_ns: i64,
    pub dur_ns: i64,
    /// The thread or stream of the slice.
    pub lane: Option<String>,
    /// The slice's number in this file.
    pub slice: Option<u64>,
}

impl CriticalPath {
    /// Its pieces in order of time. Each begins where the one before it ends.
    pub fn rows(&self, trace: &Trace) -> Vec<PieceRow> {
        let slices = trace.slices();
        let mut labels: Vec<Option<String>> = vec![None; trace.lanes().len()];
        let pieces = self.pieces.iter().map(|piece| PieceRow {
            name: piece.slice.map_or(NOTHING_RECORDED, |slice| trace.name(slice)).to_owned(),
            class: piece.class,
            start_ns: piece.start.0,
            dur_ns: (piece.end - piece.start).0,
            lane: piece.slice.map(|slice| {
                let lane = slices.lane(slice);
                labels[lane.index()].get_or_insert_with(|| lane_label(trace, lane)).clone()
            }),
            slice: piece.slice.map(slice_number::number),
        });
        pieces.collect()
    }
}

/// A thread's name, or the device and stream.
fn lane_label(trace: &Trace, id: LaneId) -> String {
    let key = trace.lanes().get(id).key;
    if key.domain == Domain::Host {
        return Frame::Thread(id).text(trace).into_owned();
    }
    let tag = |tag: Tag| match tag {
        Tag::Int(number) => number.to_string(),
        Tag::Str(text) => trace.text(text).to_owned(),
        Tag::None => "?".to_owned(),
    };
    format!("GPU {} stream {}", tag(key.process), tag(key.thread))
}
