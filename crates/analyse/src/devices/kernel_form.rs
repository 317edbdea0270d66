//! What the producer wrote beside a kernel about its launch.

use stepscope_model::{Attr, SliceId, Trace};

/// The form of a launch; what the producer did not write is absent.
#[derive(Copy, Clone, Default)]
pub(crate) struct KernelForm<'a> {
    /// Blocks of the grid, as a list of three numbers.
    pub(crate) grid: Option<&'a str>,
    /// Threads of a block, likewise.
    pub(crate) block: Option<&'a str>,
    /// Registers of a thread.
    pub(crate) registers: Option<i64>,
    /// Shared memory of a block in bytes.
    pub(crate) shared_memory: Option<i64>,
    /// Blocks for each multiprocessor.
    pub(crate) blocks_per_sm: Option<f64>,
    /// The producer's estimate of the achieved occupancy, in percent.
    pub(crate) occupancy: Option<f64>,
}

impl<'a> KernelForm<'a> {
    /// One pass over the arguments: a search for each would decode them six times.
    pub(crate) fn read(trace: &'a Trace, kernel: SliceId) -> KernelForm<'a> {
        let mut form = KernelForm::default();
        for (attr, value) in trace.args(kernel).attrs() {
            match attr {
                Attr::Grid => form.grid = value.as_text(),
                Attr::Block => form.block = value.as_text(),
                Attr::RegistersPerThread => form.registers = value.as_int(),
                Attr::SharedMemory => form.shared_memory = value.as_int(),
                Attr::BlocksPerSm => form.blocks_per_sm = value.as_f64(),
                Attr::OccupancyPercent => form.occupancy = value.as_f64(),
                _ => {}
            }
        }
        form
    }
}
