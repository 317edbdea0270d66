//! The call tree of host threads, by containment in time.

use crate::kind::Kind;
use crate::lanes::Domain;
use crate::slices::SliceId;
use crate::time::Ns;
use crate::trace::Trace;

const NO_PARENT: u32 = u32::MAX;

/// Parents of host slices. A slice's parent is the shortest open slice of its lane that holds it wholly; one
/// that sticks out of its neighbor is not its child (as PyTorch decides it), and is counted.
#[derive(Debug, Clone)]
pub struct CallTree {
    parent: Vec<u32>,
    /// Slices that begin inside another but end after it.
    pub misnested: u64,
}

impl CallTree {
    /// Builds the tree over the host slices whose kind is wanted; others are invisible, their children move up.
    pub fn build(trace: &Trace, wanted: impl Fn(Kind) -> bool) -> CallTree {
        let slices = trace.slices();
        let mut parent = vec![NO_PARENT; slices.len()];
        let mut misnested = 0;
        let mut open: Vec<(Ns, u32)> = Vec::new();
        for (lane, info) in trace.lanes().iter() {
            if info.key.domain == Domain::Device {
                continue;
            }
            open.clear();
            for id in slices.of_lane(lane) {
                let kind = slices.kind(id);
                if !kind.is_host() || !wanted(kind) {
                    continue;
                }
                let (start, end) = (slices.start(id), slices.end(id));
                let mut sticks_out = false;
                while let Some(&(parent_end, _)) = open.last() {
                    if start < parent_end && end <= parent_end {
                        break;
                    }
                    sticks_out |= start < parent_end;
                    open.pop();
                }
                misnested += u64::from(sticks_out);
                if let Some(&(_, p)) = open.last() {
                    parent[id.index()] = p;
                }
                open.push((end, id.0));
            }
        }
        CallTree { parent, misnested }
    }

    /// The parent of a slice, if it has one.
    pub fn parent(&self, id: SliceId) -> Option<SliceId> {
        let raw = self.parent[id.index()];
        (raw != NO_PARENT).then_some(SliceId(raw))
    }

    /// The slice's ancestors, nearest first.
    pub fn ancestors(&self, id: SliceId) -> impl Iterator<Item = SliceId> {
        std::iter::successors(self.parent(id), |&p| self.parent(p))
    }
}
