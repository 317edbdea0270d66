//! The finished trace: columns that no one changes any more.

use crate::allocations::{Allocation, AllocationId, Allocations};
use crate::args::{ArgStore, Args, ArgsId};
use crate::attr::Attr;
use crate::counters::Counters;
use crate::kind::CatId;
use crate::lanes::Lanes;
use crate::links::Links;
use crate::meta::{Distributed, Meta, TriedFix};
use crate::notes::Notes;
use crate::points::{Flows, PointId, Points};
use crate::programs::Programs;
use crate::slices::{SliceId, Slices};
use crate::stack_tree::StackId;
use crate::stacks::Stacks;
use crate::strings::{StrId, Strings};
use crate::time::Ns;

/// A trace. Made by [`TraceBuilder::finish`](crate::TraceBuilder::finish).
#[derive(Debug, Clone)]
pub struct Trace {
    pub(crate) slices: Slices,
    pub(crate) points: Points,
    pub(crate) counters: Counters,
    pub(crate) allocations: Allocations,
    pub(crate) flows: Flows,
    pub(crate) lanes: Lanes,
    pub(crate) strings: Strings,
    pub(crate) categories: Vec<StrId>,
    pub(crate) args: ArgStore,
    pub(crate) stacks: Stacks,
    pub(crate) links: Links,
    pub(crate) programs: Programs,
    pub(crate) notes: Notes,
    pub(crate) meta: Meta,
    pub(crate) tried: Vec<TriedFix>,
    pub(crate) origin: Ns,
}

impl Trace {
    /// Everything with a length.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// Everything without one that is neither a counter nor an allocation.
    pub fn points(&self) -> &Points {
        &self.points
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How many events without a length are held: points, counters' and allocations.
    pub fn events_without_length(&self) -> usize {
        self.points.len() + self.counters.events() + self.allocations.len()
    }

    /// How many events are held, a begin and its end as one.
    pub fn events(&self) -> usize {
        self.slices.len() + self.events_without_length() + self.flows.len()
    }

    /// The ends of arrows.
    pub fn flows(&self) -> &Flows {
        &self.flows
    }

    pub fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    pub fn strings(&self) -> &Strings {
        &self.strings
    }

    pub fn links(&self) -> &Links {
        &self.links
    }

    /// The compiled programs that the file describes.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// What was kept, repaired and set aside.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// What the file says about its run.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Says which place in a job the run had, where the file itself does not.
    pub fn set_distributed(&mut self, distributed: Distributed) {
        self.meta.distributed = Some(distributed);
    }

    /// Changes to its program that were measured.
    pub fn tried(&self) -> &[TriedFix] {
        &self.tried
    }

    pub fn set_tried(&mut self, tried: Vec<TriedFix>) {
        self.tried = tried;
    }

    /// What to add to a time to have it on the producer's clock, which counts from [`Meta::base_ns`]. Times count from
    /// the first event: the first slice, or point that is not metadata. Zero where they reach too far for that.
    pub fn origin(&self) -> Ns {
        self.origin
    }

    pub fn text(&self, id: StrId) -> &str {
        self.strings.get(id)
    }

    pub fn name(&self, id: SliceId) -> &str {
        self.strings.get(self.slices.name(id))
    }

    pub fn args(&self, id: SliceId) -> Args<'_> {
        self.args_of(self.slices.args(id))
    }

    pub fn point_args(&self, id: PointId) -> Args<'_> {
        self.args_of(self.points.args(id))
    }

    /// Arguments by their handle.
    pub fn args_of(&self, id: ArgsId) -> Args<'_> {
        self.args.get(id, &self.strings)
    }

    /// A category's text as the file spelled it.
    pub fn category(&self, id: CatId) -> &str {
        self.categories.get(id.index()).map_or("", |&s| self.strings.get(s))
    }

    /// Every category text, in the order first seen.
    pub fn categories(&self) -> impl Iterator<Item = (CatId, &str)> {
        self.categories.iter().enumerate().map(|(i, &s)| (CatId(i as u16), self.strings.get(s)))
    }

    /// Earliest start and latest end of all slices but spans; `None` without any.
    pub fn extent(&self) -> Option<(Ns, Ns)> {
        let mut extent: Option<(Ns, Ns)> = None;
        for id in self.slices.ids() {
            if matches!(self.slices.kind(id), crate::Kind::Span) {
                continue;
            }
            let (start, end) = (self.slices.start(id), self.slices.end(id));
            extent = Some(extent.map_or((start, end), |(a, b)| (a.min(start), b.max(end))));
        }
        extent
    }

    /// Bytes the columns, texts and arguments hold.
    pub fn heap_bytes(&self) -> usize {
        self.slices.heap_bytes()
            + self.points.heap_bytes()
            + self.counters.heap_bytes()
            + self.allocations.heap_bytes()
            + self.flows.heap_bytes()
            + self.lanes.heap_bytes()
            + self.strings.heap_bytes()
            + self.args.heap_bytes()
            + self.stacks.heap_bytes()
            + self.links.heap_bytes()
    }
}

impl Trace {
    /// What memory was taken and given back.
    pub fn allocations(&self) -> &Allocations {
        &self.allocations
    }

    /// The arguments of an allocation.
    pub fn allocation_args(&self, id: AllocationId) -> Args<'_> {
        self.args_of(self.allocations.args(id))
    }

    /// One allocation, decoded.
    pub fn allocation(&self, id: AllocationId) -> Allocation {
        let mut found = Allocation {
            at: self.allocations.at(id),
            lane: self.allocations.lane(id),
            device_kind: None,
            device: None,
            address: None,
            bytes: None,
            allocated: None,
            reserved: None,
        };
        for (attr, value) in self.allocation_args(id).attrs() {
            let value = value.as_int();
            match attr {
                Attr::AllocatedBytes => found.bytes = value,
                Attr::Address => found.address = value,
                Attr::TotalAllocated => found.allocated = value,
                Attr::TotalReserved => found.reserved = value,
                Attr::MemoryDevice => found.device = value,
                Attr::MemoryDeviceKind => found.device_kind = value,
                _ => {}
            }
        }
        found
    }
}

impl Trace {
    /// The stacks that events were called from.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    /// The stack that a slice was called from, if its producer says.
    pub fn stack(&self, id: SliceId) -> Option<StackId> {
        if self.stacks.of_text.is_empty() {
            return None;
        }
        self.stacks.of_text(self.args(id).text_id(Attr::CallStack)?)
    }
}
