//! Links between slices: device work to the call that launched it, calls and device work to their operator,
//! forward operators to their backward ones.

use crate::slices::SliceId;

const NO_SLICE: u32 = u32::MAX;

/// The links of a trace.
#[derive(Debug, Clone, Default)]
pub struct Links {
    pub(crate) launch: Vec<u32>,
    pub(crate) op: Vec<u32>,
    /// (forward, backward), sorted.
    pub(crate) backward: Vec<(SliceId, SliceId)>,
    /// (backward, forward), sorted.
    pub(crate) forward: Vec<(SliceId, SliceId)>,
}

impl Links {
    pub(crate) fn none(len: usize) -> Vec<u32> {
        vec![NO_SLICE; len]
    }

    /// The runtime or driver call that launched this device slice, by correlation.
    pub fn launch(&self, id: SliceId) -> Option<SliceId> {
        some(self.launch[id.index()])
    }

    /// The operator or annotation this device slice or runtime call belongs to, by External id.
    pub fn op(&self, id: SliceId) -> Option<SliceId> {
        some(self.op[id.index()])
    }

    /// The backward operators of a forward one.
    pub fn backward_of(&self, forward: SliceId) -> impl Iterator<Item = SliceId> {
        neighbors(&self.backward, forward)
    }

    /// The forward operators of a backward one.
    pub fn forward_of(&self, backward: SliceId) -> impl Iterator<Item = SliceId> {
        neighbors(&self.forward, backward)
    }

    /// How many forward-to-backward links there are.
    pub fn backward_links(&self) -> usize {
        self.backward.len()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        (self.launch.len() + self.op.len()) * 4 + (self.backward.len() + self.forward.len()) * 8
    }
}

fn some(raw: u32) -> Option<SliceId> {
    (raw != NO_SLICE).then_some(SliceId(raw))
}

fn neighbors(pairs: &[(SliceId, SliceId)], from: SliceId) -> impl Iterator<Item = SliceId> {
    let begin = pairs.partition_point(|p| p.0 < from);
    pairs[begin..].iter().take_while(move |p| p.0 == from).map(|p| p.1)
}
