//! What an argument means, whatever its producer called it.

/// A well-known attribute of an event. Readers say once which of their keys mean which; analyses ask for these and never
/// for a key. Arguments without one are kept all the same, under the producer's key.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Attr {
    /// Sizes of an operator's inputs: a text that [`parse_shapes`](crate::parse_shapes) reads.
    InputShapes,
    /// Types of an operator's inputs: a JSON list of texts.
    InputTypes,
    /// Strides of an operator's inputs: a text as of their sizes.
    InputStrides,
    /// Plain values among an operator's inputs: a JSON list of texts.
    ConcreteInputs,
    /// An operator's overload (`Tensor` of `aten::add.Tensor`).
    Overload,
    /// The frames a slice was called from, the innermost first, joined by `;`.
    CallStack,
    /// The modules a slice is in, the outermost first, joined by `.`.
    ModuleHierarchy,
    /// Ties a forward operator to its backward one.
    SequenceNumber,
    /// The thread of a backward operator's forward one.
    ForwardThread,
    /// Ties device work to the call that launched it.
    Correlation,
    /// Ties calls and device work to their operator.
    ExternalId,
    Device,
    Stream,
    /// Blocks of a kernel, as a JSON list of three numbers.
    Grid,
    /// Threads of a block, as a JSON list of three numbers.
    Block,
    RegistersPerThread,
    /// Shared memory of a block, in bytes.
    SharedMemory,
    /// Blocks for each multiprocessor.
    BlocksPerSm,
    /// Warps for each multiprocessor.
    WarpsPerSm,
    /// The achieved occupancy that the producer estimates, in percent.
    OccupancyPercent,
    /// Bytes that a copy or a memset moved.
    Bytes,
    /// Bytes that a runtime call asked for.
    CallBytes,
    /// Bandwidth of a copy, in gigabytes per second.
    BandwidthGbps,
    /// The stream whose work is waited for.
    WaitOnStream,
    /// The correlation of the call that recorded the event waited for.
    WaitOnRecord,
    /// Bytes allocated; under zero, released.
    AllocatedBytes,
    /// The address of an allocation.
    Address,
    /// Bytes in use after an allocation.
    TotalAllocated,
    /// Bytes the allocator holds after an allocation.
    TotalReserved,
    /// The number of an allocation's device.
    MemoryDevice,
    /// The kind of an allocation's device, as PyTorch numbers them: 0 is the host.
    MemoryDeviceKind,
    Collective,
    /// The type of a collective's elements.
    CollectiveType,
    /// Elements that go into a collective.
    CollectiveInElements,
    /// Elements that come out of a collective.
    CollectiveOutElements,
    /// How many ranks take part in a collective.
    GroupSize,
    /// The name of a collective's group.
    GroupName,
    /// The ranks of a collective's group.
    GroupRanks,
    /// The captured graph that device work is part of; 0 for none.
    GraphId,
    /// Which node of its graph device work is; 0 for none.
    GraphNode,
    /// The file of generated code that an operator runs.
    KernelFile,
    KernelBackend,
    /// Sizes that the generator chose for it: `XBLOCK=512`.
    KernelConfig,
    /// A sampled function's own nanoseconds by line: `12:30000,15:1000`.
    LineTimes,
    /// The instruction of a compiled program that an operator or device work runs.
    Instruction,
    Program,
    /// Where the framework says an operator comes from: `jit(step)/mlp/dot_general`.
    OpPath,
    /// How many elements a stage of an input pipeline works on side by side.
    Parallelism,
    /// Whether that is chosen while it runs.
    Autotuned,
    /// How many elements were ready when the next one was asked for.
    BufferedElements,
    /// How often a function was traced so far.
    TracingCount,
    /// The name of that program (`jit_train_step`).
    ProgramName,
    /// Which run of a compiled program an instruction belongs to.
    Run,
    /// How TensorFlow calls a function: `traced-nonXla` builds its graph first.
    FunctionCall,
    /// A slice's name as the producer wrote it, where readers gave it another.
    RecordedName,
    /// Above zero on the event that a group of events begins with, such as a step.
    Root,
    StepNumber,
    /// The number of one run of a graph of operators.
    GraphRun,
    /// Which iteration of a loop such a run is.
    Iteration,
    /// Whether an event lies beside what it is nested in, not in it.
    Asynchronous,
    /// The kind of an arrow that begins at an event.
    ProducerKind,
    /// The number of an arrow that begins at an event.
    Producer,
    /// The kind of an arrow that ends at an event.
    ConsumerKind,
    /// The number of an arrow that ends at an event.
    Consumer,
    /// The stage of an input pipeline that an event is.
    InputStage,
    /// The framework's operator that device work belongs to, with its type: `mlp/matmul:MatMul`.
    FrameworkOp,
    /// The most warps that a kernel's resources allow, in percent of what the device can hold.
    TheoreticalOccupancy,
    Allocator,
    /// Bytes that an allocator set aside and does not hand out.
    StackBytes,
    /// Bytes that an allocator could still hand out.
    FreeBytes,
    /// The most bytes that an allocator ever had in use.
    PeakBytes,
    /// How far an allocator's free memory is scattered, from 0 to 1.
    Fragmentation,
}
