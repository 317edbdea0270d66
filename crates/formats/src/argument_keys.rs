//! The keys of arguments: what PyTorch's mean, and a table of those seen before.

use stepscope_model::{Attr, StrId, TraceBuilder};

/// The key under which an operator's overload (`Tensor` of `aten::add.Tensor`) is kept apart from its name.
pub(crate) const OVERLOAD_KEY: &str = "event.overload";

/// Frames joined by `;`, the innermost first.
pub(crate) const CALL_STACK: &str = "Call stack";

/// What PyTorch calls an event that is an allocation or a release.
pub(crate) const ALLOCATION_NAME: &str = "[memory]";

/// What the keys of Kineto's arguments mean, from 2021 to today.
const KEY_ATTRIBUTES: &[(&str, Attr)] = &[
    ("Input Dims", Attr::InputShapes),
    ("Input dims", Attr::InputShapes),
    ("Input type", Attr::InputTypes),
    ("Input Strides", Attr::InputStrides),
    ("Concrete Inputs", Attr::ConcreteInputs),
    (OVERLOAD_KEY, Attr::Overload),
    (CALL_STACK, Attr::CallStack),
    ("Module Hierarchy", Attr::ModuleHierarchy),
    ("Sequence number", Attr::SequenceNumber),
    ("Fwd thread id", Attr::ForwardThread),
    ("correlation", Attr::Correlation),
    ("External id", Attr::ExternalId),
    ("external id", Attr::ExternalId),
    ("device", Attr::Device),
    ("stream", Attr::Stream),
    ("grid", Attr::Grid),
    ("block", Attr::Block),
    ("registers per thread", Attr::RegistersPerThread),
    ("shared memory", Attr::SharedMemory),
    ("blocks per SM", Attr::BlocksPerSm),
    ("warps per SM", Attr::WarpsPerSm),
    ("est. achieved occupancy %", Attr::OccupancyPercent),
    ("bytes", Attr::Bytes),
    ("size", Attr::CallBytes),
    ("memory bandwidth (GB/s)", Attr::BandwidthGbps),
    ("wait_on_stream", Attr::WaitOnStream),
    ("wait_on_cuda_event_record_corr_id", Attr::WaitOnRecord),
    ("Bytes", Attr::AllocatedBytes),
    ("Addr", Attr::Address),
    ("Total Allocated", Attr::TotalAllocated),
    ("Total Reserved", Attr::TotalReserved),
    ("Device Id", Attr::MemoryDevice),
    ("Device Type", Attr::MemoryDeviceKind),
    ("Collective name", Attr::Collective),
    ("dtype", Attr::CollectiveType),
    ("In msg nelems", Attr::CollectiveInElements),
    ("Out msg nelems", Attr::CollectiveOutElements),
    ("Group size", Attr::GroupSize),
    ("Process Group Name", Attr::GroupName),
    ("Process Group Ranks", Attr::GroupRanks),
    ("graph id", Attr::GraphId),
    ("graph node id", Attr::GraphNode),
    ("kernel_file", Attr::KernelFile),
    ("kernel_backend", Attr::KernelBackend),
    ("kernel_kwargs", Attr::KernelConfig),
    // Written by our own recordings.
    ("line times", Attr::LineTimes),
];

/// Tells a builder what the keys of PyTorch's traces mean; for whoever makes such events without a file.
pub fn declare_keys(builder: &mut TraceBuilder) {
    for &(key, attr) in KEY_ATTRIBUTES {
        builder.key(key, attr);
    }
}

const SLOT_COUNT: usize = 128;
const MAX_KEY_BYTES: usize = 30;

#[derive(Copy, Clone)]
struct KeySlot {
    len: u8,
    bytes: [u8; MAX_KEY_BYTES],
    id: StrId,
}

/// Takes the frames of a call stack apart, once for each text.
pub(crate) fn declare_stack(builder: &mut TraceBuilder, text: StrId) {
    if builder.is_stack(text) {
        return;
    }
    let frames = builder.text(text).to_owned();
    let frames: Vec<StrId> =
        frames.split(';').filter(|frame| !frame.is_empty()).map(|frame| builder.intern(frame)).collect();
    let stack = builder.stack(frames.into_iter().rev());
    builder.name_stack(text, stack);
}

/// Keys and categories seen before: a few dozen short texts make up a third of a file. A direct-mapped table in front of
/// the interner; it only saves time: what it does not hold is looked up.
pub(crate) struct Keys {
    slots: Box<[KeySlot; SLOT_COUNT]>,
}

impl Keys {
    pub(crate) fn new() -> Keys {
        Keys { slots: Box::new([KeySlot { len: 0, bytes: [0; MAX_KEY_BYTES], id: StrId::EMPTY }; SLOT_COUNT]) }
    }

    /// The id of this text, if it is held.
    #[inline]
    pub(crate) fn get(&self, text: &[u8]) -> Option<StrId> {
        let slot = &self.slots[place(text)?];
        (usize::from(slot.len) == text.len() && slot.bytes[..text.len()] == *text).then_some(slot.id)
    }

    /// Holds a text from now on, in place of another.
    pub(crate) fn put(&mut self, text: &[u8], id: StrId) {
        if let Some(place) = place(text) {
            let slot = &mut self.slots[place];
            slot.len = text.len() as u8;
            slot.bytes[..text.len()].copy_from_slice(text);
            slot.id = id;
        }
    }
}

#[inline]
fn place(text: &[u8]) -> Option<usize> {
    let (&first, &last) = (text.first()?, text.last()?);
    let hash = usize::from(first) * 5 + usize::from(last) * 3 + text.len() * 11;
    (text.len() <= MAX_KEY_BYTES).then_some(hash % SLOT_COUNT)
}
