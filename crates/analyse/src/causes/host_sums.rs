//! How long the host did what between any two moments, without walking along what lies between.
//!
//! Devices share one host. If each device walked along the host's time for each of its gaps, many idle devices would
//! cost their number times the host's segments; sums kept along the way make every gap cost about the same.

use std::ops::Range;
use std::sync::OnceLock;

use stepscope_model::{LaneId, Ns};

use crate::scope::windows::{Windows, length};
use crate::threads::activity::Activity;
use crate::threads::host_time::{HostTime, Segment};

/// Segments from one kept sum to the next.
const SEGMENTS_PER_BLOCK: usize = 64;

type ActivitySums = [u64; Activity::ALL.len()];

/// Sums of the host's time by activity: of all time, or of what lies in windows.
#[derive(Clone, Debug)]
pub(crate) struct HostSums {
    host: HostTime,
    windows: Option<Windows>,
    /// Of the segments before each block, all threads one after the other. Made for the first long stretch.
    threads: OnceLock<Vec<ActivitySums>>,
    /// The same of main and backward threads as one.
    relayed: OnceLock<Vec<ActivitySums>>,
}

impl HostSums {
    /// Sums up a host's time, or that part of it which lies in windows.
    pub(crate) fn new(host: &HostTime, windows: Option<Windows>) -> HostSums {
        HostSums { host: host.clone(), windows, threads: OnceLock::new(), relayed: OnceLock::new() }
    }

    /// How much of a stretch counts.
    pub(crate) fn length(&self, stretch: (Ns, Ns)) -> u64 {
        match &self.windows {
            Some(windows) => windows.length(stretch),
            None => length(stretch.0, stretch.1),
        }
    }

    /// The same for neighbors: most lie in the window that the one before lies in.
    fn length_near(&self, stretch: (Ns, Ns), near: &mut usize) -> u64 {
        match &self.windows {
            Some(windows) => windows.length_near(stretch, near),
            None => length(stretch.0, stretch.1),
        }
    }

    fn blocks(&self, segments: &[Segment]) -> Vec<ActivitySums> {
        let mut sums = ActivitySums::default();
        let mut blocks = Vec::with_capacity(segments.len() / SEGMENTS_PER_BLOCK + 1);
        for block in segments.chunks(SEGMENTS_PER_BLOCK) {
            blocks.push(sums);
            self.walk(block, &mut sums);
        }
        blocks.push(sums);
        blocks
    }

    fn walk(&self, segments: &[Segment], sums: &mut ActivitySums) {
        let mut near = usize::MAX;
        for s in segments {
            let ns = self.length_near((s.start, s.end), &mut near);
            let sum = &mut sums[s.activity as usize];
            // Threads overlap, so that all together may not fit; those of one do, and only they are distinguished.
            *sum = sum.wrapping_add(ns);
        }
    }

    /// What the host did in a stretch as seen from a thread, as in [`HostTime::doing`].
    pub(crate) fn doing(&self, lane: LaneId, (from, to): (Ns, Ns)) -> ActivitySums {
        let mut sums = ActivitySums::default();
        let mut rest = self.length((from, to));
        if rest == 0 {
            return sums;
        }
        let segments = self.host.timeline(lane);
        let first = segments.partition_point(|s| s.end <= from);
        let count = match segments.get(first) {
            Some(s) if to <= s.end => usize::from(s.start < to),
            _ => segments[first..].partition_point(|s| s.start < to),
        };
        let inside = first..first + count;
        if count <= SEGMENTS_PER_BLOCK {
            let mut near = usize::MAX;
            for s in &segments[inside] {
                sums[s.activity as usize] += self.length_near((s.start.max(from), s.end.min(to)), &mut near);
            }
        } else {
            // The first and the last may reach out; all between lie inside.
            for s in [&segments[inside.start], &segments[inside.end - 1]] {
                sums[s.activity as usize] += self.length((s.start.max(from), s.end.min(to)));
            }
            self.whole(lane, inside.start + 1..inside.end - 1, &mut sums);
        }
        sums.iter().for_each(|&ns| rest = rest.saturating_sub(ns));
        sums[Activity::Unrecorded as usize] += rest;
        sums
    }

    /// Adds some segments of a thread's timeline that count in full.
    fn whole(&self, lane: LaneId, range: Range<usize>, sums: &mut ActivitySums) {
        let all = self.host.segments();
        let (blocks, segments, offset) = match self.host.is_relayed(lane) {
            true => (&self.relayed, self.host.relayed(), 0),
            false => (&self.threads, all.as_slice(), self.host.range(lane).start),
        };
        let range = range.start + offset..range.end + offset;
        let (first, last) = (range.start.div_ceil(SEGMENTS_PER_BLOCK), range.end / SEGMENTS_PER_BLOCK);
        if first >= last {
            return self.walk(&segments[range], sums);
        }
        let blocks = blocks.get_or_init(|| self.blocks(segments));
        for ((sum, before), until) in sums.iter_mut().zip(&blocks[first]).zip(&blocks[last]) {
            *sum = sum.wrapping_add(until.wrapping_sub(*before));
        }
        self.walk(&segments[range.start..first * SEGMENTS_PER_BLOCK], sums);
        self.walk(&segments[last * SEGMENTS_PER_BLOCK..range.end], sums);
    }
}
