//! The selected device work, and the operators it was launched from.

use stepscope_model::{CallTree, Domain, Kind, SliceId, Trace};

use crate::names::by_name::ByName;
use crate::roofline::number::{self, Element};
pub(super) use crate::scope::NONE;
use crate::scope::selection::Selection;

/// Every operator; a parent comes before its children.
pub(super) fn host_ops(trace: &Trace) -> impl DoubleEndedIterator<Item = SliceId> {
    let slices = trace.slices();
    slices.ids().filter(move |&id| slices.kind(id) == Kind::HostOp)
}

/// The selected device work, by the operator that launched it.
pub(super) struct Work {
    /// Device slices, each with the innermost operator around its launch.
    pub(super) device: Vec<(SliceId, u32)>,
    /// By host slice: how many device slices were launched inside it.
    pub(super) slices: Vec<u32>,
    /// By host slice: the number of the element type its kernels name, plus one.
    elements: Vec<u8>,
    known: Vec<Element>,
    pub(super) device_ns: i64,
}

impl Work {
    pub(super) fn new(trace: &Trace, selection: &Selection, around: &EnclosingOps) -> Work {
        let all = trace.slices();
        let mut work = Work {
            device: Vec::new(),
            slices: vec![0; all.len()],
            elements: vec![0; all.len()],
            known: Vec::new(),
            device_ns: 0,
        };
        let mut elements = ByName::new(trace, number::of_kernel);
        for (lane, info) in trace.lanes().iter() {
            if info.key.domain != Domain::Device {
                continue;
            }
            for id in all.of_lane(lane) {
                if !all.kind(id).is_device_work() || !selection.contains(trace, id) {
                    continue;
                }
                work.device_ns = work.device_ns.saturating_add(all.dur(id).0);
                let owner = owner(trace, around, id);
                work.device.push((id, owner.map_or(NONE, |op| op.index() as u32)));
                if let Some(op) = owner {
                    work.slices[op.index()] += 1;
                    if let Some(element) = elements.get(all.name(id)) {
                        work.elements[op.index()] = work.number(element);
                    }
                }
            }
        }
        work
    }

    fn number(&mut self, element: Element) -> u8 {
        let at = self.known.iter().position(|known| *known == element).unwrap_or_else(|| {
            self.known.push(element);
            self.known.len() - 1
        });
        // There are a handful of element types.
        u8::try_from(at + 1).unwrap_or(0)
    }

    /// Children before their parents: the order backwards.
    pub(super) fn sum_up(&mut self, trace: &Trace, around: &EnclosingOps) {
        for id in host_ops(trace).rev() {
            if let Some(parent) = around.op(id) {
                let (i, p) = (id.index(), parent.index());
                self.slices[p] = self.slices[p].saturating_add(self.slices[i]);
                if self.elements[p] == 0 {
                    self.elements[p] = self.elements[i];
                }
            }
        }
    }

    pub(super) fn list_element(&self, id: SliceId) -> Option<Element> {
        let number = usize::from(self.elements[id.index()]).checked_sub(1)?;
        self.known.get(number).copied()
    }
}

/// The operator around the call that launched a device slice: by External id, else by place.
fn owner(trace: &Trace, around: &EnclosingOps, id: SliceId) -> Option<SliceId> {
    let named = trace.links().op(id).filter(|&op| trace.slices().kind(op) == Kind::HostOp);
    named.or_else(|| around.op(trace.links().launch(id)?))
}

/// The nearest operator around each host slice.
pub(super) struct EnclosingOps(Vec<u32>);

impl EnclosingOps {
    pub(super) fn new(trace: &Trace) -> EnclosingOps {
        let slices = trace.slices();
        let counts = |kind: Kind| kind == Kind::HostOp || kind.is_runtime();
        let tree = CallTree::build(trace, counts);
        let mut above = vec![NONE; slices.len()];
        // One pass for all: walking up from each slice is quadratic where a file nests calls without end.
        for id in slices.ids().filter(|&id| counts(slices.kind(id))) {
            if let Some(parent) = tree.parent(id) {
                let is_op = slices.kind(parent) == Kind::HostOp;
                above[id.index()] = if is_op { parent.index() as u32 } else { above[parent.index()] };
            }
        }
        EnclosingOps(above)
    }

    pub(super) fn op(&self, id: SliceId) -> Option<SliceId> {
        let raw = self.0[id.index()];
        (raw != NONE).then(|| SliceId::from_index(raw as usize))
    }
}
