//! What a slice means, whatever its producer called it.

/// Names one category text of a trace, as the file spelled it (`cpu_op`, `Kernel`, …).
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CatId(pub(crate) u16);

impl CatId {
    /// The position of this category in its table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The meaning of a slice. Readers map their categories to it; unknown ones become [`Kind::Other`] and keep
/// their category text.
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A framework operator on a host thread (`aten::mm`).
    HostOp,
    /// A user's or the framework's named range on a host thread (`record_function`, `ProfilerStep#3`).
    HostAnnotation,
    /// A range of the framework's own runtime on a host thread: neither an operator nor a user's range
    /// (`PjitFunction(step)`, `ExecutorState::Process`).
    FrameworkCall,
    PythonFunction,
    /// A runtime call (cudaLaunchKernel, hipMemcpyAsync, …).
    Runtime,
    /// A driver call (cuLaunchKernelEx, …).
    Driver,
    /// Time the profiler itself took (buffer requests, lazy loading).
    Overhead,
    /// A kernel on a device.
    Kernel,
    /// A copy engine's work on a device.
    Memcpy,
    /// A fill on a device.
    Memset,
    /// The shadow of a host range on a device: not work, never counted as busy.
    DeviceAnnotation,
    /// A device-side wait for an event or a stream: not work.
    DeviceSync,
    /// A collective as the communication library logged it.
    Collective,
    /// The recording window of a profiler span.
    Span,
    /// Anything else; its category text says what.
    #[default]
    Other,
}

impl Kind {
    /// Work that keeps a device busy.
    pub fn is_device_work(self) -> bool {
        matches!(self, Kind::Kernel | Kind::Memcpy | Kind::Memset)
    }

    /// A call into the device's runtime or driver library.
    pub fn is_runtime(self) -> bool {
        matches!(self, Kind::Runtime | Kind::Driver)
    }

    /// Drawn on a device lane.
    pub fn is_device(self) -> bool {
        self.is_device_work() || matches!(self, Kind::DeviceAnnotation | Kind::DeviceSync)
    }

    /// Runs on a host thread and takes part in its call tree.
    pub fn is_host(self) -> bool {
        matches!(
            self,
            Kind::HostOp
                | Kind::HostAnnotation
                | Kind::FrameworkCall
                | Kind::PythonFunction
                | Kind::Runtime
                | Kind::Driver
                | Kind::Overhead
        )
    }
}
