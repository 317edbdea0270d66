//! The critical path as the timeline draws it: in a window, no finer than it can be seen.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::replay::critical_path::{CriticalPath, PathClass, PathPiece};
use stepscope_model::{Ns, Trace};

/// One stretch of the path; several pieces where they are too short to be distinguished.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Stretch<'a> {
    /// The longest piece's name; empty where no slice comes after it.
    name: &'a str,
    class: PathClass,
    start_ns: i64,
    /// From the first piece's start to the last one's end.
    dur_ns: i64,
    slice: Option<usize>,
    count: usize,
}

/// The path between two moments, in at most about `buckets` stretches. Pieces at least as long as a bucket
/// stand alone.
pub(crate) fn within<'a>(
    path: &CriticalPath,
    trace: &'a Trace,
    (from, to): (i64, i64),
    buckets: usize,
) -> Vec<Stretch<'a>> {
    let (from, to) = (Ns(from), Ns(to));
    let first = path.pieces.partition_point(|piece| piece.end <= from);
    let last = path.pieces.partition_point(|piece| piece.start < to);
    let seen = path.pieces.get(first..last).unwrap_or_default();
    let (Some(begin), Some(end)) = (seen.first().map(|p| p.start), seen.last().map(|p| p.end)) else {
        return Vec::new();
    };
    let width = ((end - begin).0 / buckets.max(1) as i64).max(1);
    let length = |piece: &PathPiece| (piece.end - piece.start).0;
    let mut found = Vec::new();
    let mut rest = seen;
    while let Some((head, _)) = rest.split_first() {
        let alone = length(head) >= width;
        let until = head.start + Ns(width);
        let together = |piece: &&PathPiece| !alone && length(piece) < width && piece.start < until;
        let count = rest.iter().take_while(together).count().max(1);
        let (these, others) = rest.split_at(count);
        let longest = these.iter().max_by_key(|piece| length(piece)).unwrap_or(head);
        found.push(Stretch {
            name: longest.slice.map_or("", |slice| trace.name(slice)),
            class: longest.class,
            start_ns: head.start.0,
            dur_ns: (these.last().map_or(head.end, |piece| piece.end) - head.start).0,
            slice: longest.slice.map(|slice| slice.index()),
            count,
        });
        rest = others;
    }
    found
}
