//! The memory of a compiled program as its compiler planned it.

/// Which buffers a program has, where they are, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferAssignment {
    pub buffers: Vec<ProgramBuffer>,
    /// The memory that buffers are in; those that never live together may share it.
    pub allocations: Vec<BufferAllocation>,
    /// In which order buffers are taken and freed, where the compiler says.
    pub simulations: Vec<HeapSimulation>,
}

/// A buffer: the result of an instruction, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramBuffer {
    /// The number by which allocations and events name it.
    pub id: u64,
    pub bytes: u64,
    /// The instruction that fills it.
    pub node: Option<u32>,
    /// Which part of that instruction's result it is.
    pub part: Vec<u64>,
}

/// A piece of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferAllocation {
    pub bytes: u64,
    /// Whether it is on the stack of a thread.
    pub is_local: bool,
    pub is_argument: bool,
    pub is_constant: bool,
    pub is_result: bool,
    /// Whether a result takes over an argument's.
    pub is_aliased: bool,
    /// The numbers of its buffers, each with its size.
    pub buffers: Vec<(u64, u64)>,
}

/// What happens to buffers, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapSimulation {
    /// Whether it is about all of the program, not one computation.
    pub is_whole: bool,
    pub events: Vec<HeapEvent>,
}

/// What happens to a buffer, at an instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HeapEvent {
    pub buffer: u64,
    pub action: HeapAction,
    pub node: Option<u32>,
}

/// What can happen to a buffer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum HeapAction {
    Allocate,
    Free,
    /// It takes the memory of the buffer of this number.
    Share(u64),
}
